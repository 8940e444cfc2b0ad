"""Tierline's folder in a workspace: made on demand, but never the workspace itself."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from tierline.disk import ownership
from tierline.disk.walk import UnfitError, is_link, kind, place
from tierline.folder import FOLDER


def make(folder: Path) -> None:
    """Make a folder and its parents, readable by the owner only (mode 0700). Above a
    ``.tierline`` nothing is made: a workspace that was deleted or moved away must not come back.
    A ``.tierline`` that is made here is marked as this user's own.

    Raises:
        FileNotFoundError: the workspace is gone.
        UnfitError: something else has the name, or a link leads there.
        OSError: the folder cannot be made.
    """
    ours = _ours(folder)
    if ours is None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except FileExistsError as error:
            why = f"{folder.name} is a file, not a folder"
            raise UnfitError(str(folder), why, errno.ENOTDIR) from error
        return
    for part in reversed([folder, *folder.parents]):
        if part.is_relative_to(ours) and _make(part) and part == ours:
            ownership.claim(ours)


def lost_workspace(path: Path) -> Path | None:
    """The workspace of one of our files, if its folder is gone."""
    ours = _ours(path)
    return ours.parent if ours is not None and not ours.parent.exists() else None


def _make(part: Path) -> bool:
    """True if it was made; it may be there already."""
    with place(part) as where:
        there = where.status()
        if there is None:
            try:
                os.mkdir(where.name, 0o700, dir_fd=where.folder)
                return True
            except FileExistsError:
                there = where.status()
        if there is None or is_link(there) or not stat.S_ISDIR(there.st_mode):
            what = kind(there.st_mode) or "a file" if there is not None else "gone"
            raise UnfitError(str(part), f"{part.name} is {what}, not a folder", errno.ENOTDIR)
    return False


def _ours(path: Path) -> Path | None:
    """The innermost ``.tierline`` that a path is or lies in."""
    return next((part for part in (path, *path.parents) if part.name == FOLDER), None)
