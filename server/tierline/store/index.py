"""The index over the history log: derived, incremental, and never the truth.

It remembers up to which byte of the log it has come. Every question is answered after catching up
from there, so a record is found no matter which process wrote it. An index that
is missing, damaged, of another version or of another log is built anew; a locked one is caught up
later, and callers read the rest of the log themselves.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
from attrs import field, frozen

from tierline import disk
from tierline.disk import sqlite
from tierline.store import schema, vocabulary
from tierline.store.indexing import BATCH_BYTES, IndexBatch, LogBatch, read_batch
from tierline.store.log import HistoryLog

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in total) while the index catches up."""

BULK_BYTES = 24 * 1024 * 1024
"""Bytes of the log in one transaction when much of it is not indexed yet."""
_SUMMARY = (
    "SELECT session_id, updated, message_count, preview, first_role, title, started, archived"
    " FROM session"
)
_FINGERPRINT = 2048
_MAX_PIECES = 1000
"""Each transaction adds one; FTS5 could not open more than 2,000."""


@frozen
class SessionSummary:
    """One session in a list. Times are ISO 8601 UTC."""

    session_id: str
    timestamp: str
    """Time of its newest message."""
    message_count: int
    preview: str
    """About the first 100 characters of its first message."""
    first_role: str
    title: str = ""
    started: str = ""
    archived: bool = field(default=False, converter=bool)

    def holds(self, words: str) -> bool:
        """Whether each word is in its id, title or preview, regardless of case."""
        wanted = words.casefold()
        return not wanted or wanted in f"{self.session_id} {self.title} {self.preview}".casefold()


@frozen
class CatchUpResult:
    """The result of catching up. ``behind``: bytes of the log that are not in the index yet."""

    records: int = 0
    skipped: int = 0
    rebuilt: bool = False
    behind: int = 0
    read: int = 0
    """Bytes of the log that were read."""


