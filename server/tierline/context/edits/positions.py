"""Offsets in a normalised text as positions in the document that an editor holds.

Both have the same lines: the document's line ends may be CRLF or CR, but are not part of a line. A
document that begins with a byte order mark has one more character in its first line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from attrs import frozen

from tierline.context.edits.hunks import Hunk
from tierline.context.filetext import FileFacts

Units: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""What a position's character counts (LSP 3.17, ``PositionEncodingKind``)."""
_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r", "none": "\n"}
_LETTERS = {"n": "\n", "w": "\r\n", "r": "\r"}


@frozen
class TextChange:
    """A replacement in the editor's terms: lines and characters from 0, the end exclusive."""

    start_line: int
    start_character: int
    end_line: int
    end_character: int
    text: str


def changes(
    text: str,
    hunks: Iterable[Hunk],
    facts: FileFacts,
    *,
    units: Units = "utf-16",
    bom: bool = False,
) -> list[TextChange]:
    """Hunks as changes of the document: line ends as the document has them there.

    ``bom``: the editor's text itself begins with the byte order mark.
    """
    starts = _line_starts(text)
    found = []
    for hunk in hunks:
        first, start = _position(text, starts, hunk.start, units, bom)
        last, end = _position(text, starts, hunk.end, units, bom)
        # Text inserted between two lines belongs to the line before.
        like = first - 1 if start == 0 and hunk.start == hunk.end and first else first
        new = hunk.text.replace("\n", _end(facts, like)) if "\n" in hunk.text else hunk.text
        found.append(TextChange(first, start, last, end, new))
    return found


def _line_starts(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def _position(
    text: str, starts: Sequence[int], offset: int, units: Units, bom: bool
) -> tuple[int, int]:
    line = bisect_right(starts, offset) - 1
    before = text[starts[line] : offset]
    character = length(before, units) + (length("\ufeff", units) if bom and line == 0 else 0)
    return line, character


def length(text: str, units: Units) -> int:
    """The length of a text in these units."""
    if units == "utf-32" or text.isascii():
        return len(text)
    if units == "utf-8":
        return len(text.encode("utf-8", "replace"))
    return len(text.encode("utf-16-le", "replace")) // 2


def _end(facts: FileFacts, line: int) -> str:
    """The line end of new lines: the document's, or where kinds are mixed, the current line's."""
    if facts.line_end != "mixed":
        return _ENDS[facts.line_end]
    ends = facts.line_ends
    letter = ends[min(line, len(ends) - 1)] if ends else "n"
    return _LETTERS.get(letter, "\n")
