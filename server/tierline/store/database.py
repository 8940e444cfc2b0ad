"""A SQLite file that cannot be rebuilt from the log: opened on first use, set aside if damaged."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from tierline import disk
from tierline.disk import sqlite
from tierline.disk.folder import make

log = logging.getLogger(__name__)

BUSY_SECONDS = 2.0
WRITE = "BEGIN IMMEDIATE"
CACHE_KIB = 512
"""Page cache of a connection, in KiB. SQLite's default, 2 MB a file, fills up and is never freed;
pages that are read again are in the system's cache.
"""
_T = TypeVar("_T")


class NewerVersionError(Exception):
    """The file was written by a later version of Tierline, in a format that may be unknown here."""


class Database:
    """One SQLite file, readable by the user alone (mode 0600). Safe to use from several threads and
    beside other processes. A file that is damaged is set aside (``.damaged-1``, …) and begun anew;
    one that was deleted while it was open is begun anew as well. One of a later version, or one
    that cannot be opened, is left alone.

    ``ddl`` makes the tables of ``version``; a file of an earlier version loses ``tables`` first.
    """

    def __init__(
        self, path: Path, *, version: int, ddl: Sequence[str], tables: Sequence[str]
    ) -> None:
        self.path = path
        self._version, self._ddl, self._tables = version, ddl, tables
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self.on_damage: Callable[[str], None] = lambda _: None
        """Called once, from any thread, to tell the user of a file set aside or unusable."""
        self._told: set[str] = set()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def run(
        self,
        work: Callable[[sqlite3.Connection], _T],
        otherwise: Callable[[], _T],
        *,
        begin: str = "BEGIN",
    ) -> _T:
        """Run ``work`` in a transaction; if the file is damaged, once more with a new file. Returns
        ``otherwise()`` if neither succeeds.
        """
        with self._lock:
            for attempt in (1, 2):
                try:
                    if self._connection is not None and disk.regular(self.path) is None:
                        self.close()  # writes to a deleted file would be lost
                    if self._connection is None:
                        self._connection = self._open()
                    with sqlite.transaction(self._connection, begin):
                        return work(self._connection)
                except sqlite3.DatabaseError as error:
                    if not _is_damage(error):
                        log.warning("%s cannot be used now: %s", self.path, error)
                        return otherwise()
                    if attempt == 1:
                        self._set_aside(error)
                    else:
                        self.close()
                except NewerVersionError:
                    self._tell(
                        f"{self.path.name} was written by a newer version of Tierline. It is left "
                        "as it is, and nothing is kept in it until this version is updated; the "
                        "conversation is not affected."
                    )
                    return otherwise()
                except OSError as error:
                    log.warning("%s cannot be used: %s", self.path, error)
                    self._explain(error)
                    return otherwise()
        return otherwise()

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; none if there is no file: looking must not leave one behind."""
        if disk.regular(self.path) is None:
            return []
        return self.run(lambda db: db.execute(query, values).fetchall(), list)

    def _open(self) -> sqlite3.Connection:
        make(self.path.parent)
        db = sqlite.connect(self.path, seconds=BUSY_SECONDS, threads=True)
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] > self._version:
                raise NewerVersionError
            _write_ahead(db)
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            if db.execute("PRAGMA user_version").fetchone()[0] != self._version:
                with sqlite.transaction(db):
                    self._create(db)
        except BaseException:
            db.close()
            raise
        return db

    def _create(self, db: sqlite3.Connection) -> None:
        if db.execute("PRAGMA user_version").fetchone()[0] == self._version:
            return  # another process was faster
        for table in self._tables:
            db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in self._ddl:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {self._version}")

    def _explain(self, error: OSError) -> None:
        """Tell the user about a problem of this file alone; the log reports a full disk."""
        why = disk.explain(error) if isinstance(error, disk.UnfitError) else ""
        if error.errno in (errno.EACCES, errno.EPERM):
            why = "its permissions do not allow it"
        if why and os.path.lexists(self.path):
            self._tell(
                f"{self.path.name} cannot be opened: {why}. Nothing is kept in it until that is "
                "mended; the conversation is not affected."
            )

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self.on_damage(text)

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        self.close()
        number = 1
        taken = set(disk.names(self.path.parent))
        while (aside := self.path.with_name(f"{self.path.name}.damaged-{number}")).name in taken:
            number += 1
        log.warning("%s is damaged (%s); it is set aside as %s", self.path, error, aside.name)
        disk.rename(self.path, aside.name)
        sqlite.remove(self.path)
        self.on_damage(
            f"{self.path.name} was damaged. It is set aside as {aside.name} and begun anew; the "
            "conversation is kept elsewhere and is not affected."
        )


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to WAL mode, in which readers and a writer do not block each other. Switching fails at
    once, whatever the time-out, while another process does the same with a new file.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """True for a damaged file, false for a locked one or a full disk."""
    if isinstance(error, sqlite3.OperationalError):
        return "malformed" in str(error) or "no such" in str(error)
    return True
