"""``tierline acp``: the engine behind an editor's own chat panel (Agent Client Protocol)."""

from __future__ import annotations

import asyncio
import contextlib

import typer

app = typer.Typer()


@app.command()
def acp() -> None:
    """Be the agent of an editor's chat panel (Agent Client Protocol on standard input and output).

    The editor starts this; docs/editors says how to configure it.
    """
    from tierline.lsp.launch import configure_logging
    from tierline.stdio import claim_stdout

    # Whatever a library prints must not get into the protocol.
    stream = claim_stdout()
    configure_logging()
    from tierline.acp.serving import serve

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(stream))
