"""HistoryStore: sessions on disk, as the rest of the server sees them.

Append, list, search, load; the log is the truth, the index a help, images lie beside it. One store
per workspace root.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
from attrs import define, field, frozen

from tierline import disk
from tierline.context.blocks import Block, Text
from tierline.disk.folder import make
from tierline.folder import FOLDER
from tierline.history import ids
from tierline.history.actions import Action
from tierline.history.branches import Comparison, compare
from tierline.history.codec import encode
from tierline.history.events import EventKind, LogEvent
from tierline.history.messages import HistoryRole, Message, Status
from tierline.history.session_entries import SessionEntries
from tierline.history.timeline import Timeline, timeline
from tierline.store import records
from tierline.store.drafts import Drafts
from tierline.store.errors import StorageError
from tierline.store.images import ImageStore
from tierline.store.index import BULK_BYTES, Index, Progress, SessionSummary
from tierline.store.log import HistoryLog
from tierline.store.readonly_copy import ReadOnlyCopy
from tierline.store.redaction import Redact, redact_event, redact_message
from tierline.store.search import SCAN_BYTES, SearchQuery, SearchResult, search, search_messages

COPIED_BYTES = 64 * 1024 * 1024
"""Bytes; a larger index is not copied by a read-only store."""
TAIL_BYTES = 16 * 1024 * 1024
"""Bytes of the log's end that are read for a list while the index is being built."""
NO_HISTORY = frozenset({"memos.jsonl", "capsules.jsonl"})
"""Other JSONL files of ours in the folder, which are not damaged histories."""


@frozen
class StoreNotice:
    """A notice for the user: a stable code and a sentence."""

    code: str
    text: str


@frozen
class SessionList:
    """Sessions, the last used first. ``partial``: the index is not complete."""

    sessions: tuple[SessionSummary, ...] = ()
    partial: bool = False


@define
class _Known:
    """A session's entries as far as the log has been read."""

    session_id: str
    offset: int
    identity: int = 0
    """Inode of the file that the offset belongs to."""
    strange: int = 0
    """Entries that somebody else has written since it was opened here."""
    kept: SessionEntries = field(factory=SessionEntries)
    timeline: Timeline | None = None

    @property
    def entries(self) -> list[Message | LogEvent]:
        """The entries that the timeline is made of."""
        return self.kept.entries

    def at(self, branch: str) -> Timeline:
        """The present state, of the current branch if none is named."""
        if branch:
            return timeline(self.entries, session_id=self.session_id, branch=branch)
        if self.timeline is None:
            self.timeline = timeline(self.entries, session_id=self.session_id)
        return self.timeline