class Index:
    """The SQLite index beside a log. One instance per process and log; safe to use from threads."""

    def __init__(self, log: HistoryLog, path: Path, *, busy_ms: int = 200) -> None:
        self.log = log
        self.path = path
        self._busy_ms = busy_ms
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._catching = threading.Lock()
        self._reader: ThreadPoolExecutor | None = None
        self._ahead: Future[LogBatch] | None = None

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The open database, made anew if its file has vanished or is no database.

        Raises:
            sqlite3.Error: it is locked, or the folder cannot be written.
        """
        with self._lock:
            if self._connection is not None and disk.regular(self.path) is None:
                self.close()
            if self._connection is None:
                self._connection = self._open()
            try:
                yield self._connection
            except sqlite3.DatabaseError as error:
                if _is_damage(error):
                    self._discard()
                raise

    def close(self) -> None:
        """Close the database; it is opened again when it is needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._reader is not None:
                self._reader.shutdown(wait=False, cancel_futures=True)
                self._reader = None

    def catch_up(
        self, progress: Progress | None = None, *, max_bytes: int | None = None
    ) -> CatchUpResult:
        """Index what the log has gained, at most about ``max_bytes`` of it.

        Never raises: ``behind`` is what remains if the database is locked or another thread is
        catching up. Other threads can ask the index between two batches.
        """
        if self.nothing:
            return CatchUpResult()
        if not self._catching.acquire(blocking=False):
            return CatchUpResult(behind=self.behind())
        done = CatchUpResult()
        damaged = False
        try:
            while max_bytes is None or done.read < max_bytes:
                try:
                    with self.connection() as db:
                        step = self._step(db, progress)
                except sqlite3.Error as error:
                    if damaged or not _is_damage(error):
                        return attrs.evolve(done, behind=self.behind() or 1)
                    damaged = True  # the file has been discarded: once more, from the beginning
                    continue
                if step is None:
                    return done
                done = CatchUpResult(
                    done.records + step.records,
                    done.skipped + step.skipped,
                    done.rebuilt or step.rebuilt or damaged,
                    0,
                    done.read + step.read,
                )
            return attrs.evolve(done, behind=self.behind())
        finally:
            if done.read:
                self._let_go()
            self._catching.release()

    def _let_go(self) -> None:
        """Free the page cache that catching up has filled, up to 16 MB that is rarely needed."""
        with contextlib.suppress(sqlite3.Error), self.connection() as db:
            db.execute("PRAGMA shrink_memory")

    @property
    def nothing(self) -> bool:
        """True if there is neither a log nor an index, so that reading need not create one."""
        return disk.regular(self.path) is None and not self.log.size()

    def behind(self) -> int:
        """How many bytes of the log the index has not read."""
        return max(self.log.size() - self.offset(), 0)

    def rebuild(self, progress: Progress | None = None) -> CatchUpResult:
        """Build the index anew from the log."""
        with self._lock:
            self._discard()
        return self.catch_up(progress)

    def deepen(self, seconds: float = 0.5, *, now: Callable[[], float]) -> bool:
        """Merge the word index and extend the vocabulary, by which parts of words are found, for
        about ``seconds``.

        For idle moments; without it searches are complete but slower. Returns True if nothing is
        left to do. ``now`` is a monotonic clock.
        """
        deadline = now() + seconds
        try:
            with self.connection() as db:
                merged = _merge_words(db, lambda: now() > deadline)
                return vocabulary.extend(db, lambda: now() > deadline) and merged
        except sqlite3.Error:
            return False

    def offset(self) -> int:
        """Up to which byte of the log the index has come; 0 if it cannot be asked."""
        if disk.regular(self.path) is None:
            return 0
        try:
            with self.connection() as db:
                return int(_meta(db, "offset", 0))
        except sqlite3.Error:
            return 0

    def sessions(
        self, limit: int | None = None, containing: str = "", *, archived: bool = False
    ) -> list[SessionSummary]:
        """Sessions with visible messages, the one used last first; only those in whose id, title or
        first words ``containing`` is, if it is given. Those in the archive, or all others.
        """
        if self.nothing:
            return []
        found: list[SessionSummary] = []
        with self.connection() as db:
            rows = db.execute(
                f"{_SUMMARY} WHERE deleted = 0 AND archived = ? AND message_count > 0"
                " AND (? = '' OR instr(lower(session_id || ' ' || title || ' ' || preview), ?))"
                " ORDER BY last_seq DESC",
                # SQLite knows no letters but ASCII's; the others are compared below.
                (int(archived), *2 * (containing.lower() if containing.isascii() else "",)),
            )
            for row in rows:
                if limit is not None and len(found) >= limit:
                    break
                one = SessionSummary(*row)
                if one.holds(containing):
                    found.append(one)
        return found

    def session(self, session_id: str) -> SessionSummary | None:
        """One session with visible messages; None if there is none of this id."""
        if self.nothing:
            return None
        with self.connection() as db:
            row = db.execute(
                f"{_SUMMARY} WHERE session_id = ? AND deleted = 0 AND message_count > 0",
                (session_id,),
            ).fetchone()
        return None if row is None else SessionSummary(*row)

    def events(self, kind: str, session_id: str, limit: int) -> list[tuple[str, dict[str, Any]]]:
        """Events of one kind as (session id, data), newest first; of all sessions that are not
        deleted if ``session_id`` is empty.
        """
        self.catch_up()
        if self.nothing:
            return []
        with self.connection() as db:
            rows = db.execute(
                "SELECT e.session_id, e.data FROM event e"
                " LEFT JOIN session s ON s.session_id = e.session_id"
                " WHERE e.kind = ? AND (? = '' OR e.session_id = ?) AND coalesce(s.deleted, 0) = 0"
                " ORDER BY e.seq DESC LIMIT ?",
                (kind, session_id, session_id, max(limit, 0) or -1),
            ).fetchall()
        found = ((name, json.loads(data)) for name, data in rows)
        return [(name, data) for name, data in found if isinstance(data, dict)]

    def places(self, session_id: str) -> list[tuple[int, int]]:
        """Byte ranges of a session's records in the log, in order; neighbours are joined."""
        if self.nothing:
            return []
        with self.connection() as db:
            rows = db.execute(
                'SELECT start, "end" FROM entry WHERE session_id = ? ORDER BY seq', (session_id,)
            ).fetchall()
        joined: list[tuple[int, int]] = []
        for start, end in rows:
            if joined and joined[-1][1] == start:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        return joined

    # --- the work --------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        try:
            return schema.connect(self.path, busy_ms=self._busy_ms)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
        self._discard()
        return schema.connect(self.path, busy_ms=self._busy_ms)

    def _discard(self) -> None:
        """Delete the file: it is derived, and what is damaged cannot be repaired better."""
        self.close()
        sqlite.remove(self.path)

    def _step(self, db: sqlite3.Connection, progress: Progress | None) -> CatchUpResult | None:
        """Index a few batches in one transaction; None if there is nothing more to read."""
        with sqlite.transaction(db):
            start = int(_meta(db, "offset", 0))
            rebuilt = bool(start) and not self._same_log(db, start)
            if rebuilt:
                schema.recreate(db)
                start = 0
            if self.log.size() - start > BULK_BYTES:
                # Merging the pieces of the word index waits until everything is in.
                _configure_words(db, automerge=0, crisismerge=_MAX_PIECES)
                _set_meta(db, "merge", 1)
            batch, end, skipped = IndexBatch(db), start, 0
            while end - start < BULK_BYTES:
                read = self._next_batch(end)
                if read.end == end:
                    break
                end, skipped = read.end, skipped + read.skipped
                batch.add_all(read.entries)
                more = read.end - read.start >= BATCH_BYTES
                del read  # what is read ahead should not lie beside what has been written
                if more:
                    # Read and parse it while SQLite works on the words.
                    self._ahead = self._thread().submit(read_batch, self.log, end)
                batch.write_words()
                if progress is not None:
                    progress(end, max(self.log.size(), end))
            if end > start:
                batch.finish()
                _set_meta(db, "offset", end)
                _set_meta(db, "fingerprint", self._fingerprint(end))
        if end == start:
            return CatchUpResult(rebuilt=True) if rebuilt else None
        return CatchUpResult(batch.added, skipped, rebuilt, 0, end - start)

    def _thread(self) -> ThreadPoolExecutor:
        if self._reader is None:
            self._reader = ThreadPoolExecutor(1, thread_name_prefix="tierline-index")
        return self._reader

    def _next_batch(self, offset: int) -> LogBatch:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            read = ahead.result()
            # An empty one says only that there was nothing yet when it was read.
            if read.start == offset and read.end > offset:
                return read
        return read_batch(self.log, offset)

    def _same_log(self, db: sqlite3.Connection, offset: int) -> bool:
        if self.log.size() < offset:
            return False
        return bool(_meta(db, "fingerprint", "") == self._fingerprint(offset))

    def _fingerprint(self, offset: int) -> str:
        """Hash of the log's first bytes and of those before ``offset``: changes if the file was
        replaced or edited by something other than an append.
        """
        digest = hashlib.sha256()
        try:
            with disk.open_read(self.log.path) as stream:
                digest.update(stream.read(min(_FINGERPRINT, offset)))
                stream.seek(max(offset - _FINGERPRINT, 0))
                digest.update(stream.read(min(_FINGERPRINT, offset)))
        except OSError:
            return ""
        return digest.hexdigest()


