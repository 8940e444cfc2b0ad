"""The model detector's prompt, and a lenient reader of its answer.

The session makes the request. Reading the answer never raises: an unusable one gives the safe
default.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tierline import prompts
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.text import clip
from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary
from tierline.history.messages import Message

MAX_MESSAGES = 50
MAX_CHARACTERS = 1000
ANSWER_TOKENS = 300
"""Most tokens of the answer."""

INSTRUCTIONS = prompts.read("boundary")


def format_messages(
    messages: Sequence[Message], *, max_chars: int = MAX_CHARACTERS, first: int = 0
) -> str:
    """Messages as indexed blocks ``[N] ROLE: content``, each cut at ``max_chars`` characters.
    ``first`` is the number of the first one.
    """
    return "\n\n".join(
        f"[{number}] {message.role.upper()}: {_content(message, max_chars)}"
        for number, message in enumerate(messages, start=first)
    )


def newest(messages: Sequence[Message]) -> tuple[Sequence[Message], int]:
    """The messages that are shown to the model, and the index of the first of them."""
    first = max(0, len(messages) - MAX_MESSAGES)
    return messages[first:], first


def parse(answer: Any, count: int, *, first: int = 0) -> TopicBoundary:
    """Read an answer about ``count`` messages numbered from ``first``.

    Takes clean JSON, JSON in a fence or between words, trailing commas, numbers as strings, and a
    cut-off object, which is searched with regular expressions. Null means no boundary. An index
    outside the messages, or a confidence that is no number, makes the whole answer unusable.
    """
    if not isinstance(answer, str):
        return SAFE_BOUNDARY
    value = _object(answer)
    if value is None:
        value = _fragments(answer)
    if value is None:
        return SAFE_BOUNDARY
    index = _whole(value.get("boundary_index"))
    confidence = _fraction(value.get("confidence", 0.0))
    if index is None or confidence is None or not first <= index < first + count:
        return SAFE_BOUNDARY
    return TopicBoundary(
        index,
        clip(_string(value.get("boundary_reason")), 300),
        confidence,
        clip(_string(value.get("summary")), 2000),
    )


def _content(message: Message, limit: int) -> str:
    parts: list[str] = []
    for block in message.content:
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, ToolUse):
            parts.append(f"(calls {block.name})")
        elif isinstance(block, ToolResult):
            parts += [f"(result) {b.text}" for b in block.content if isinstance(b, Text)]
    text = "\n".join(parts).strip()
    return clip(text, limit) + ("…" if len(text) > limit else "")


_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_TRAILING_COMMA = re.compile(r",\s*([}\]])")
_INDEX = re.compile(r"[\"']?boundary_index[\"']?\s*[:=]\s*[\"']?(-?\d{1,9}|null|none)\b", re.I)
_CONFIDENCE = re.compile(r"[\"']?confidence[\"']?\s*[:=]\s*[\"']?(-?\d{1,9}(?:\.\d{1,9})?)", re.I)
_REASON = re.compile(r"\"boundary_reason\"\s*:\s*\"((?:[^\"\\]|\\.){0,300})\"")
_SCANNED = 20_000


def _object(answer: str) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        whole = json.loads(answer)
        return whole if isinstance(whole, dict) else {}  # a list or a number is unusable
    found = _OBJECT.search(answer[:_SCANNED])
    if found is None:
        return None
    for text in (found[0], _TRAILING_COMMA.sub(r"\1", found[0])):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) and "boundary_index" in value else None
    return None


def _fragments(answer: str) -> dict[str, Any] | None:
    text = answer[:_SCANNED]
    index = _INDEX.search(text)
    if index is None:
        return None
    confidence, reason = _CONFIDENCE.search(text), _REASON.search(text)
    return {
        "boundary_index": None if index[1].lower() in ("null", "none") else index[1],
        "confidence": confidence[1] if confidence else 0.0,
        "boundary_reason": reason[1] if reason else "",
    }


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        value = value.strip()
        return int(value) if re.fullmatch(r"-?\d{1,9}", value, re.ASCII) else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _fraction(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return min(1.0, max(0.0, number)) if math.isfinite(number) else None


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
