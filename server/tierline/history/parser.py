"""MessageParser: the one place that knows how each provider writes calls, results and text.

A message is parsed by its ``parsing_strategy``, never by sniffing its JSON. Every shape becomes the
neutral blocks of ``context.blocks``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tierline.context.blocks import Block, Image, Maker, Reasoning, Text, ToolResult, ToolUse
from tierline.history.ids import derived_id

GEMINI = frozenset({"gemini", "gemini_gca"})
"""Gemini variants write the same parts and understand each other's calls."""

UNNAMED = "unnamed:"
"""Prefix of a result's call id where the provider has none; ``link_results`` finds the call."""


class MessageParser:
    """Parses the raw content of one message that was written under ``strategy``."""

    def __init__(self, strategy: str) -> None:
        self.strategy = strategy

    def blocks(self, record: Mapping[str, Any]) -> tuple[Block, ...]:
        """All blocks of a raw record (``content``, ``tool_calls``, ``tool_call_id``, ``parts``).

        Total: what cannot be understood is kept as opaque :class:`Reasoning` data or as text.
        """
        if self.strategy == "openai":
            return self._openai(record)
        if self.strategy in GEMINI:
            return self._gemini(record)
        return tuple(self._parts(record.get("content")))

    def text(self, record: Mapping[str, Any]) -> str:
        """The visible text of a raw record."""
        return text_of(self.blocks(record))

    def _parts(self, content: Any) -> Iterable[Block]:
        if content is None:
            return
        if isinstance(content, str):
            yield Text(content)
            return
        parts = content if isinstance(content, Sequence) else [content]
        for part in parts:
            if isinstance(part, str):
                yield Text(part)
            elif isinstance(part, Mapping):
                yield self._part(part)
            elif part is not None:
                yield Text(json.dumps(part, ensure_ascii=False, default=str))

    def _part(self, part: Mapping[str, Any]) -> Block:
        block: Block = Reasoning(self.strategy, dict(part))  # opaque unless we know its type
        match part.get("type"):
            case "text" | "input_text" | "output_text" if isinstance(part.get("text"), str):
                block = Text(part["text"])
            case "refusal":
                block = Text(_string(part.get("refusal")))
            case "image":
                block = _source_image(part)
            case "image_url":
                block = _data_uri_image(part.get("image_url"))
            case "tool_use":
                name = _string(part.get("name"))
                block = ToolUse(_string(part.get("id")), name, _object(part, "input"))
            case "tool_result":
                block = ToolResult(
                    _string(part.get("tool_use_id")),
                    self._result_content(part.get("content")),
                    bool(part.get("is_error", False)),
                )
            case "reasoning" if isinstance(part.get("data"), Mapping):
                maker = Maker(_string(part.get("service")), _string(part.get("model")))
                prefix = _string(part.get("prefix"))
                block = Reasoning(_string(part.get("strategy")), dict(part["data"]), maker, prefix)
        return block

    def _result_content(self, content: Any) -> tuple[Text | Image, ...]:
        kept: list[Text | Image] = []
        for block in self._parts(content):
            if isinstance(block, Text | Image):
                kept.append(block)
            elif isinstance(block, Reasoning):
                kept.append(Text(json.dumps(dict(block.data), ensure_ascii=False, default=str)))
        return tuple(kept)

    def _openai(self, record: Mapping[str, Any]) -> tuple[Block, ...]:
        if record.get("role") in ("tool", "function"):
            target = _string(record.get("tool_call_id")) or UNNAMED + _string(record.get("name"))
            return (ToolResult(target, self._result_content(record.get("content"))),)
        thoughts = [name for name in ("reasoning_content", "reasoning") if record.get(name)]
        blocks: list[Block] = [Reasoning(self.strategy, {n: record[n]}) for n in thoughts]
        blocks += self._parts(record.get("content"))
        calls = record.get("tool_calls")
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            if not isinstance(call, Mapping):
                continue
            function = call.get("function")
            function = function if isinstance(function, Mapping) else {}
            identifier = _string(call.get("id")) or self._own_id(record, index)
            blocks.append(
                ToolUse(identifier, _string(function.get("name")), _object(function, "arguments"))
            )
        return tuple(blocks)

    def _gemini(self, record: Mapping[str, Any]) -> tuple[Block, ...]:
        content = record.get("content", record.get("parts"))
        if isinstance(content, Mapping) and "parts" in content:
            content = content["parts"]
        if not isinstance(content, list):
            return tuple(self._parts(content))
        blocks: list[Block] = []
        for index, part in enumerate(content):
            blocks += self._gemini_part(part, record, index)
        return tuple(blocks)

    def _gemini_part(self, part: Any, record: Mapping[str, Any], index: int) -> Iterable[Block]:
        match part:
            case {"functionCall": Mapping() as call}:
                identifier = _string(call.get("id")) or self._own_id(record, index)
                yield ToolUse(identifier, _string(call.get("name")), _object(call, "args"))
            case {"functionResponse": Mapping() as answer}:
                target = _string(answer.get("id")) or UNNAMED + _string(answer.get("name"))
                body = answer.get("response")
                text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
                yield ToolResult(target, (Text(text),))
            case {"inlineData": Mapping() as inline}:
                yield Image(_string(inline.get("mimeType")), _string(inline.get("data")))
            case {"thought": thought} if thought:
                yield Reasoning(self.strategy, dict(part))
            case {"text": str() as text} if "type" not in part:
                yield Text(text)
            case _:
                yield from self._parts([part])

    def _own_id(self, record: Mapping[str, Any], index: int) -> str:
        """A call id for providers that give none: the same at every reload, unlike any other."""
        return f"{self.strategy}_{derived_id(_string(record.get('id')))}_{index}"


def text_of(blocks: Iterable[Block]) -> str:
    """The visible text, blocks joined by line breaks; calls, results and thinking have none."""
    return "\n".join(b.text for b in blocks if isinstance(b, Text))


def full_text(blocks: Iterable[Block]) -> str:
    """Text and results' text and calls' arguments: the text that searches and ``query_db`` see."""
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, ToolResult):
            parts += [c.text for c in block.content if isinstance(c, Text)]
        elif isinstance(block, ToolUse):
            arguments = json.dumps(dict(block.input), ensure_ascii=False, default=str)
            parts.append(f"{block.name}({arguments})")
    return "\n".join(parts)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _object(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = holder.get(name)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"_raw": value} if value else {}
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else {"_raw": value}


def _source_image(part: Mapping[str, Any]) -> Block:
    source = part.get("source")
    source = source if isinstance(source, Mapping) else {}
    if source.get("type") == "url":
        return _data_uri_image(source)
    width, height = part.get("width"), part.get("height")
    return Image(
        _string(source.get("media_type", "image/png")),
        _string(source.get("data")),
        width if isinstance(width, int) else None,
        height if isinstance(height, int) else None,
        _string(source.get("ref")),
    )


def _data_uri_image(value: Any) -> Block:
    url = _string(value.get("url") if isinstance(value, Mapping) else value)
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return Image(head.removeprefix("data:"), data)
    return Text(f"[image: {url}]")