def _configure_words(db: sqlite3.Connection, *, automerge: int, crisismerge: int) -> None:
    """How many pieces of one size the word index may have before a write merges some of them, and
    before it must merge all of them, which takes a tenth of the time of a large rebuild.
    """
    for name, value in (("automerge", automerge), ("crisismerge", crisismerge)):
        db.execute("INSERT INTO words (words, rank) VALUES (?, ?)", (name, value))


def _merge_words(db: sqlite3.Connection, until: Callable[[], bool]) -> bool:
    """Do the merging that a big catch-up has put off; True if nothing is left of it."""
    if not _meta(db, "merge", 0):
        return True
    while not until():
        with sqlite.transaction(db):
            before = db.total_changes
            db.execute("INSERT INTO words (words, rank) VALUES ('merge', 300)")
            if db.total_changes - before < 2:  # FTS5's way to say that there was nothing to do
                _configure_words(db, automerge=4, crisismerge=16)  # FTS5's own
                _set_meta(db, "merge", 0)
                return True
    return False


def _meta(db: sqlite3.Connection, key: str, default: Any) -> Any:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else row[0]


def _set_meta(db: sqlite3.Connection, key: str, value: Any) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _is_damage(error: sqlite3.Error) -> bool:
    """True for a file that is no database or has lost a part of itself, as opposed to a lock."""
    words = str(error).lower()
    return any(w in words for w in ("malformed", "not a database", "no such table", "corrupt"))
