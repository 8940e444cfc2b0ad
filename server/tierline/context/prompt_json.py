"""Prompts as JSON and back, exactly, so that a stored request renders to the same bytes.

Blocks can be kept apart from the frame that names them: ``take_apart`` gives both, ``put_together``
joins them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import astuple

from tierline.context.blocks import Block, Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, Thinking, ToolSpec

Reference: TypeAlias = Any
"""A JSON value that stands for a block in the frame."""


def encode(value: Any) -> bytes:
    """Compact JSON; the order of keys is kept, because bodies are made from it.

    Text may hold halves of surrogate pairs. Escaped, two halves would come back as one character,
    so they are written as they are, in UTF-8 that permits them.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> Any:
    """The inverse of ``encode``.

    Raises:
        ValueError: if it is not JSON.
    """
    return json.loads(data.decode("utf-8", "surrogatepass"))


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def take_apart(prompt: Prompt, refer: Callable[[Block], Reference]) -> dict[str, Any]:
    """The prompt's frame, with what ``refer`` returns in the place of each block."""
    return {
        "model": prompt.model,
        "tools": [
            [tool.name, tool.description, tool.input_schema, tool.builtin] for tool in prompt.tools
        ],
        "tools_mark": prompt.tools_mark,
        "system": _blocks(prompt.system, refer),
        "messages": [[message.role, _blocks(message.blocks, refer)] for message in prompt.messages],
        "max_output_tokens": prompt.max_output_tokens,
        "cache_key": prompt.cache_key,
        **({"form": dict(prompt.form)} if prompt.form else {}),
        "thinking": list(astuple(prompt.thinking)),
        **({"previous_reply": prompt.previous_reply} if prompt.previous_reply is not None else {}),
    }


def put_together(frame: Mapping[str, Any], fetch: Callable[[Reference], Block]) -> Prompt:
    """The prompt of a frame; ``fetch`` gives the block for a reference."""
    return Prompt(
        model=frame["model"],
        system=_restored(frame["system"], fetch),
        messages=tuple(
            PromptMessage(role, _restored(blocks, fetch)) for role, blocks in frame["messages"]
        ),
        tools=tuple(ToolSpec(*tool) for tool in frame["tools"]),
        tools_mark=frame["tools_mark"],
        max_output_tokens=frame["max_output_tokens"],
        cache_key=frame["cache_key"],
        form=frame.get("form", {}),
        thinking=Thinking(*frame.get("thinking", ())),
        previous_reply=frame.get("previous_reply"),
    )


def _blocks(blocks: Sequence[PromptBlock], refer: Callable[[Block], Reference]) -> list[Any]:
    return [[refer(entry.block), entry.key, entry.mark] for entry in blocks]


def _restored(
    blocks: Sequence[Any], fetch: Callable[[Reference], Block]
) -> tuple[PromptBlock, ...]:
    return tuple(PromptBlock(fetch(reference), key, mark) for reference, key, mark in blocks)


def block_to_json(block: Block) -> dict[str, Any]:
    """A block as a JSON object with its kind under ``t``."""
    match block:
        case Text():
            return {"t": "text", "text": block.text}
        case Image():
            return {
                "t": "image",
                "media_type": block.media_type,
                "data": block.data,
                "width": block.width,
                "height": block.height,
                "ref": block.ref,
            }
        case ToolUse():
            return {"t": "use", "id": block.id, "name": block.name, "input": block.input}
        case ToolResult():
            return {
                "t": "result",
                "id": block.tool_use_id,
                "content": [block_to_json(part) for part in block.content],
                "error": block.is_error,
            }
        case Reasoning():
            return {"t": "reasoning", "strategy": block.strategy, "data": block.data}


def block_from_json(value: Any) -> Block:
    """The inverse of ``block_to_json``.

    Raises:
        ValueError, KeyError, TypeError: if it is not a stored block.
    """
    match value["t"]:
        case "text":
            return Text(value["text"])
        case "image":
            return Image(
                value["media_type"], value["data"], value["width"], value["height"], value["ref"]
            )
        case "use":
            return ToolUse(value["id"], value["name"], value["input"])
        case "result":
            content = [block_from_json(part) for part in value["content"]]
            parts = tuple(part for part in content if isinstance(part, Text | Image))
            return ToolResult(value["id"], parts, value["error"])
        case "reasoning":
            return Reasoning(value["strategy"], value["data"])
        case other:
            raise ValueError(f"unknown kind of block: {other!r}")
