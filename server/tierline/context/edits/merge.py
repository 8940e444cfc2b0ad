"""Joining two changes of one text, line by line (three-way merge, as in diff3).

Where both sides changed the same or neighbouring lines, nothing is guessed: the merge is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from tierline.context.edits.hunks import Span

MAX_LINES = 20_000
"""Lines of a text that is merged; of a longer one, which would take too long, the user is asked."""


def merge(base: str, ours: str, theirs: str) -> str | None:
    """``base`` with the changes of both, line ends as in each; None if they overlap or touch."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    old, a, b = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    if max(len(old), len(a), len(b)) > MAX_LINES:
        return None
    made: list[str] = []
    at = at_a = at_b = 0
    for start, start_a, start_b, count in _in_all(old, a, b):
        before, mine, other = old[at:start], a[at_a:start_a], b[at_b:start_b]
        if mine not in (before, other) and other != before:
            return None
        made += other if mine == before else mine
        made += old[start : start + count]
        at, at_a, at_b = start + count, start_a + count, start_b + count
    return "".join(made)


def spans(before: str, after: str) -> list[Span]:
    """The replacements of whole lines that turn ``before`` into ``after``."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if max(len(old), len(new)) > MAX_LINES:
        return [(0, len(before), after)]
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = SequenceMatcher(None, old, new, autojunk=True)
    return [
        (starts[a1], starts[a2], "".join(new[b1:b2]))
        for tag, a1, a2, b1, b2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _in_all(
    old: Sequence[str], a: Sequence[str], b: Sequence[str]
) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines that all three have: their places and lengths; last the end, with length 0."""
    mine = SequenceMatcher(None, old, a, autojunk=True).get_matching_blocks()
    other = SequenceMatcher(None, old, b, autojunk=True).get_matching_blocks()
    i = j = 0
    while i < len(mine) and j < len(other):
        (p, pa, n), (q, qb, m) = mine[i], other[j]
        start, end = max(p, q), min(p + n, q + m)
        if start < end:
            yield start, pa + start - p, qb + start - q, end - start
        if p + n < q + m:
            i += 1
        else:
            j += 1
    yield len(old), len(a), len(b), 0
