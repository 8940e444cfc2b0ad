"""Standard output belongs to the protocol: everything else that prints goes to standard error."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO


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
    """Writes whole messages; a short write of the pipe is continued, not lost."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> int:
        """Write all of ``data``."""
        view = memoryview(data)
        while view:
            view = view[self._stream.write(view) or 0 :]
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Close the private descriptor."""
        self._stream.close()
