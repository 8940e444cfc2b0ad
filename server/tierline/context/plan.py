"""ContextPlan: what goes into one request, what stays out, and why.

``plan`` is a function of its arguments alone: the same candidates and limits give the same plan
with the same id, which is what makes a request reproducible.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from attrs import evolve, frozen

from tierline.context.enforce import (
    DroppedItem,
    PlanCode,
    Selection,
    emergency_truncate,
    shed_files,
    shed_rest,
)
from tierline.context.filerender import cut_sentence
from tierline.context.items import Item, Pin, Section
from tierline.context.limits import Limits
from tierline.context.mode import LIMITS, ContextMode

FRAME_KEY = "request:frame"
"""Key of the entry for the tokens of every request beside its items."""

_IN_GIVEN_ORDER = frozenset(
    {Section.HISTORY, Section.SUMMARIES, Section.RETRIEVED, Section.PROMPT, Section.SYSTEM}
)
_AUTOMATIC = (Section.RETRIEVED, Section.SYMBOLS)


@frozen
class PlanEntry:
    """One item in a plan. ``code`` is stable, ``reason`` is for a person."""

    key: str
    section: Section
    tokens: int
    code: str
    reason: str
    tier: str = ""
    """The tier that the stability policy chose; empty before that, and for items that are out."""
    sha256: str = ""
    pin: Pin = Pin.NONE
    path: str = ""
    group: str = ""
    whole_tokens: int = 0
    """Tokens of the whole, if only a part is sent; else 0."""

    def at(self, tier: str) -> PlanEntry:
        """The entry with its tier; the same object if that stays, as for most entries."""
        if tier == self.tier:
            return self
        found = self._placed.get(tier)
        if found is None:
            found = self._placed[tier] = evolve(self, tier=tier)
        return found

    @cached_property
    def _placed(self) -> dict[str, PlanEntry]:
        return {}


@frozen
class SentItem:
    """A block as it is sent: the item that it comes from and a hash of its content."""

    key: str
    sha256: str
    marked: bool = False
    """True if a cache breakpoint follows it."""


@frozen
class ContextPlan:
    """The decision about one request. Token counts are without margin."""

    plan_id: str
    """``plan_`` and 16 hexadecimal digits of the hash of the plan's inputs."""
    model: str
    mode: ContextMode
    included: tuple[PlanEntry, ...]
    """In plan order: sections as ``Section`` declares them; history, summaries, retrieved items,
    instructions and prompt as given, everything else by key."""
    excluded: tuple[PlanEntry, ...]
    """In the order in which they were left out."""
    tokens_before: int
    """Tokens of all candidates."""
    tokens: int
    """Tokens of the included items."""
    estimate: int
    """``tokens`` with the margin, as compared with the limits."""
    max_input_tokens: int
    window: int
    max_output_tokens: int
    """Room for the reply: ``estimate + max_output_tokens <= window``."""
    margin: float = 0.0
    branch: str = "main"
    group_id: str = ""
    retrieval_set: str = ""
    """Id of the ``RetrievalSet`` that the candidates came from."""
    notices: tuple[str, ...] = ()
    """Sentences for the user."""
    sent: tuple[SentItem, ...] = ()
    """The blocks of the request in the order of its bytes; filled in once it is stored."""

    def entry(self, key: str) -> PlanEntry | None:
        """The entry of an item, in or out; an included one wins."""
        return next((one for one in (*self.included, *self.excluded) if one.key == key), None)

    def includes(self, key: str) -> bool:
        """True if the item is in the request."""
        return any(entry.key == key for entry in self.included)

    def select(self, candidates: Iterable[Item]) -> tuple[Item, ...]:
        """The candidates that are in, in plan order."""
        items: dict[str, Item] = {}
        for item in candidates:
            items.setdefault(item.key, item)
        return tuple(items[entry.key] for entry in self.included if entry.key in items)

    def with_tiers(self, tiers: Mapping[str, str]) -> ContextPlan:
        """The plan with the tier of each included item; its id stays."""
        return evolve(
            self,
            included=tuple([entry.at(tiers.get(entry.key, entry.tier)) for entry in self.included]),
        )

    def section_tokens(self) -> dict[Section, int]:
        """Tokens by section, all sections, in their order. They sum to ``tokens``."""
        sums = dict.fromkeys(Section, 0)
        for entry in self.included:
            sums[entry.section] += entry.tokens
        return sums


