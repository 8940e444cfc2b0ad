"""The vocabulary of the word index: finds the words of which a query is only a part.

A trigram index over all text would cost more than everything else together. The words that occur
are far fewer than the text that they make up, so the trigrams are those of the vocabulary: a part
of a word is looked up there, and the words that contain it are then looked up in the word index.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable

from tierline.disk import sqlite
from tierline.store.words import index_text, tokens

MAX_TERMS = 300
"""Most words with a part for which the vocabulary narrows the search; else the text is scanned."""
MAX_TERM_LENGTH = 64
_ROWS = 200
_TERMS = 50
_FULL_SHARE = 0.25

_MARKS = re.compile("[\u0300-\u036f]")


def extend(db: sqlite3.Connection, until: Callable[[], bool]) -> bool:
    """Add the words of new messages to the vocabulary until ``until`` returns true.

    Returns True if all are in. When much is missing, the words are read from the word index itself;
    otherwise from the new messages; a few at a time.
    """
    done = known(db)
    last = int(db.execute("SELECT coalesce(max(seq), 0) FROM message").fetchone()[0])
    if _taking(db) is not None or last - done > max(_FULL_SHARE * last, 10 * _ROWS):
        if not _take_all(db, last, until):
            return False
        done = known(db)
    while done < last and not until():
        rows = db.execute(
            "SELECT seq, content FROM message WHERE seq > ? ORDER BY seq LIMIT ?", (done, _ROWS)
        ).fetchall()
        if not rows:
            break
        found = {t for _, text in rows for t in tokens(_plain(index_text(text)))}
        done = int(rows[-1][0])
        with sqlite.transaction(db):
            _take(db, found, done)
    return done >= last


def known(db: sqlite3.Connection) -> int:
    """The number of the last message whose words are in the vocabulary; 0 if it is empty."""
    row = db.execute("SELECT value FROM meta WHERE key = 'vocabulary'").fetchone()
    return int(row[0]) if row else 0


def expression(db: sqlite3.Connection, words: Iterable[str]) -> str | None:
    """An FTS5 expression for texts in which each word occurs as a part of the text.

    Empty if the vocabulary cannot narrow the search; None if a word occurs in no message that it
    covers.
    """
    terms: list[str] = []
    for word in words:
        parts = tokens(_plain(index_text(word)))
        for place, part in enumerate(parts):
            first, last = place == 0, place == len(parts) - 1
            if not part.isascii() and len(part) <= 2:  # a pair of CJK characters, or one
                terms.append(f'"{part}"' if len(part) == 2 else f'"{part}"*')
            elif not first:
                terms.append(f'"{part}"*' if last else f'"{part}"')
            else:
                found = _ending(db, part) if not last else _containing(db, part)
                if found is None:
                    continue
                if not found:
                    return None
                terms.append("(" + " OR ".join(f'"{t}"' for t in found) + ")")
    return " AND ".join(dict.fromkeys(terms))


def _containing(db: sqlite3.Connection, part: str) -> list[str] | None:
    """Known words that contain the part; None if it is too short or too common to look up."""
    if len(part) < 3:
        return None
    trigrams = " AND ".join(f'"{part[i : i + 3]}"' for i in range(len(part) - 2))
    rows = db.execute("SELECT term FROM terms WHERE terms MATCH ?", (trigrams,))
    found: list[str] = []
    for (term,) in rows:
        if part in term:
            found.append(term)
            if len(found) > MAX_TERMS:
                return None
    return found


def _ending(db: sqlite3.Connection, part: str) -> list[str] | None:
    found = _containing(db, part)
    return found if found is None else [t for t in found if t.endswith(part)]


def _taking(db: sqlite3.Connection) -> tuple[str, int] | None:
    """Progress of ``_take_all``: the last word read, the last message then covered."""
    row = db.execute("SELECT value FROM meta WHERE key = 'taking'").fetchone()
    if row is None:
        return None
    term, last = json.loads(row[0])
    return str(term), int(last)


def _take_all(db: sqlite3.Connection, last: int, until: Callable[[], bool]) -> bool:
    """Read the words of the word index until ``until`` returns true, from where the last call
    stopped. In a large index each word is slow, because SQLite counts its occurrences.
    """
    term, last = _taking(db) or ("", last)
    while not until():
        # In alphabetical order, as the table is stored.
        found = [
            row[0]
            for row in db.execute(
                "SELECT term FROM vocabulary WHERE term > ? LIMIT ?", (term, _TERMS)
            )
        ]
        with sqlite.transaction(db):
            _take_some(db, found, begins=not term, last=last)
        if len(found) < _TERMS:
            return True
        term = found[-1]
    return False


def _take_some(db: sqlite3.Connection, found: list[str], *, begins: bool, last: int) -> None:
    if begins:
        for table in ("term", "terms"):
            db.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
        db.execute("DELETE FROM meta WHERE key = 'vocabulary'")
    kept = [(term,) for term in found if 3 <= len(term) <= MAX_TERM_LENGTH]
    db.executemany("INSERT OR IGNORE INTO term VALUES (?)", kept)
    db.executemany("INSERT INTO terms (term) VALUES (?)", kept)
    if len(found) < _TERMS:
        db.execute("DELETE FROM meta WHERE key = 'taking'")
        _remember(db, last)
    else:
        mark = json.dumps([found[-1], last])
        db.execute("INSERT OR REPLACE INTO meta VALUES ('taking', ?)", (mark,))


def _take(db: sqlite3.Connection, found: Iterable[str], last: int) -> None:
    for term in found:
        if 3 <= len(term) <= MAX_TERM_LENGTH:
            new = db.execute("INSERT OR IGNORE INTO term VALUES (?)", (term,)).rowcount
            if new:
                db.execute("INSERT INTO terms (term) VALUES (?)", (term,))
    _remember(db, last)


def _remember(db: sqlite3.Connection, last: int) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES ('vocabulary', ?)", (last,))


def _plain(text: str) -> str:
    """Lower case without accents, as the word index spells its terms."""
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFD", text.lower()))
    return unicodedata.normalize("NFC", bare)
