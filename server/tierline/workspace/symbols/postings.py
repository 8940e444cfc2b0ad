"""Inverted index of words, names and references, on disk, for large workspaces.

New entries are gathered in memory and written in order, a segment at a time; a word's files are
those of all segments. The file is unnamed and vanishes with the process: it is derived from the
records (``database.py``).
"""

from __future__ import annotations

import json
import logging
import sqlite3
from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from time import monotonic

from tierline.context.retrieval.postings import PostingList, References, in_order
from tierline.disk import sqlite

log = logging.getLogger(__name__)

FRESH = 12_000
"""Words and names that are gathered in memory before they are written: about 5 MB."""
_AT_ONCE = 500
_SWEPT_AT_ONCE = 2_000
_MAX_ALIKE = 20_000
_ALIKE_SECONDS = 0.03
"""Longest search for names that contain the letters other than at their beginning."""
_INSTRUCTIONS = 5_000
_DDL = (
    """CREATE TABLE posting (
      key BLOB, segment INTEGER, numbers BLOB NOT NULL, weights BLOB NOT NULL,
      PRIMARY KEY (key, segment)
    ) WITHOUT ROWID""",
    "CREATE TABLE name (folded BLOB, name BLOB, PRIMARY KEY (folded, name)) WITHOUT ROWID",
    "CREATE TABLE refers (number INTEGER PRIMARY KEY, data BLOB NOT NULL)",
)
_WORD, _NAME = b"w", b"d"