class HistoryStore:
    """Reads and writes one workspace's history. Thread-safe; several processes may do the same.

    ``redact`` is applied to everything before it is written, and what it returns is what
    :meth:`append` returns, so that a resumed session sends the same bytes as the live one did.
    """

    def __init__(
        self,
        root: Path,
        *,
        redact: Redact | None = None,
        on_notice: Callable[[StoreNotice], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
        randomness: Callable[[int], bytes] = os.urandom,
        log_name: str = "history.jsonl",
        read_only: bool = False,
    ) -> None:
        """``root`` is the workspace's folder; ``clock`` gives seconds since 1970.

        ``read_only``: nothing is written. Writing raises StorageError, and the chat goes on in
        memory; the index catches up with the log in a copy. One that is too large to be copied each
        time is used where it is, and catches up there, as it is derived.
        """
        self.folder = root / FOLDER
        self.log = HistoryLog(self.folder / log_name)
        self.read_only = read_only
        self._unseen = ReadOnlyCopy()
        index = self.folder / "index.sqlite3"
        copied = read_only and not self._too_large(index)
        self.index = Index(self.log, self._unseen.place(index) if copied else index)
        self.images = ImageStore(self.folder / "images")
        self.drafts = Drafts(self.folder, redact)
        self._redact = redact
        self._notice = on_notice
        self._clock = clock
        self._randomness = randomness
        self._lock = threading.RLock()
        self._known: _Known | None = None
        self._session = ""
        self._own: set[str] = set()
        """Ids of what was written here."""
        self._inspected: dict[Path, tuple[tuple[int, ...], records.LogReport]] = {}

    # --- ids and the current session -------------------------------------------------------------

    @property
    def session_id(self) -> str:
        """The current session; made on first use, written with its first message."""
        if not self._session:
            self.new_session()
        return self._session

    def new_session(self) -> str:
        """Begin a session and make it current. Nothing is written until there is a message."""
        with self._lock:
            self._session = ids.session_id(self._now_ms(), self._randomness(3))
            self._known = _Known(self._session, self.log.size())
            return self._session

    def new_id(self) -> str:
        """An id for a message, event or group."""
        return ids.message_id(self._now_ms(), self._randomness(4))

    def timestamp(self) -> str:
        """Now, ISO 8601 UTC with milliseconds."""
        now = datetime.fromtimestamp(self._now_ms() / 1000, UTC)
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def make(
        self,
        role: HistoryRole,
        content: str | tuple[Block, ...],
        *,
        identifier: str = "",
        group_id: str = "",
        status: Status = Status.OK,
        strategy: str = "text",
        **more: Any,
    ) -> Message:
        """A message of the current session and branch, not written yet. Without ``identifier`` it
        gets a new id, without ``group_id`` it begins a group of its own.
        """
        identifier = identifier or self.new_id()
        return Message(
            id=identifier,
            session_id=self.session_id,
            group_id=group_id or identifier,
            timestamp=self.timestamp(),
            role=role,
            content=(Text(content),) if isinstance(content, str) else content,
            branch_id=more.pop("branch_id", None) or self.timeline().branch,
            status=status,
            parsing_strategy=strategy,
            **more,
        )

    # --- writing ---------------------------------------------------------------------------------

    def append(self, message: Message, *, durable: bool = False) -> Message:
        """Write a message and return it as it was written: redacted, its images stored.

        ``durable`` waits until it is on the disk (the user's message before the call, the
        assistant's after it).

        Raises:
            StorageError: it was not written; what was written before is intact.
        """
        return self.append_all([message], durable=durable)[0]

    def append_all(
        self, entries: Iterable[Message | LogEvent], *, durable: bool = False
    ) -> list[Message]:
        """Write several messages (and events) at once: with one ``write``, so all or a prefix of
        them. Returns the messages as they were written.
        """
        stored = [self._prepared(m) for m in entries]
        self._write(stored, durable)
        return [m for m in stored if isinstance(m, Message)]

    def record(self, action: Action, *, session_id: str = "", durable: bool = True) -> LogEvent:
        """Append an action (see :mod:`tierline.history.actions`) as an event."""
        event = self.event(action, session_id=session_id)
        ready = self._prepared(event)
        self._write([ready], durable)
        return ready if isinstance(ready, LogEvent) else event

    def revise(self, make: Callable[[Timeline], Action]) -> LogEvent:
        """Append the action that follows from the state, which no other process can change."""
        # The lock is a file, which a read-only store must not make.
        with contextlib.nullcontext() if self.read_only else self.log.held():
            return self.record(make(self.timeline()))

    def event(self, action: Action, *, session_id: str = "") -> LogEvent:
        """An action as an event of the current session and branch, not written yet."""
        return LogEvent(
            id=self.new_id(),
            session_id=session_id or self.session_id,
            timestamp=self.timestamp(),
            kind=action.kind,
            branch_id=self.timeline().branch if not session_id else "main",
            data=dict(action.data),
        )

    def delete_session(self, session_id: str) -> None:
        """Take a session out of every list and search. The log keeps its records, flagged."""
        self.record(Action(EventKind.DELETE), session_id=session_id)
        if session_id == self._session:
            self.new_session()

    def archive_session(self, session_id: str, *, away: bool = True) -> None:
        """Take a session out of the usual lists and searches, or back in, with its records."""
        self.record(Action(EventKind.ARCHIVE, {"away": away}), session_id=session_id)
        if away and session_id == self._session:
            self.new_session()

    # --- reading ---------------------------------------------------------------------------------

    def timeline(self, session_id: str = "", branch: str = "") -> Timeline:
        """The present state of a session (the current one by default), images restored.

        Records that other processes have added since the last call are in it.
        """
        wanted = session_id or self._session
        if not wanted:
            return Timeline("", "main", (), ())
        with self._lock:
            known = self._known
            if known is not None and known.session_id == wanted:
                self._refresh(known)
                return known.at(branch)
        # The session may be large or the index busy: readers of the current one must not wait for
        # it.
        known = self._load(wanted)
        with self._lock:
            if wanted == self._session and (
                self._known is None or self._known.session_id != wanted
            ):
                self._known = known
        return known.at(branch)

    @property
    def strange(self) -> int:
        """What another process has written to the current session since it was opened here, as far
        as ``timeline`` has found it: so many entries.
        """
        known = self._known
        return known.strange if known is not None else 0

    def compare(self, a: str, b: str) -> Comparison:
        """Two branches of the current session."""
        with self._lock:
            self.timeline()
            entries = self._known.entries if self._known is not None else []
            return compare(entries, a, b, session_id=self._session)

    def load_session(self, session_id: str) -> Timeline:
        """Make a session current: later messages continue it. An unknown id is an empty session."""
        known = self._load(session_id)
        with self._lock:
            self._known, self._session = known, session_id
            return self.timeline()

    def restore_newest(self) -> Timeline | None:
        """Load the session that was used last; None if there is none."""
        if self.index.behind() > BULK_BYTES:
            # The index is missing or far behind. One session can be found and read without it.
            newest = records.newest_session(self.log)
            if newest:
                return self.load_session(newest)
        listed = self.list_sessions(limit=1)
        found = listed[0].session_id if listed else records.begun_session(self.log)
        return self.load_session(found) if found else None

    def iter_messages(self, session_id: str) -> Iterator[Message]:
        """A session's messages in log order, hidden ones too, without images' bytes."""
        seen: set[str] = set()
        for entry in self._stream(session_id):
            if isinstance(entry, Message) and entry.id not in seen:
                seen.add(entry.id)
                yield entry

    def list_sessions(
        self, limit: int | None = None, progress: Progress | None = None, *, archived: bool = False
    ) -> list[SessionSummary]:
        """Sessions, the one used last first. An index that is missing is built first."""
        self.index.catch_up(progress)
        return list(self._listed(limit, "", SCAN_BYTES, archived=archived).sessions)

    def sessions(
        self, limit: int | None = None, containing: str = "", *, archived: bool = False
    ) -> SessionList:
        """Sessions without waiting for an index that is far behind; only those in whose id, title
        or first words ``containing`` is, if it is given. Those in the archive, or all others.
        """
        self.index.catch_up(max_bytes=BULK_BYTES)
        return self._listed(limit, containing, TAIL_BYTES, archived=archived)

    def session(self, session_id: str) -> SessionSummary | None:
        """One session; None if there is none of this id, or it was deleted."""
        if not session_id:
            return None
        with contextlib.suppress(sqlite3.Error):
            behind = self.index.catch_up(max_bytes=BULK_BYTES).behind
            found = self.index.session(session_id)
            if found is not None or not behind:
                return found
        now = self.timeline(session_id)
        return None if now.deleted else records.summary(now)

    def _listed(
        self, limit: int | None, containing: str, most: int, *, archived: bool
    ) -> SessionList:
        """Sessions from the index, and from at most ``most`` unindexed bytes of the log's end."""
        most_found = None if limit is None else max(limit, 0)
        offset, size = self.index.offset(), self.log.size()
        indexed: list[SessionSummary] = []
        with contextlib.suppress(sqlite3.Error):
            indexed = self.index.sessions(most_found, containing, archived=archived)
            if offset >= size:
                return SessionList(tuple(indexed))
        whole = most >= size - offset
        end = records.tail(self.log, max(offset, size - most))
        known = {one.session_id: one for one in indexed}
        with contextlib.suppress(sqlite3.Error):
            for name, away in end.moved.items():  # the index has them unarchived
                if away == archived and name not in known and (one := self.index.session(name)):
                    known[name] = attrs.evolve(one, archived=archived)
        found = {one.session_id: one for one in end.sessions if one.archived == archived}
        for one in known.values():
            newer = found.get(one.session_id)
            if newer is not None:
                found[one.session_id] = records.joined(one, newer)
            elif one.session_id not in end.deleted and (
                end.moved.get(one.session_id, archived) == archived
            ):
                found[one.session_id] = one
        kept = [one for one in found.values() if one.holds(containing)]
        return SessionList(tuple(kept)[:most_found], partial=not whole)

    def search(
        self,
        query: str,
        role: str = "",
        limit: int = 50,
        *,
        session_id: str = "",
        archived: bool = False,
        memory: Iterable[Message] = (),
    ) -> SearchResult:
        """Case-insensitive search; an empty query finds nothing.

        Falls back to ``memory``, the conversation in memory, if the store finds nothing or cannot
        be read.
        """
        wanted = SearchQuery(query, role, session_id, limit, archived)
        try:
            result = search(self.index, wanted)
        except StorageError:
            result = SearchResult(partial=True, source="log")
        if result.hits or not wanted.words:
            return result
        fallback = search_messages(memory, wanted)
        return fallback if fallback.hits else result

    def other_files(self) -> list[records.LogReport]:
        """Log files that were put into the folder, with their health; never changed by reading."""
        try:
            found = [self.folder / name for name in disk.names(self.folder)]
        except OSError:
            return []
        others = (
            p
            for p in found
            if p.suffix == ".jsonl" and p != self.log.path and p.name not in NO_HISTORY
        )
        return [report for path in others if (report := self._inspect(path)) is not None]

    def _inspect(self, path: Path) -> records.LogReport | None:
        """The file's report, read again only if the file has changed: it may be large."""
        found = disk.regular(path)
        if found is None:
            return None
        state = (found.st_ino, found.st_size, found.st_mtime_ns)
        known = self._inspected.get(path)
        if known is None or known[0] != state:
            known = self._inspected[path] = (state, records.inspect(path))
        return known[1]

    def import_file(self, path: Path, *, foreign: bool = False) -> int:
        """Copy the good records of another log into ours, those with known ids left out; the file
        stays as it is. Returns how many were added. Of a ``foreign`` log only what was said is
        taken, and nothing of sessions that are here already: nobody else may change those.
        """
        known: set[str] = set()
        ours: set[str] = set()
        for line in self.log.read():
            if (entry := line.entry) is not None:
                known.add(entry.id)
                ours.add(entry.session_id)
        added = 0
        for entry in records.entries(path):
            if foreign and (entry.session_id in ours or not records.said_only(entry)):
                continue
            if entry.id not in known:
                self._write([self._prepared(entry)], durable=False)
                added += 1
        return added

    def maintain(self, seconds: float = 0.5) -> bool:
        """Do some idle work: catch up, extend the trigram index. True if nothing is left to do.

        The log is never rewritten.
        """
        if self.index.catch_up(max_bytes=BULK_BYTES).behind:
            return False
        return self.index.deepen(seconds, now=time.monotonic)

    def close(self) -> None:
        """Close the index and release the drafts."""
        self.index.close()
        self._unseen.close()
        self.drafts.close()

    # --- the work --------------------------------------------------------------------------------

    def _too_large(self, index: Path) -> bool:
        found = disk.regular(index)
        size = found.st_size if found is not None else self.log.size()
        return size > COPIED_BYTES and os.access(self.folder, os.W_OK)

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def _prepared(self, entry: Message | LogEvent) -> Message | LogEvent:
        if isinstance(entry, LogEvent):
            return entry if self._redact is None else redact_event(entry, self._redact)
        if self._redact is not None:
            entry = redact_message(entry, self._redact)
        return self.images.save_all(entry)

    def _write(self, entries: Iterable[Message | LogEvent], durable: bool) -> None:
        if self.read_only:
            raise StorageError(
                "The conversation was opened to look at it only.", "Nothing was written."
            )
        self._protect_folder()
        if self.log.vanished:
            self._write_again()
        batch = [encode(e) for e in entries]
        self._own.update(str(r["id"]) for r in batch)
        self.log.append(batch, durable=durable)
        with self._lock:
            known = self._known
            if known is not None and any(r["session_id"] == known.session_id for r in batch):
                self._refresh(known)

    def _write_again(self) -> None:
        """The log was deleted: notify the user, and write the current session again from memory."""
        with self._lock:
            known = self._known
            kept = [self._prepared(e) for e in known.entries] if known is not None else []
        # Not under our lock: a thread that holds the log's lock may be waiting for it.
        self.log.append([encode(e) for e in kept])
        with self._lock:
            if known is not None:
                known.offset, known.kept, known.timeline = 0, SessionEntries(), None
                known.identity = 0
                self._refresh(known)
        self._notice(
            StoreNotice(
                "history_recreated",
                "The history file was deleted while Tierline was running. A new one was started; "
                "it holds the current conversation.",
            )
        )

    def _protect_folder(self) -> None:
        """Keep the folder out of version control by its own ``.gitignore``."""
        ignore = self.folder / ".gitignore"
        with contextlib.suppress(OSError):
            if not os.path.lexists(ignore):
                make(self.folder)
                disk.create(ignore, b"*\n")

    def _load(self, session_id: str) -> _Known:
        known = _Known(session_id, 0)
        if self.index.behind() <= BULK_BYTES:
            self.index.catch_up()
            with contextlib.suppress(sqlite3.Error):
                offset = self.index.offset()
                for start, end in self.index.places(session_id):
                    self._read_into(known, start, end)
                known.offset = offset
        self._refresh(known)
        known.strange = 0
        return known

    def _refresh(self, known: _Known) -> None:
        """Read what was appended to the log. If the log was deleted, the state in memory stays."""
        state = self.log.state()
        if state is None:
            return
        size, identity = state
        if size < known.offset or (known.identity and identity != known.identity):
            # It was replaced or edited.
            known.offset, known.kept, known.timeline = 0, SessionEntries(), None
        known.identity = identity
        if size > known.offset:
            known.offset = self._read_into(known, known.offset, None)

    def _read_into(self, known: _Known, start: int, end: int | None) -> int:
        offset = start
        for line in self.log.read(start, end, containing=records.needle(known.session_id)):
            if not line.complete:
                break
            offset = line.end
            if line.record is None or line.record.get("session_id") != known.session_id:
                continue
            entry = line.entry
            if entry is not None:
                known.strange += entry.id not in self._own
                known.kept.add(
                    self.images.restore_all(entry) if isinstance(entry, Message) else entry
                )
                known.timeline = None
        return offset

    def _stream(self, session_id: str) -> Iterator[Message | LogEvent]:
        places: Iterable[tuple[int, int | None]] = [(0, None)]
        if self.index.behind() <= BULK_BYTES and not self.index.catch_up().behind:
            with contextlib.suppress(sqlite3.Error):
                places = self.index.places(session_id)
        wanted = records.needle(session_id)
        for start, end in places:
            for line in self.log.read(start, end, containing=wanted):
                entry = line.entry
                if entry is not None and entry.session_id == session_id:
                    yield entry
