"""The text, thinking and calls of a message or a delta, in any of the shapes that servers send.

The format has a string in ``content``. Mistral sends a list of parts, of which some are thinking;
others send one object, or nest texts in further lists. Thinking has several names of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from tierline.providers.values import first, mapping, string

ContentPiece: TypeAlias = tuple[Literal["text", "thinking"], str]

_TEXTS = ("text", "content", "value", "refusal", "output_text", "summary")
_THINKING = (
    "reasoning_content",
    "reasoning",
    "thinking",
    "thinking_content",
    "reasoning_text",
    "thought",
)
_DEEPEST = 6


def text_pieces(place: Mapping[str, Any]) -> Iterator[ContentPiece]:
    """Thinking and text of a message, a delta or another object, in that order."""
    for name in _THINKING:
        # The same thinking under two names counts once.
        if found := _flat(place.get(name)):
            yield ("thinking", found)
            break
    else:
        if found := _flat(place.get("reasoning_details")):
            yield ("thinking", found)
    yield from parts(place.get("content"))
    if found := _flat(place.get("refusal")):
        yield ("text", found)


def parts(content: object, depth: int = 0) -> Iterator[ContentPiece]:
    """The parts of a ``content``, in order."""
    if isinstance(content, str):
        if content:
            yield ("text", content)
    elif isinstance(content, list) and depth < _DEEPEST:
        for part in content:
            yield from parts(part, depth + 1)
    elif isinstance(content, Mapping):
        kind = string(content.get("type")).lower()
        if "think" in kind or "reason" in kind:
            if found := _flat(first(content, *_THINKING, *_TEXTS)):
                yield ("thinking", found)
        elif depth < _DEEPEST:
            thinking = first(content, *_THINKING)
            if thinking is not None and (found := _flat(thinking)):
                yield ("thinking", found)
            yield from parts(first(content, *_TEXTS), depth + 1)


def call_parts(place: Mapping[str, Any]) -> list[Any]:
    """Tool calls among the parts of a ``content``."""
    content = place.get("content")
    found = content if isinstance(content, list) else [content]
    return [part for part in found if mapping(part).get("type") in ("tool_use", "tool_call")]


def _flat(value: object) -> str:
    """All text in a value: strings, parts, and lists of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_flat(part) for part in value[:10_000])
    if isinstance(value, Mapping):
        return _flat(first(value, *_TEXTS, *_THINKING))
    return ""
