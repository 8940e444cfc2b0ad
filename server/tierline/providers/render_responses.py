"""Prompt to body of OpenAI's Responses API, without stored state ("Conversation state").

Encrypted reasoning goes back before the calls or the text that it led to. Content parts of the user
and the system can carry breakpoints ("Prompt caching"). Text of the model and calls cannot, so a
breakpoint there moves to the nearest part before them that can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve

from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse, visible
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec, Ttl
from tierline.providers.canonical import dumps, object_schema, sort_keys, sort_tools
from tierline.providers.profile import Profile
from tierline.providers.request_adapter import adapt_body, adapt_prompt

ENCRYPTED = "reasoning.encrypted_content"
MIN_OUTPUT = 16
"""The API refuses a smaller ``max_output_tokens``."""
_NO_OUTPUT = "(no output)"
_LONG = "12h"
_PARTS = frozenset({"input_text", "input_image"})


def body(
    prompt: Prompt, *, retention: bool = False, summary: bool = False, listed: bool = False
) -> dict[str, Any]:
    """The request body. ``retention`` asks for the day-long cache where it costs nothing;
    ``summary`` for readable summaries of the model's thinking; ``listed`` writes each result of a
    tool as parts, so that its bytes do not change when a breakpoint is set or removed. The prompt's
    form (``profile``) has the last word.
    """
    if prompt.form:
        profile = Profile.of(prompt.form)
        plain = evolve(adapt_prompt(prompt, profile), form={})
        written = body(plain, retention=retention, summary=summary, listed=listed)
        return adapt_body({**written, "stream": profile.stream}, profile)
    shape: dict[str, Any] = {"model": prompt.model}
    if prompt.tools:
        shape["tools"] = tools(prompt.tools)
    items, marked = _input(prompt, listed)
    shape["input"] = items
    shape["max_output_tokens"] = max(prompt.max_output_tokens, MIN_OUTPUT)
    shape |= {"store": False, "include": [ENCRYPTED], "stream": True}
    reasoning = {"effort": prompt.thinking.effort} if prompt.thinking.effort else {}
    if summary and prompt.thinking.effort != "none":
        reasoning["summary"] = "auto"
    if reasoning:
        shape["reasoning"] = reasoning
    if prompt.cache_key:
        shape["prompt_cache_key"] = prompt.cache_key
    if marked:
        # Without this the end of each request, which changes, would be written as well.
        shape["prompt_cache_options"] = {"mode": "explicit"}
    elif retention:
        shape["prompt_cache_retention"] = "24h"
    return shape


def tools(specs: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Tools in canonical order, keys sorted."""
    return [
        sort_keys(
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": object_schema(tool.input_schema),
                "strict": False,
            }
        )
        for tool in sort_tools(specs)
    ]


def _input(prompt: Prompt, listed: bool) -> tuple[list[dict[str, Any]], bool]:
    """The items, and whether any of them carries a breakpoint."""
    items: list[dict[str, Any]] = []
    marked = False
    if system := _parts(prompt.system):
        items.append({"type": "message", "role": "system", "content": system})
        marked = any(entry.mark for entry in prompt.system)
    for message in prompt.messages:
        if message.role == "assistant":
            made, left = _assistant(message)
        else:
            made, left = _user(message, listed), None
        if left is not None:
            marked = _mark_last(items, left) or marked
        items += made
        marked = marked or (message.role == "user" and any(b.mark for b in message.blocks))
    return items, marked


def _assistant(message: PromptMessage) -> tuple[list[dict[str, Any]], Ttl | None]:
    """The items, and a breakpoint that must move to an item before them."""
    items: list[dict[str, Any]] = []
    for entry in message.blocks:
        match entry.block:
            case Reasoning(data=data) if data.get("type") == "reasoning":
                items.append(dict(data))
            case Text(text=text) if visible(entry.block):
                content = [{"type": "output_text", "text": text}]
                items.append({"type": "message", "role": "assistant", "content": content})
            case ToolUse() as use:
                arguments = dumps(dict(use.input)).decode("utf-8")
                items.append(
                    {
                        "type": "function_call",
                        "call_id": use.id,
                        "name": use.name,
                        "arguments": arguments,
                    }
                )
    # A reply that was cut off may end with thinking; the API requires an item after it.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items, next((b.mark for b in reversed(message.blocks) if b.mark), None)


def _user(message: PromptMessage, listed: bool) -> list[dict[str, Any]]:
    """Results, then the user's text."""
    items: list[dict[str, Any]] = []
    said: list[PromptBlock] = []
    for entry in message.blocks:
        if isinstance(entry.block, ToolResult):
            items.append(_result(entry.block, entry.mark, listed))
        else:
            said.append(entry)
    if content := _parts(said):
        items.append({"type": "message", "role": "user", "content": content})
    return items


def _result(result: ToolResult, mark: Ttl | None, listed: bool) -> dict[str, Any]:
    """A call's output: parts, or text as a string where no breakpoint will ever be."""
    parts = _parts([PromptBlock(block, "") for block in result.content])
    if result.is_error and parts and parts[0]["type"] == "input_text":
        parts[0]["text"] = f"Error: {parts[0]['text']}"
    parts = parts or [{"type": "input_text", "text": _NO_OUTPUT}]
    output: str | list[dict[str, Any]] = parts
    if mark:
        parts[-1]["prompt_cache_breakpoint"] = breakpoint_(mark)
    elif not listed and all(part["type"] == "input_text" for part in parts):
        output = "\n\n".join(part["text"] for part in parts)
    return {"type": "function_call_output", "call_id": result.tool_use_id, "output": output}


def _parts(entries: Iterable[PromptBlock]) -> list[dict[str, Any]]:
    shapes: list[dict[str, Any]] = []
    for entry in entries:
        match entry.block:
            case Text(text=text) if visible(entry.block):
                shapes.append({"type": "input_text", "text": text})
            case Image() as image:
                url = f"data:{image.media_type};base64,{image.data}"
                shapes.append({"type": "input_image", "detail": "auto", "image_url": url})
            case _:
                continue
        if entry.mark:
            shapes[-1]["prompt_cache_breakpoint"] = breakpoint_(entry.mark)
    return shapes


def breakpoint_(mark: Ttl) -> dict[str, str]:
    """The field of a breakpoint; the API's default of half an hour is left out."""
    return {"mode": "explicit", "ttl": _LONG} if mark == _LONG else {"mode": "explicit"}


def _mark_last(items: Sequence[dict[str, Any]], mark: Ttl) -> bool:
    """Put a breakpoint on the last part that can carry one. True if there is one."""
    for item in reversed(items):
        content = item.get("output" if item["type"] == "function_call_output" else "content")
        if isinstance(content, str) and item["type"] == "function_call_output":
            part: dict[str, Any] = {"type": "input_text", "text": content}
            item["output"] = [part]
        elif isinstance(content, list) and content and content[-1]["type"] in _PARTS:
            part = content[-1]
        else:
            continue
        part.setdefault("prompt_cache_breakpoint", breakpoint_(mark))
        return True
    return False
