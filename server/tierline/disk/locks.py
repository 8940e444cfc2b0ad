"""Locks between processes: a file beside what they guard."""

from __future__ import annotations

from pathlib import Path

import filelock

from tierline.disk.walk import UnfitError, kind, place


def lock(path: Path, *, seconds: float = 10.0, poll: float = 0.05) -> filelock.BaseFileLock:
    """A lock that any thread of this process may release; 0 ``seconds`` does not wait.

    ``filelock`` (from version 4) opens the file without following a link, and truncates nothing.
    """
    return filelock.FileLock(
        path, timeout=seconds, mode=0o600, thread_local=False, poll_interval=poll
    )


def check(path: Path) -> None:
    """Before a lock is taken: its file has to be a regular one, or not there.

    Raises:
        UnfitError: it is something else.
        OSError: its folder is missing or cannot be entered.
    """
    with place(path) as where:
        found = where.status()
        if found is not None and (word := kind(found.st_mode)):
            raise UnfitError(str(path), f"{path.name} is {word}")
