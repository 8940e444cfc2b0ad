"""Sessions and their files as read from the log itself, where there is no index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import attrs
from attrs import frozen

from tierline.context.blocks import Text
from tierline.context.text import well_formed
from tierline.history.events import ORDERING, EventKind, LogEvent
from tierline.history.messages import Message
from tierline.history.parser import full_text
from tierline.history.timeline import Timeline, timeline
from tierline.store.index import SessionSummary
from tierline.store.indexing import preview
from tierline.store.log import HistoryLog

_TAIL_BYTES = 16 * 1024 * 1024


@frozen
class LogTail:
    """What was read from the end of the log."""

    sessions: tuple[SessionSummary, ...]
    """The one used last first. Counts are of what was read."""
    deleted: frozenset[str]
    moved: Mapping[str, bool]
    """Sessions that were archived or unarchived there, and whether they are in the archive now."""


def tail(log: HistoryLog, start: int) -> LogTail:
    """Sessions by reading the log from a byte on."""
    entries: dict[str, list[Message | LogEvent]] = {}
    last: dict[str, int] = {}
    for line in log.read(start):
        entry = line.entry
        if entry is None:
            continue
        known = entries.setdefault(entry.session_id, [])
        if isinstance(entry, Message):
            known.append(_light(entry, first=not known))
        else:
            known.append(entry)
        last[entry.session_id] = line.start
    found: list[SessionSummary] = []
    deleted = set()
    moved: dict[str, bool] = {}
    for session in sorted(last, key=lambda s: -last[s]):
        now_of = entries[session]
        now = timeline(now_of, session_id=session)
        if now.messages or any(getattr(e, "kind", "") == EventKind.ARCHIVE for e in now_of):
            moved[session] = now.archived
        if now.deleted:
            deleted.add(session)
        elif (one := summary(now)) is not None:
            found.append(one)
    return LogTail(tuple(found), frozenset(deleted), moved)


def summary(now: Timeline) -> SessionSummary | None:
    """A session in a list; None if nothing of it is visible."""
    shown = now.visible()
    if not shown:
        return None
    return SessionSummary(
        now.session_id,
        shown[-1].timestamp,
        len(shown),
        preview(well_formed(full_text(shown[0].content))),
        shown[0].role,
        now.title,
        shown[0].timestamp,
        now.archived,
    )


def joined(before: SessionSummary, after: SessionSummary) -> SessionSummary:
    """A session of which ``before`` is in the index and ``after`` was read from the log."""
    return attrs.evolve(
        before,
        timestamp=after.timestamp,
        message_count=before.message_count + after.message_count,
        title=after.title or before.title,
        archived=after.archived,
    )


def needle(session_id: str) -> bytes:
    """Bytes in every record of the session; empty if JSON can spell its id in two ways."""
    escaped = set(session_id) & {'"', "\\", "/"} or not session_id.isprintable()
    return session_id.encode("ascii") if session_id.isascii() and not escaped else b""


def newest_session(log: HistoryLog) -> str:
    """The session of the last message in the log that was neither deleted nor archived; empty if it
    is not near the end.
    """
    start = max(log.size() - _TAIL_BYTES, 0)
    last, deleted = "", set()
    for line in log.read(start):
        entry = line.entry
        if isinstance(entry, Message):
            last = entry.session_id
            deleted.discard(last)
        elif entry is not None and _leaves(entry):
            deleted.add(entry.session_id)
    return "" if last in deleted else last


def begun_session(log: HistoryLog) -> str:
    """The session of the last record in a log in which nothing has been said yet: files or pages
    were chosen before the first prompt. Empty if there is none, or it was deleted.
    """
    last = ""
    for line in log.read(max(log.size() - _TAIL_BYTES, 0)):
        entry = line.entry
        if entry is not None:
            left = not isinstance(entry, Message) and _leaves(entry)
            last = "" if left else entry.session_id
    return last


def _leaves(event: LogEvent) -> bool:
    """True if the event takes its session out of the usual lists."""
    away = event.kind == EventKind.ARCHIVE and event.data.get("away") is not False
    return away or event.kind == EventKind.DELETE


def _light(message: Message, *, first: bool) -> Message:
    """The message without its text unless it is the first: a large log would fill the memory."""
    text = full_text(message.content)[:400]
    return attrs.evolve(message, content=(Text(text),) if first or len(text) < 400 else ())


MAX_RECORDS = 1_000_000
Health: TypeAlias = Literal["ok", "partly", "damaged", "empty"]


@frozen
class LogReport:
    """What a log file holds. ``damaged``: lines but no message; ``partly``: some were skipped."""

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
        if (entry := line.entry) is None:
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
        entry = line.entry
        if entry is not None and entry.id not in seen:
            seen.add(entry.id)
            yield entry
            if len(seen) == MAX_RECORDS:
                return


def said_only(entry: Message | LogEvent) -> bool:
    """True for messages and the events that order them; false for events with other effects: files
    and pages in the context, edits, notes, settings of the session.
    """
    return isinstance(entry, Message) or entry.kind in ORDERING
