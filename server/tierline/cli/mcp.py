"""``tierline mcp``: the workspace's context for other agents, over the Model Context Protocol."""

from __future__ import annotations

import asyncio
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
    from tierline.lsp.launch import configure_logging
    from tierline.stdio import claim_stdout

    # Whatever a library prints must not get into the protocol.
    stream = claim_stdout()
    configure_logging()
    asyncio.run(_serve(root.resolve(), stream))


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
