"""Entering records into the index: reading a batch of the log, and applying it to the tables."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Iterable
from typing import Any

from attrs import define, frozen

from tierline.context.text import well_formed
from tierline.history.events import ORDERING, EventKind, LogEvent
from tierline.history.groups import is_prompt
from tierline.history.messages import Message, Status
from tierline.history.parser import full_text
from tierline.history.timeline import timeline
from tierline.store.log import HistoryLog
from tierline.store.words import index_text

BATCH_BYTES = 8 * 1024 * 1024
PREVIEW_CHARACTERS = 100


@define
class _Session:
    """A session's row while a batch is being applied."""

    row: dict[str, Any]
    refold: bool = False
    has_events: bool = False


@frozen
class IndexEntry:
    """A decoded record, its place in the log and, for a message, its searchable text."""

    start: int
    end: int
    entry: Message | LogEvent
    text: str = ""
    words: str = ""
    """The text as it is given to the word index."""
    prompt: bool = False


@frozen
class LogBatch:
    """A batch of the log: from ``start`` up to ``end``."""

    start: int
    end: int
    entries: tuple[IndexEntry, ...]
    skipped: int


def read_batch(log: HistoryLog, offset: int) -> LogBatch:
    """Read and decode the next few megabytes."""
    found: list[IndexEntry] = []
    end, skipped = offset, 0
    for line in log.read(offset):
        if not line.complete:
            break
        end = line.end
        entry = line.entry
        if isinstance(entry, Message):
            text = well_formed(full_text(entry.content))
            if not text.isascii():
                text = unicodedata.normalize("NFC", text)
            found.append(
                IndexEntry(
                    line.start, line.end, _row_of(entry), text, index_text(text), is_prompt(entry)
                )
            )
        elif entry is not None:
            found.append(IndexEntry(line.start, line.end, entry))
        else:
            skipped += 1
        if end - offset >= BATCH_BYTES:
            break
    return LogBatch(offset, end, tuple(found), skipped)


def _row_of(message: Message) -> Message:
    """What the tables store of a message. The message itself is not kept, as its content would stay
    in memory until the batch is written.
    """
    return Message(
        message.id,
        message.session_id,
        message.group_id,
        message.timestamp,
        message.role,
        content=(),
        branch_id=message.branch_id,
        status=message.status,
        parsing_strategy=message.parsing_strategy,
        tokens=message.tokens,
    )


