"""Prompt to body of OpenAI's Chat Completions API, which many other servers speak as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve

from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse, visible
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.providers import thinking_collector
from tierline.providers.canonical import cache_control, dumps, object_schema, sort_keys, sort_tools
from tierline.providers.profile import Profile
from tierline.providers.refusals import LIMITS
from tierline.providers.request_adapter import adapt_body, adapt_prompt

_NO_OUTPUT = "(no output)"
_PICTURE = "(the result is a picture, which follows)"


def body(prompt: Prompt, *, official: bool) -> dict[str, Any]:
    """The request body. Fields that may vary without harm to the cached prefix come last.

    ``official`` is OpenAI's own service: only it gets ``prompt_cache_key`` and
    ``max_completion_tokens``; compatible servers know ``max_tokens`` and may refuse the others. The
    prompt's form (``profile``) has the last word.
    """
    if prompt.form:
        return _in_form(prompt, Profile.of(prompt.form), official=official)
    return {**front(prompt), "messages": messages(prompt), **back(prompt, official=official)}


def _in_form(prompt: Prompt, profile: Profile, *, official: bool) -> dict[str, Any]:
    plain = evolve(adapt_prompt(prompt, profile), form={})
    ends = back(plain, official=official)
    if profile.limit_field:
        limit = {profile.limit_field: plain.max_output_tokens} if profile.limit_field != "-" else {}
        ends = limit | {k: v for k, v in ends.items() if k not in LIMITS}
    if not profile.stream:
        ends = {k: v for k, v in ends.items() if k != "stream_options"} | {"stream": False}
    said = messages(plain, role=profile.system, marks=profile.marks)
    return adapt_body({**front(plain), "messages": said, **ends}, profile)


def front(prompt: Prompt) -> dict[str, Any]:
    """The fields before the messages."""
    shape: dict[str, Any] = {"model": prompt.model}
    if prompt.tools:
        shape["tools"] = tools(prompt.tools)
    return shape


def back(prompt: Prompt, *, official: bool) -> dict[str, Any]:
    """The fields after the messages."""
    shape: dict[str, Any] = {
        "max_completion_tokens" if official else "max_tokens": prompt.max_output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if prompt.thinking.effort:
        shape["reasoning_effort"] = prompt.thinking.effort
    if official and prompt.cache_key:
        shape["prompt_cache_key"] = prompt.cache_key
    return shape


def tools(specs: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Tools in canonical order, keys sorted."""
    return [
        sort_keys(
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": object_schema(tool.input_schema),
                },
            }
        )
        for tool in sort_tools(specs)
    ]


def messages(prompt: Prompt, *, role: str = "system", marks: bool = False) -> list[dict[str, Any]]:
    """One message of instructions, then the conversation.

    ``marks``: every text is a part of its own, and the ends of tiers have ``cache_control``. So a
    mark that moves does not change the parts before it.
    """
    shapes: list[dict[str, Any]] = []
    if system := (_parts(prompt.system) if marks else _joined(prompt.system)):
        shapes.append({"role": role, "content": system})
    for each in prompt.messages:
        shapes += message(each, marks=marks)
    return shapes


def message(message: PromptMessage, *, marks: bool = False) -> list[dict[str, Any]]:
    """A message in this API's form: none if it is empty, several if it holds results."""
    if message.role == "assistant":
        return _assistant(message, marks=marks)
    return _user(message, marks=marks)


def _parts(items: Iterable[PromptBlock]) -> list[dict[str, Any]]:
    """Each text and picture as a part, with the mark of its block."""
    shapes = []
    for item in items:
        if isinstance(item.block, Text | Image) and visible(item.block):
            mark = {"cache_control": cache_control(item.mark)} if item.mark else {}
            shapes.append({**_part(item.block), **mark})
    return shapes


def _assistant(message: PromptMessage, *, marks: bool) -> list[dict[str, Any]]:
    text = _parts(message.blocks) if marks else _joined(message.blocks)
    calls = _calls(message.blocks)
    if calls:
        shape: dict[str, Any] = {"role": "assistant", "content": text or None, "tool_calls": calls}
        return [shape | _thoughts(message.blocks)]
    return [{"role": "assistant", "content": text}] if text else []


def _calls(items: Iterable[PromptBlock]) -> list[dict[str, Any]]:
    """The calls, each with the fields that its provider wants back."""
    shapes: list[dict[str, Any]] = []
    signature: dict[str, Any] = {}
    for item in items:
        block = item.block
        if isinstance(block, Reasoning):
            signature = {
                n: block.data[n] for n in (thinking_collector.SIGNATURE,) if n in block.data
            }
        elif isinstance(block, ToolUse):
            arguments = dumps(dict(block.input)).decode("utf-8")
            function = {"name": block.name, "arguments": arguments}
            shapes.append({"id": block.id, "type": "function", "function": function, **signature})
            signature = {}
    return shapes


def _thoughts(items: Iterable[PromptBlock]) -> dict[str, Any]:
    """A model's thinking before its calls, in the fields that it came in. Without calls no service
    asks for it, and some refuse it.
    """
    found: dict[str, Any] = {}
    for item in items:
        if isinstance(item.block, Reasoning):
            for name in thinking_collector.FIELDS:
                if value := item.block.data.get(name):
                    found[name] = found[name] + value if name in found else value
    return found


def _user(message: PromptMessage, *, marks: bool) -> list[dict[str, Any]]:
    """Results as ``tool`` messages, then the user's text.

    ``tool`` messages hold text only: a result's pictures go with the user's message after them.
    """
    shapes: list[dict[str, Any]] = []
    parts: list[Text | Image] = []
    spoken: list[PromptBlock] = []
    for item in message.blocks:
        if isinstance(item.block, ToolResult):
            pictures = [c for c in item.block.content if isinstance(c, Image)]
            text = _lines([c for c in item.block.content if isinstance(c, Text)])
            text = text or (_PICTURE if pictures else _NO_OUTPUT)
            if item.block.is_error:
                text = f"Error: {text}"
            told: str | list[dict[str, Any]] = text
            if marks:
                mark = {"cache_control": cache_control(item.mark)} if item.mark else {}
                told = [{"type": "text", "text": text, **mark}]
            shapes.append({"role": "tool", "tool_call_id": item.block.tool_use_id, "content": told})
            parts += pictures
            spoken += [PromptBlock(picture, item.key) for picture in pictures]
        elif isinstance(item.block, Text | Image) and visible(item.block):
            parts.append(item.block)
            spoken.append(item)
    if parts:
        shapes.append({"role": "user", "content": _parts(spoken) if marks else _content(parts)})
    return shapes


def _content(parts: Sequence[Text | Image]) -> str | list[dict[str, Any]]:
    """Plain text as a string, which every server accepts; a list of parts if there is a picture."""
    if all(isinstance(part, Text) for part in parts):
        return _lines([part for part in parts if isinstance(part, Text)])
    return [_part(part) for part in parts]


def _part(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = f"data:{part.media_type};base64,{part.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _joined(items: Iterable[PromptBlock]) -> str:
    return _lines([item.block for item in items if isinstance(item.block, Text)])


def _lines(texts: Iterable[Text]) -> str:
    return "\n\n".join(text.text for text in texts if visible(text))
