"""Commands that other programs start: ``tierline mcp`` serves other agents (Model Context
Protocol), ``tierline acp`` is the engine behind an editor's own chat panel (Agent Client Protocol).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import io
import os
import signal
from pathlib import Path
from typing import BinaryIO

import typer

from tierline.cli.common import EXIT_INTERRUPTED, _Root, say

app = typer.Typer()


@app.command()
def mcp(root: _Root = Path()) -> None:
    """Serve files, history, memos and plans to other agents (MCP on standard input and output)."""
    if importlib.util.find_spec("mcp") is None:
        say("The package mcp is not installed. Install it with pip install 'tierline[mcp]'.", "red")
        raise typer.Exit(1)
    asyncio.run(_serve(root.resolve(), _private_stdout()))


@app.command()
def acp() -> None:
    """Be the agent of an editor's chat panel (Agent Client Protocol on standard input and output).

    The editor starts this; docs/editors says how to configure it.
    """
    stream = _private_stdout()
    from tierline.acp.serving import serve

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(stream))


def _private_stdout() -> BinaryIO:
    """Standard output, into which no library prints any more: it belongs to the protocol."""
    from tierline.lsp.launch import configure_logging
    from tierline.stdio import claim_stdout

    stream = claim_stdout()
    configure_logging()
    return stream


async def _serve(root: Path, stream: BinaryIO) -> None:
    import anyio

    from tierline.session.mcp import ContextServer
    from tierline.session.session import Session

    session = Session([(root.name, str(root))], editor_settings={}, publish=lambda _event: None)
    await session.start()
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(interrupted.set))
    try:
        out = anyio.wrap_file(io.TextIOWrapper(stream, encoding="utf-8", write_through=True))
        serving = asyncio.ensure_future(ContextServer(session).serve(stdout=out))
        waiting = asyncio.ensure_future(interrupted.wait())
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            waiting.cancel()
            await serving
    finally:
        await session.close()
    if interrupted.is_set():  # the thread that reads standard input cannot be woken, so no tidy end
        os._exit(EXIT_INTERRUPTED)
