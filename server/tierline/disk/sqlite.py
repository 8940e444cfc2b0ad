"""The one place that opens SQLite files."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from tierline.disk import locks
from tierline.disk.files import SECONDS
from tierline.disk.walk import OpenedPath, UnfitError, is_link, kind, place

_STALE_SECONDS = 30.0
SIBLINGS = ("-wal", "-shm", "-journal")
"""Suffixes of files that SQLite opens beside a database by itself, following links."""


def connect(
    path: Path, *, seconds: float = 2.0, read_only: bool = False, threads: bool = False
) -> sqlite3.Connection:
    """Open a database file, made with mode 0600 if it is missing (unless ``read_only``).

    SQLite takes paths, not descriptors, and resolves them itself. So the file and those that it
    opens beside it are looked at before, relative to their held folder, and again after: they have
    to be regular files of this user under one name, or missing. None of them is opened here, as
    closing one would drop SQLite's locks ("How To Corrupt An SQLite Database File", 2.2).
    ``seconds``: how long a lock is waited for. ``threads``: whether any thread may use it.

    Raises:
        UnfitError: something else has one of the names, or a link leads there.
        OSError: it cannot be made or read (PermissionError: not with this user's rights).
        sqlite3.Error: it cannot be opened.
    """
    with place(path) as where:
        if not read_only and where.status() is None:
            with contextlib.suppress(FileExistsError):
                os.close(where.open(os.O_RDWR | os.O_CREAT | os.O_EXCL))
        before = _look(where, read_only=read_only)
        if not os.access(where.path, os.R_OK if read_only else os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), where.path)
        mode = "ro" if read_only else "rw"
        if not read_only and not locks.works(os.path.dirname(where.path)):
            mode += "&vfs=unix-dotfile"  # a folder NAME.lock is the lock, one writer at a time
            _unlock(where)
        connection = sqlite3.connect(
            f"{Path(where.path).as_uri()}?mode={mode}",
            uri=True,
            timeout=min(seconds, SECONDS),
            isolation_level=None,
            check_same_thread=not threads,
        )
        try:
            if _look(where, read_only=read_only) != before:
                raise UnfitError(str(path), "another file took its place")
        except BaseException:
            connection.close()
            raise
    return connection


def _unlock(where: OpenedPath) -> None:
    """Remove a lock that was not renewed for ``_STALE_SECONDS``: its process was killed."""
    beside = where.beside(os.path.basename(where.path) + ".lock")
    found = beside.status()
    if found is not None and time.time() - found.st_mtime > _STALE_SECONDS:
        with contextlib.suppress(OSError):
            os.rmdir(beside.name, dir_fd=where.folder)


def in_memory(*, threads: bool = False) -> sqlite3.Connection:
    """A database without a file."""
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=not threads)


def scratch() -> sqlite3.Connection:
    """A database in an unnamed temporary file, deleted with the connection; for data that is too
    large for memory. There is no rollback: a transaction that fails is lost.
    """
    connection = sqlite3.connect("", isolation_level=None)
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("PRAGMA cache_size=-8000")
    return connection


def of_copy(path: Path) -> sqlite3.Connection:
    """A copy in a temporary folder of this process (``store/readonly_copy.py``)."""
    return sqlite3.connect(path)


@contextlib.contextmanager
def transaction(db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Commits at the end; rolls back if what is done in it raises."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def page_bytes(db: sqlite3.Connection) -> tuple[int, int]:
    """Bytes of all pages of a database, and of those that are empty."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return pages * size, free * size


def remove(path: Path) -> None:
    """Delete a database with the files beside it, as far as they are there. Close it first."""
    for suffix in ("", *SIBLINGS):
        with contextlib.suppress(OSError), place(f"{path}{suffix}") as where:
            os.unlink(where.name, dir_fd=where.folder)


def _look(where: OpenedPath, *, read_only: bool) -> tuple[int, int]:
    for suffix in SIBLINGS:
        beside = where.beside(os.path.basename(where.path) + suffix)
        if (there := beside.status()) is not None:
            _check(beside, there, os.path.basename(beside.path), read_only=read_only)
    found = where.status()
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), where.path)
    _check(where, found, "it", read_only=read_only)
    return (found.st_dev, found.st_ino)


def _check(where: OpenedPath, status: os.stat_result, name: str, *, read_only: bool) -> None:
    if is_link(status):
        raise UnfitError(where.path, f"{name} is a link")
    if word := kind(status.st_mode):
        raise UnfitError(where.path, f"{name} is {word}", errno.EISDIR)
    if not read_only and status.st_nlink > 1:
        raise UnfitError(
            where.path, f"{name} has a second name elsewhere (a hard link)", errno.EMLINK
        )
