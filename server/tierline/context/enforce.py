"""Keeping a request within the window: emergency truncation and shedding.

Both work on a ``Selection``: the items that are in and those that are out, with the reason.
Required items, and the items that they depend on, are held and never leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from attrs import frozen

from tierline.context.items import Item, Pin, Section
from tierline.context.limits import EMERGENCY_FACTOR, Limits, compaction_trigger
from tierline.errors import TierlineError


class PlanCode(StrEnum):
    """Why an item is in or out. Stable: clients and stored plans hold them."""

    REQUIRED = "required"
    PINNED = "pinned"
    LEASED = "leased"
    HOOK = "hook"
    SELECTED = "selected"
    FRAME = "frame"

    SHED = "shed"
    """A file, because the request passed the shedding limit."""
    TOO_LARGE = "too_large"
    """A file that alone is larger than what may be sent."""
    LOW_PRIORITY = "low_priority"
    """Any other item, because the request did not fit."""
    TRUNCATED = "truncated"
    """Old history, because compaction failed."""
    MODE = "mode"
    MODE_LIMIT = "mode_limit"
    DUPLICATE = "duplicate"
    DEPENDENCY = "dependency"


@frozen
class DroppedItem:
    """An item that is out: why, as a code and as a sentence."""

    item: Item
    code: PlanCode
    reason: str


_NAMES = {
    Section.TOOLS: "the list of tools",
    Section.SYSTEM: "the instructions",
    Section.STATE: "the state of the work",
    Section.SUMMARIES: "a summary of earlier conversation",
    Section.HISTORY: "your prompt",
    Section.PROMPT: "your prompt",
}


def fixed_name(item: Item) -> str:
    """The name, for a person, of a part of the request that cannot be shed."""
    if item.key.startswith("request:"):
        return "what every request costs"
    if item.section is Section.PROMPT and item.key.endswith(":selection"):
        return "what is selected in the editor"
    if item.section is Section.HISTORY and not item.required:
        return "earlier conversation"
    return item.path or _NAMES.get(item.section, item.key)


class FixedPartTooLarge(TierlineError):  # noqa: N818 - named for what the user meets
    """The parts that must be sent do not fit into the window. ``parts``: the largest first."""

    def __init__(self, parts: Iterable[Item], needed: int, room: int) -> None:
        self.parts = tuple(sorted(parts, key=lambda part: (-part.tokens, part.key)))
        self.needed = needed
        self.room = room
        named = ", ".join(f"{fixed_name(part)} ({part.tokens:,})" for part in self.parts[:4])
        rest = len(self.parts) - 4
        super().__init__(
            "fixed_part_too_large",
            f"What must be sent needs {needed:,} tokens, but there is room for {room:,}: {named}"
            + (f" and {rest} smaller {'part' if rest == 1 else 'parts'}." if rest > 0 else "."),
            f"Shorten {_advice(self.parts)}, or choose a model with a larger window.",
        )


def _advice(parts: Sequence[Item]) -> str:
    match parts[0].section if parts else Section.PROMPT:
        case Section.TOOLS:
            return "the list of tools"
        case Section.SYSTEM:
            return "the instructions"
        case _:
            return "the prompt"


class Selection:
    """Items in and out. Dropping an item drops what depends on it."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.kept: dict[str, Item] = {item.key: item for item in items}
        self.dropped: list[DroppedItem] = []
        self.tokens = sum(item.tokens for item in self.kept.values())
        self._dependents: dict[str, list[str]] = {}
        for item in self.kept.values():
            for key in item.depends:
                self._dependents.setdefault(key, []).append(item.key)
        self._held = self._closure(item.key for item in self.kept.values() if item.required)

    def _closure(self, keys: Iterable[str]) -> frozenset[str]:
        held: set[str] = set()
        waiting = list(keys)
        while waiting:
            key = waiting.pop()
            if key in self.kept and key not in held:
                held.add(key)
                waiting.extend(self.kept[key].depends)
        return frozenset(held)

    def held(self, item: Item) -> bool:
        """True for what can never leave."""
        return item.key in self._held

    @property
    def active_groups(self) -> frozenset[str]:
        """The turns that are being answered: those with a required message."""
        return frozenset(
            item.group
            for item in self.kept.values()
            if item.required and item.group and item.section in (Section.HISTORY, Section.PROMPT)
        )

    def drop(self, item: Item, code: PlanCode, reason: str) -> list[DroppedItem]:
        """Take out an item and all that depend on it. Held and absent ones stay as they are."""
        if item.key not in self.kept or self.held(item):
            return []
        del self.kept[item.key]
        self.tokens -= item.tokens
        gone = [DroppedItem(item, code, reason)]
        self.dropped.append(gone[0])
        for key in self._dependents.get(item.key, ()):
            if dependent := self.kept.get(key):
                gone += self.drop(
                    dependent,
                    PlanCode.DEPENDENCY,
                    f"It makes no sense without {item.key}: {reason}",
                )
        return gone

    def history_units(self) -> list[tuple[Item, ...]]:
        """Units that leave together when history is cut, oldest first: whole earlier turns, then
        single atoms of the turns that are being answered; without held items.
        """
        active = self.active_groups
        turns: dict[str, list[Item]] = {}
        current: list[tuple[Item, ...]] = []
        for item in self.kept.values():
            if item.section is not Section.HISTORY or self.held(item):
                continue
            if item.group in active:
                current.append((item,))
            else:
                turns.setdefault(item.group or item.key, []).append(item)
        return [*(tuple(items) for items in turns.values()), *current]