class IndexBatch:
    """Applies entries to the tables within one transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.added = 0
        self._seq = int(db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()[0])
        self._touched: dict[str, _Session] = {}
        self._places: list[tuple[int, str, int, int]] = []
        self._messages: list[tuple[Any, ...]] = []
        self._known: set[str] = set()
        self._indexed = self._seq  # the last message whose words are indexed
        self._words: list[tuple[int, str]] = []
        db.execute("CREATE TEMP TABLE IF NOT EXISTS fresh (seq INTEGER PRIMARY KEY, text TEXT)")

    def add_all(self, items: Iterable[IndexEntry]) -> None:
        """Enter records in their order; all but their words are written."""
        entries = list(items)
        named = [well_formed(i.entry.id) for i in entries if isinstance(i.entry, Message)]
        there = self.db.execute(
            "SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(named),),
        )
        self._known.update(row[0] for row in there)
        for item in entries:
            self.add(item)
        self.db.executemany(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._messages
        )
        self.db.executemany("INSERT INTO entry VALUES (?, ?, ?, ?)", self._places)
        self.db.executemany("INSERT INTO temp.fresh VALUES (?, ?)", self._words)
        self._messages, self._places, self._words = [], [], []

    def add(self, item: IndexEntry) -> None:
        """Enter one record, unless its id is known: the first one counts."""
        session_id = well_formed(item.entry.session_id)
        session = self._session(session_id)
        if isinstance(item.entry, Message):
            new = self._message(item.entry, item, session)
        else:
            new = self._event(item.entry, session)
        if not new:
            return
        self._seq += 1
        session.row["last_seq"] = self._seq
        self._places.append((self._seq, session_id, item.start, item.end))
        if isinstance(item.entry, Message) and item.words is not item.text:
            self._words.append((self._seq, item.words))
        self.added += 1

    def write_words(self) -> None:
        """Index the words of the added messages: from the table of messages, or as gathered where
        the index spells them differently.

        One statement for all of them: Python's lock is free while it runs, so that another thread
        can read on. With a statement per text, each would wait for the lock.
        """
        self.db.execute(
            "INSERT INTO words (rowid, content) SELECT m.seq, coalesce(f.text, m.content)"
            " FROM message m LEFT JOIN temp.fresh f ON f.seq = m.seq WHERE m.seq > ?",
            (self._indexed,),
        )
        self._indexed = self._seq
        self.db.execute("DELETE FROM temp.fresh")

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

    def _session(self, session_id: str) -> _Session:
        found = self._touched.get(session_id)
        if found is None:
            cursor = self.db.execute("SELECT * FROM session WHERE session_id = ?", (session_id,))
            row = cursor.fetchone()
            names = [d[0] for d in cursor.description]
            fresh = (session_id, "", "", 0, "", "", "", 0, 0, 0, "", "main")
            events = self.db.execute(
                "SELECT 1 FROM event WHERE session_id = ? AND kind IN ('undo', 'drop', 'remove')",
                (session_id,),
            ).fetchone()
            values = dict(zip(names, row or fresh, strict=True))
            found = _Session(values, has_events=events is not None)
            self._touched[session_id] = found
        return found

    def _message(self, message: Message, item: IndexEntry, session: _Session) -> bool:
        row, text, seq = session.row, item.text, self._seq + 1
        identifier, group = well_formed(message.id), well_formed(message.group_id)
        if not group:
            group = identifier if item.prompt or not row["last_group"] else row["last_group"]
        if identifier in self._known:
            return False
        self._known.add(identifier)
        self._messages.append(
            (
                seq,
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
                text,
            )
        )
        row["last_group"] = group
        row["updated"] = message.timestamp or row["updated"]
        row["started"] = row["started"] or message.timestamp
        row["deleted"] = row["archived"] = 0
        if not row["message_count"]:
            row["preview"], row["first_role"] = preview(text), message.role
        row["message_count"] += 1
        # Where groups may be hidden, or there is a second branch, the session is replayed.
        other_branch = row["branch"] != "main" or message.branch_id != "main"
        session.refold = session.refold or session.has_events or other_branch
        return True

    def _event(self, event: LogEvent, session: _Session) -> bool:
        inserted = self.db.execute(
            "INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                self._seq + 1,
                well_formed(event.id),
                session.row["session_id"],
                well_formed(event.branch_id),
                well_formed(event.kind),
                well_formed(event.timestamp),
                json.dumps(event.data, ensure_ascii=True, default=str),
            ),
        ).rowcount
        if inserted and (event.kind in ORDERING or event.kind == EventKind.STATUS):
            session.refold = session.has_events = True
        return bool(inserted)

    def _refold(self, session_id: str, row: dict[str, Any]) -> None:
        """Replay the session (without its texts) and mark what is hidden now."""
        entries: list[tuple[int, Message | LogEvent]] = []
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
            entries.append((seq, LogEvent(name, session_id, when, kind, branch, json.loads(data))))
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
        times: list[str] = []
        for seq, entry in entries:
            if isinstance(entry, Message):
                visible = entry.id in shown_ids
                self.db.execute(
                    "UPDATE message SET dropped = ? WHERE seq = ?", (int(not visible), seq)
                )
                if visible:
                    first = first or (seq, entry.role)
                    times.append(entry.timestamp)
        row["message_count"] = len(shown_ids)
        row["title"], row["branch"] = well_formed(now.title), well_formed(now.branch)
        row["deleted"], row["archived"] = int(now.deleted), int(now.archived)
        if first is not None:
            text = self.db.execute(
                "SELECT substr(content, 1, 400) FROM message WHERE seq = ?", (first[0],)
            ).fetchone()[0]
            row["preview"], row["first_role"] = preview(text), first[1]
            row["started"], row["updated"] = times[0], times[-1]


def preview(text: str) -> str:
    """About the first 100 characters, on one line."""
    line = " ".join(text[: PREVIEW_CHARACTERS * 4].split())
    return line if len(line) <= PREVIEW_CHARACTERS else line[: PREVIEW_CHARACTERS - 1] + "…"
