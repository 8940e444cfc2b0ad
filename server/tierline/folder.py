"""Tierline's folder in a workspace: made on demand, but never the workspace itself."""

from __future__ import annotations

from pathlib import Path

FOLDER = ".tierline"


def make(folder: Path) -> None:
    """Make a folder with all that it lies in, readable by its owner only (mode 0700). Above a
    ``.tierline`` nothing is made: a workspace that was deleted or moved away must not come back.

    Raises:
        FileNotFoundError: the workspace is gone.
        OSError: the folder cannot be made.
    """
    ours = _ours(folder)
    if ours is None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return
    for part in reversed([folder, *folder.parents]):
        if part.is_relative_to(ours):
            part.mkdir(exist_ok=True, mode=0o700)


def lost_workspace(path: Path) -> Path | None:
    """The workspace of one of our files, if its folder is gone."""
    ours = _ours(path)
    return ours.parent if ours is not None and not ours.parent.exists() else None


def _ours(path: Path) -> Path | None:
    """The innermost ``.tierline`` that a path is or lies in."""
    return next((part for part in (path, *path.parents) if part.name == FOLDER), None)
