"""``tierline mcp``: the workspace's context for other agents, over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import importlib.util
import io
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console

app = typer.Typer()
err = Console(stderr=True, highlight=False)


@app.command()
def mcp(
    root: Annotated[
        Path, typer.Option("--root", help="The workspace folder.", file_okay=False, exists=True)
    ] = Path(),
) -> None:
    """Serve files, history, memos and plans to other agents (MCP on standard input and output)."""
    if importlib.util.find_spec("mcp") is None:
        err.print(
            "The package mcp is not installed. Install it with pip install 'tierline[mcp]'.",
            style="red",
            markup=False,
        )
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
