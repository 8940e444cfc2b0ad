"""The table of ``tierline stats --turns``: what each turn was given, did and came to."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

from tierline import protocol as p
from tierline.cli import tables as cli_tables
from tierline.cli.common import home_of


def collect(root: Path, session: str, limit: int) -> list[p.TurnStats]:
    """The newest turns of a workspace, of one session or of all."""
    from tierline.session.turns.reflection import read
    from tierline.store.sessions import HistoryStore

    home = home_of(root)
    if not (home / "history.jsonl").exists():  # looking must not leave a folder behind
        return []
    store = HistoryStore(home.parent, read_only=True)
    try:
        if session:
            ids = (one.session_id for one in store.list_sessions())
            session = cli_tables.find_session_id(session, ids) or session
        return [read(data, name) for name, data in store.index.events("reflection", session, limit)]
    finally:
        store.close()


def show(turns: list[p.TurnStats]) -> None:
    """One row a turn, newest first."""
    words = ("began", "outcome", "tools", "edits")
    figures = ("requests", "input", "cached", "output", "cost", "estimate off by", "seconds")
    columns = [*((name, False) for name in words), *((name, True) for name in figures)]
    cli_tables.print_table("Turns, newest first", columns, [_cells(turn) for turn in turns])


def _cells(turn: p.TurnStats) -> list[str]:
    began = datetime.fromtimestamp(turn.began).astimezone()
    calls = Counter(
        call.tool if call.status == "ok" else f"{call.tool} ({call.status})" for call in turn.calls
    )
    off = "–" if turn.error_percent is None else f"{turn.error_percent:+.1f} %"
    return [
        f"{began:%Y-%m-%d %H:%M}" if turn.began else "–",
        turn.outcome,
        ", ".join(f"{count}× {name}" if count > 1 else name for name, count in calls.items())
        or "–",
        ", ".join(turn.edits) or "–",
        f"{len(turn.plans):,}",
        f"{turn.input_tokens:,}",
        "–" if turn.read_tokens is None else f"{turn.read_tokens:,}",
        f"{turn.output_tokens:,}",
        f"${turn.cost:.4f}" if turn.cost else "–",
        off,
        f"{turn.seconds:.1f}",
    ]
