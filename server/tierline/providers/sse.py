"""Server-sent events from raw bytes, forgiving where one event is damaged.

The official SDKs stop at the first event that is not JSON. Here it is skipped and reported, and the
text behind it is still shown. Bytes are joined before they are decoded, so a character that the
network splits arrives whole.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeAlias

from attrs import define, field, frozen

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
    lines = _Lines()
    name = ""
    data: list[bytes] = []
    size = 0
    async for chunk in chunks:
        for line in lines.feed(chunk):
            if not line.strip():
                for parsed in _finish(name, data):
                    yield parsed
                name, data, size = "", [], 0
            elif line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
                size += len(line)
            elif line.startswith(b"event:"):
                if data:  # the blank line between two events was lost
                    for parsed in _finish(name, data):
                        yield parsed
                    data, size = [], 0
                name = line[6:].strip().decode("utf-8", "replace")
        if size + lines.size > MAX_EVENT_BYTES:
            yield Damaged(f"an event of more than {MAX_EVENT_BYTES:,} bytes")
            lines.drop()
            data, size = [], 0
    rest = lines.rest()
    if data or rest.startswith(b"data:"):
        if rest.startswith(b"data:"):
            data.append(rest[5:].removeprefix(b" "))
        for parsed in _finish(name, data, at_end=True):
            yield parsed


@define
class _Lines:
    """Cuts chunks into lines. A long line is joined once, not at each chunk of it."""

    size: int = 0
    """Bytes of the line that has not ended."""
    _parts: list[bytes] = field(factory=list)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in a chunk, without their ends."""
        if b"\n" not in chunk:
            self._parts.append(chunk)
            self.size += len(chunk)
            return []
        *lines, rest = (self.rest() + chunk).split(b"\n")
        self._parts, self.size = [rest], len(rest)
        return [line.removesuffix(b"\r") for line in lines]

    def rest(self) -> bytes:
        """The line that has not ended."""
        return b"".join(self._parts)

    def drop(self) -> None:
        """Forget the line that has not ended."""
        self._parts, self.size = [], 0


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
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
