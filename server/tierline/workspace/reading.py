"""Reading files from disk: bounded, never hanging, never outside the workspace."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence

from attrs import frozen

from tierline.context.refusals import Reason, Refusal, refuse
from tierline.disk.walk import RELATIVE, UnfitError, place

DEFAULT_CAP = 5_000_000
"""Largest file that is read, in bytes (setting ``context.max_file_bytes``)."""

_HEAD = 64 * 1024

Signature = tuple[int, int, int, int, int]
"""(device, inode, size, mtime_ns, ctime_ns): equal as long as nobody wrote to the file. The change
time cannot be set back, so that a rewrite with equal size and restored mtime shows."""


@frozen
class FileBytes:
    """A file's bytes and the signature of the file that they were read from."""

    data: bytes
    signature: Signature


def signature_of(status: os.stat_result) -> Signature:
    """The signature in a file's status."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def signature(path: str) -> Signature | None:
    """The file's current signature; None if it is missing."""
    try:
        return signature_of(os.stat(path))
    except (OSError, ValueError):
        return None


def read_file(
    name: str,
    path: str,
    cap: int = DEFAULT_CAP,
    inside: Callable[[str], bool] = lambda _real: True,
    enough: Callable[[bytes], bool] = lambda _head: False,
) -> FileBytes | Refusal:
    """The bytes of a regular file of at most ``cap`` bytes, or why not.

    ``path`` has its links resolved; ``inside`` says whether a real path is within the workspace. No
    link on the way is followed, so that a link made after the first check has no effect; where a
    system cannot promise that, the open file is compared with the path again. FIFOs, devices and
    folders are refused without being opened. At most ``cap + 1`` bytes are ever read, and only the
    first 64 KiB if they are ``enough`` (for what will be refused anyway).
    """
    try:
        with place(path) as where:
            if refusal := _unfit(name, where.status(), cap):
                return refusal
            descriptor = where.open(os.O_RDONLY)
        try:
            status = os.fstat(descriptor)
            if refusal := _unfit(name, status, cap):
                return refusal
            if refusal := _moved(name, path, status, inside):
                return refusal
            data = _read(descriptor, cap + 1, enough)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        return _failed(name, error)
    if len(data) > cap:
        return _too_large(name, len(data), cap)
    return FileBytes(data, signature_of(status))


def _unfit(name: str, status: os.stat_result | None, cap: int) -> Refusal | None:
    if status is None:
        return refuse(name, Reason.NOT_FOUND)
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        return refuse(name, Reason.CHANGED_WHILE_READING)
    if not stat.S_ISREG(mode):
        kind = (
            "a folder"
            if stat.S_ISDIR(mode)
            else "a FIFO"
            if stat.S_ISFIFO(mode)
            else "a socket"
            if stat.S_ISSOCK(mode)
            else "a device"
        )
        return refuse(name, Reason.NOT_A_FILE, kind)
    if status.st_size > cap:
        return _too_large(name, status.st_size, cap)
    return None


def _moved(
    name: str, path: str, opened: os.stat_result, inside: Callable[[str], bool]
) -> Refusal | None:
    real = path if RELATIVE else os.path.realpath(path)
    if not inside(real):
        return refuse(name, Reason.OUTSIDE_WORKSPACE)
    if RELATIVE:
        return None
    now = os.stat(real)
    if (now.st_dev, now.st_ino) != (opened.st_dev, opened.st_ino):
        return refuse(name, Reason.CHANGED_WHILE_READING)
    return None


def _read(descriptor: int, limit: int, enough: Callable[[bytes], bool]) -> bytes:
    pieces = [os.read(descriptor, min(limit, _HEAD))]
    left = limit - len(pieces[0])
    if not pieces[0] or enough(pieces[0]):
        return pieces[0]
    while left > 0:
        piece = os.read(descriptor, min(left, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _too_large(name: str, size: int, cap: int) -> Refusal:
    return refuse(name, Reason.TOO_LARGE, f"{_megabytes(size)}; the limit is {_megabytes(cap)}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"


def _failed(name: str, error: Exception) -> Refusal:
    code = getattr(error, "errno", None)
    if isinstance(error, UnfitError) and "link" in (error.strerror or ""):
        return refuse(name, Reason.CHANGED_WHILE_READING)
    if code in (errno.ENOENT, errno.ENOTDIR):
        return refuse(name, Reason.NOT_FOUND)
    if code == errno.ELOOP:
        return refuse(name, Reason.CHANGED_WHILE_READING)
    if code == errno.EISDIR:
        return refuse(name, Reason.NOT_A_FILE, "a folder")
    if isinstance(error, ValueError) or code == errno.ENAMETOOLONG:
        return refuse(name, Reason.INVALID_PATH)
    return refuse(name, Reason.UNREADABLE, getattr(error, "strerror", None) or "read error")


@frozen
class ProgramIdentity:
    """A folder's identity, and the program's real path, identity, size and times."""

    folder: str
    identity: tuple[int, int] | None
    program: str = ""
    real: str = ""
    signature: Signature | None = None

    def changed(self) -> str:
        """What has changed since, in words; empty if nothing has. Blocking."""
        if _identity(self.folder) != self.identity:
            return "the folder"
        if self.program and identify(self.folder, [self.program]) != self:
            return self.program
        return ""


def identify(folder: str, command: Sequence[str] | str) -> ProgramIdentity:
    """Record the folder and, if the argument list names a file as its program, that file. A program
    on the system's search path does not belong to the workspace and is not recorded. Blocking.
    """
    program = "" if isinstance(command, str) or not command else command[0]
    if os.path.dirname(program) == "":
        return ProgramIdentity(folder, _identity(folder))
    real = os.path.realpath(os.path.join(folder, program))
    return ProgramIdentity(folder, _identity(folder), program, real, signature(real))


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino)
