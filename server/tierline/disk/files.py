"""Reading, writing and appending through the door. All of it blocks: never on the event loop."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from pathlib import Path
from typing import BinaryIO

from tierline.disk.walk import OpenedPath, UnfitError, is_link, kind, place

SECONDS = 10.0
"""How long a file may take to be read or written: a disk that is gone must not hold a turn."""
_PIECE = 1 << 20


def resolved(path: str | Path) -> Path:
    """The path without links, for files whose links are the user's own (settings, dotfiles)."""
    return Path(os.path.realpath(path))


def regular(path: str | Path) -> os.stat_result | None:
    """The status of a regular file; None for anything else, a link too, and where nothing is.

    A single ``lstat``, for callers that ask often. The folders above the file are not checked.
    """
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def open_read(path: str | Path) -> BinaryIO:
    """A regular file, to be read piece by piece.

    Raises:
        FileNotFoundError: there is none.
        UnfitError: it is something else, or a link leads there.
        OSError: it cannot be read.
    """
    with place(path) as where:
        return os.fdopen(_open(where, os.O_RDONLY), "rb")


def read(path: str | Path, limit: int, *, seconds: float = SECONDS) -> bytes:
    """The bytes of a regular file of at most ``limit`` bytes.

    Raises:
        FileNotFoundError: there is none.
        UnfitError: it is something else, is larger, or a link leads there.
        TimeoutError: it took longer than ``seconds``.
        OSError: it cannot be read.
    """
    with open_read(path) as stream:
        if os.fstat(stream.fileno()).st_size > limit:
            raise _too_large(path, limit)
        until = time.monotonic() + seconds
        pieces: list[bytes] = []
        left = limit + 1
        while left > 0 and (piece := stream.read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
            if time.monotonic() > until:
                raise TimeoutError(errno.ETIMEDOUT, f"it took longer than {seconds:g} s", str(path))
    if left <= 0:
        raise _too_large(path, limit)
    return b"".join(pieces)


def read_text(path: str | Path, limit: int) -> str:
    """The content of a UTF-8 file of at most ``limit`` bytes.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
        OSError: see ``read``.
    """
    return read(path, limit).decode("utf-8")


def open_append(path: str | Path, *, create: bool = True) -> tuple[int, bool]:
    """A descriptor opened for reading and appending, and whether the file was made.

    The file must be this user's own under one name only: what is appended to a hard link would
    appear in another file.

    Raises:
        FileNotFoundError: it is missing and ``create`` is false, or its folder is missing.
        UnfitError: it is something else, or not only ours.
        OSError: it cannot be written.
    """
    flags = os.O_RDWR | os.O_APPEND
    with place(path) as where:
        try:
            return _open(where, flags, own=True), False
        except FileNotFoundError:
            if not create:
                raise
        try:
            return where.open(flags | os.O_CREAT | os.O_EXCL), True
        except FileExistsError:  # another process was faster
            return _open(where, flags, own=True), False


def append(path: str | Path, data: bytes) -> bool:
    """Append to an existing file with one write. False if only a part of it was written.

    Raises:
        OSError: see ``open_append``; nothing was written.
    """
    descriptor, _ = open_append(path, create=False)
    try:
        return os.write(descriptor, data) == len(data)
    finally:
        os.close(descriptor)


def create(path: str | Path, data: bytes = b"", mode: int = 0o600) -> None:
    """Make a new file; the process's umask is applied to ``mode``.

    Raises:
        FileExistsError: something has that name.
        OSError: it cannot be made.
    """
    with place(path) as where:
        _write(where.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), data, durable=False)


def replace(
    path: str | Path, data: bytes, *, mode: int | None = None, sync: bool = True, fresh: bool = True
) -> None:
    """Replace a file atomically: it is written under a new name, then renamed. ``mode``: its
    permissions; None for those of the earlier one, or 0600. ``fresh``: false if there has to be an
    earlier one.

    Raises:
        FileNotFoundError: the folder is missing, or the earlier file of one that is not ``fresh``.
        UnfitError: a folder, a link, a pipe or a device has that name, or a link leads there.
        OSError: it was not written; the earlier one is as it was.
    """
    with place(path) as where:
        there = where.status()
        if there is None and not fresh:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if there is not None:
            _check(where, there)
            mode = stat.S_IMODE(there.st_mode) if mode is None else mode
        name = os.path.basename(where.path)[:100]
        aside = where.beside(f".{name}.{secrets.token_hex(6)}.new")
        try:
            descriptor = aside.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            _write(descriptor, data, durable=sync)
            os.replace(aside.name, where.name, src_dir_fd=where.folder, dst_dir_fd=where.folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(aside.name, dir_fd=where.folder)
            raise


def copy(path: str | Path, to: str | Path) -> None:
    """Copy a regular file's bytes to ``to``, replacing what has that name.

    Raises:
        FileNotFoundError: there is none.
        OSError: ``path`` cannot be read, or ``to`` cannot be written.
    """
    with open_read(path) as source:
        remove(to)
        with place(to) as where:
            descriptor = where.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "wb") as target:
            while piece := source.read(_PIECE):
                target.write(piece)


