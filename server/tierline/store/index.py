"""The index over the history log: derived, incremental, and never the truth.

It remembers up to which byte of the log it has come. Every question is answered after catching up
from there (bug case BR-161), so a record is found no matter which process wrote it. An index that
is missing, damaged, of another version or of another log is built anew; one that is locked is left
for later, and callers get what is in the log behind it by other means (BR-157).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
from attrs import define, frozen

from tierline.context.text import well_formed
from tierline.history.codec import decode
from tierline.history.events import Event, EventKind
from tierline.history.groups import is_prompt
from tierline.history.messages import Message, Status
from tierline.history.parser import full_text
from tierline.history.timeline import timeline
from tierline.store import schema
from tierline.store.log import HistoryLog, Line
from tierline.store.words import index_text

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in total) while the index catches up."""

BATCH_BYTES = 4 * 1024 * 1024
PREVIEW_CHARACTERS = 100
_FINGERPRINT = 2048


@frozen
class SessionSummary:
    """One session in a list (seed 004, "Session Summary"). Times are ISO 8601 UTC."""

    session_id: str
    timestamp: str
    """Of its newest message."""
    message_count: int
    preview: str
    """About the first 100 characters of its first message."""
    first_role: str
    title: str = ""
    started: str = ""


@frozen
class CatchUp:
    """What catching up did. ``behind``: bytes of the log that are not in the index yet."""

    records: int = 0
    skipped: int = 0
    rebuilt: bool = False
    behind: int = 0
    read: int = 0
    """Bytes of the log that were read."""


@define
class _Touched:
    """A session's row while a batch is being applied."""

    row: dict[str, Any]
    refold: bool = False


class Index:
    """The SQLite index beside a log. One instance per process and log; safe to use from threads."""

    def __init__(self, log: HistoryLog, path: Path, *, busy_ms: int = 200) -> None:
        self.log = log
        self.path = path
        self._busy_ms = busy_ms
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._catching = threading.Lock()

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The open database, made anew if its file has vanished or is no database.

        Raises:
            sqlite3.Error: it is locked, or the folder cannot be written.
        """
        with self._lock:
            if self._connection is not None and not self.path.exists():
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

    def catch_up(
        self, progress: Progress | None = None, *, max_bytes: int | None = None
    ) -> CatchUp:
        """Index what the log has gained, at most about ``max_bytes`` of it.

        Never raises: what could not be done, because the database is locked or another thread is
        at it, is ``behind``. Other threads can ask the index between two batches.
        """
        if not self._catching.acquire(blocking=False):
            return CatchUp(behind=self.behind())
        done = CatchUp()
        damaged = False
        try:
            while max_bytes is None or done.read < max_bytes:
                try:
                    with self.connection() as db:
                        step = self._step(db)
                except sqlite3.Error as error:
                    if damaged or not _is_damage(error):
                        return attrs.evolve(done, behind=self.behind() or 1)
                    damaged = True  # the file has been discarded: once more, from the beginning
                    continue
                if step is None:
                    return done
                done = CatchUp(
                    done.records + step.records,
                    done.skipped + step.skipped,
                    done.rebuilt or step.rebuilt or damaged,
                    0,
                    done.read + step.read,
                )
                if progress is not None:
                    offset = self.offset()
                    progress(offset, max(self.log.size(), offset))
            return attrs.evolve(done, behind=self.behind())
        finally:
            self._catching.release()

    def behind(self) -> int:
        """How many bytes of the log the index has not read."""
        return max(self.log.size() - self.offset(), 0)

    def rebuild(self, progress: Progress | None = None) -> CatchUp:
        """Build the index anew from the log."""
        with self._lock:
            self._discard()
        return self.catch_up(progress)

    def deepen(self, seconds: float = 0.5, *, now: Callable[[], float]) -> bool:
        """Extend the trigram index, which finds parts of words, for at most about ``seconds``.

        It is several times slower to build than the rest, hence separate: for idle moments. Returns
        True if it is complete. ``now`` is a monotonic clock.
        """
        deadline = now() + seconds
        try:
            with self.connection() as db:
                while now() < deadline:
                    done = int(_meta(db, "deep", 0))
                    rows = db.execute(
                        "SELECT seq, substr(content, 1, ?) FROM message WHERE seq > ?"
                        " ORDER BY seq LIMIT 200",
                        (schema.DEEP_CHARACTERS, done),
                    ).fetchall()
                    if not rows:
                        return True
                    with _transaction(db):
                        db.executemany("INSERT INTO trigrams (rowid, content) VALUES (?, ?)", rows)
                        _set_meta(db, "deep", rows[-1][0])
        except sqlite3.Error:
            return False
        return False

    def offset(self) -> int:
        """Up to which byte of the log the index has come; 0 if it cannot be asked."""
        try:
            with self.connection() as db:
                return int(_meta(db, "offset", 0))
        except sqlite3.Error:
            return 0

    def sessions(self, limit: int | None = None) -> list[SessionSummary]:
        """Sessions with visible messages, the one used last first."""
        with self.connection() as db:
            rows = db.execute(
                "SELECT session_id, updated, message_count, preview, first_role, title, started"
                " FROM session WHERE deleted = 0 AND message_count > 0"
                " ORDER BY last_seq DESC LIMIT ?",
                (-1 if limit is None else max(limit, 0),),
            ).fetchall()
        return [SessionSummary(*row) for row in rows]

    def places(self, session_id: str) -> list[tuple[int, int]]:
        """Byte ranges of a session's records in the log, in order; neighbours are joined."""
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
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(self.path.name + suffix).unlink()

    def _step(self, db: sqlite3.Connection) -> CatchUp | None:
        """Index one batch; None if there is nothing more to read."""
        with _transaction(db):
            offset = int(_meta(db, "offset", 0))
            rebuilt = bool(offset) and not self._same_log(db, offset)
            if rebuilt:
                schema.recreate(db)
                offset = 0
            batch = _Batch(db)
            for line in self.log.read(offset):
                if not line.complete:
                    break
                batch.add(line)
                if line.end - offset >= BATCH_BYTES:
                    break
            if batch.end is not None:
                batch.finish()
                _set_meta(db, "offset", batch.end)
                _set_meta(db, "fingerprint", self._fingerprint(batch.end))
        if batch.end is None:
            return CatchUp(rebuilt=True) if rebuilt else None
        return CatchUp(batch.added, batch.skipped, rebuilt, 0, batch.end - offset)

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
            with self.log.path.open("rb") as stream:
                digest.update(stream.read(min(_FINGERPRINT, offset)))
                stream.seek(max(offset - _FINGERPRINT, 0))
                digest.update(stream.read(min(_FINGERPRINT, offset)))
        except OSError:
            return ""
        return digest.hexdigest()


