"""Tables of figures that stay readable in a narrow terminal, and names of sessions for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tierline.cli.common import console
from tierline.context.display import printable
from tierline.errors import TierlineError
from tierline.localization.translator import is_number, translate_label

_MAX_NAME_LENGTH = 34
_MIN_WORDS = 14
"""Cells that a column of words needs at least; it wraps."""
_EDGES = 3
"""Cells of a column's border and padding."""


def print_table(
    title: str,
    columns: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    *,
    total: bool = False,
    least: int = _MAX_NAME_LENGTH,
) -> None:
    """Print rows as a table, or one below the other where the terminal is too narrow for it.

    ``columns``: names, and whether they hold figures, which are never cut: half a number is a wrong
    one. ``total``: the last row is a sum. ``least``: cells that the first column, which gives way,
    needs to say anything.
    """
    out = console()
    title = translate_label(title)
    columns = [(translate_label(name), figures) for name, figures in columns]
    shown = [_figure if figures else str for _, figures in columns]
    rows = [[printable(how(cell)) for how, cell in zip(shown, row, strict=True)] for row in rows]
    widths = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    widths = [max(w, cell_len(name)) for w, (name, _) in zip(widths, columns, strict=True)]
    first = min(widths[0], _MAX_NAME_LENGTH)
    others = sum(
        _EDGES + (width if figures else min(width, _MIN_WORDS))
        for width, (_, figures) in zip(widths[1:], columns[1:], strict=True)
    )
    room = out.width - others - _EDGES - 1
    if room < min(first, least):
        _stack(out, title, columns, rows)
        return
    table = Table(title=title, title_justify="left")
    table.add_column(columns[0][0], no_wrap=True, overflow="ellipsis", width=min(first, room))
    for width, (name, figures) in zip(widths[1:], columns[1:], strict=True):
        table.add_column(
            name,
            justify="right" if figures else "left",
            no_wrap=figures,
            min_width=width if figures else None,
        )
    for place, row in enumerate(rows):
        if total and place == len(rows) - 1:
            table.add_section()
        table.add_row(*map(Text, row))
    out.print(table)


def _figure(cell: str) -> str:
    """A number as it is written in the user's language; anything else as it is."""
    return translate_label(cell) if is_number(cell) else cell


def _stack(
    out: Console, title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]
) -> None:
    out.print(Text(title, style="italic"))
    for row in rows:
        out.print()
        out.print(Text(row[0], style="bold"))
        for (name, _), cell in zip(columns[1:], row[1:], strict=True):
            if cell:
                out.print(Text(f"  {name}: {cell}"))


def short_id(session_id: str, all_ids: Iterable[str]) -> str:
    """The end of a session's id, if no other has the same; else the whole."""
    end = session_id.rpartition("_")[2]
    alike = sum(other.rpartition("_")[2] == end for other in set(all_ids))
    return end if alike <= 1 else session_id


def find_session_id(given: str, all_ids: Iterable[str]) -> str:
    """The session that a whole id, its beginning or its end after the last ``_`` names; empty if
    there is none.

    Raises:
        TierlineError: ``invalid_params`` if several are meant.
    """
    ids = set(all_ids)
    if given in ids:
        return given
    found = [one for one in ids if one.startswith(given) or one.rpartition("_")[2] == given]
    if len(found) > 1:
        raise TierlineError(
            "invalid_params", f"{len(found)} sessions are meant by {given}.", "Give more of the id."
        )
    return found[0] if found else ""
