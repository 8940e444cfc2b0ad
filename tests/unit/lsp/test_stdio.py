from __future__ import annotations

import errno
import io
import os
from typing import Any

import pytest

from tierline.lsp.stdio import UnbufferedWriter


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