class _Batch:
    """Applies lines to the tables within one transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.end: int | None = None
        self.added = 0
        self.skipped = 0
        self._seq = int(db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()[0])
        self._touched: dict[str, _Touched] = {}
        self._ids: set[str] = set()

    def add(self, line: Line) -> None:
        self.end = line.end
        entry = decode(line.record) if line.record is not None else None
        if entry is None:
            self.skipped += 1
            return
        identifier, session_id = well_formed(entry.id), well_formed(entry.session_id)
        if self._known(identifier):
            return
        self._ids.add(identifier)
        self._seq += 1
        session = self._session(session_id)
        session.row["last_seq"] = self._seq
        self.db.execute(
            "INSERT INTO entry VALUES (?, ?, ?, ?)", (self._seq, session_id, line.start, line.end)
        )
        if isinstance(entry, Message):
            self._message(entry, identifier, session)
        else:
            self._event(entry, identifier, session)
        self.added += 1

    def finish(self) -> None:
        """Write the sessions' rows."""
        for session_id, touched in self._touched.items():
            if touched.refold:
                self._refold(session_id, touched.row)
            row = touched.row
            self.db.execute(
                f"INSERT OR REPLACE INTO session ({', '.join(row)})"  # noqa: S608 - our own names
                f" VALUES ({', '.join('?' * len(row))})",
                tuple(row.values()),
            )

    def _known(self, identifier: str) -> bool:
        if identifier in self._ids:
            return True
        query = (
            "SELECT 1 FROM message WHERE id = ? UNION ALL SELECT 1 FROM event WHERE id = ? LIMIT 1"
        )
        return self.db.execute(query, (identifier, identifier)).fetchone() is not None

    def _session(self, session_id: str) -> _Touched:
        found = self._touched.get(session_id)
        if found is None:
            cursor = self.db.execute("SELECT * FROM session WHERE session_id = ?", (session_id,))
            row = cursor.fetchone()
            names = [d[0] for d in cursor.description]
            fresh = (session_id, "", "", 0, "", "", "", 0, 0, "", "main")
            found = _Touched(dict(zip(names, row or fresh, strict=True)))
            self._touched[session_id] = found
        return found

    def _message(self, message: Message, identifier: str, session: _Touched) -> None:
        row = session.row
        group = well_formed(message.group_id)
        if not group:
            group = identifier if is_prompt(message) or not row["last_group"] else row["last_group"]
        text = well_formed(full_text(message.content))
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        row["last_group"] = group
        row["updated"] = message.timestamp or row["updated"]
        row["started"] = row["started"] or message.timestamp
        row["deleted"] = 0
        if not row["message_count"]:
            row["preview"], row["first_role"] = preview(text), message.role
        row["message_count"] += 1
        # A session that has hidden groups, or a second branch, is looked at as a whole again.
        session.refold = session.refold or row["branch"] != "main" or message.branch_id != "main"
        session.refold = session.refold or self._has_events(row["session_id"])
        self.db.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._seq,
                identifier,
                row["session_id"],
                group,
                well_formed(message.branch_id),
                message.role,
                message.status.value,
                well_formed(message.timestamp),
                message.tokens,
                well_formed(message.parsing_strategy),
                int(message.status is Status.DROPPED),
                len(text),
                text,
            ),
        )
        self.db.execute(
            "INSERT INTO words (rowid, content) VALUES (?, ?)", (self._seq, index_text(text))
        )

    def _has_events(self, session_id: str) -> bool:
        kinds = "('undo', 'drop', 'remove')"
        query = f"SELECT 1 FROM event WHERE session_id = ? AND kind IN {kinds} LIMIT 1"  # noqa: S608
        return self.db.execute(query, (session_id,)).fetchone() is not None

    def _event(self, event: Event, identifier: str, session: _Touched) -> None:
        data = json.dumps(event.data, ensure_ascii=True, default=str)
        session.refold = session.refold or event.kind in _VISIBILITY
        self.db.execute(
            "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                self._seq,
                identifier,
                session.row["session_id"],
                well_formed(event.branch_id),
                well_formed(event.kind),
                well_formed(event.timestamp),
                data,
            ),
        )

    def _refold(self, session_id: str, row: dict[str, Any]) -> None:
        """Replay the session (without its texts) and mark what is hidden now."""
        entries: list[tuple[int, Message | Event]] = []
        for seq, *values in self.db.execute(
            "SELECT seq, id, group_id, created_at, role, branch_id, status FROM message"
            " WHERE session_id = ?",
            (session_id,),
        ):
            name, group, when, role, branch, status = values
            shown = Status.OK if status == Status.DROPPED else Status(status)
            message = Message(name, session_id, group, when, role, (), "", branch, shown)
            entries.append((seq, message))
        for seq, *values in self.db.execute(
            "SELECT seq, id, timestamp, kind, branch_id, data FROM event WHERE session_id = ?",
            (session_id,),
        ):
            name, when, kind, branch, data = values
            entries.append((seq, Event(name, session_id, when, kind, branch, json.loads(data))))
        entries.sort(key=lambda e: e[0])
        replayed = [e for _, e in entries]
        now = timeline(replayed, session_id=session_id)
        own = {m.id for m in now.messages}
        shown_ids = {m.id for m in now.visible()}
        for other in now.branches:
            if other.id != now.branch:
                view = timeline(replayed, session_id=session_id, branch=other.id)
                shown_ids |= {m.id for m in view.visible()} - own
        first: tuple[int, str] | None = None
        for seq, entry in entries:
            if isinstance(entry, Message):
                visible = entry.id in shown_ids
                self.db.execute(
                    "UPDATE message SET dropped = ? WHERE seq = ?", (int(not visible), seq)
                )
                if visible and first is None:
                    first = (seq, entry.role)
        row["message_count"] = len(shown_ids)
        row["title"], row["branch"] = well_formed(now.title), well_formed(now.branch)
        row["deleted"] = int(now.deleted)
        if first is not None:
            text = self.db.execute(
                "SELECT substr(content, 1, 400) FROM message WHERE seq = ?", (first[0],)
            ).fetchone()[0]
            row["preview"], row["first_role"] = preview(text), first[1]


_VISIBILITY = frozenset(
    {
        EventKind.UNDO,
        EventKind.REMOVE,
        EventKind.DROP,
        EventKind.RESTORE,
        EventKind.RENAME,
        EventKind.SESSION,
        EventKind.FORK,
        EventKind.SWITCH,
        EventKind.DELETE,
        EventKind.STATUS,
    }
)


def preview(text: str) -> str:
    """About the first 100 characters, on one line."""
    line = " ".join(text[: PREVIEW_CHARACTERS * 4].split())
    return line if len(line) <= PREVIEW_CHARACTERS else line[: PREVIEW_CHARACTERS - 1] + "…"


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _meta(db: sqlite3.Connection, key: str, default: Any) -> Any:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else row[0]


def _set_meta(db: sqlite3.Connection, key: str, value: Any) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _is_damage(error: sqlite3.Error) -> bool:
    """True for a file that is no database or has lost a part of itself, as opposed to a lock."""
    words = str(error).lower()
    return any(w in words for w in ("malformed", "not a database", "no such table", "corrupt"))
