"""``tierline compact``: compact the newest session, or take its last compaction back.

Exit codes: 1 if it failed (the history is as it was) or there is nothing to take back.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tierline import protocol as p
from tierline.cli.common import _Json, _Root, in_session, out, print_json, tell

if TYPE_CHECKING:
    from tierline.session.session import Session

app = typer.Typer()


@app.command()
def compact(
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back the last compaction instead.")
    ] = False,
    extractive: Annotated[
        bool, typer.Option("--extractive", help="Ask no model: extract the summary.")
    ] = False,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Replace the older part of the newest session by a summary. The log keeps every message."""
    if undo:
        undone = in_session(root, lambda s: s.compaction.undo(p.CompactionUndoParams()))
        if as_json:
            print_json(undone)
        else:
            tell("The original messages are sent again.")
        return

    async def work(session: Session) -> p.CompactionResult:
        if extractive:
            session.compaction.extractive = True
        return await session.compaction.run(p.CompactionParams())

    result = in_session(root, work)
    if as_json:
        print_json(result)
    elif result.case == "none":
        tell(f"Nothing was compacted. {result.reason}")
    else:
        tell(
            f"{result.messages} messages, {result.tokens_before:,} → {result.tokens_after:,} "
            f"tokens ({result.reason})."
        )
        if result.summary:
            out.print(f"\n{result.summary}")
