from __future__ import annotations

import asyncio
import errno
import io
import os
from typing import Any

import pytest

from tierline.stdio import UNREAD, ThreadedReader, UnbufferedWriter


class Pipe(io.RawIOBase):
    """Takes at most ``most`` bytes at a time; a broken one takes none."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.took = b""
        self.tries = 0

    def write(self, data: Any) -> int:
        self.tries += 1
        if not self.most:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        self.took += bytes(data[: self.most])
        return min(self.most, len(data))


def test_a_short_write_is_continued() -> None:
    pipe = Pipe(3)
    assert UnbufferedWriter(pipe).write(b"0123456789") == 10  # type: ignore[arg-type]
    assert pipe.took == b"0123456789"


def test_a_client_that_reads_no_more_is_written_to_once() -> None:
    pipe = Pipe(0)
    writer = UnbufferedWriter(pipe)  # type: ignore[arg-type]
    assert not writer.is_closing()
    for _ in range(3):
        assert writer.write(b"data") == 4
    assert (pipe.tries, writer.is_closing()) == (1, True)


def test_other_errors_of_the_pipe_are_not_hidden() -> None:
    class Full(Pipe):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="space"):
        UnbufferedWriter(Full(1)).write(b"data")  # type: ignore[arg-type]


async def test_a_reader_gives_lines_and_bodies_however_they_come() -> None:
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream:
        reader = ThreadedReader(stream)
        for piece in (b"Content-Le", b"ngth: 5\r\n\r", b"\nhel", b"lo", b"next\n", b"cut"):
            os.write(into, piece)
            await asyncio.sleep(0.01)
        assert await reader.readline() == b"Content-Length: 5\r\n"
        assert await reader.readline() == b"\r\n"
        assert await reader.readexactly(5) == b"hello"
        assert await reader.readline() == b"next\n"
        os.close(into)
        assert await reader.readexactly(9) == b"", "no half of a message"
        assert await reader.readline() == b""


async def test_a_client_that_floods_has_to_wait() -> None:
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream:
        reader = ThreadedReader(stream)
        sent = 0

        def flood() -> None:
            nonlocal sent
            for _ in range(100):
                sent += os.write(into, b"x" * 99_999 + b"\n")
            os.close(into)

        writer = asyncio.ensure_future(asyncio.to_thread(flood))
        await asyncio.sleep(0.3)
        assert sent < 3 * UNREAD, "of 10 MB"
        assert len(await reader.readexactly(5_000_000)) == 5_000_000
        assert len(await reader.readexactly(5_000_000)) == 5_000_000
        assert await reader.readexactly(1) == b""
        await writer
