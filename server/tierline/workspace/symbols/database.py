"""The index on disk: one row a file. Derived from the files alone; deleting it loses nothing."""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from tierline.context.retrieval.symbol import SourceFile, Symbol
from tierline.disk import sqlite

log = logging.getLogger(__name__)

VERSION = 4
"""Raised when the extraction changes: an index of an older version is built anew."""
_DDL = (
    """CREATE TABLE file (
      path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL, sha TEXT NOT NULL,
      data BLOB NOT NULL
    ) WITHOUT ROWID""",
)


@frozen
class FileStamp:
    """A file's size, time and content hash, to see whether it may have changed."""

    size: int
    mtime: int
    """Modification time in nanoseconds since the epoch."""
    sha: str


@frozen
class FileRecord:
    """A file as it is stored: what it defines and uses, and its words for search."""

    file: SourceFile
    words: Mapping[str, float]

    def pack(self) -> bytes:
        """Compressed JSON."""
        file = self.file
        value = [
            file.language, file.lines, [symbol.row() for symbol in file.symbols], file.uses,
            list(file.imports), {w: round(n, 2) for w, n in self.words.items()},
        ]  # fmt: skip
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)

    @classmethod
    def unpack(cls, path: str, data: bytes) -> FileRecord:
        """The record of such data."""
        language, lines, symbols, uses, imports, words = json.loads(zlib.decompress(data))
        made = tuple(Symbol.of(row) for row in symbols)
        return cls(SourceFile(path, language, lines, made, uses, tuple(imports)), words)


class SymbolDatabase:
    """The rows, in a file for the user alone, or a temporary one if that cannot be used."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection = self._open(path)

    def _open(self, path: Path | None) -> sqlite3.Connection:
        if path is not None:
            for _ in range(2):
                try:
                    return self._opened(path)
                except (sqlite3.DatabaseError, OSError, ValueError) as error:
                    log.info("The symbol index is built anew: %s", error)
                    sqlite.remove(path)
            log.warning("The symbol index is kept for this run only")
        connection = sqlite.scratch()
        _create(connection)
        return connection

    def _opened(self, path: Path) -> sqlite3.Connection:
        connection = sqlite.connect(path)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                _create(connection)
            elif version != VERSION:
                raise ValueError(f"version {version}")
            connection.execute("SELECT path, size, mtime, sha, data FROM file LIMIT 1")
        except BaseException:
            connection.close()
            raise
        return connection

    def stamps(self) -> dict[str, FileStamp]:
        """Every known file's stamp."""
        rows = self._connection.execute("SELECT path, size, mtime, sha FROM file")
        return {path: FileStamp(size, mtime, sha) for path, size, mtime, sha in rows}

    def all(self) -> Iterator[FileRecord]:
        """Every record; damaged ones are left out and made again."""
        damaged = []
        for path, data in self._connection.execute("SELECT path, data FROM file"):
            try:
                yield FileRecord.unpack(path, data)
            except (ValueError, TypeError, zlib.error):
                damaged.append(path)
        self.delete(damaged)

    def get(self, path: str) -> SourceFile | None:
        """The record of one file."""
        row = self._connection.execute("SELECT data FROM file WHERE path = ?", (path,)).fetchone()
        if row is None:
            return None
        try:
            return FileRecord.unpack(path, row[0]).file
        except (ValueError, TypeError, zlib.error):
            return None

    def put(self, records: Iterable[tuple[FileRecord, FileStamp]]) -> None:
        """Store records, in one transaction."""
        rows = [(r.file.path, stamp.size, stamp.mtime, stamp.sha, r.pack()) for r, stamp in records]
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)", rows)
        self._connection.execute("COMMIT")

    def restamp(self, path: str, stamp: FileStamp) -> None:
        """Update the stamp of a file that was written without a change."""
        self._connection.execute(
            "UPDATE file SET size = ?, mtime = ? WHERE path = ?", (stamp.size, stamp.mtime, path)
        )

    def delete(self, paths: Iterable[str]) -> None:
        """Forget files."""
        self._connection.executemany("DELETE FROM file WHERE path = ?", [(p,) for p in paths])

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def _create(connection: sqlite3.Connection) -> None:
    for statement in _DDL:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
