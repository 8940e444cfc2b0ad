"""``tierline mcp``: the workspace's context for other agents, over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import importlib.util
import io
from pathlib import Path
from typing import BinaryIO

import typer

from tierline.cli_common import _Root, say

app = typer.Typer()


@app.command()
def mcp(
    root: _Root = Path(),
) -> None:
    """Serve files, history, memos and plans to other agents (MCP on standard input and output)."""
    if importlib.util.find_spec("mcp") is None:
        say("The package mcp is not installed. Install it with pip install 'tierline[mcp]'.", "red")
        raise typer.Exit(1)
    from tierline.lsp.launch import configure_logging
    from tierline.lsp.stdio import claim_stdout

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
    try:
        out = anyio.wrap_file(io.TextIOWrapper(stream, encoding="utf-8", write_through=True))
        await ContextServer(session).serve(stdout=out)
    finally:
        await session.close()
