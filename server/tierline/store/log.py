"""The history log: one append-only JSONL file, the truth of every conversation.

One file per workspace; lines that cannot be parsed are skipped with a warning. Several processes
may append at once, and no crash, torn write, full disk or foreign line ever costs a record that was
acknowledged.

Format: UTF-8, one JSON object per physical line, ended by ``\n``. The writer escapes everything
outside ASCII, so that no separator, no lone surrogate and no cut character can break a line.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import filelock
from attrs import field, frozen

from tierline import disk
from tierline.disk import locks
from tierline.disk.folder import make
from tierline.history.codec import decode
from tierline.history.events import LogEvent
from tierline.history.messages import Message
from tierline.store.errors import StorageError, workspace_gone

MAX_LINE_BYTES = 256 * 1024 * 1024
"""Longer lines are skipped piecewise, so that a NUL-filled gigabyte cannot exhaust memory."""

_BLOCK_BYTES, _MOST_BLOCK_BYTES = 64 * 1024, 4 * 1024 * 1024
"""Bytes of a read when lines are searched for: first and largest. It begins small, because records
of several sessions may alternate.
"""

Problem: TypeAlias = Literal["torn", "encoding", "json", "not_object", "too_long"]

_BOM = b"\xef\xbb\xbf"


@frozen
class LogLine:
    """One physical line. ``start`` and ``end`` are byte offsets; ``end`` is behind the newline."""

    start: int
    end: int
    record: Mapping[str, Any] | None
    problem: Problem | None = None
    complete: bool = True
    """False for a tail without its newline that is not a whole record: it may still grow, so an
    incremental reader must not step over it."""

    @property
    def entry(self) -> Message | LogEvent | None:
        """The message or event in it; None for a line that is neither."""
        return decode(self.record) if self.record is not None else None


@frozen
class AppendResult:
    """Where records landed. ``recreated``: the file had vanished while we were running."""

    start: int
    end: int
    recreated: bool = False


@frozen
class LogScan:
    """All readable records of a file, and what was skipped."""

    records: tuple[Mapping[str, Any], ...]
    skipped: int
    problems: Mapping[str, int] = field(factory=dict)
    end: int = 0


class HistoryLog:
    """Append-only JSONL with an inter-process lock.

    A record is acknowledged when :meth:`append` returns. It is then whole on its own line in the
    page cache, where a killed process cannot take it back; with ``durable=True`` it has also been
    fsynced, so that not even a power cut can.

    The lock is a ``.lock`` file beside the log; the operating system releases it when its holder
    dies.
    """

    def __init__(self, path: Path, *, lock_timeout: float = 10.0) -> None:
        """``lock_timeout`` is in seconds."""
        self.path = path
        self._threads = threading.RLock()
        self._lock_path = path.with_name(path.name + ".lock")
        self._lock = locks.lock(self._lock_path, seconds=lock_timeout, poll=0.004)
        self._existed = disk.regular(path) is not None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock, so that a record can depend on what the log says now.

        Raises:
            StorageError: another program holds the lock too long, or the file cannot be locked.
        """
        with self._threads, self._locked():
            yield

    def append(
        self, records: Mapping[str, Any] | Iterable[Mapping[str, Any]], *, durable: bool = False
    ) -> AppendResult:
        """Write records with one ``write``, each on its own physical line.

        Raises:
            StorageError: nothing was acknowledged. A part of the last line may be on disk; the next
                append starts on a line of its own.
        """
        batch = [records] if isinstance(records, Mapping) else list(records)
        data = b"".join(encode_line(record) for record in batch)
        with self._threads, self._locked():
            try:
                return self._write(data, durable)
            except OSError as error:
                raise _write_error(self.path, error) from error

    def rewrite(
        self, choose: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]]
    ) -> None:
        """Keep only the records that ``choose`` returns; the file is replaced atomically. Only for
        logs that may forget.

        Raises:
            StorageError: it could not be replaced and is unchanged.
        """
        with self._threads, self._locked():
            kept = choose(self.scan().records)
            try:
                disk.replace(self.path, b"".join(map(encode_line, kept)), mode=0o600)
            except OSError as error:
                raise _write_error(self.path, error) from error

    def read(
        self, offset: int = 0, end: int | None = None, *, containing: bytes = b""
    ) -> Iterator[LogLine]:
        """Stream lines from a byte offset (a line's start) to ``end`` or the end of the file.

        Blank lines are passed over. A missing file has no lines. Lines without the bytes
        ``containing`` come unparsed, with neither record nor problem, and many of them as one: a
        hundred times faster.

        Raises:
            StorageError: the file exists but cannot be read.
        """
        try:
            with disk.open_read(self.path) as stream:
                stream.seek(offset)
                yield from _lines(stream, offset, end, containing)
        except (FileNotFoundError, NotADirectoryError, disk.UnfitError):
            return  # a folder or link in its place has no lines; ``append`` reports it
        except OSError as error:
            raise StorageError(
                f"{self.path.name} cannot be read: {disk.explain(error)}.",
                "Check the permissions of the .tierline folder; the file is left as it is.",
            ) from error

    def scan(self) -> LogScan:
        """The whole file; for large ones, use :meth:`read`."""
        records: list[Mapping[str, Any]] = []
        problems: dict[str, int] = {}
        end = 0
        for line in self.read():
            end = line.end if line.complete else line.start
            if line.record is not None:
                records.append(line.record)
            elif line.problem is not None:
                problems[line.problem] = problems.get(line.problem, 0) + 1
        return LogScan(tuple(records), sum(problems.values()), problems, end)

    def size(self) -> int:
        """Length in bytes; 0 if there is no such file."""
        found = disk.regular(self.path)
        return found.st_size if found is not None else 0

    def state(self) -> tuple[int, int] | None:
        """Size, and what tells one file of this name from another (the inode), from one look at the
        file; None if it was there while we were running and is gone now.
        """
        found = disk.regular(self.path)
        if found is None:
            return None if self._existed else (0, 0)
        return found.st_size, found.st_ino

    @property
    def vanished(self) -> bool:
        """True if the file was there while we were running and is gone now."""
        return self._existed and not os.path.lexists(self.path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            make(self.path.parent)
            locks.check(self._lock_path)
            self._lock.acquire()
        except filelock.Timeout as error:
            raise StorageError(
                f"Another program holds the lock of {self.path.name} and does not let go.",
                "Close other editor windows on this folder, then send again.",
            ) from error
        except (OSError, NotImplementedError) as error:
            raise _write_error(self.path, error) from error
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self._lock.release()

    def _write(self, data: bytes, durable: bool) -> AppendResult:
        fd, created = disk.open_append(self.path)
        try:
            size = os.fstat(fd).st_size
            if size and _last_byte(fd) != b"\n":
                data = b"\n" + data
            recreated = created and self._existed
            written = os.write(fd, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if durable:
                disk.sync(fd)
                if created:
                    disk.sync_folder(self.path.parent)
            self._existed = True
            return AppendResult(size, size + written, recreated)
        finally:
            os.close(fd)


def encode_line(record: Mapping[str, Any]) -> bytes:
    """A record as one physical line. Never raises for odd text; unknown objects become strings."""
    text = json.dumps(record, ensure_ascii=True, separators=(",", ":"), default=str)
    return text.encode("ascii") + b"\n"


def _lines(
    stream: BinaryIO, position: int, end: int | None, containing: bytes
) -> Iterator[LogLine]:
    while end is None or position < end:
        raw = stream.readline(MAX_LINE_BYTES)
        if not raw:
            return
        start, position = position, position + len(raw)
        if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
            while piece := stream.readline(MAX_LINE_BYTES):
                position += len(piece)
                if piece.endswith(b"\n"):
                    break
            yield LogLine(start, position, None, "too_long")
            continue
        terminated = raw.endswith(b"\n")
        if containing and terminated and containing not in raw:
            position = _next(stream, position, end, containing)
            yield LogLine(start, position, None)
            continue
        # After a power cut, file systems may fill what was not yet written with NUL bytes; a record
        # that another writer put behind them on the same line is still good.
        body = raw.strip(b"\0 \t\r\n")
        if start == 0:
            body = body.removeprefix(_BOM)
        if not body:
            if b"\0" in raw:
                yield LogLine(start, position, None, "json" if terminated else "torn", terminated)
            continue
        del raw  # a line may be tens of megabytes: hold it once
        record, problem = _parse(body)
        if record is None and not terminated:
            yield LogLine(start, position, None, "torn", complete=False)
            return
        yield LogLine(start, position, record, problem)


def _next(stream: BinaryIO, position: int, end: int | None, containing: bytes) -> int:
    """Go from a line's start to the next line that holds the bytes, or to the last one."""
    size, at, rest = _BLOCK_BYTES, position, b""
    while block := stream.read(size if end is None else min(size, max(end - at, 0))):
        start, at, block = at - len(rest), at + len(block), rest + block
        hit = block.find(containing)
        newline = block.rfind(b"\n", 0, len(block) if hit < 0 else hit)
        if newline >= 0:
            position = max(position, start + newline + 1)
        if hit >= 0:
            break
        rest = block[max(0, len(block) - len(containing) + 1) :]
        size = min(2 * size, _MOST_BLOCK_BYTES)
    stream.seek(position)
    return position


def _last_byte(fd: int) -> bytes:
    os.lseek(fd, -1, os.SEEK_END)
    return os.read(fd, 1)


def _parse(body: bytes) -> tuple[Mapping[str, Any] | None, Problem | None]:
    try:
        value = json.loads(body)
    except UnicodeDecodeError:
        return None, "encoding"
    except (ValueError, RecursionError):
        return None, "json"
    if not isinstance(value, dict):
        return None, "not_object"
    return value, None


def _write_error(path: Path, error: OSError | NotImplementedError) -> StorageError:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StorageError(
            f"The disk is full: the message was not written to {path.name}.",
            "Free some space, then send again; earlier messages are intact.",
        )
    if (gone := workspace_gone(path)) is not None:
        return gone
    odd = isinstance(error, disk.UnfitError)
    denied = number in (errno.EACCES, errno.EPERM) and not odd
    if denied and disk.regular(path) is not None and os.access(path.parent, os.W_OK):
        return StorageError(
            f"The message was not written: the permissions of {path.name} do not allow it.",
            "Allow yourself to read and write it; until then the chat lives in memory only.",
        )
    if denied or number == errno.EROFS:
        return StorageError(
            f"The folder of {path.name} is read-only: the message was not written.",
            "Make the .tierline folder writable; until then the chat lives in memory only.",
        )
    return StorageError(
        f"The message was not written to {path.name}: {disk.explain(error)}.",
        "Check the .tierline folder; until then the chat lives in memory only.",
    )