class DiskPostings:
    """See ``Postings``. For one thread."""

    def __init__(self, fresh: int = FRESH) -> None:
        self._most = fresh
        self._connection = sqlite.scratch()
        for statement in _DDL:
            self._connection.execute(statement)
        self._fresh: dict[bytes, tuple[array[int], array[float]]] = {}
        self._segment = 0

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def add(
        self, number: int, words: Mapping[str, float], defines: Iterable[str], refers: References
    ) -> None:
        """See ``Postings``.

        Raises:
            sqlite3.Error: the disk is full.
        """
        names = [_bytes(name) for name in defines]
        for word, weight in words.items():
            numbers, weights = self._gathered(_WORD + _bytes(word))
            numbers.append(number)
            weights.append(weight)
        for name in names:
            self._gathered(_NAME + name)[0].append(number)
        folded = [(_bytes(name.casefold()), _bytes(name)) for name in defines]
        data = _bytes(json.dumps([dict(refers.uses), refers.imports], separators=(",", ":")))
        run = self._connection
        run.execute("BEGIN")
        run.executemany("INSERT OR IGNORE INTO name VALUES (?, ?)", folded)
        run.execute("INSERT OR REPLACE INTO refers VALUES (?, ?)", (number, data))
        run.execute("COMMIT")
        if len(self._fresh) > self._most:
            self._write()

    def holding(self, word: str) -> PostingList:
        """See ``Postings``."""
        key = _WORD + _bytes(word)
        numbers, weights = array("I"), array("f")
        rows = self._connection.execute(
            "SELECT numbers, weights FROM posting WHERE key = ? ORDER BY segment", (key,)
        )
        for some, much in rows:
            numbers.frombytes(some)
            weights.frombytes(much)
        if (fresh := self._fresh.get(key)) is not None:
            numbers.extend(fresh[0])
            weights.extend(fresh[1])
        return numbers, weights

    def defining(self, names: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """See ``Postings``."""
        found: dict[str, array[int]] = {}
        by_key = {_NAME + _bytes(name): name for name in names}
        keys = iter(by_key)
        while some := list(islice(keys, _AT_ONCE)):
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(
                f"SELECT key, numbers FROM posting WHERE key IN ({marks})",  # noqa: S608 - marks
                some,
            )
            for key, numbers in rows:
                found.setdefault(by_key[key], array("I")).frombytes(numbers)
        for key, name in by_key.items():
            if (fresh := self._fresh.get(key)) is not None:
                found.setdefault(name, array("I")).extend(fresh[0])
        return found

    def references(self, number: int) -> References:
        """See ``Postings``."""
        row = self._connection.execute(
            "SELECT data FROM refers WHERE number = ?", (number,)
        ).fetchone()
        if row is None:
            return References()
        uses, imports = json.loads(row[0])
        return References(uses, tuple(imports))

    def like(self, letters: str, limit: int) -> list[str]:
        """See ``Postings``. Names that only contain the letters are searched for a limited time."""
        first = _bytes(letters)
        rows = self._connection.execute(
            "SELECT name FROM (SELECT name FROM name WHERE folded >= ? AND folded < ? LIMIT ?) "
            "ORDER BY length(CAST(name AS TEXT)), name LIMIT ?",
            (first, first + b"\xff", _MAX_ALIKE, limit),
        )
        found = [_text(name) for (name,) in rows]
        if len(found) < limit:
            found += in_order(self._inside(first), letters)[: limit - len(found)]
        return found

    def _inside(self, letters: bytes) -> list[str]:
        """Names that contain these letters after their beginning, as many as the time allows."""
        until = monotonic() + _ALIKE_SECONDS
        found: list[str] = []
        self._connection.set_progress_handler(lambda: monotonic() > until, _INSTRUCTIONS)
        try:
            for (name,) in self._connection.execute(
                "SELECT name FROM name WHERE instr(folded, ?) > 1", (letters,)
            ):
                found.append(_text(name))
        except sqlite3.OperationalError:
            log.debug("Names were looked through in part")
        finally:
            self._connection.set_progress_handler(None, 0)
        return found

    def sweep(self, dead: Container[int]) -> Iterator[None]:
        """See ``Postings``. Merges the segments of each word."""
        self._write()
        last = b""
        while True:
            rows = self._connection.execute(
                "SELECT key, segment, numbers, weights FROM posting WHERE key > ? "
                "ORDER BY key, segment LIMIT ?",
                (last, _SWEPT_AT_ONCE),
            ).fetchall()
            if len(rows) == _SWEPT_AT_ONCE and rows[0][0] != rows[-1][0]:
                while rows[-1][0] == rows[-2][0]:
                    rows.pop()
                rows.pop()  # the last word may continue in the next rows
            if not rows:
                break
            last = rows[-1][0]
            self._thin(rows, dead)
            yield
        numbers = [n for (n,) in self._connection.execute("SELECT number FROM refers") if n in dead]
        self._connection.executemany("DELETE FROM refers WHERE number = ?", [(n,) for n in numbers])

    def _thin(self, rows: Sequence[tuple[bytes, int, bytes, bytes]], dead: Container[int]) -> None:
        kept: dict[bytes, tuple[array[int], array[float]]] = {}
        several: set[bytes] = set()
        for key, _, some, much in rows:
            if key in kept:
                several.add(key)
            numbers, weights = kept.setdefault(key, (array("I"), array("f")))
            numbers.frombytes(some)
            weights.frombytes(much)
        run = self._connection
        run.execute("BEGIN")
        for key, (numbers, weights) in kept.items():
            places = [place for place, number in enumerate(numbers) if number not in dead]
            if len(places) == len(numbers) and key not in several:
                continue
            run.execute("DELETE FROM posting WHERE key = ? AND segment <= ?", (key, self._segment))
            if places:
                left = array("I", (numbers[p] for p in places))
                heavy = array("f", (weights[p] for p in places)) if weights else array("f")
                row = (key, 0, left.tobytes(), heavy.tobytes())
                run.execute("INSERT INTO posting VALUES (?, ?, ?, ?)", row)
            elif key[:1] == _NAME:
                run.execute("DELETE FROM name WHERE folded = ? AND name = ?", _of_name(key))
        run.execute("COMMIT")

    def _gathered(self, key: bytes) -> tuple[array[int], array[float]]:
        found = self._fresh.get(key)
        if found is None:
            found = self._fresh[key] = array("I"), array("f")
        return found

    def _write(self) -> None:
        self._segment += 1
        rows = (
            (key, self._segment, numbers.tobytes(), weights.tobytes())
            for key, (numbers, weights) in sorted(self._fresh.items())
        )
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT INTO posting VALUES (?, ?, ?, ?)", rows)
        self._connection.execute("COMMIT")
        self._fresh.clear()


def _of_name(key: bytes) -> tuple[bytes, bytes]:
    name = key[1:]
    return _bytes(_text(name).casefold()), name


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