def history_tokens(items: Iterable[Item]) -> int:
    """Tokens of the conversation among the items."""
    return sum(item.tokens for item in items if item.section is Section.HISTORY)


def emergency_truncate(
    selection: Selection, limits: Limits, *, target_tokens: int | None = None
) -> list[str]:
    """The second layer, for when compaction failed: if history exceeds twice its trigger, the
    oldest turns leave until it is within the trigger. Calls stay with their results, and the prompt
    that is being answered stays. Returns notices for the chat.

    ``target_tokens`` truncates to that size, whatever the trigger.
    """
    trigger = compaction_trigger(limits)
    held = history_tokens(selection.kept.values())
    if target_tokens is None and held <= EMERGENCY_FACTOR * trigger:
        return []
    target = trigger if target_tokens is None else target_tokens
    gone: list[DroppedItem] = []
    for unit in selection.history_units():
        if held <= target:
            break
        for item in unit:
            gone += selection.drop(
                item,
                PlanCode.TRUNCATED,
                f"History held {held:,} tokens and could not be compacted; the oldest went first.",
            )
        held = history_tokens(selection.kept.values())
    return [_history_notice(gone, "the conversation could not be compacted")] if gone else []


def shed_files(selection: Selection, limits: Limits) -> list[str]:
    """The third layer: while the estimate exceeds 90 % of the input
    limit, files leave, largest first, those pinned by the user last. One notice for each.
    """
    room = limits.room(limits.soft)
    most = limits.room(limits.hard)
    files = [item for item in selection.kept.values() if item.section is Section.FILES]
    files.sort(key=lambda item: (item.pin is Pin.STICKY, -item.tokens, item.key))
    notices = []
    for item in files:
        if selection.tokens <= room:
            break
        name = item.path or item.key
        if item.tokens > most:
            code = PlanCode.TOO_LARGE
            whole = item.whole_tokens or item.tokens
            reason = f"{name} alone has {whole:,} tokens; there is room for {most:,} in all."
        else:
            code = PlanCode.SHED
            size = f"{item.tokens:,}"
            if item.whole_tokens:
                size = f"the first {size} of {item.whole_tokens:,}"
            reason = (
                f"{name} ({size} tokens) was left out: the request would have taken "
                f"{selection.tokens:,} of {room:,} tokens."
            )
        if selection.drop(item, code, reason):
            notices.append(reason)
    return notices


_LEAVES: dict[Section, int] = {
    section: rank
    for rank, section in enumerate(
        (
            Section.RETRIEVED,
            Section.URLS,
            Section.SYMBOLS,
            Section.MEMOS,
            Section.FILES,
            Section.HISTORY,
            Section.SUMMARIES,
            Section.STATE,
            Section.INSTRUCTIONS,
            Section.SYSTEM,
            Section.TOOLS,
            Section.PROMPT,
        )
    )
}
"""Order in which sections leave among items of equal priority: the easiest to get again first."""


def shed_rest(selection: Selection, limits: Limits) -> list[str]:
    """After layer 3: shed other items until the rest fits. They leave by rising priority, pinned
    ones last; history by whole turns, oldest first.

    Raises:
        FixedPartTooLarge: the items that cannot leave do not fit.
    """
    room = limits.room(limits.hard)
    if selection.tokens <= room:
        return []
    gone: list[DroppedItem] = []
    for unit in _shedding_order(selection):
        if selection.tokens <= room:
            break
        for item in unit:
            gone += selection.drop(
                item,
                PlanCode.LOW_PRIORITY,
                f"The request would have taken {selection.tokens:,} tokens; there is room for "
                f"{room:,}, and this weighed least.",
            )
    if selection.tokens > room:
        raise FixedPartTooLarge(selection.kept.values(), selection.tokens, room)
    history = [drop for drop in gone if drop.item.section is Section.HISTORY]
    notices = [_history_notice(history, "the request did not fit")] if history else []
    if others := [drop.item for drop in gone if drop.item.section is not Section.HISTORY]:
        notices.append(_shed_notice(others))
    return notices


def _shedding_order(selection: Selection) -> list[tuple[Item, ...]]:
    """The items that may leave, in units that leave together, the first to leave first."""
    units: list[tuple[Item, ...]] = [
        (item,)
        for item in selection.kept.values()
        if item.section is not Section.HISTORY and not selection.held(item)
    ]
    units.sort(key=lambda unit: (_LEAVES[unit[0].section], -unit[0].tokens, unit[0].key))
    units += selection.history_units()
    # A stable sort: history stays in order of age, and sections in theirs within a priority.
    units.sort(
        key=lambda unit: (
            any(item.pin is Pin.STICKY for item in unit),
            max(item.priority for item in unit),
            _LEAVES[unit[0].section],
        )
    )
    return units


def _shed_notice(items: Sequence[Item]) -> str:
    names = ", ".join(item.path or item.key for item in items[:5])
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    tokens = sum(item.tokens for item in items)
    return f"Left out, {tokens:,} tokens in all, to fit the window: {names}{more}."


def _history_notice(gone: Sequence[DroppedItem], why: str) -> str:
    messages = sum(max(1, len(drop.item.messages)) for drop in gone)
    tokens = sum(drop.item.tokens for drop in gone)
    noun = "message" if messages == 1 else "messages"
    return (
        f"The oldest {messages} {noun} ({tokens:,} tokens) were left out of this request, because "
        f"{why}. They are still in the history."
    )
