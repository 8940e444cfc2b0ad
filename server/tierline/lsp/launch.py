"""Starts the server process: logging to standard error, imports without collector pauses."""

from __future__ import annotations

import gc
import logging
import os
import sys

from tierline.context.display import printable
from tierline.stdio import claim_stdout

SWITCH_SECONDS = 0.001
_LOG_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def serve(tcp: tuple[str, int] | None = None) -> None:
    """Serve on standard input and output, or on TCP for debugging.

    The log level comes from ``TIERLINE_LOG`` (default WARNING). Protocol traffic is never logged,
    because it holds the user's code.
    """
    # Hundreds of classes are created at import, and an editor waits: see ``heap.enable_collector``.
    gc.disable()
    # A planning thread releases Python's lock after one millisecond instead of five.
    sys.setswitchinterval(SWITCH_SECONDS)
    # Before other imports: a module that prints while it loads must not reach the client.
    stream = claim_stdout() if tcp is None else None
    from tierline.protocol.deferred import load_lsprotocol

    load_lsprotocol()
    from tierline.lsp.server import serve_stdio, serve_tcp

    configure_logging()
    if stream is not None:
        serve_stdio(stream)
    elif tcp is not None:
        serve_tcp(*tcp)


def configure_logging() -> None:
    """Log to standard error, which editors show in the server's output channel."""
    from tierline.providers.registry import SDKS

    level = os.environ.get("TIERLINE_LOG", "WARNING").upper()
    logging.basicConfig(
        level=level if level in logging.getLevelNamesMapping() else "WARNING", stream=sys.stderr
    )
    for handler in logging.getLogger().handlers:  # lines may contain foreign names and errors
        handler.setFormatter(_Printable(_LOG_LINE))
    for reader in ("pygls.server", "tierline.lsp.server"):
        logging.getLogger(reader).addFilter(_no_trace_of_bad_frames)
    for noisy in ("pygls", "httpx2", "httpcore2", "asyncio", "filelock", *SDKS):
        logging.getLogger(noisy).setLevel(logging.WARNING)


class _Printable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _no_trace_of_bad_frames(record: logging.LogRecord) -> bool:
    """A frame that is not JSON is the client's fault: log one line instead of pygls'
    stack trace.
    """
    error = record.exc_info[1] if record.exc_info else None
    if record.msg == "Unable to handle message" and isinstance(error, ValueError | RecursionError):
        record.msg = f"Ignored a frame that is not JSON ({type(error).__name__})"
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.exc_info = None
    return True
