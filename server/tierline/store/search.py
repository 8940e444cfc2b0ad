"""Search over all sessions: each blank-separated word must occur, regardless of case.

The indexes only propose candidates; a hit is checked against its text. They are asked from fast to
slow until there are enough hits: whole words, then parts of words by way of the vocabulary, and a
scan of what no index can decide, within a time limit. If the limit cut the scan short, or the index
is still being built, the result says that it is partial.
"""

from __future__ import annotations

import sqlite3
import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import attrs
from attrs import field, frozen

from tierline.context.text import well_formed
from tierline.history.events import LogEvent
from tierline.history.messages import Message
from tierline.history.parser import full_text
from tierline.history.timeline import timeline
from tierline.store import vocabulary
from tierline.store.index import Index
from tierline.store.log import HistoryLog
from tierline.store.words import contains, match_tokens, query_words

_Row: TypeAlias = tuple[int, str, str, str, str, str, str]

CATCH_UP_BYTES = 16 * 1024 * 1024
"""Bytes of the log that a search indexes first, at most; more is left to the background."""
SCAN_BYTES = 128 * 1024 * 1024
"""Bytes of the log's end that are read when the index cannot be used."""
TAIL_BYTES = 4 * 1024 * 1024
"""Bytes of unindexed log up to which they are read directly."""
SNIPPET_CHARACTERS = 160


@frozen
class SearchMatch:
    """A message that was found."""

    id: str
    session_id: str
    group_id: str
    role: str
    timestamp: str
    snippet: str


@frozen
class SearchResult:
    """Hits, newest first within each stage. ``partial``: there may be more."""

    hits: tuple[SearchMatch, ...] = ()
    partial: bool = False
    source: str = "index"
    """``index``, ``log`` (the index could not be used) or ``memory``."""


@frozen
class SearchQuery:
    """What is searched for. Empty ``role`` and ``session_id`` mean any. ``archived``: the archive,
    too; a session that is named is searched wherever it is.
    """

    text: str
    role: str = ""
    session_id: str = ""
    limit: int = 50
    archived: bool = False
    words: tuple[str, ...] = field(init=False)

    @words.default
    def _words(self) -> tuple[str, ...]:
        return query_words(well_formed(self.text))

    def matches(self, text: str) -> bool:
        """True if every word occurs in the text."""
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        return contains(text, self.words)

    def admits(self, message: Message) -> bool:
        """True if role and session are the wanted ones."""
        role_fits = not self.role or message.role == self.role
        return role_fits and (not self.session_id or message.session_id == self.session_id)


def search(index: Index, query: SearchQuery, *, seconds: float = 1.5) -> SearchResult:
    """Search the index, having caught up with the log; the log itself if the index is locked."""
    if not query.words or query.limit <= 0 or index.nothing:
        return SearchResult()
    state = index.catch_up(max_bytes=CATCH_UP_BYTES)
    deadline = time.monotonic() + seconds
    try:
        with index.connection() as db:
            offset = index.offset()
            found = _Found(db, query)
            complete = found.run(deadline)
    except sqlite3.Error:
        return search_log(index.log, query, seconds=seconds)
    hits = list(found.hits.values())
    if 0 < state.behind <= TAIL_BYTES:
        tail = _Scan(index.log, query, offset, deadline)
        known = {h.id for h in hits}
        fresh = [h for h in tail.hits if h.id not in known]
        hits = fresh + [h for h in hits if not tail.hides(h.session_id, h.group_id)]
        complete = complete and tail.complete
    complete = complete and state.behind <= TAIL_BYTES
    return SearchResult(tuple(hits[: query.limit]), not complete)


def search_log(log: HistoryLog, query: SearchQuery, *, seconds: float) -> SearchResult:
    """Read the newest part of the log itself; used while the index cannot be."""
    start = max(log.size() - SCAN_BYTES, 0)
    scan = _Scan(log, query, start, time.monotonic() + seconds)
    partial = bool(start) or not scan.complete
    return SearchResult(tuple(scan.hits[: query.limit]), partial, "log")


def search_messages(messages: Iterable[Message], query: SearchQuery) -> SearchResult:
    """Search the conversation in memory, newest first, when the store cannot be read."""
    hits: list[SearchMatch] = []
    for message in reversed(list(messages)):
        text = well_formed(full_text(message.content))
        if query.words and query.admits(message) and query.matches(text):
            hits.append(_hit(message, text, query))
    return SearchResult(tuple(hits[: max(query.limit, 0)]), source="memory")


