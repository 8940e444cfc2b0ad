"""Read-only access to SQLite files by copying them, so that the files stay untouched.

Even a connection that only reads makes, writes or removes the ``-wal`` and ``-shm`` files beside a
database in WAL mode (SQLite's documentation, "Write-Ahead Logging", section 5). So a read-only
command gets a copy in a temporary folder, readable by the user alone.

A live server may write meanwhile. Committed pages go into the WAL first, and from there into the
file; what has been carried over stays in the WAL until that is begun anew, with new salts in its
header. So a file that is copied first, and its WAL after it, agree as long as the header is the
same before and after, whatever was appended or carried over in between. Without a WAL the file
itself must not have changed.

A server that begins its WAL anew faster than files can be copied is there for certain, and so are
the files that a reader would make: it is read through SQLite then, which writes its mark into the
``-shm`` file and nothing else.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import TypeAlias

from tierline import disk
from tierline.disk import sqlite

log = logging.getLogger(__name__)

_FILES = ("", "-journal", "-wal")
"""What is copied of a database, in this order."""
_HEADER_BYTES = 32
"""Of a WAL: magic, version, page size, checkpoint number, two salts, two checksums."""
_FILE_HEADER_BYTES = 100
"""Of a database, with the counter of its commits."""
_TRIES = 10
_WAIT_SECONDS = 0.02
_LOCK_SECONDS = 5.0
_State: TypeAlias = tuple[object, ...]


class ReadOnlyCopy(AbstractContextManager["ReadOnlyCopy"]):
    """Copies of SQLite files, gone when it is closed.

    Not for a process that has one of the files open itself: closing a file lets go of the locks
    that SQLite holds on it ("How To Corrupt An SQLite Database File", section 2.2).
    """

    def __init__(self, between: Callable[[], None] = lambda: None) -> None:
        """``between`` is called after each step of copying, for tests."""
        self._between = between
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the copies. Close the databases in them first."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def copy(self, path: Path) -> Path:
        """A copy of the database as it is now, under the same name; if there is no such file, where
        it would be.

        Raises:
            sqlite3.OperationalError: somebody kept it locked, five seconds long.
            OSError: it cannot be read, or there is no room for the copy.
        """
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(
                prefix="tierline-", ignore_cleanup_errors=True
            )
        to = disk.resolved(self._folder.name) / path.name
        for _ in range(_TRIES):
            if disk.regular(path) is None:
                return to
            with suppress(FileNotFoundError):  # another process ended or began a WAL meanwhile
                before = _state(path)
                self._take(path, to)
                if _state(path) == before:
                    return to
            time.sleep(_WAIT_SECONDS)
        _read(path, to)
        return to

    def place(self, path: Path) -> Path:
        """Like ``copy``, for callers that can do without: if it fails, the path has no file."""
        try:
            return self.copy(path)
        except (OSError, sqlite3.Error) as error:
            log.warning("%s is not looked at: %s", path, error)
            assert self._folder is not None
            return disk.resolved(self._folder.name) / "none" / path.name

    def _take(self, path: Path, to: Path) -> None:
        for suffix in _FILES:
            there, here = _beside(path, suffix), _beside(to, suffix)
            try:
                disk.copy(there, here)
            except FileNotFoundError:
                disk.remove(here)
            self._between()


def _read(path: Path, to: Path) -> None:
    sqlite.remove(to)
    with (
        closing(sqlite.connect(path, seconds=_LOCK_SECONDS, read_only=True)) as source,
        closing(sqlite.connect(to)) as target,
    ):
        source.execute("BEGIN")
        source.execute("SELECT 1 FROM sqlite_schema").fetchone()  # its lock keeps others out
        source.backup(target)


def _state(path: Path) -> _State:
    """A fingerprint: equal before and after copying if the copy of the file agrees with its WAL."""
    with suppress(FileNotFoundError), disk.open_read(_beside(path, "-wal")) as stream:
        if header := stream.read(_HEADER_BYTES):
            return (header,)
    return tuple(_figures(_beside(path, suffix)) for suffix in ("", "-journal"))


def _figures(path: Path) -> _State:
    """The file's status and commit counter: two commits fit into one tick of a 250 Hz clock."""
    try:
        with disk.open_read(path) as stream:
            found = os.fstat(stream.fileno())
            return (found.st_ino, found.st_size, found.st_mtime_ns, stream.read(_FILE_HEADER_BYTES))
    except FileNotFoundError:
        return ()


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