def remove(path: str | Path) -> None:
    """Delete a file, or a link itself; nothing is done where there is none.

    Raises:
        OSError: it is a folder, or cannot be deleted.
    """
    with contextlib.suppress(FileNotFoundError), place(path) as where:
        os.unlink(where.name, dir_fd=where.folder)


def rename(path: str | Path, name: str) -> None:
    """Give a file another name in its folder, replacing what has that name.

    Raises:
        OSError: it is missing, or the folder cannot be written.
    """
    with place(path) as where:
        to = where.beside(name)
        os.replace(where.name, to.name, src_dir_fd=where.folder, dst_dir_fd=where.folder)


def names(folder: str | Path) -> list[str]:
    """What a folder holds, sorted.

    Raises:
        FileNotFoundError: there is none.
        UnfitError: it is no folder, or a link leads there.
        OSError: it cannot be read.
    """
    with place(os.path.join(folder, "_")) as inside:
        if inside.folder is None:
            return sorted(os.listdir(folder))
        descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=inside.folder)
        try:
            return sorted(os.listdir(descriptor))
        finally:
            os.close(descriptor)


def sync(descriptor: int) -> None:
    """Flush a file to the medium, so that a power cut does not lose it. On macOS that takes
    ``F_FULLFSYNC``: ``fsync`` leaves the data in the drive's cache (fsync(2) there).
    """
    try:
        import fcntl

        whole = getattr(fcntl, "F_FULLFSYNC", None)
        if whole is not None:
            fcntl.fcntl(descriptor, whole)
            return
    except (ImportError, OSError):  # Windows; a network file system that does not offer it
        pass
    os.fsync(descriptor)


def sync_folder(folder: str | Path) -> None:
    """Make a new file's name survive a power cut; not offered on Windows."""
    with contextlib.suppress(OSError), place(os.path.join(folder, "_")) as inside:
        if inside.folder is None:
            return
        descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=inside.folder)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)


def explain(error: Exception) -> str:
    """Why a file cannot be used, in a few words."""
    said = error.strerror if isinstance(error, OSError) else ""
    return said or str(error) or type(error).__name__


def _open(where: OpenedPath, flags: int, *, own: bool = False) -> int:
    """Check the kind of file before opening, so that no device is opened, and again afterwards."""
    before = where.status()
    if before is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), where.path)
    _check(where, before, own=own)
    descriptor = where.open(flags)
    try:
        _check(where, os.fstat(descriptor), own=own)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(where: OpenedPath, status: os.stat_result, *, own: bool = False) -> None:
    if is_link(status):
        raise UnfitError(where.path, "it is a link")
    if word := kind(status.st_mode):
        number = errno.EISDIR if word == "a folder" else errno.EINVAL
        raise UnfitError(where.path, f"it is {word}", number)
    if own and status.st_nlink > 1:
        raise UnfitError(where.path, "it has a second name elsewhere (a hard link)", errno.EMLINK)
    if own and not _ours(where, status):
        raise UnfitError(where.path, "it belongs to another user", errno.EPERM)


def _ours(where: OpenedPath, status: os.stat_result) -> bool:
    """True for a file of this user, or of its folder's owner: network drives give all files one."""
    mine = getattr(os, "geteuid", lambda: status.st_uid)()
    if status.st_uid == mine:
        return True
    folder = os.fstat(where.folder) if where.folder is not None else None
    return folder is not None and folder.st_uid == status.st_uid


def _write(descriptor: int, data: bytes, *, durable: bool) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        if durable:
            sync(stream.fileno())


def _too_large(path: str | Path, limit: int) -> UnfitError:
    size = f"{limit / 1e6:g} MB" if limit >= 100_000 else f"{limit:,} bytes"
    return UnfitError(str(path), f"it is larger than {size}", errno.EFBIG)
