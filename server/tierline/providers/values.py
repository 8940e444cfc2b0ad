"""Reading JSON values that some servers send in another type than the format requires."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def rows(value: object) -> list[Any]:
    """The value if it is a list; a single object as a list of one; else an empty list."""
    if isinstance(value, Mapping):
        return [value]
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def figure(value: object) -> int | None:
    """A count of at least 0, also written as text or with a fraction; None for anything else."""
    found = _number(value, 10**12)
    return None if found is None else int(found)


def amount(value: object) -> float | None:
    """An amount of money of at least 0, also written as text; None for anything else."""
    found = _number(value, 10**6)
    return None if found is None else float(found)


def first(place: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that has a value; None if none has."""
    return next((found for name in names if (found := place.get(name)) not in (None, "")), None)


def _number(value: object, below: int) -> int | float | None:
    """A number from 0 to less than ``below``, also written as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return value if isinstance(value, int | float) and 0 <= value < below else None


ContentPiece: TypeAlias = tuple[Literal["text", "thinking"], str]

_TEXTS = ("text", "content", "value", "refusal", "output_text", "summary")
_THINKING = ("reasoning_content", "reasoning", "thinking", "thinking_content", "reasoning_text",
             "thought")  # fmt: skip
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
