"""``tierline doctor``: what works, what does not, and what to do about it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from tierline.cli.common import _Json, _Root, out, print_json
from tierline.context.display import printable
from tierline.localization.translator import translate, translate_label

app = typer.Typer()
MARKS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warning": ("!", "yellow"),
         "failure": ("✗", "red")}  # fmt: skip


@app.command()
def doctor(
    root: _Root = Path(),
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not read the history line by line.")
    ] = False,
    as_json: _Json = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Forget what was learnt of servers first.")
    ] = False,
) -> None:
    """Check the installation, the provider and this workspace. Exit code 1 if anything needs
    attention; notes alone do not count.
    """
    from tierline.session.doctor import examine
    from tierline.store.profiles import ProfileStore

    if forget:
        ProfileStore().forget()
    checks = asyncio.run(examine(root.resolve(), read_history=not quick))
    worst = sum(check.status in ("failure", "warning") for check in checks)
    if as_json:
        print_json(checks)
        raise typer.Exit(int(worst > 0))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True, max_width=24)
    table.add_column(overflow="fold")
    area = ""
    for check in checks:
        mark, style = MARKS[check.status]
        said = Text(printable(translate(check.found)))
        if check.advice:
            said.append(
                f"\n{printable(translate(check.advice))}",
                style="bold" if check.status != "note" else "dim",
            )
        table.add_row(
            Text(mark, style=style),
            "" if check.area == area else translate_label(check.area),
            translate_label(check.name),
            said,
        )
        area = check.area
    out.print(table)
    notes = sum(check.status == "note" for check in checks)
    out.print(_summary(worst, notes), style="green" if not worst else "yellow")
    raise typer.Exit(int(worst > 0))


def _summary(worst: int, notes: int) -> str:
    more = "1 note, marked with a dot." if notes == 1 else f"{notes} notes, marked with a dot."
    beside = f" {translate(more)}" if notes else ""
    things = "1 thing needs attention." if worst == 1 else f"{worst} things need attention."
    return translate("Everything that a turn needs is there." if not worst else things) + beside
