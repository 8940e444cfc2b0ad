"""Starts the server process: logging to standard error, and imports without collector pauses."""

from __future__ import annotations

import gc
import logging
import os
import sys

from tierline.lsp.stdio import claim_stdout

DEFAULT_PORT = 7817


def serve(tcp: tuple[str, int] | None = None) -> None:
    """Serve on standard input and output, or on TCP for debugging.

    The log level comes from ``TIERLINE_LOG`` (default WARNING). Protocol traffic is never logged,
    because it holds the user's code.
    """
    # Hundreds of protocol classes are created at import; the collector finds nothing to free there.
    gc.disable()
    # Before anything else is imported: what prints while it loads must not reach the client.
    stream = claim_stdout() if tcp is None else None
    from tierline.lsp.server import serve_stdio, serve_tcp

    gc.freeze()
    gc.enable()
    configure_logging()
    if stream is not None:
        serve_stdio(stream)
    elif tcp is not None:
        serve_tcp(*tcp)


def configure_logging() -> None:
    """Log to standard error, which editors show in the server's output channel."""
    level = os.environ.get("TIERLINE_LOG", "WARNING").upper()
    logging.basicConfig(
        level=level if level in logging.getLevelNamesMapping() else "WARNING",
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    for noisy in ("pygls", "httpx2", "httpcore2", "openai", "anthropic", "asyncio", "filelock"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
