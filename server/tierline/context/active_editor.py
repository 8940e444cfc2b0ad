"""What the user is looking at, as a text for the model that goes with the prompt.

A small file stays in its tier, and the prompt only refers to lines of it, so that moving the cursor
changes no cached bytes. For a large file, the part around the cursor goes with the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from tierline.context.fences import render_file, render_path
from tierline.context.retrieval.symbol import Symbol

WHOLE_CHARACTERS = 24_000
"""Characters of a file that is sent whole, about 6,000 tokens."""
MAX_LINES = 200
"""Lines of a larger file that go with the prompt."""


@frozen
class ActiveEditor:
    """Where the user is in a document. Lines count from 1; 0 where that is not known."""

    path: str
    first_line: int = 0
    last_line: int = 0
    """Last of the selected lines, or of those on the screen."""
    cursor_line: int = 0
    selected: bool = False


def around(place: ActiveEditor, symbols: Iterable[Symbol], lines: int) -> tuple[int, int]:
    """The lines of a large file that go with the prompt, from 1: the definition at the cursor if it
    is not too long, joined with the lines on the screen.
    """
    first = max(1, place.first_line or place.cursor_line or 1)
    last = max(first, place.last_line)
    for symbol in enclosing(symbols, place.cursor_line or first):
        wider = (min(first, symbol.line), max(last, symbol.end))
        if wider[1] - wider[0] < MAX_LINES:
            first, last = wider
            break
    return first, min(last, lines, first + MAX_LINES - 1)


def enclosing(symbols: Iterable[Symbol], line: int) -> list[Symbol]:
    """The definitions around a line, the outermost first."""
    found = [symbol for symbol in symbols if symbol.line <= line <= symbol.end]
    return sorted(found, key=lambda symbol: (symbol.line, -symbol.end))


def describe(place: ActiveEditor, symbols: Iterable[Symbol], excerpt: str = "") -> str:
    """The text for the prompt, with the selected text or the part of a large file."""
    within = enclosing(symbols, place.cursor_line or place.first_line)
    inside = f", in `{within[-1].qualified}`" if within else ""
    if place.selected:
        where = f", {_lines(place)}" if place.first_line else ""
        return f"The user has selected this in the editor{where}{inside}:\n" + render_file(
            place.path, excerpt
        )
    visible = f", {_lines(place)} are on the screen" if place.first_line else ""
    cursor = f", the cursor is in line {place.cursor_line}{inside}" if place.cursor_line else ""
    said = f"The user is looking at {render_path(place.path)}{visible}{cursor}."
    return said + (f" This part of it:\n{render_file(place.path, excerpt)}" if excerpt else "\n")


def _lines(place: ActiveEditor) -> str:
    if place.last_line <= place.first_line:
        return f"line {place.first_line}"
    return f"lines {place.first_line} to {place.last_line}"
