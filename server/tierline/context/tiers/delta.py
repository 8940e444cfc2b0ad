"""Differences between two versions of a text, as unified diffs that apply exactly.

Lines end at ``\\n`` alone, so a carriage return, a form feed or U+2028 inside a line is a character
like any other. Finding the difference takes bounded time whatever the texts (Myers' algorithm with
a limit on its work); past the limit the part that differs is replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tierline.context.text import common_ends

CONTEXT_LINES = 1
"""Unchanged lines before each change: with the removed lines, enough to find the place. None after
it, as every line of a difference is paid for until the base is rewritten.
"""
MAX_WORK = 1_500_000
"""Most steps of the search, about half a second."""
MAX_DISTANCE = 400
"""Most changed lines that the search finds; its memory grows with the square."""
NO_NEWLINE = "\\ No newline at end of file"

_Edit: TypeAlias = tuple[int, int, int, int]
"""Lines ``a0:a1`` of the old text became lines ``b0:b1`` of the new one."""


def make(before: str, after: str, context: int = CONTEXT_LINES) -> str:
    """The unified diff from one text to the other, without file names; empty if they are equal.

    Applied to the one, it gives the other to the byte.
    """
    old, new = split_lines(before), split_lines(after)
    written: list[str] = []
    for group in _grouped(_edits(old, new), context):
        written += _hunk(old, new, group, context)
    return "".join(written)


def split_lines(text: str) -> list[str]:
    """Lines with their ends; none for an empty text."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


# --- writing -------------------------------------------------------------------------------------


def _hunk(old: Sequence[str], new: Sequence[str], group: list[_Edit], context: int) -> list[str]:
    first, last = group[0], group[-1]
    place = max(first[0] - context, 0)
    start = first[2] - (first[0] - place)
    out = [f"@@ -{_span(place, last[1])} +{_span(start, last[3])} @@\n"]
    for a0, a1, b0, b1 in group:
        out += [_written(" ", line) for line in old[place:a0]]
        out += [_written("-", line) for line in old[a0:a1]]
        out += [_written("+", line) for line in new[b0:b1]]
        place = a1
    return out


def _span(start: int, end: int) -> str:
    length = end - start
    begin = start + 1 if length else start
    return str(begin) if length == 1 else f"{begin},{length}"


def _written(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}\n"


def _grouped(edits: Sequence[_Edit], context: int) -> Iterator[list[_Edit]]:
    """Edits grouped into hunks: those whose context lines touch share one."""
    group: list[_Edit] = []
    for edit in edits:
        if group and edit[0] - group[-1][1] > context:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


# --- finding -------------------------------------------------------------------------------------


def _edits(old: Sequence[str], new: Sequence[str]) -> list[_Edit]:
    """The changes, in order. The common prefix and suffix are removed first."""
    head, tail = common_ends(old, new)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if not a and not b:
        return []
    numbers: dict[str, int] = {}
    pairs = _matches(
        [numbers.setdefault(line, len(numbers)) for line in a],
        [numbers.setdefault(line, len(numbers)) for line in b],
    )
    edits: list[_Edit] = []
    x = y = 0
    for i, j in [*pairs, (len(a), len(b))]:
        if i > x or j > y:
            edits.append((head + x, head + i, head + y, head + j))
        x, y = i + 1, j + 1
    return edits


def _matches(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of equal lines of a shortest edit script (Myers 1986); none past ``MAX_WORK``."""
    n, m = len(a), len(b)
    if not n or not m:
        return []
    reach = {1: 0}
    trace: list[dict[int, int]] = []
    work = 0
    for distance in range(min(n + m, MAX_DISTANCE) + 1):
        trace.append(dict(reach))
        for k in range(-distance, distance + 1, 2):
            down = k == -distance or (k != distance and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            y = x - k
            begin = x
            while x < n and y < m and a[x] == b[y]:
                x += 1
                y += 1
            reach[k] = x
            work += 1 + x - begin
            if x >= n and y >= m:
                return _walk_back(trace, n, m)
        work += len(reach)
        if work > MAX_WORK:
            break
    return []


def _walk_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for distance in reversed(range(len(trace))):
        reach = trace[distance]
        k = x - y
        down = k == -distance or (k != distance and reach[k - 1] < reach[k + 1])
        before = k + 1 if down else k - 1
        old_x = reach[before] if distance else 0
        old_y = old_x - before if distance else 0
        while x > old_x and y > old_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = old_x, old_y
    return pairs[::-1]