def snippet(text: str, words: tuple[str, ...]) -> str:
    """The surroundings of the first word, on one line."""
    place = max(text.casefold().find(words[0]) if words else 0, 0)
    start = max(place - SNIPPET_CHARACTERS // 3, 0)
    piece = " ".join(text[start : start + SNIPPET_CHARACTERS].split())
    return ("…" if start else "") + piece + ("…" if start + SNIPPET_CHARACTERS < len(text) else "")


class _Found:
    """Runs the stages over one connection."""

    def __init__(self, db: sqlite3.Connection, query: SearchQuery) -> None:
        self.db = db
        self.query = query
        self.hits: dict[int, SearchMatch] = {}

    def run(self, deadline: float) -> bool:
        """Run all stages; false if the deadline cut them short."""
        self.db.set_progress_handler(lambda: int(time.monotonic() > deadline), 20_000)
        try:
            for rows in self._stages():
                for seq, content, name, session, group, role, when in rows:
                    if seq not in self.hits and self.query.matches(content):
                        shown = snippet(content, self.query.words)
                        self.hits[seq] = SearchMatch(name, session, group, role, when, shown)
                        if len(self.hits) >= self.query.limit:
                            return True
                    if time.monotonic() > deadline:
                        return False
        except sqlite3.OperationalError as error:
            if "interrupt" not in str(error):
                raise
            return False
        finally:
            self.db.set_progress_handler(None, 0)
        return True

    def _stages(self) -> Iterator[Iterable[_Row]]:
        """The stages from fast to slow; together they are complete."""
        words = self.query.words
        whole = match_tokens(words, prefix=False)
        if whole:
            yield self._proposed(whole)
        covered = vocabulary.known(self.db)
        if covered == 0 and whole:
            yield self._proposed(match_tokens(words, prefix=True))
        yield self._scanned("m.seq > ?", covered)
        parts = vocabulary.expression(self.db, words) if covered else None
        if parts:
            yield self._proposed(parts)
        elif parts is not None:
            yield self._scanned("m.seq <= ?", covered)

    def _proposed(self, expression: str) -> Iterable[_Row]:
        # CROSS JOIN keeps SQLite from starting anywhere but at the full-text index.
        source = "words f CROSS JOIN message m ON m.seq = f.rowid"
        return self._rows(source, "words MATCH ?", expression)

    def _scanned(self, condition: str, value: int) -> Iterable[_Row]:
        return self._rows("message m", condition, value)

    def _rows(self, source: str, condition: str, value: object) -> Iterable[_Row]:
        role, session = self.query.role, self.query.session_id
        order = "f.rowid" if " f " in source else "m.seq"
        return self.db.execute(
            "SELECT m.seq, m.content, m.id, m.session_id, m.group_id, m.role, m.created_at"  # noqa: S608 - parts are constants of this class
            f" FROM {source} CROSS JOIN session s ON s.session_id = m.session_id"
            f" WHERE {condition} AND m.dropped = 0 AND s.deleted = 0"
            " AND (s.archived = 0 OR ?)"
            " AND (? = '' OR m.role = ?) AND (? = '' OR m.session_id = ?)"
            f" ORDER BY {order} DESC",
            (value, self.query.archived or bool(session), role, role, session, session),
        )


class _Scan:
    """Reads the log from a byte offset on. ``hits`` are newest first, without what is hidden."""

    def __init__(self, log: HistoryLog, query: SearchQuery, offset: int, deadline: float) -> None:
        self.complete = True
        self._hidden: set[tuple[str, str]] = set()
        self._deleted: set[str] = set()
        entries: dict[str, list[Message | LogEvent]] = {}
        found: list[Message] = []
        for line in log.read(offset):
            if time.monotonic() > deadline:
                self.complete = False
                break
            entry = line.entry
            if entry is None:
                continue
            light = attrs.evolve(entry, content=()) if isinstance(entry, Message) else entry
            entries.setdefault(entry.session_id, []).append(light)
            if (
                isinstance(entry, Message)
                and query.admits(entry)
                and query.matches(well_formed(full_text(entry.content)))
            ):
                found.append(entry)
        for session, known in entries.items():
            now = timeline(known, session_id=session)
            self._hidden |= {(session, group) for group in now.hidden}
            if now.deleted or (now.archived and not (query.archived or query.session_id)):
                self._deleted.add(session)
        unique = {m.id: m for m in reversed(found)}
        self.hits = [
            _hit(m, well_formed(full_text(m.content)), query)
            for m in unique.values()
            if not self.hides(m.session_id, m.group_id)
        ]

    def hides(self, session: str, group_id: str) -> bool:
        """True if the lines read so far undo the group or delete its session."""
        return (session, group_id) in self._hidden or session in self._deleted


def _hit(message: Message, text: str, query: SearchQuery) -> SearchMatch:
    return SearchMatch(
        well_formed(message.id),
        well_formed(message.session_id),
        message.group_id,
        message.role,
        message.timestamp,
        snippet(text, query.words),
    )
