"""``tierline gc``: what Tierline's folder takes on the disk, and what can go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tierline.cli.common import _Json, _Root, home_of, print_json, say, tell, write
from tierline.context.display import printable
from tierline.localization.translator import translate, translate_label

app = typer.Typer()


@app.command("gc")
def gc(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Only say what would go.")
    ] = False,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Free what nobody needs any more in .tierline. Nothing of a conversation goes."""
    from tierline.store.garbage import ReclaimableFile, collect, survey

    home = home_of(root)
    if not home.is_dir():
        if as_json:
            print_json({"bytes": 0, "parts": [], "waste": [], "freed": 0})
        else:
            tell("Nothing is kept for this workspace.")
        return
    found = survey(home)
    failed: list[str] = []

    def told(waste: ReclaimableFile, why: str) -> None:
        failed.append(f"{waste.path.name} stays: {why}.")

    freed = 0 if dry_run else collect(home, found, told=told)
    if as_json:
        print_json(found.to_json(home) | {"freed": freed})
    else:
        for part in found.parts:
            files = "1 file" if part.files == 1 else f"{part.files:,} files"
            said = f"{translate(files)}: {translate(part.policy)}"
            write(f"{_size(part.bytes):>10}  {translate_label(part.name)}, {said}")
        for waste in found.waste:
            verb = "would be freed" if dry_run else "can go"
            said = f"{translate(verb)}: {printable(waste.path.name)}, {translate(waste.why)}"
            write(f"{_size(waste.size):>10}  {said}")
        if not found.waste:
            tell("There is nothing to free.")
        elif dry_run:
            tell(f"{_size(found.gain)} would be freed. Nothing was changed.")
        else:
            tell(f"{_size(freed)} freed.")
    for line in failed:
        say(line, "yellow")


def _size(count: int) -> str:
    for unit, least in (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)):
        if count >= least:
            return f"{count / least:.1f} {unit}"
    return f"{count} B"
