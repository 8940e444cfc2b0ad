"""Hunks: the parts of a change that a person accepts or rejects one by one.

A hunk is made of the replacements that touch the same or neighbouring lines. Its span is trimmed to
the characters that change, so that marks, folds and cursors around it stay in place.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from tierline.context.text import common_ends

Span = tuple[int, int, str]
"""Start and end offset, and the new text."""


@frozen
class Hunk:
    """One contiguous change: the text between ``start`` and ``end`` becomes ``text``."""

    index: int
    start: int
    end: int
    text: str
    line: int
    """First line that it touches, from 1."""
    before: str
    """The whole lines that it touches, before the change."""
    after: str
    """The same lines after the change."""


def hunks_of(text: str, spans: Sequence[Span]) -> tuple[Hunk, ...]:
    """The hunks of sorted replacements that do not overlap; none for those that change nothing."""
    trimmed = [span for span in (_trim(text, span) for span in spans) if span is not None]
    groups: list[list[Span]] = []
    for span in trimmed:
        if groups and _touch(text, groups[-1][-1], span):
            groups[-1].append(span)
        else:
            groups.append([span])
    return tuple(_hunk(text, index, group) for index, group in enumerate(groups))


def _trim(text: str, span: Span) -> Span | None:
    """The span without the text that is equal at either end."""
    start, end, new = span
    old = text[start:end]
    if old == new:
        return None
    head, tail = common_ends(old, new)
    return start + head, end - tail, new[head : len(new) - tail]


def _touch(text: str, one: Span, other: Span) -> bool:
    """True if the second begins on the line where the first ends, or on the next."""
    return text.count("\n", one[1], other[0]) <= 1


def _hunk(text: str, index: int, group: Sequence[Span]) -> Hunk:
    start, end = group[0][0], group[-1][1]
    parts: list[str] = []
    done = start
    for first, last, new in group:
        parts += (text[done:first], new)
        done = last
    new_text = "".join(parts)
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    if end > start and text[end - 1] == "\n" and new_text.endswith("\n"):
        line_end = end  # whole lines: the next line is not touched
    before = text[line_start:line_end]
    return Hunk(
        index=index,
        start=start,
        end=end,
        text=new_text,
        line=text.count("\n", 0, start) + 1,
        before=before,
        after=text[line_start:start] + new_text + text[end:line_end],
    )
