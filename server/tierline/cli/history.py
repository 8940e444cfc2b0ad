"""Commands that look back: the sessions of a workspace, its plans, and requests made once more.

They read what is stored and need no provider. Exit codes: 1 if something is not there, damaged or
differs; 2 for wrong arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tierline.cli import tables as cli_tables
from tierline.cli.common import (
    EXIT_USAGE,
    _Json,
    _Root,
    fail,
    home_of,
    out,
    print_json,
    progress_bar,
    say,
    tell,
    write,
)
from tierline.context.display import printable
from tierline.localization.translator import translate_label

if TYPE_CHECKING:
    from tierline.store.plans import PlanStore, StoredPlan
    from tierline.store.sessions import HistoryStore

app = typer.Typer()

MAX_PLANS = 1000
"""More than a store keeps."""

_Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, newest first.")]


@app.command()
def replay(
    plan: Annotated[
        list[str] | None,
        typer.Argument(help="A plan's id, or a part of it; the newest without. Two with --diff."),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what changed from the first plan to the second.")
    ] = False,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Render a stored request again, check that its bytes are those that were sent, print them."""
    given = plan or []
    if len(given) != 2 if diff else len(given) > 1:
        fail(f"replay takes {'two plans with' if diff else 'one plan without'} --diff.", EXIT_USAGE)
    with _plans(root) as store:
        found = [_find(store, part) for part in given or [""]]
        if diff:
            _print_diff(found[0], found[1], as_json)
        else:
            _replay(store, found[0])


@app.command()
def plans(
    root: _Root = Path(),
    limit: _Limit = 20,
    session: Annotated[
        str, typer.Option(help="Only this session's: its id, or the end or beginning of it.")
    ] = "",
    as_json: _Json = False,
) -> None:
    """List the stored plans, the newest first."""
    with _plans(root, missing_is_empty=True) as store:
        if store is not None and session:
            ids = (stored.session_id for stored in store.list(MAX_PLANS))
            session = cli_tables.find_session_id(session, ids) or session
        found = store.list(limit, session) if store is not None else []
    rows = [
        {
            "planId": stored.plan.plan_id,
            "created": stored.created,
            "sessionId": stored.session_id,
            "turnId": stored.turn_id,
            "provider": stored.provider,
            "model": stored.plan.model,
            "tokens": stored.plan.tokens,
            "requestSha256": stored.request_sha256,
        }
        for stored in found
    ]
    _print_rows(rows, ("planId", "created", "model", "tokens"), "plans", as_json)


