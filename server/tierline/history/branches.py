"""Branches: parallel lines of one conversation.

A branch inherits the conversation up to its fork point, with its drops, summaries and STATE, by
copy; from then on they are independent. Forking and switching are events (``fork``, ``switch``).
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from tierline.history.events import LogEvent
from tierline.history.messages import Message
from tierline.history.timeline import MAIN, Timeline, timeline


@frozen
class Comparison:
    """Two branches: the last message that they share, and the messages that only one has."""

    a: str
    b: str
    common: str
    only_a: tuple[Message, ...]
    only_b: tuple[Message, ...]


def fork_name(existing: Iterable[str], wanted: str = "") -> str:
    """A free branch name: the wanted one, or it with a number; else ``branch-2`` and so on."""
    taken = {MAIN, *existing}
    if wanted and wanted not in taken:
        return wanted
    stem, number = wanted or "branch", 2
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"


def compare(
    entries: Iterable[Message | LogEvent], a: str, b: str, *, session_id: str
) -> Comparison:
    """Compare two branches of a session by their visible messages."""
    known = list(entries)
    left = timeline(known, session_id=session_id, branch=a)
    right = timeline(known, session_id=session_id, branch=b)
    shared = {m.id for m in left.visible()} & {m.id for m in right.visible()}
    common = [m for m in left.visible() if m.id in shared]
    return Comparison(
        a, b, common[-1].id if common else "", _without(left, shared), _without(right, shared)
    )


def _without(line: Timeline, shared: set[str]) -> tuple[Message, ...]:
    return tuple(m for m in line.visible() if m.id not in shared)
