"""``tierline doctor``: what works, what does not, and what to do about it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import attrs
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

app = typer.Typer()
MARKS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warning": ("!", "yellow"),
         "failure": ("✗", "red")}  # fmt: skip


@app.command()
def doctor(
    root: Annotated[
        Path, typer.Option("--root", help="The workspace folder.", file_okay=False, exists=True)
    ] = Path(),
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not read the history line by line.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check the installation, the provider and this workspace. Exit code 1 if something fails."""
    from tierline.session.doctor import examine

    checks = asyncio.run(examine(root.resolve(), read_history=not quick))
    failed = any(check.status == "failure" for check in checks)
    if as_json:
        typer.echo(json.dumps([attrs.asdict(check) for check in checks], ensure_ascii=False))
        raise typer.Exit(int(failed))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True, max_width=24)
    table.add_column(overflow="fold")
    area = ""
    for check in checks:
        mark, style = MARKS[check.status]
        said = Text(check.found)
        if check.advice:
            said.append(f"\n{check.advice}", style="bold" if check.status != "note" else "dim")
        table.add_row(
            Text(mark, style=style), "" if check.area == area else check.area, check.name, said
        )
        area = check.area
    console = Console(highlight=False)
    console.print(table)
    worst = sum(check.status in ("failure", "warning") for check in checks)
    console.print(
        "Everything that a turn needs is there."
        if not worst
        else f"{worst} {'thing needs' if worst == 1 else 'things need'} attention.",
        style="green" if not worst else "yellow",
    )
    raise typer.Exit(int(failed))
