"""Standard output belongs to the protocol: everything else that prints goes to standard error."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from typing import BinaryIO

log = logging.getLogger(__name__)

PIECE = 64 * 1024
"""Bytes of one read; the size of a pipe on Linux."""
LINE = 64 * 1024
"""Longest line by default, in bytes; longer than any header."""
UNREAD = 1024 * 1024
"""High-water mark in bytes, beside the message being read. Above it, nothing more is read from the
client.
"""


def claim_stdout() -> BinaryIO:
    """Take file descriptor 1 for the protocol and point it at standard error for everybody else.

    A library that prints, a C extension that writes to descriptor 1, or a child process that
    inherits it can then no longer break the framing.
    """
    sys.stdout.flush()
    private = os.dup(1)
    os.set_inheritable(private, False)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(private, "wb", buffering=0)


class ThreadedReader:
    """Standard input for the event loop, read by a thread of its own.

    pygls' reader changes threads three times for every message, and each change waits for the
    processor on a busy machine. A thread is needed because pipes and files cannot be read
    asynchronously on every system.
    """

    def __init__(self, stream: BinaryIO, longest_line: int = LINE) -> None:
        """``longest_line``: in bytes; for a longer one, ``readline`` raises."""
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._longest_line = longest_line
        self._buffer = asyncio.StreamReader(limit=longest_line)
        self._unread, self._wanted = 0, 0
        self._room = threading.Event()
        self._room.set()
        threading.Thread(target=self._read, name="tierline-stdin", daemon=True).start()

    async def readline(self) -> bytes:
        """One line; empty at the end.

        Raises:
            ValueError: it is too long, and was dropped.
        """
        await asyncio.sleep(0)  # tasks that the last message started run before the next message
        self._wanted = self._longest_line
        self._room.set()
        try:
            return self._took(await self._buffer.readline())
        except ValueError:  # too long: asyncio has dropped the line
            self._unread = 0
            self._room.set()
            raise
        finally:
            self._wanted = 0

    async def readexactly(self, n: int) -> bytes:
        """The body of a message; empty if the client left before its end."""
        self._wanted = n
        self._room.set()
        try:
            return self._took(await self._buffer.readexactly(n))
        except asyncio.IncompleteReadError:
            return b""
        finally:
            self._wanted = 0

    def _took(self, data: bytes) -> bytes:
        self._unread -= len(data)
        if self._unread <= UNREAD:
            self._room.set()
        return data

    def _read(self) -> None:
        descriptor = self._stream.fileno()
        data = b"-"
        with contextlib.suppress(RuntimeError):  # the loop has ended
            while data:
                self._room.wait()
                try:
                    data = os.read(descriptor, PIECE)
                except OSError as error:
                    log.info("Standard input cannot be read any more: %s", error)
                    data = b""
                self._loop.call_soon_threadsafe(self._came, data)

    def _came(self, data: bytes) -> None:
        if not data:
            self._buffer.feed_eof()
            return
        self._buffer.feed_data(data)
        self._unread += len(data)
        if self._unread > max(UNREAD, self._wanted):
            self._room.clear()


class UnbufferedWriter:
    """Writes whole messages; a short write to the pipe is continued.

    Once the client has closed its end, writes are dropped; the end of standard input ends the
    server.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._gone = False

    def write(self, data: bytes) -> int:
        """Write all of ``data``, or drop it if nobody can read it."""
        view = memoryview(data)
        try:
            while view and not self._gone:
                view = view[self._stream.write(view) or 0 :]
        except ConnectionError as error:
            self._gone = True
            log.info("The client reads no more: %s", error)
        return len(data)

    def is_closing(self) -> bool:
        """True once the client has gone, as asyncio's writers say it."""
        return self._gone

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        """Close the private descriptor."""
        self._stream.close()
