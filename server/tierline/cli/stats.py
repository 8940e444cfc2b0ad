"""``tierline stats``: what the prompt cache gave and what it was worth. Reads, never writes."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from tierline import protocol as p
from tierline.cli import tables as cli_tables
from tierline.cli.common import (
    _Json,
    _Root,
    fail,
    format_money,
    home_of,
    out,
    print_json,
    tell,
)
from tierline.cli.memory import memory_lines
from tierline.localization.translator import translate

app = typer.Typer()

_LIST = "Their ids are in the table of tierline stats, or of tierline sessions."
_FIGURES = ("requests", "input", "cached", "written", "hits", "cost", "saved")
_Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, newest first.")]


@app.command()
def stats(
    root: _Root = Path(),
    session: Annotated[
        str, typer.Option(help="Only this session's: its id, or the end or beginning of it.")
    ] = "",
    limit: _Limit = 20,
    as_json: _Json = False,
    turns: Annotated[
        bool, typer.Option("--turns", help="What each turn was given, did and came to.")
    ] = False,
) -> None:
    """Show requests, cache hits and money by session, and the memory of the newest session."""
    if turns:
        found_turns = collect_turns(root.resolve(), session, limit)
        if as_json:
            print_json(found_turns)
        elif found_turns:
            show_turns(found_turns)
        elif session:
            fail(f"No turn of session {session} is known. {_LIST}")
        else:
            tell("No turns have been recorded here yet.")
        return
    found = collect(root.resolve(), session)
    if session and not found.sessions:
        fail(f"No request of session {session} is known. {_LIST}")
    if as_json:
        print_json(found)
        return
    if found.sessions:
        _show(found, limit)
        for line in _notes(found):
            tell(line, "dim")
    else:
        tell("No requests have been recorded here yet.")
    if not session and (memory := memory_lines(root)):
        out.print("\n".join(["", *memory]))


def collect(root: Path, session: str = "") -> p.Stats:
    """The statistics of a workspace; empty where there are none."""
    from tierline.session.caching.views import stats as sums
    from tierline.session.counting import make_counters
    from tierline.store.readonly_copy import ReadOnlyCopy
    from tierline.store.sessions import HistoryStore
    from tierline.store.usage import UsageStore

    home = home_of(root)
    titles: dict[str, str] = {}
    rows = []
    if (home / "usage.sqlite3").exists():  # looking must not leave a folder behind
        with (
            ReadOnlyCopy() as copies,
            closing(UsageStore(copies.copy(home / "usage.sqlite3"))) as store,
            closing(HistoryStore(home.parent, read_only=True)) as history,
        ):
            rows = store.all()
            if session:
                wanted = cli_tables.find_session_id(session, (row.session_id for row in rows))
                rows = [row for row in rows if row.session_id == wanted]
            titles = {s.session_id: s.title or s.preview for s in history.list_sessions()}
    table = make_counters(home).table
    return sums(rows, lambda name, kind: table.facts(name, provider=kind), titles)


def _show(found: p.Stats, limit: int) -> None:
    ids = [one.session_id for one in found.sessions]
    rows = [
        _cells(
            one,
            one.title.split("\n")[0] or translate("(no title)"),
            cli_tables.short_id(one.session_id, ids),
        )
        for one in found.sessions[:limit]
    ]
    rows.append(_cells(found.total, translate(f"total of {len(found.sessions)}"), ""))
    columns = [("session", False), ("id", True), *((name, True) for name in _FIGURES)]
    cli_tables.print_table("Prompt cache by session", columns, rows, total=True, least=10)


def _cells(one: p.SessionStats, name: str, identifier: str) -> list[str]:
    unknown = "–"
    return [
        name,
        identifier,
        f"{one.requests:,}",
        f"{one.input_tokens:,}",
        f"{one.read_tokens:,}" if one.reported else unknown,
        f"{one.written_tokens:,}" if one.reported else unknown,
        f"{100 * one.hit_rate:.0f} %" if one.reported else unknown,
        format_money(one.cost) if one.priced else unknown,
        saved(one.saved) if one.priced else unknown,
    ]


def saved(dollars: float) -> str:
    """What the cache has saved, in words where writing it has cost more so far."""
    return format_money(dollars) if dollars >= 0 else translate("not yet")


def _notes(found: p.Stats) -> list[str]:
    total = found.total
    notes = []
    if total.causes:
        ordered = sorted(total.causes.items(), key=lambda pair: (-pair[1], pair[0]))
        listed = ", ".join(f"{count} {cause}" for cause, count in ordered)
        notes.append(f"Requests that did not read all that was cached: {listed}.")
    if total.keep_alive.requests:
        alive = total.keep_alive
        notes.append(
            f"Keep-alive: {alive.requests:,} requests for {format_money(alive.cost)}, "
            f"which averted {format_money(alive.saved)}."
        )
    notes += _losses(found)
    if total.beside:
        notes.append(
            f"{total.beside:,} requests of Tierline's own, such as summaries, are in the cost."
        )
    if total.reported < total.requests:
        silent = total.requests - total.reported
        notes.append(f"{silent:,} requests whose provider said nothing of its cache.")
    if total.priced < total.requests:
        notes.append(f"{total.requests - total.priced:,} requests without known prices.")
    notes.append("Saved: against the same requests without any cache, by the table's prices.")
    return notes


def _losses(found: p.Stats) -> list[str]:
    """Where the cache has cost more than it has given back, what that is."""
    losing = [one for one in found.sessions if one.priced and one.saved < 0]
    if not losing:
        return []
    alive = any(one.keep_alive.requests for one in losing)
    what = "Cache writes and keep-alive have" if alive else "Cache writes have"
    where = "this session" if len(found.sessions) == 1 else f"{len(losing):,} sessions"
    where = "1 session" if len(losing) == 1 < len(found.sessions) else where
    loss = format_money(-sum(one.saved for one in losing))
    notes = [f"{what} cost {loss} more in {where} than they have saved so far."]
    if len(found.sessions) > 1 and found.total.saved < 0:
        notes.append(f"In all sessions together that is {format_money(-found.total.saved)} more.")
    return notes


def collect_turns(root: Path, session: str, limit: int) -> list[p.TurnStats]:
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


def show_turns(turns: list[p.TurnStats]) -> None:
    """One row a turn, newest first."""
    words = ("began", "outcome", "tools", "edits")
    figures = ("requests", "input", "cached", "output", "cost", "estimate off by", "seconds")
    columns = [*((name, False) for name in words), *((name, True) for name in figures)]
    cli_tables.print_table("Turns, newest first", columns, [_turn_cells(turn) for turn in turns])


def _turn_cells(turn: p.TurnStats) -> list[str]:
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
