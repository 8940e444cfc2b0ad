"""Server-sent events from raw bytes, forgiving where one event is damaged.

The official SDKs stop at the first event that is not JSON. Here it is skipped and reported, and the
text behind it is still shown. Bytes are joined before they are decoded, so a character that the
network splits arrives whole.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeAlias

from attrs import frozen

MAX_EVENT_BYTES = 32 * 1024 * 1024


@frozen
class Damaged:
    """An event whose data could not be read."""

    detail: str


Parsed: TypeAlias = tuple[str, dict[str, Any]] | Damaged
"""Event name (empty if the stream names none) and its JSON object."""

DONE = "[DONE]"


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Parsed, None]:
    """Parse a byte stream. OpenAI's closing ``[DONE]`` is given as ``("[DONE]", {})``."""
    buffer = b""
    name = ""
    data: list[bytes] = []
    async for chunk in chunks:
        buffer += chunk
        *lines, buffer = buffer.replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            if not line.strip():
                for parsed in _finish(name, data):
                    yield parsed
                name, data = "", []
            elif line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif line.startswith(b"event:"):
                if data:  # the blank line between two events was lost
                    for parsed in _finish(name, data):
                        yield parsed
                    data = []
                name = line[6:].strip().decode("utf-8", "replace")
        if len(buffer) > MAX_EVENT_BYTES:
            yield Damaged("an event of more than 32 MB")
            buffer = b""
    if data or buffer.startswith(b"data:"):
        if buffer.startswith(b"data:"):
            data.append(buffer[5:].removeprefix(b" "))
        for parsed in _finish(name, data, at_end=True):
            yield parsed


def _finish(name: str, data: list[bytes], *, at_end: bool = False) -> list[Parsed]:
    """The events in the data lines that were collected: one, or several if lines were glued."""
    if not data:
        return []
    whole = _object(b"\n".join(data))
    if whole is not None:
        return [(name, whole)]
    if b"".join(data).strip() == DONE.encode():
        return [(DONE, {})]
    found: list[Parsed] = []
    for line in data:
        value = _object(line)
        if value is not None:
            found.append((name, value))
        elif line.strip() == DONE.encode():
            found.append((DONE, {}))
        elif not at_end:
            found.append(Damaged(line[:80].decode("utf-8", "replace")))
    return found


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
