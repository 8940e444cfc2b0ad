"""Locks between processes: a file beside what they guard."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from pathlib import Path
from typing import Self

import filelock

from tierline.disk.walk import UnfitError, kind, place

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})
"""Errors of file systems that cannot lock: some network and FUSE ones."""


class Lock:
    """A lock of the operating system, released when its holder dies. A file system without locks
    gets a file ``NAME.held`` instead, which only one process can make; one left by a dead process
    of this machine is taken over.
    """

    def __init__(self, path: Path, *, seconds: float, poll: float) -> None:
        self._path, self._seconds, self._poll = path, seconds, poll
        # ``filelock`` (from version 4) opens the file without following a link, truncates nothing.
        self._lock: filelock.BaseFileLock = filelock.FileLock(
            path, timeout=seconds, mode=0o600, thread_local=False, poll_interval=poll
        )
        self._native = True

    def acquire(self) -> Self:
        """Take it.

        Raises:
            filelock.Timeout: another process holds it for too long.
            OSError, NotImplementedError: it cannot be taken at all.
        """
        try:
            self._lock.acquire()
        except OSError as error:
            if not self._native or error.errno not in _NO_LOCKS:
                raise
            self._native = False
            self._lock = filelock.SoftFileLock(
                f"{self._path}.held",
                timeout=self._seconds,
                mode=0o600,
                thread_local=False,
                poll_interval=self._poll,
            )
            self._lock.acquire()
        return self

    def release(self) -> None:
        """Release the lock. Any thread of this process may."""
        self._lock.release()

    @property
    def file(self) -> str:
        """The path of the lock's file."""
        return str(self._path)

    @property
    def is_locked(self) -> bool:
        """True while this object holds it."""
        return self._lock.is_locked

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def lock(path: Path, *, seconds: float = 10.0, poll: float = 0.05) -> Lock:
    """A lock that any thread of this process may release; 0 ``seconds`` does not wait."""
    return Lock(path, seconds=seconds, poll=poll)


def check(path: Path) -> None:
    """Check, before a lock is taken, that its file is a regular one or missing.

    Raises:
        UnfitError: it is something else.
        OSError: its folder is missing or cannot be entered.
    """
    with place(path) as where:
        found = where.status()
        if found is not None and (word := kind(found.st_mode)):
            raise UnfitError(str(path), f"{path.name} is {word}")


def works(folder: str) -> bool:
    """Whether there are byte-range locks, which SQLite needs; tried once for each folder."""
    if sys.platform == "win32":
        return True
    known = _works.get(folder)
    if known is not None:
        return known
    import fcntl

    answer = True
    try:
        with place(f"{folder}/.locks.{secrets.token_hex(6)}.new") as where:
            descriptor = where.open(os.O_RDWR | os.O_CREAT | os.O_EXCL)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                answer = error.errno not in _NO_LOCKS
            finally:
                os.close(descriptor)
                os.unlink(where.name, dir_fd=where.folder)
    except OSError:
        return True  # no file can be made here: opening the database will say why
    _works[folder] = answer
    return answer


_works: dict[str, bool] = {}