@app.command()
def sessions(
    root: _Root = Path(),
    limit: _Limit = 20,
    archived: Annotated[
        bool, typer.Option("--archived", help="Those in the archive instead of all others.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """List the sessions of a workspace, the one used last first."""
    rows: list[dict[str, Any]] = []
    home = home_of(root)
    if home.is_dir():  # looking must not leave a folder behind
        with _history(home) as store, progress_bar("History") as step:
            listed = store.list_sessions(limit, step, archived=archived)
        rows = [
            {
                "sessionId": found.session_id,
                "timestamp": found.timestamp,
                "messages": found.message_count,
                "title": found.title,
                "preview": found.preview,
            }
            for found in listed
        ]
    if not as_json:  # named as in the editors' lists
        rows = [{**row, "preview": row["title"] or row["preview"]} for row in rows]
    _print_rows(rows, ("sessionId", "timestamp", "messages", "preview"), "sessions", as_json)


@app.command()
def archive(
    session: Annotated[list[str] | None, typer.Argument(help="Ids of sessions.")] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, help="All that were not used for so many days.")
    ] = None,
    back: Annotated[bool, typer.Option("--back", help="Take them back out of it.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which ones, and change nothing.")
    ] = False,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Take sessions out of the usual lists and searches. They stay in the history as they are; a
    session that is gone on with comes back.
    """
    if bool(session) == bool(days):
        fail("Name sessions, or say --days; tierline sessions lists them.", EXIT_USAGE)
    home = home_of(root)
    with _history(home, read_only=dry_run or not home.is_dir()) as store:
        known = {one.session_id: one for one in store.list_sessions(archived=back)}
        if days:
            latest = datetime.now(UTC) - timedelta(days=days)
            chosen = [n for n, one in known.items() if one.timestamp < latest.isoformat()]
        else:
            chosen = list(dict.fromkeys(session or []))
            if missing := [name for name in chosen if name not in known]:
                where = "in the archive" if back else "in the list"
                fail(f"There is no session {missing[0]} {where}. Nothing was changed.")
        if not dry_run:
            for name in chosen:
                store.archive_session(name, away=not back)
    if as_json:
        print_json({"sessions": chosen, "archived": not back, "dryRun": dry_run})
        return
    count = "1 session" if len(chosen) == 1 else f"{len(chosen)} sessions"
    where = "back in the list" if back else "in the archive"
    verb = "would be" if dry_run else "is" if len(chosen) == 1 else "are"
    tell(f"{count} {verb} {where}." if chosen else "There is nothing to move.")


@app.command()
def own(root: _Root = Path(), as_json: _Json = False) -> None:
    """Use the workspace's .tierline as it is: you wrote, copied or restored it yourself."""
    from tierline.disk import ownership
    from tierline.folder import FOLDER

    folder = root.resolve() / FOLDER
    found = ownership.folder_status(folder)
    if found in ("absent", "unfit"):
        fail(f"{folder} is no folder. Nothing was changed.")
    if found != "ours":
        ownership.claim(folder)
    ours = ownership.folder_status(folder) == "ours"
    if as_json:
        print_json({"ours": ours})
    elif ours:
        tell(f"{folder} is used from the next start on.")
    if not ours:
        fail(f"It could not be marked: {ownership.state_folder()} or it cannot be written.")


@app.command()
def recover(
    file: Annotated[
        Path, typer.Argument(help="A history log, damaged or not.", dir_okay=False, exists=True)
    ],
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Take over the sessions of another log, as far as they are good; the file is not changed."""
    from tierline.disk.ownership import folder_status
    from tierline.folder import FOLDER
    from tierline.store import records

    file = file.resolve()
    foreign = file.parent.name == FOLDER and folder_status(file.parent) != "ours"
    with _history(home_of(root, make=True), read_only=False) as store:
        report = records.inspect(file)
        added = store.import_file(file, foreign=foreign)
    if as_json:
        print_json({"added": added, "skipped": report.skipped, "sessions": report.sessions})
    elif report.health != "damaged":
        tell(f"{added} records of {len(report.sessions)} sessions were added.")
    if report.health == "damaged":
        fail(
            f"Nothing could be taken over: none of the {report.skipped} lines of {file} is a "
            "record. Name a history.jsonl."
        )
    if report.skipped and not as_json:
        say(f"{report.skipped} damaged lines were left out.", "yellow")


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT. Views: messages, groups, sessions.")],
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Read the history with SQL, as the model does with its tool query_db."""
    from tierline.store.query_db import cell, query_db
    from tierline.store.query_worker import VIEWS

    home = home_of(root)
    if not home.is_dir():  # looking must not leave a folder behind
        fail("There is no history in this workspace yet. Name the folder with --root.")
    with _history(home) as store:
        answer = query_db(store.index, sql)
    if answer.error:
        fail(f"{answer.error} Views: {', '.join(VIEWS)}.")
    if as_json:
        print_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
    elif len(answer.columns) == 1 and len(answer.rows) == 1:
        write(cell(answer.rows[0][0]))  # one value as it is, line breaks and all
    else:
        table = Table(*answer.columns, box=None)
        for row in answer.rows:
            table.add_row(*(Text(printable(_line(cell(value)))) for value in row))
        out.print(table)
    if answer.truncated:
        say("More was left out: use LIMIT and OFFSET.", "yellow")


# --- replaying -----------------------------------------------------------------------------------


def _replay(store: PlanStore, stored: StoredPlan) -> None:
    from tierline.providers.choice import rerender

    plan_id = stored.plan.plan_id
    try:
        prompt = store.load_prompt(plan_id)
        request = rerender(prompt, stored.provider, stored.request_sha256)
    except ValueError:
        fail(
            f"Plan {plan_id} was rendered by the adapter {stored.provider!r}, which this version "
            "does not have. Replay it with the version that made it."
        )
    # Nothing is added to the bytes in a pipe, so that their hash can be checked there as well.
    if sys.stdout.isatty():
        write(request.payload.decode("utf-8", "replace"))
    else:
        typer.echo(request.payload, nl=False)
    if request.sha256 != stored.request_sha256:
        fail(
            f"The bytes differ: plan {plan_id} was sent as {stored.request_sha256}, and renders to "
            f"{request.sha256} now. This version of Tierline writes requests in another way."
        )
    say(f"The same {len(request.payload):,} bytes as were sent: sha256 {request.sha256}.", "dim")


def _print_diff(a: StoredPlan, b: StoredPlan, as_json: bool) -> None:
    from tierline.context.plan_diff import diff

    found = diff(a.plan, b.plan)
    if not as_json:
        for line in found.lines:
            tell(line)
        return
    print_json(
        {
            "a": a.plan.plan_id,
            "b": b.plan.plan_id,
            "added": found.added,
            "removed": found.removed,
            "changed": found.changed,
            "reordered": found.reordered,
            "firstBreak": found.first_break,
            "firstBreakIndex": found.first_break_index,
            "lines": found.lines,
        }
    )


def _find(store: PlanStore, given: str) -> StoredPlan:
    """A plan by its id or any part of one; the newest that was sent without one."""
    ids = store.matching(given)
    if len(ids) == 1 or (ids and not given):
        stored = store.get(ids[0])
        if stored is not None:
            return stored
    if len(ids) > 1:
        fail(f"{len(ids)} plans have {given} in their id: {', '.join(ids[:3])}. Give more.")
    if given:
        fail(f"There is no plan {given}. List them: tierline plans. Old ones are dropped.")
    return fail("No request has been sent yet from here.")


@contextmanager
def _history(home: Path, *, read_only: bool = True) -> Iterator[HistoryStore]:
    """The history in a workspace's folder; what goes wrong with it ends the command."""
    from tierline.store.sessions import HistoryStore

    with closing(HistoryStore(home.parent, read_only=read_only)) as store:
        try:
            yield store
        except OSError as error:
            fail(str(error))


@contextmanager
def _plans(root: Path, *, missing_is_empty: bool = False) -> Iterator[Any]:
    """The workspace's plan store, None if there is none and that is fine; it is never created."""
    from tierline.store.plans import PlanStore
    from tierline.store.readonly_copy import ReadOnlyCopy

    path = home_of(root) / "plans.sqlite3"
    if not path.exists():
        if not missing_is_empty:
            fail(
                "No plans are stored in this workspace. Name the folder with --root; a plan is "
                "kept with each request."
            )
        yield None
        return
    with ReadOnlyCopy() as copies, closing(PlanStore(copies.copy(path))) as store:
        yield store


# --- printing ------------------------------------------------------------------------------------


def _print_rows(
    rows: list[dict[str, Any]], columns: tuple[str, ...], what: str, as_json: bool
) -> None:
    """A table of some columns for a person; everything as JSON."""
    if as_json:
        print_json(rows)
        return
    if not rows:
        say(f"There are no {translate_label(what)} in this workspace yet.", "dim")
        return
    table = Table(box=None)
    for column in columns:
        number = isinstance(rows[0][column], int)
        fixed = column in ("planId", "sessionId")  # to be copied: never cut or wrapped
        table.add_column(
            translate_label(column),
            justify="right" if number else "left",
            no_wrap=fixed,
            overflow="ellipsis",
        )
    for row in rows:
        cells = (row[column] for column in columns)
        table.add_row(
            *(Text(f"{c:,}" if isinstance(c, int) else printable(_line(c))) for c in cells)
        )
    out.print(table)


def _line(text: str) -> str:
    return " ".join(text.split())