def plan(
    candidates: Sequence[Item],
    limits: Limits,
    *,
    model: str = "",
    mode: ContextMode = ContextMode.LIGHT,
    absent: Sequence[PlanEntry] = (),
    frame_tokens: int = 0,
    compaction_failed: bool = False,
    branch: str = "main",
    group_id: str = "",
    retrieval_set: str = "",
) -> ContextPlan:
    """Decide what goes into the request.

    In this order: duplicates and items that the mode does not allow stay out; items whose
    dependencies are absent stay out; history is truncated if compaction failed (layer 2); files are
    shed at 90 % of the input limit (layer 3); then the reply's room is lowered to its floor; then
    other items leave by rising priority. An item is in whole or not at all, and never without the
    items in its ``depends``.

    ``frame_tokens`` are the request's tokens beside its items; ``absent`` (listed, but cannot
    be a candidate: a missing file, a refused one) goes to the excluded. History must be in
    chronological order, retrieved items best first.

    Raises:
        FixedPartTooLarge: the items that cannot be left out do not fit into the window.
    """
    mode = ContextMode(mode)
    plan_id = _plan_id(
        candidates,
        (limits, model, mode, frame_tokens, compaction_failed, branch, group_id, retrieval_set),
        absent,
    )
    items, dropped = _distinct(candidates)
    if frame_tokens > 0:
        items.insert(0, _frame(frame_tokens))
    selection = Selection(_ordered(items))
    _apply_mode(selection, mode, limits)
    _apply_dependencies(selection)
    notices: list[str] = []
    if compaction_failed:
        notices += emergency_truncate(selection, limits)
    notices += shed_files(selection, limits)
    notices += shed_rest(selection, limits)
    dropped += selection.dropped
    return ContextPlan(
        plan_id=plan_id,
        model=model,
        mode=mode,
        included=tuple([_included(item) for item in selection.kept.values()]),
        excluded=(
            *(_entry(drop.item, drop.code, drop.reason) for drop in dropped),
            *(entry for entry in absent if entry.key not in selection.kept),
        ),
        tokens_before=sum(item.tokens for item in items),
        tokens=selection.tokens,
        estimate=limits.estimate(selection.tokens),
        max_input_tokens=limits.max_input_tokens,
        window=limits.window,
        max_output_tokens=limits.output_for(selection.tokens),
        margin=limits.margin,
        branch=branch,
        group_id=group_id,
        retrieval_set=retrieval_set,
        notices=tuple(notices),
    )


def explain(plan: ContextPlan, key: str) -> str:
    """Why an item is in or out, in a sentence."""
    entry = plan.entry(key)
    if entry is None:
        return f"{key} was not a candidate for this request."
    name = entry.path or key
    if plan.includes(key):
        tier = f", in tier {entry.tier}," if entry.tier else ""
        return f"{name} is in{tier} with {entry.tokens:,} tokens: {entry.reason}"
    tokens = entry.whole_tokens or entry.tokens
    size = f" ({tokens:,} tokens)" if tokens else ""
    return f"{name}{size} is not in: {entry.reason}"


# --- steps ---------------------------------------------------------------------------------------


def _plan_id(candidates: Iterable[Item], rest: Sequence[Any], absent: Iterable[PlanEntry]) -> str:
    """A hash over everything that the plan depends on. Contents enter by their own hashes."""
    lines = [item.identity for item in candidates]
    lines += [repr(value) for value in rest]
    lines += [f"{a.key}\0{a.section}\0{a.code}\0{a.reason}\0{a.tokens}\0{a.path}" for a in absent]
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    return f"plan_{hashlib.sha256(content).hexdigest()[:16]}"


def _distinct(candidates: Iterable[Item]) -> tuple[list[Item], list[DroppedItem]]:
    """The first item of each key. Equal copies are dropped, others listed as excluded."""
    items: dict[str, Item] = {}
    dropped: list[DroppedItem] = []
    for item in candidates:
        first = items.setdefault(item.key, item)
        if first is not item and first.sha256 != item.sha256:
            dropped.append(
                DroppedItem(
                    item, PlanCode.DUPLICATE, "Another version of it came first in this request."
                )
            )
    return list(items.values()), dropped


