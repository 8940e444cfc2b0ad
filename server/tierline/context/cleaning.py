"""Sanitising single blocks: the first step of the strict form (``strict.py``)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from tierline.context.blocks import (
    Block,
    Image,
    Reasoning,
    Role,
    Text,
    ToolResult,
    ToolUse,
    visible,
)
from tierline.context.formats import wire_format
from tierline.context.prompt import PromptBlock, ToolSpec
from tierline.context.text import well_formed

NO_OUTPUT = "(no output)"
ORPHAN = "(Result of a tool call that is not shown)"
ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that names and ids of calls may not contain."""

_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_MAX_DEPTH = 100
_MAX_INT_BITS = 4096


def side(role: str) -> Role:
    """The side of the conversation that a role is on: ``user`` or ``assistant``."""
    return "assistant" if role == "assistant" else "user"


def clean_blocks(
    blocks: Iterable[PromptBlock], role: Role | str, strategy: str
) -> list[PromptBlock]:
    """Blocks that may be sent in this role. A block with a mark that is left out is replaced by an
    empty text, from which the mark is moved at the end.
    """
    kept: list[PromptBlock] = []
    for entry in blocks:
        block = _clean_block(entry.block, role, strategy)
        if block is not None:
            # Nearly all blocks are valid, and there may be thousands: those stay the same objects.
            kept.append(entry if block is entry.block else attrs.evolve(entry, block=block))
        elif entry.mark is not None:
            kept.append(attrs.evolve(entry, block=Text("")))
    return kept


def _clean_block(block: Block, role: Role | str, strategy: str) -> Block | None:
    cleaned: Block | None = None
    match block:
        case Text():
            sound = well_formed(block.text)
            text = block if sound is block.text else Text(sound)
            cleaned = text if visible(text) else None
        case Image() if role == "user":
            cleaned = _clean_image(block)
        case Image() if role == "assistant":
            cleaned = Text(f"[picture {well_formed(block.ref)}]".replace(" ]", "]"))
        case ToolUse() if role == "assistant":
            cleaned = ToolUse(block.id, _legal_name(block.name), _clean_object(block.input))
        case ToolUse() if role == "user":
            cleaned = Text(f"(Tool call {_legal_name(block.name)})")
        case ToolResult() if role == "user":
            cleaned = attrs.evolve(block, content=_clean_content(block.content))
        case ToolResult() if role == "assistant":
            cleaned = as_text(block)
        case Reasoning() if role == "assistant" and block.strategy == strategy:
            cleaned = _clean_reasoning(block)
        case _:
            cleaned = None
    return cleaned


def _clean_image(image: Image) -> Block:
    if image.media_type in _MEDIA_TYPES and _BASE64.fullmatch(image.data):
        return image if not image.ref else attrs.evolve(image, ref=well_formed(image.ref))
    name = well_formed(image.ref or image.media_type) or "without data"
    return Text(f"[picture not available: {name}]")


def _clean_content(content: Iterable[Block]) -> tuple[Text | Image, ...]:
    kept: list[Text | Image] = []
    for block in content:
        cleaned = _clean_block(block, "user", "")
        if isinstance(cleaned, Text | Image):
            kept.append(cleaned)
    return tuple(kept) or (Text(NO_OUTPUT),)


def _clean_reasoning(block: Reasoning) -> Reasoning | None:
    data = _clean_object(block.data)
    if kinds := wire_format(block.strategy).thinking:
        fields = kinds.get(str(data.get("type")))
        if fields is None or not all(isinstance(data.get(f), str) for f in fields):
            return None
    return attrs.evolve(block, data=data) if data else None


def as_text(result: ToolResult) -> Text:
    """A result without its call as text, so that its content is not lost."""
    words = (b.text if isinstance(b, Text) else "[picture]" for b in _clean_content(result.content))
    return Text("\n".join((ORPHAN, *words)))


def clean_tool(tool: ToolSpec) -> ToolSpec:
    """A tool's definition as valid JSON."""
    return attrs.evolve(
        tool,
        name=well_formed(tool.name),
        description=well_formed(tool.description),
        input_schema=_clean_object(tool.input_schema),
    )


def _legal_name(name: str) -> str:
    return ILLEGAL.sub("_", name)[:64] or "tool"


def _clean_object(value: Any) -> dict[str, Any]:
    cleaned = _clean_value(value, 0)
    return cleaned if isinstance(cleaned, dict) else {}


def _clean_value(value: Any, depth: int) -> Any:
    """JSON without lone surrogates, NaN, foreign objects, giant numbers or endless nesting."""
    cleaned: Any = value
    match value:
        case None | bool():
            pass
        case int():
            cleaned = value if value.bit_length() <= _MAX_INT_BITS else None
        case float():
            cleaned = value if math.isfinite(value) else None
        case Mapping() | list() | tuple() if depth >= _MAX_DEPTH:
            cleaned = "(nested too deeply)"
        case Mapping():
            cleaned = {well_formed(str(k)): _clean_value(v, depth + 1) for k, v in value.items()}
        case list() | tuple():
            cleaned = [_clean_value(v, depth + 1) for v in value]
        case _:
            cleaned = well_formed(str(value))
    return cleaned
