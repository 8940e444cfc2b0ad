"""Other log files: inspecting them and importing their intact records.

Reading never changes a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from attrs import frozen

from tierline.history.codec import decode
from tierline.history.events import EventKind, LogEvent
from tierline.history.messages import Message
from tierline.store.log import HistoryLog

MAX_RECORDS = 1_000_000
_ORDER = frozenset(
    {
        EventKind.SESSION,
        EventKind.UNDO,
        EventKind.REMOVE,
        EventKind.DROP,
        EventKind.RESTORE,
        EventKind.RENAME,
        EventKind.FORK,
        EventKind.SWITCH,
        EventKind.DELETE,
        EventKind.ARCHIVE,
    }
)
Health: TypeAlias = Literal["ok", "partly", "damaged", "empty"]


@frozen
class LogReport:
    """What a log file holds. ``damaged``: it has lines, but no message; ``partly``: some lines were
    skipped.
    """

    path: Path
    health: Health
    messages: int
    skipped: int
    duplicates: int
    sessions: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem


def inspect(path: Path) -> LogReport:
    """Read a file line by line and count. Memory use is that of its longest line.

    Raises:
        StorageError: it cannot be read at all.
    """
    seen: set[str] = set()
    sessions: dict[str, None] = {}
    skipped = duplicates = 0
    for line in HistoryLog(path).read():
        entry = decode(line.record) if line.record is not None else None
        if entry is None:
            skipped += 1
        elif entry.id in seen:
            duplicates += 1
        else:
            seen.add(entry.id)
            sessions.setdefault(entry.session_id)
    health: Health = "ok" if not skipped else "partly"
    if not seen:
        health = "damaged" if skipped else "empty"
    return LogReport(path, health, len(seen), skipped, duplicates, tuple(sessions))


def entries(path: Path) -> Iterator[Message | LogEvent]:
    """The good records of a file, each id once, in order; at most a million."""
    seen: set[str] = set()
    for line in HistoryLog(path).read():
        entry = decode(line.record) if line.record is not None else None
        if entry is not None and entry.id not in seen:
            seen.add(entry.id)
            yield entry
            if len(seen) == MAX_RECORDS:
                return


def said_only(entry: Message | LogEvent) -> bool:
    """True for messages and the events that order them; false for events with other effects: files
    and pages in the context, edits, notes, settings of the session.
    """
    return isinstance(entry, Message) or entry.kind in _ORDER
