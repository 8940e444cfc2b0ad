"""What changed between two plans, and which change broke the cached prefix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from attrs import frozen

from tierline.context.plan import ContextPlan, PlanEntry, SentItem


@frozen
class PlanDiff:
    """The difference between two plans, as keys of items."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Items in both plans whose content differs."""
    reordered: tuple[str, ...] = ()
    """Items in both plans whose relative order changed; the smallest set that explains it."""
    first_break: str = ""
    """The item that was added, removed, changed or moved at the first difference in the bytes of
    the two requests. Empty if the second begins with all of the first.
    """
    first_break_index: int = -1
    """Index of its block, from 0; -1 if nothing broke."""
    lines: tuple[str, ...] = ()
    """The difference in sentences."""


def diff(a: ContextPlan, b: ContextPlan) -> PlanDiff:
    """What changed from plan ``a`` to plan ``b``.

    If both were sent, compared by their bytes (``ContextPlan.sent``), else by the order of the
    plans.
    """
    before = {entry.key: entry for entry in a.included}
    after = {entry.key: entry for entry in b.included}
    added = tuple(key for key in after if key not in before)
    removed = tuple(key for key in before if key not in after)
    changed = tuple(
        key for key in after if key in before and after[key].sha256 != before[key].sha256
    )
    reordered = _moved(a, b)
    place, first, what = _first_break(_order(a), _order(b), set(added), set(removed))
    return PlanDiff(
        added=added,
        removed=removed,
        changed=changed,
        reordered=reordered,
        first_break=first,
        first_break_index=place,
        lines=(
            *_settings(a, b),
            *(f"+ {key} ({_size(after[key])}): {after[key].reason}" for key in added),
            *(f"- {key} ({_size(before[key])}): {_gone(b, key)}" for key in removed),
            *(f"~ {key}: {_size(before[key])} became {_size(after[key])}" for key in changed),
            *(f"> {key} stands elsewhere" for key in reordered),
            _break_line(first, place, what),
        ),
    )


def _settings(a: ContextPlan, b: ContextPlan) -> list[str]:
    pairs = (("model", a.model, b.model), ("mode", a.mode.value, b.mode.value),
             ("branch", a.branch, b.branch))  # fmt: skip
    lines = [f"* {name}: {old} became {new}" for name, old, new in pairs if old != new]
    if a.tokens != b.tokens:
        lines.append(f"* size: {a.tokens:,} became {b.tokens:,} tokens")
    return lines


def _size(entry: PlanEntry) -> str:
    return f"{entry.tokens:,} tokens"


def _gone(plan: ContextPlan, key: str) -> str:
    entry = plan.entry(key)
    return entry.reason if entry else "no longer a candidate."


def _order(plan: ContextPlan) -> Sequence[SentItem]:
    return plan.sent or [SentItem(entry.key, entry.sha256) for entry in plan.included]


def _first_break(
    a: Sequence[SentItem], b: Sequence[SentItem], added: set[str], removed: set[str]
) -> tuple[int, str, str]:
    """Index, item and its change; index -1 if ``b`` begins with all of ``a``."""
    for place, (old, new) in enumerate(zip_longest(a, b)):
        if old is None:
            break
        if new is None:
            return place, old.key, "was removed" if old.key in removed else "is shorter"
        if old.key != new.key:
            if new.key in added:
                return place, new.key, "was added"
            if old.key in removed:
                return place, old.key, "was removed"
            return place, new.key, "moved"
        if old.sha256 != new.sha256:
            return place, new.key, "changed"
    return -1, "", ""


def _moved(a: ContextPlan, b: ContextPlan) -> tuple[str, ...]:
    """Keys outside a longest common subsequence of those that both plans hold."""
    common = {sent.key for sent in _order(a)} & {sent.key for sent in _order(b)}
    before = [key for key in dict.fromkeys(sent.key for sent in _order(a)) if key in common]
    after = [key for key in dict.fromkeys(sent.key for sent in _order(b)) if key in common]
    if before == after:
        return ()
    rank = {key: place for place, key in enumerate(before)}
    kept = {after[place] for place in _longest_rising([rank[key] for key in after])}
    return tuple(key for key in after if key not in kept)


def _longest_rising(values: Sequence[int]) -> list[int]:
    """Places of a longest rising subsequence (patience sorting, n log n)."""
    from bisect import bisect_left

    tops: list[int] = []
    top_places: list[int] = []
    previous: list[int] = []
    for place, value in enumerate(values):
        pile = bisect_left(tops, value)
        if pile == len(tops):
            tops.append(value)
            top_places.append(place)
        else:
            tops[pile] = value
            top_places[pile] = place
        previous.append(top_places[pile - 1] if pile else -1)
    places: list[int] = []
    place = top_places[-1] if top_places else -1
    while place >= 0:
        places.append(place)
        place = previous[place]
    return places[::-1]


def _break_line(first: str, place: int, what: str) -> str:
    if not first:
        return "The cached prefix holds: the second request begins with the first."
    return f"The cached prefix breaks at block {place + 1}: {first} {what}."
