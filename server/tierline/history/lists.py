"""Three-way merge of a list."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")


def merged(
    before: Sequence[T], ours: Sequence[T], theirs: Sequence[T], key: Callable[[T], Hashable]
) -> Sequence[T]:
    """``before`` with the changes of ``ours`` and of ``theirs``.

    Entries that either added are in, entries that either removed are out, and ``ours`` wins where
    both changed one. The order is theirs where nothing is new to them, so that the result is
    ``ours`` itself if they changed nothing.
    """
    if list(theirs) == list(before):
        return ours
    was, mine = {key(e): e for e in before}, {key(e): e for e in ours}
    kept = [
        mine[name] if name in mine and mine[name] != was.get(name) else entry
        for entry in theirs
        if (name := key(entry)) in mine or name not in was
    ]
    there = {key(entry) for entry in theirs}
    return [*kept, *(e for name, e in mine.items() if name not in there and name not in was)]
