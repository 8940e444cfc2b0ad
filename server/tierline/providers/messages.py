"""Reads the replies of Anthropic's Messages API: streamed or whole (platform documentation).

Servers that imitate it leave fields out or send other types; the reader takes what it can.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, evolve, field

from tierline.providers.base import ReasoningChunk, ReasoningDone, Stop, StreamEvent, TextChunk
from tierline.providers.calls import tool_call
from tierline.providers.errors import error_in, from_event
from tierline.providers.usage import message_figures, message_notes, message_usage
from tierline.providers.values import figure, first, mapping, parts, rows, string

SERVICE = "Anthropic"
_SAID = frozenset(
    {
        "message", "message_start", "content_block_start", "content_block_stop", "message_delta",
        "message_stop", "error",
    }
)  # fmt: skip
_STOPS = {
    "end_turn": "end",
    "stop": "end",
    "stop_sequence": "end",
    "max_tokens": "output_limit",
    "length": "output_limit",
    "model_context_window_exceeded": "output_limit",
    "tool_use": "tool_use",
    "tool_calls": "tool_use",
    "refusal": "filtered",
}


@define
class _OpenBlock:
    """A content block that has not ended."""

    start: Mapping[str, Any]
    pieces: list[str] = field(factory=list)
    signature: str = ""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@define
class MessageReader:
    """Reads the stream's events. Unknown ones are passed over, as the API asks of its clients."""

    secret: str = field(default="", repr=False)
    done: bool = False
    _blocks: dict[int, _OpenBlock] = field(factory=dict)
    _figures: Mapping[str, Any] = field(factory=dict)
    _noted: dict[str, Any] = field(factory=dict)
    """Notes beside the figures (``message_notes``)."""
    _stop: str | None = None
    _calls: int = 0

    def read(self, data: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """See ``Reader.read``."""
        if error := error_in(data):
            raise from_event(SERVICE, error, secret=self.secret)
        match data.get("type"):
            case "message_start":
                message = mapping(data.get("message"))
                yield from self._content(message.get("content"))
                yield from self._counted(message.get("usage"), message)
            case "content_block_start":
                yield from self._start(_index(data), mapping(data.get("content_block")))
            case "content_block_delta":
                yield from self._delta(_index(data), mapping(data.get("delta")))
            case "content_block_stop":
                yield from self._close(_index(data))
            case "message_delta":
                delta = mapping(data.get("delta"))
                self._stop = _reason(delta) or _reason(data) or self._stop
                yield from self._counted(first(data, "usage") or delta.get("usage"), data, delta)
            case "message_stop":
                yield from self._finish()
            case "error":
                raise from_event(SERVICE, data, secret=self.secret)
            case _ if "content" in data and data.get("type", "message") == "message":
                yield from self._whole(data)

    def has_content(self, data: Mapping[str, Any]) -> bool:
        """See ``Reader.says``. Unknown events, maybe a later version's pings, do not count."""
        if data.get("type") == "content_block_delta":
            delta = mapping(data.get("delta"))
            return any(value for key, value in delta.items() if key != "type")
        return (string(data.get("type")) or "message") in _SAID

    def end(self) -> Iterator[StreamEvent]:
        """See ``Reader.end``."""
        if self._stop is None:
            return
        mapped = _STOPS.get(self._stop.lower(), "other" if self._stop else "end")
        yield Stop("tool_use" if mapped == "end" and self._calls else mapped, self._stop)

    def _whole(self, message: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """A message as one object, from a server that does not stream."""
        yield from self._content(message.get("content"))
        yield from self._counted(message.get("usage"), message)
        self._stop = _reason(message)
        self.done = True

    def _content(self, content: object) -> Iterator[StreamEvent]:
        """Blocks that come as a whole. Texts may be plain strings."""
        blocks = [content] if isinstance(content, str) else rows(content)
        for number, block in enumerate(blocks, -len(blocks)):
            start = {"type": "text", "text": block} if isinstance(block, str) else mapping(block)
            yield from self._start(number, start)
            if start.get("type") == "thinking" and (text := string(start.get("thinking"))):
                yield ReasoningChunk(text)
            yield from self._close(number)

    def _start(self, index: int, start: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self._close(index)  # a server whose blocks all have the same index
        if not string(start.get("type")) and string(start.get("name")):
            start = {**start, "type": "tool_use"}
        self._blocks[index] = _OpenBlock(start)
        if start.get("type") in (None, "text"):
            yield from _text(start.get("text"))

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        # Without its start a text can still be read; only a call needs its name.
        if index not in self._blocks and "partial_json" in delta and len(self._blocks) == 1:
            (index,) = self._blocks  # the server numbers a call and its arguments apart
        block = self._blocks.setdefault(index, _OpenBlock({}))
        match _kind(delta):
            case "text_delta":
                yield from _text(delta.get("text"))
            case "thinking_delta":
                if text := string(delta.get("thinking")):
                    block.pieces.append(text)
                    yield ReasoningChunk(text)
            case "signature_delta":
                block.signature += string(delta.get("signature"))
            case "input_json_delta":
                piece = delta.get("partial_json")
                block.pieces.append(json.dumps(piece) if isinstance(piece, dict) else string(piece))

    def _close(self, index: int) -> Iterator[StreamEvent]:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        start = block.start
        match start.get("type"):
            case "thinking":
                thinking = string(start.get("thinking")) + block.text
                signature = string(start.get("signature")) + block.signature
                if signature:  # without one the API refuses the block
                    yield ReasoningDone({**start, "thinking": thinking, "signature": signature})
            case "redacted_thinking":
                yield ReasoningDone(dict(start))
            case "tool_use":
                self._calls += 1
                given = start.get("input")
                yield tool_call(
                    str(start.get("id") or ""),
                    string(start.get("name")),
                    block.text or (given if isinstance(given, str) else json.dumps(given or {})),
                )

    def _finish(self) -> Iterator[StreamEvent]:
        """The end of the reply. It also closes blocks that the server left open."""
        for index in sorted(self._blocks):
            yield from self._close(index)
        self.done = True
        self._stop = self._stop or ""

    def _counted(self, usage: object, *told: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Figures are cumulative; later ones replace earlier ones. ``told`` came with them."""
        known = message_figures(self._figures, mapping(usage))
        noted = {**self._noted, **message_notes(mapping(usage), told)}
        if known != self._figures or noted != self._noted:
            self._figures, self._noted = known, noted
            yield evolve(message_usage(known), **noted)


def _kind(delta: Mapping[str, Any]) -> str:
    """The type of a delta; guessed from its fields if it has none or an unknown one."""
    names = {
        "text": "text_delta",
        "thinking": "thinking_delta",
        "partial_json": "input_json_delta",
        "signature": "signature_delta",
    }
    told = string(delta.get("type"))
    found = next((kind for name, kind in names.items() if name in delta), "")
    return told if told in names.values() else found


def _text(value: object) -> Iterator[StreamEvent]:
    for kind, words in parts(value):
        yield TextChunk(words) if kind == "text" else ReasoningChunk(words)


def _reason(place: Mapping[str, Any]) -> str:
    return string(first(place, "stop_reason", "finish_reason"))


def _index(data: Mapping[str, Any]) -> int:
    return figure(data.get("index")) or 0
