"""Server-sent events from raw bytes, tolerant of damaged events.

The official SDKs stop at the first event that is not JSON. Here it is skipped and reported, and the
text after it is still shown. Bytes are joined before they are decoded, so a character that the
network splits arrives whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeAlias

from attrs import define, field, frozen

MAX_EVENT_BYTES = 32 * 1024 * 1024


@frozen
class DamagedEvent:
    """An event whose data could not be read."""

    detail: str


ParsedEvent: TypeAlias = tuple[str, dict[str, Any]] | DamagedEvent
"""Event name (empty if the stream names none) and its JSON object."""

DONE = "[DONE]"
_FIELD = re.compile(rb"\s*(data|event)\s*:(?:\s*data\s*:)*", re.IGNORECASE)
"""A gateway in front of another may repeat ``data:``."""
_BETWEEN = re.compile(r"\s*(?:data\s*:\s*)?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[\s,]*")
"""Text between the objects of an array."""
_DECODER = json.JSONDecoder(strict=False)
_MARK = b"\xef\xbb\xbf"


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[ParsedEvent, None]:
    """Parse a byte stream. OpenAI's closing ``[DONE]`` is yielded as ``("[DONE]", {})``.

    A body without any event, but with JSON objects (one, one a line, or an array of them), yields
    those objects: some servers answer like that although a stream was requested.
    """
    lines = _Lines()
    event = _Event()
    async for chunk in chunks:
        for line in lines.feed(chunk):
            for parsed in event.line(line):
                yield parsed
        if event.size + lines.size > MAX_EVENT_BYTES:
            yield DamagedEvent(f"an event of more than {MAX_EVENT_BYTES:,} bytes")
            lines.drop()
            event = _Event()
    for parsed in (*event.line(lines.rest()), *event.close()):
        yield parsed


@define
class _Event:
    """The event whose lines are being read."""

    name: str = ""
    size: int = 0
    _data: list[bytes] = field(factory=list)
    _bare: list[bytes] = field(factory=list)
    """Lines of JSON outside of any event."""

    def line(self, line: bytes) -> list[ParsedEvent]:
        """Add a line; yields the events that it completes."""
        plain = line.strip()
        if not plain:
            found = self._ended()
            self.name = ""
            return found
        if match := _FIELD.match(line):
            value = line[match.end() :]
            if match[1].lower() == b"data":
                self._data.append(value.removeprefix(b" "))
                self.size += len(line)
                return []
            found = self._ended()  # the blank line between two events was lost
            self.name = value.strip().decode("utf-8", "replace")
            return found
        if self._bare or plain.startswith((b"{", b"[")):
            return self._json(plain)
        return []

    def close(self) -> list[ParsedEvent]:
        """End the stream; yields the events that were not ended."""
        bare, self._bare = b"\n".join(self._bare), []
        found = self._ended(at_end=True)
        return [*found, *(("", value) for value in _objects(bare))]

    def _ended(self, *, at_end: bool = False) -> list[ParsedEvent]:
        data, self._data, self.size = self._data, [], sum(map(len, self._bare))
        return _finish(self.name, data, at_end=at_end)

    def _json(self, line: bytes) -> list[ParsedEvent]:
        if not self._bare and (value := _object(line)) is not None:
            return [("", value)]
        self._bare.append(line)
        self.size += len(line)
        return []


@define
class _Lines:
    """Cuts chunks into lines. A long line is joined once, not with each chunk."""

    size: int = 0
    """Bytes of the line that has not ended."""
    _parts: list[bytes] = field(factory=list)

    _after_return: bool = False
    """After a carriage return, which a line feed may follow as part of the same line ending."""
    _began: bool = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in a chunk, without their endings (three are allowed)."""
        if not self._began:
            chunk = self._begin(chunk)
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        elif chunk:
            self._after_return = False
        if b"\n" not in chunk:
            self._parts.append(chunk)
            self.size += len(chunk)
            return []
        *lines, rest = (self.rest() + chunk).split(b"\n")
        self._parts, self.size = [rest], len(rest)
        return lines

    def rest(self) -> bytes:
        """The line that has not ended."""
        return b"".join(self._parts)

    def _begin(self, chunk: bytes) -> bytes:
        """Remove the byte order mark that a stream may begin with; it may come in pieces."""
        chunk = self.rest() + chunk
        self._parts, self.size = [], 0
        self._began = not _MARK.startswith(chunk)
        return chunk.removeprefix(_MARK)

    def drop(self) -> None:
        """Forget the line that has not ended."""
        self._parts, self.size = [], 0


def _finish(name: str, data: list[bytes], *, at_end: bool = False) -> list[ParsedEvent]:
    """The events in the data lines that were collected: one, or several if lines were glued."""
    if not data:
        return []
    if whole := _objects(b"\n".join(data)):
        return [(name, value) for value in whole]
    if _is_done(b"".join(data)):
        return [(DONE, {})]
    if name == "error" and not at_end:
        return [(name, {"error": b"\n".join(data).decode("utf-8", "replace")})]
    found: list[ParsedEvent] = []
    for line in data:
        value = _object(line)
        if value is not None:
            found.append((name, value))
        elif _is_done(line):
            found.append((DONE, {}))
        elif glued := _glued(line):
            found += [(DONE, {}) if part == DONE else (name, part) for part in glued]
        elif not at_end:
            found.append(DamagedEvent(line[:80].decode("utf-8", "replace")))
    return found


def _is_done(data: bytes) -> bool:
    return data.strip().strip(b'"').upper() == DONE.encode()


def _objects(data: bytes) -> list[dict[str, Any]]:
    """The object, or the objects of an array: some servers send a stream's chunks as one. An array
    that was cut off gives those that came.
    """
    if not data.lstrip().startswith(b"["):
        value = _object(data)
        return [value] if value is not None else []
    text = data.decode("utf-8", "replace")
    start = _SEPARATOR.match(text, text.index("[") + 1)
    found, _, pure = _row(text, start.end() if start else 0, _SEPARATOR)
    return found if pure else []


def _glued(line: bytes) -> list[Any]:
    """The objects of events that a lost line ending put on one line; empty for other text."""
    text = line.decode("utf-8", "replace").strip()
    found, place, _ = _row(text, 0, _BETWEEN)
    if place < len(text) and not _is_done(text[place:].encode()):
        return []
    return [*found, DONE] if place < len(text) else list(found)


def _row(text: str, place: int, between: re.Pattern[str]) -> tuple[list[dict[str, Any]], int, bool]:
    """Consecutive objects, where they end, and whether the text held nothing else."""
    found: list[dict[str, Any]] = []
    while True:
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            return found, place, True
        if not isinstance(value, dict):
            return found, place, False
        found.append(value)
        gap = between.match(text, end)
        place = gap.end() if gap else end


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
