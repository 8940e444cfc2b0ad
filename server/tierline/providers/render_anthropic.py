"""Prompt to body of Anthropic's Messages API (platform documentation, "Messages")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from tierline.context.blocks import Block, Image, Reasoning, Text, ToolResult, ToolUse, visible
from tierline.context.prompt import Prompt, PromptBlock, ToolSpec, Ttl
from tierline.providers.canonical import cache_control, object_schema, sort_keys, sort_tools
from tierline.providers.profile import Profile
from tierline.providers.request_adapter import adapt_body, adapt_prompt

STRATEGY = "anthropic"


def body(prompt: Prompt) -> dict[str, Any]:
    """The request body, in the form that the prompt names (``profile``). Fields that may vary
    without harm to the cache come last.
    """
    if prompt.form:
        profile = Profile.of(prompt.form)
        plain = evolve(adapt_prompt(prompt, profile), form={})
        return adapt_body(
            {**body(plain), "stream": profile.stream and plain.max_output_tokens > 0}, profile
        )
    shape = front(prompt)
    if system := blocks(prompt.system):
        shape["system"] = system
    messages = ({"role": m.role, "content": blocks(m.blocks)} for m in prompt.messages)
    shape["messages"] = [message for message in messages if message["content"]]
    return {**shape, **back(prompt)}


def front(prompt: Prompt) -> dict[str, Any]:
    """The fields before the texts."""
    shape: dict[str, Any] = {"model": prompt.model}
    if prompt.tools:
        shape["tools"] = tools(prompt.tools, prompt.tools_mark)
    return shape


def back(prompt: Prompt) -> dict[str, Any]:
    """The fields after the texts."""
    asked = prompt.thinking
    shape: dict[str, Any] = {"max_tokens": prompt.max_output_tokens}
    if asked.mode:
        thinking: dict[str, Any] = {"type": asked.mode}
        if asked.shown:
            thinking["display"] = "summarized"
        if asked.drop:
            thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        shape["thinking"] = thinking
    if asked.effort:
        shape["output_config"] = {"effort": asked.effort}
    if prompt.previous_reply is not None:
        shape["diagnostics"] = {"previous_message_id": prompt.previous_reply or None}
    # Without a reply there is nothing to stream: the API refuses both together.
    return {**shape, "stream": prompt.max_output_tokens > 0}


def tools(specs: Iterable[ToolSpec], mark: Ttl | None) -> list[dict[str, Any]]:
    """Tools in canonical order. The breakpoint goes on the last built-in one, so that adding or
    removing a dynamic tool does not change the prefix.
    """
    ordered = sort_tools(specs)
    shapes: list[dict[str, Any]] = [
        sort_keys(
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": object_schema(tool.input_schema),
            }
        )
        for tool in ordered
    ]
    if mark and shapes:
        built_in = sum(tool.builtin for tool in ordered)
        shapes[(built_in or len(shapes)) - 1]["cache_control"] = cache_control(mark)
    return shapes


def blocks(items: Iterable[PromptBlock]) -> list[dict[str, Any]]:
    """Content blocks; text without a visible character is left out, the API refuses it."""
    shapes = []
    for item in items:
        shape = block(item.block)
        if shape is None:
            continue
        # Thinking blocks must go back untouched and may not carry a breakpoint.
        if item.mark and not isinstance(item.block, Reasoning):
            shape["cache_control"] = cache_control(item.mark)
        shapes.append(shape)
    return shapes


def block(item: Block) -> dict[str, Any] | None:
    """One block, or None if this API has no form for it."""
    match item:
        case Text():
            return {"type": "text", "text": item.text} if visible(item) else None
        case Image():
            source = {"type": "base64", "media_type": item.media_type, "data": item.data}
            return {"type": "image", "source": source}
        case ToolUse():
            return {"type": "tool_use", "id": item.id, "name": item.name, "input": dict(item.input)}
        case ToolResult():
            shape: dict[str, Any] = {"type": "tool_result", "tool_use_id": item.tool_use_id}
            content = [part for c in item.content if (part := block(c)) is not None]
            if content:
                shape["content"] = content
            if item.is_error:
                shape["is_error"] = True
            return shape
        case Reasoning():
            return dict(item.data) if item.strategy == STRATEGY and item.data else None
