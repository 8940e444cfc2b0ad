"""Standard output belongs to the protocol: everything else that prints goes to standard error."""

from __future__ import annotations

import logging
import os
import sys
from typing import BinaryIO

log = logging.getLogger(__name__)


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


class UnbufferedWriter:
    """Writes whole messages; a short write of the pipe is continued, not lost.

    Once the client has closed its end, nothing is written any more; the end of standard input is
    what ends the server.
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
        """Nothing is held back."""

    def close(self) -> None:
        """Close the private descriptor."""
        self._stream.close()
