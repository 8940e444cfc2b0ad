"""Opening a path part by part, so that no link in it is followed.

On POSIX each folder is opened relative to the one above it. macOS checks a whole path in one call
(``O_NOFOLLOW_ANY``). Windows has neither: there every part is looked at just before the file is
opened. An attacker who only provides a repository cannot swap a part in between; a program of the
user's own account could, but has no need of links.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from tierline.folder import FOLDER

RELATIVE = {os.open, os.stat, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd
_ANY = int(getattr(os, "O_NOFOLLOW_ANY", 0))
_PATH = int(getattr(os, "O_PATH", 0))
_FOLDER_FLAGS = (_PATH or os.O_RDONLY) | sum(
    int(getattr(os, name, 0)) for name in ("O_DIRECTORY", "O_CLOEXEC")
)
_NOFOLLOW = int(getattr(os, "O_NOFOLLOW", 0))
FILE_FLAGS = _NOFOLLOW | sum(
    int(getattr(os, name, 0)) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
)
_LINK_TAGS = (
    getattr(stat, "IO_REPARSE_TAG_SYMLINK", -1),
    getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1),
)


class UnfitError(OSError):
    """Something of another kind lies where a file of ours should be: ``strerror`` says what."""

    def __init__(self, path: str, why: str, number: int = errno.ELOOP) -> None:
        super().__init__(number, why, path)


@frozen
class OpenedPath:
    """A name in an open ``folder``; where that is not possible, a whole path."""

    folder: int | None
    name: str
    path: str

    def open(self, flags: int, mode: int = 0o600) -> int:
        """Open the file itself, without following a link or waiting for anybody."""
        return os.open(self.name, flags | FILE_FLAGS, mode, dir_fd=self.folder)

    def status(self) -> os.stat_result | None:
        """Its status, links not followed; None if nothing has the name."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def beside(self, name: str) -> OpenedPath:
        """Another name in the same folder."""
        held = self.folder is not None
        whole = os.path.join(os.path.dirname(self.path), name)
        return OpenedPath(self.folder, name if held else whole, whole)


@contextmanager
def place(path: str | Path) -> Iterator[OpenedPath]:
    """A file's place, with its folder held open.

    What lies above a ``.tierline`` is the user's own choice of a workspace, and links there are
    followed. Below it, and in every other path, a link is an error: resolve such a path first.

    Raises:
        FileNotFoundError: a folder on the way is missing.
        UnfitError: something on the way is a link or no folder.
        OSError: a folder cannot be entered.
    """
    whole = os.path.abspath(path)
    anchor, parts = split(whole)
    if not RELATIVE or not parts:
        _look_at(anchor, parts)
        yield OpenedPath(None, whole, whole)
        return
    folder = _enter(anchor, parts[:-1], whole)
    try:
        yield OpenedPath(folder, parts[-1], whole)
    finally:
        os.close(folder)


def split(path: str) -> tuple[str, list[str]]:
    """Where links may be followed, and the parts below it where they may not."""
    drive, rest = os.path.splitdrive(path)
    parts = [part for part in rest.split(os.sep) if part]
    for number in range(len(parts) - 1, -1, -1):
        if parts[number] == FOLDER:
            return drive + os.sep + os.sep.join(parts[:number]), parts[number:]
    return drive + os.sep, parts


def kind(mode: int) -> str:
    """The kind of a file from its mode, in words; empty for a regular file."""
    if stat.S_ISREG(mode):
        return ""
    for test, word in (
        (stat.S_ISLNK, "a link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode):
            return word
    return "a device"


def is_link(status: os.stat_result) -> bool:
    """True for a symbolic link, and for a junction on Windows."""
    tag = getattr(status, "st_reparse_tag", 0)
    return stat.S_ISLNK(status.st_mode) or (sys.platform == "win32" and tag in _LINK_TAGS)


def _enter(anchor: str, parts: list[str], whole: str) -> int:
    if _ANY and anchor == os.sep:
        return os.open(os.path.dirname(whole), _FOLDER_FLAGS | _ANY)
    folder = os.open(anchor, _FOLDER_FLAGS)
    for number, part in enumerate(parts):
        try:
            below = os.open(part, _FOLDER_FLAGS | _NOFOLLOW, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                there = os.stat(part, dir_fd=folder, follow_symlinks=False)
                shown = os.path.join(anchor, *parts[: number + 1])
                word = kind(there.st_mode) or "a file"
                raise UnfitError(shown, f"{part} is {word}, not a folder", errno.ENOTDIR) from error
            raise
        finally:
            os.close(folder)
        folder = below
    return folder


def _look_at(anchor: str, parts: list[str]) -> None:
    """For systems without relative opening: no folder on the way may be a link."""
    there = anchor
    for part in parts[:-1]:
        there = os.path.join(there, part)
        status = os.lstat(there)
        if is_link(status):
            raise UnfitError(there, f"{part} is a link, not a folder", errno.ENOTDIR)
        if not stat.S_ISDIR(status.st_mode):
            raise UnfitError(there, f"{part} is a file, not a folder", errno.ENOTDIR)
