"""``tierline compact``: compact the newest session, or take its last compaction back.

Exit codes: 1 if it failed (the history is as it was) or there is nothing to take back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from attrs import asdict
from rich.console import Console

from tierline.cli_memory import _run as in_session

if TYPE_CHECKING:
    from tierline.session.session import Session

app = typer.Typer()
out = Console(highlight=False)


@app.command()
def compact(
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back the last compaction instead.")
    ] = False,
    extractive: Annotated[
        bool, typer.Option("--extractive", help="Ask no model: extract the summary.")
    ] = False,
    root: Annotated[
        Path, typer.Option("--root", help="The workspace folder.", file_okay=False, exists=True)
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Replace the older part of the newest session by a summary. The log keeps every message."""
    from tierline.lsp import protocol as p

    if undo:
        in_session(root, lambda s: s.compaction.undo(p.CompactionUndoParams()))
        out.print("The original messages are sent again.")
        return

    async def work(session: Session) -> p.CompactionResult:
        if extractive:
            session.compaction.extractive = True
        return await session.compaction.run(p.NoParams())

    result = in_session(root, work)
    if as_json:
        print(json.dumps(asdict(result), ensure_ascii=False))  # noqa: T201
    elif result.case == "none":
        out.print(f"Nothing was compacted. {result.reason}")
    else:
        out.print(
            f"{result.messages} messages, {result.tokens_before:,} → {result.tokens_after:,} "
            f"tokens ({result.reason})."
        )
        if result.summary:
            out.print(f"\n{result.summary}", markup=False)