def _ordered(items: list[Item]) -> list[Item]:
    """Items by section; within one by key, unless the given order has a meaning."""
    sections: dict[Section, list[Item]] = {section: [] for section in Section}
    last, current = None, []
    for item in items:
        if item.section is not last:
            last = item.section
            current = sections[last]
        current.append(item)
    for section, members in sections.items():
        if section not in _IN_GIVEN_ORDER:
            members.sort(key=lambda item: item.key)
    return [item for members in sections.values() for item in members]


def _frame(tokens: int) -> Item:
    return Item(
        key=FRAME_KEY,
        section=Section.SYSTEM,
        sha256="",
        tokens=tokens,
        required=True,
        origin="what every request costs",
    )


def _apply_mode(selection: Selection, mode: ContextMode, limits: Limits) -> None:
    """Leave out automatic context that the mode does not allow; pins and what was sent stay."""
    allowed = LIMITS[mode]
    most = limits.room(allowed.tokens(limits.max_input_tokens))
    count = tokens = 0
    for item in [i for i in selection.kept.values() if i.section in _AUTOMATIC]:
        if item.pin in (Pin.STICKY, Pin.LEASED) or item.note is not None:
            continue
        if mode is ContextMode.OFF or (item.section is Section.SYMBOLS and not allowed.symbols):
            selection.drop(item, PlanCode.MODE, f"Context mode {mode.value} retrieves nothing.")
        elif item.section is Section.RETRIEVED:
            if count >= allowed.candidates or tokens + item.tokens > most:
                selection.drop(
                    item,
                    PlanCode.MODE_LIMIT,
                    f"Context mode {mode.value} takes at most {allowed.candidates} pieces and "
                    f"{most:,} tokens.",
                )
            else:
                count += 1
                tokens += item.tokens


def _apply_dependencies(selection: Selection) -> None:
    for item in [item for item in selection.kept.values() if item.depends]:
        missing = [key for key in item.depends if key not in selection.kept]
        if missing and item.key in selection.kept:
            selection.drop(item, PlanCode.DEPENDENCY, f"It makes no sense without {missing[0]}.")


_WHY = {
    Section.TOOLS: "the tools that the model may call.",
    Section.SYSTEM: "part of the instructions.",
    Section.INSTRUCTIONS: "an instruction file.",
    Section.MEMOS: "a memo that fits the prompt.",
    Section.STATE: "the state of the work.",
    Section.SYMBOLS: "part of the map of the code.",
    Section.FILES: "it is in the file context.",
    Section.URLS: "a page that was fetched.",
    Section.RETRIEVED: "retrieved for this prompt.",
    Section.SUMMARIES: "a summary of earlier conversation.",
    Section.HISTORY: "part of the conversation.",
    Section.PROMPT: "the prompt.",
}


def _included(item: Item) -> PlanEntry:
    entry: PlanEntry | None = item.memo.get("entry")
    if entry is None:
        entry = item.memo["entry"] = _reasoned(item)
    return entry


def _reasoned(item: Item) -> PlanEntry:
    if item.key == FRAME_KEY:
        code, why = PlanCode.FRAME, "what every request costs beside its content."
    elif item.required:
        code, why = PlanCode.REQUIRED, _WHY[item.section]
        if item.section is Section.HISTORY:
            why = "the request that is being answered."
    elif item.pin is Pin.STICKY:
        code, why = PlanCode.PINNED, "you pinned it."
    elif item.pin is Pin.LEASED:
        code, why = PlanCode.LEASED, "pinned for the current task."
    elif item.pin is Pin.EPHEMERAL:
        code, why = PlanCode.HOOK, "a hook to ask for more."
    else:
        code, why = PlanCode.SELECTED, _WHY[item.section]
    if item.origin and code is not PlanCode.FRAME:
        why = f"{why[:-1]} ({item.origin})."
    if item.whole_tokens:
        why = f"{why} {cut_sentence(item.tokens, item.whole_tokens)}"
    return _entry(item, code, why)


def _entry(item: Item, code: str, reason: str) -> PlanEntry:
    return PlanEntry(
        item.key, item.section, item.tokens, code, reason, "",
        item.sha256, item.pin, item.path, item.group, item.whole_tokens,
    )  # fmt: skip
