"""The policy ``counter``: items climb tiers by the number of requests without a change.

Every tracked item has N, the number of consecutive requests with an unchanged hash. It begins in
the active part with N = 0 and climbs to L3 at 3, L2 at 6, L1 at 9 and L0 at 12, but only into a
tier that is broken at this request anyway, or empty. One breakpoint ends each tier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from tierline.context.items import Item, Section
from tierline.context.tiers.base import (
    TREE_PREFIX,
    Arrangement,
    CacheState,
    Decision,
    Piece,
    PlanParts,
    Pricing,
    RequestContext,
    Signals,
    Tier,
    advance,
    is_cold,
    piece_of,
    place_of,
)

CLIMB = (Tier.L3, Tier.L2, Tier.L1, Tier.L0)
"""The tiers in the order of climbing."""
ENTRY_N = {Tier.L3: 3, Tier.L2: 6, Tier.L1: 9, Tier.L0: 12}
"""The N that an item needs for a tier, and has when it enters it."""
MAX_ROUNDS = 8
"""Most rounds of promotions in one request."""
_BELOW = {Tier.L0: Tier.L1, Tier.L1: Tier.L2, Tier.L2: Tier.L3, Tier.L3: Tier.ACTIVE}


@define
class TrackedItem:
    """A tracked item: its tier, its N, its last hash."""

    key: str
    sha: str
    tokens: int
    tier: Tier = Tier.ACTIVE
    n: int = 0
    group: str = ""
    """Turn of a history item; empty for documents."""
    talk: bool = False


@frozen
class CounterPolicy:
    """The policy."""

    name: str = field(default="counter", init=False)

    def arrange(
        self, items: Sequence[Item], sent: CacheState, clock: RequestContext, prices: Pricing
    ) -> Arrangement:
        """Count, demote changed items, promote into broken tiers, then write the tiers out."""
        parts = PlanParts.of(items)
        cause = is_cold(sent, clock, prices)
        if clock.forced or (cause and clock.group_id != sent.group):
            parts = parts.anew(clock.anew)
        docs = [doc for doc in parts.docs if not doc.key.startswith(TREE_PREFIX)]
        talk = [i for i in parts.talk if not _is_prompt(i, clock)]
        known = _read(sent.state) if sent.policy == self.name else {}
        head = sum(item.tokens for item in parts.head)
        tracker = _Tracker(prices.target, head)
        tracker.update(docs, talk, known)
        if not known:
            tracker.seed(clock.signals)
        else:
            tracker.climb()
        tracker.settle()
        pieces, marks = _pieces(parts, tracker.entries)
        return Arrangement(
            policy=self.name,
            pieces=tuple(pieces),
            marks=marks,
            ttl="5m",
            next=advance(
                sent,
                clock,
                parts,
                self.name,
                ttl="5m",
                state={"entries": [_row(entry) for entry in tracker.entries.values()]},
            ),
            decisions=tuple(tracker.decisions),
        )

    def purge(self, sent: CacheState, prefix: str) -> CacheState:
        """Forget the items whose key begins so; they are tracked anew with N = 0."""
        kept = [_row(e) for e in _read(sent.state).values() if not e.key.startswith(prefix)]
        return evolve(sent, state={"entries": kept}) if sent.policy == self.name else sent


def _is_prompt(item: Item, clock: RequestContext) -> bool:
    """True for the items of the turn that is being answered, which are not tracked yet."""
    return item.section is Section.PROMPT or (bool(clock.group_id) and item.group == clock.group_id)


@define
class _Tracker:
    """The tiers while they are updated."""

    target: int
    """Tokens that a tier must hold (``cache_target_tokens``)."""
    head: int
    """Tokens of the system prompt, which tier L0 begins with."""
    entries: dict[str, TrackedItem] = field(factory=dict)
    broken: set[Tier] = field(factory=set)
    decisions: list[Decision] = field(factory=list)

    # --- 1: unchanged, changed, new and removed items ----------------------------

    def update(
        self, docs: Iterable[Item], talk: Iterable[Item], known: Mapping[str, TrackedItem]
    ) -> None:
        """Update the entries with this request's items. In a tier that is not full, N stays."""
        sizes = _sizes(known.values(), self.head)
        for item, spoken in (*((d, False) for d in docs), *((t, True) for t in talk)):
            name = _name(item)
            old = known.get(name)
            entry = TrackedItem(name, item.sha256, item.tokens, group=item.group, talk=spoken)
            self.entries[name] = entry
            if old is None:
                continue
            if old.sha != item.sha256:
                self._break(old, "changed")
                continue
            entry.tier = old.tier
            anchored = old.tier is not Tier.ACTIVE and sizes[old.tier] < self.target
            entry.n = old.n if anchored else old.n + 1
        for old in known.values():
            if old.key not in self.entries:
                self._break(old, "gone")

    def _break(self, old: TrackedItem, why: str) -> None:
        if old.tier is not Tier.ACTIVE:
            self.broken.add(old.tier)
            words = f"{old.key} left tier {old.tier}: {why}."
            self.decisions.append(Decision("demote", words, {"n": old.n}))

    # --- 2: the first request --------------------------------------------------------------------

    def seed(self, signals: Mapping[str, Signals]) -> None:
        """Fill tiers from the reference graph: the most referenced items deepest, each tier up to
        the target, the rest evenly. Items without references begin in the active part.
        """
        ranked = sorted(
            (e for e in self.entries.values() if not e.talk and _references(e, signals) > 0),
            key=lambda e: (-_references(e, signals), e.key),
        )
        share = max(self.target, (sum(e.tokens for e in ranked) + 3) // 4)
        held = 0
        tiers = list(reversed(CLIMB))
        for entry in ranked:
            if held >= share and len(tiers) > 1:
                tiers.pop(0)
                held = 0
            self._move(entry, tiers[0])
            held += entry.tokens

    # --- 3: promotions ---------------------------------------------------------------------------

    def climb(self) -> None:
        """Promote into tiers that are broken or empty, from the bottom up, until nothing moves."""
        for _ in range(MAX_ROUNDS):
            moved = [self._fill(tier, below) for tier, below in _steps()]
            if not any(moved):
                return

    def _fill(self, tier: Tier, below: Tier) -> bool:
        empty = not self._in(tier)
        if tier not in self.broken and not empty:
            return False
        candidates = [e for e in self._in(below) if e.n >= ENTRY_N[tier]]
        sizes = _sizes(self.entries.values(), self.head)
        if below is not Tier.ACTIVE and sizes[below] < self.target:
            candidates = []
        if tier is Tier.L3 and tier not in self.broken:
            # History moves where L3 is rewritten anyway; it is never the reason for a rewrite.
            candidates = [e for e in candidates if not e.talk]
        if sizes[tier] + sum(e.tokens for e in candidates) < self.target:
            return False  # They would be demoted at once, so nothing is rewritten.
        for entry in candidates:
            self._move(entry, tier)
        return bool(candidates)

    def _move(self, entry: TrackedItem, tier: Tier) -> None:
        self.broken |= {tier, entry.tier} - {Tier.ACTIVE}
        words = f"{entry.key} moved from {entry.tier} to {tier}."
        entry.tier = tier
        entry.n = ENTRY_N[tier]
        self.decisions.append(Decision("promote", words, {"n": entry.n}))

    # --- 4: tiers that are too small, and the order of history -----------------------------------

    def settle(self) -> None:
        """Demote the items of a tier below the target by one tier. History stays in order: no turn
        may come before an older one, and no turn is split.
        """
        for tier in reversed(CLIMB):
            self._keep_order()
            members = self._in(tier)
            if not members or _sizes(self.entries.values(), self.head)[tier] >= self.target:
                continue
            for entry in members:
                entry.tier = _BELOW[tier]
                entry.n = ENTRY_N.get(entry.tier, entry.n)
            words = f"Tier {tier} holds less than {self.target} tokens: its items fall one tier."
            self.decisions.append(Decision("underfilled", words, {"target": self.target}))
        self._keep_order()

    def _keep_order(self) -> None:
        ranks = {tier: rank for rank, tier in enumerate((*reversed(CLIMB), Tier.ACTIVE))}
        turns: dict[str, list[TrackedItem]] = {}
        for entry in self.entries.values():
            if entry.talk:
                turns.setdefault(entry.group or entry.key, []).append(entry)
        shallowest = Tier.L0
        for turn in turns.values():
            shallowest = max((shallowest, *(e.tier for e in turn)), key=lambda t: ranks[t])
            for entry in turn:
                if entry.tier is not shallowest:
                    entry.tier = shallowest
                    entry.n = min(entry.n, ENTRY_N.get(shallowest, entry.n))

    def _in(self, tier: Tier) -> list[TrackedItem]:
        return [entry for entry in self.entries.values() if entry.tier is tier]


def _steps() -> Iterator[tuple[Tier, Tier]]:
    below = Tier.ACTIVE
    for tier in CLIMB:
        yield tier, below
        below = tier


def _references(entry: TrackedItem, signals: Mapping[str, Signals]) -> float:
    return signals[entry.key].references if entry.key in signals else 0.0


def _sizes(entries: Iterable[TrackedItem], head: int) -> dict[Tier, int]:
    sizes = dict.fromkeys((*CLIMB, Tier.ACTIVE), 0)
    sizes[Tier.L0] = head
    for entry in entries:
        sizes[entry.tier] += entry.tokens
    return sizes


def _pieces(
    parts: PlanParts, entries: Mapping[str, TrackedItem]
) -> tuple[list[Piece], tuple[int, ...]]:
    """Tiers in order, then tree, pages and working files, then the conversation and the tail."""
    pieces = [piece_of(item, Tier.HEAD) for item in parts.head]
    ends: list[int] = []
    for tier in reversed(CLIMB):
        held = [i for i in parts.docs if _tier(i, entries) is tier]
        held = sorted(held, key=lambda i: (place_of(i), i.key))
        held += [i for i in parts.talk if _tier(i, entries) is tier]
        pieces += [piece_of(i, tier, streak=entries[_name(i)].n) for i in held]
        if held or (tier is Tier.L0 and pieces):
            ends.append(len(pieces) - 1)
    rest = [i for i in parts.docs if _tier(i, entries) is Tier.ACTIVE]
    pieces += [
        piece_of(i, Tier.ACTIVE, streak=entries[i.key].n if i.key in entries else 0)
        for i in sorted(rest, key=lambda i: (place_of(i), i.key))
    ]
    talk = [i for i in parts.talk if _tier(i, entries) is Tier.ACTIVE]
    pieces += [
        piece_of(i, Tier.LOG, streak=entries[_name(i)].n if _name(i) in entries else 0)
        for i in talk
    ]
    pieces += [piece_of(i, Tier.LOG) for i in parts.tail]
    return pieces, tuple(reversed(ends))


def _tier(item: Item, entries: Mapping[str, TrackedItem]) -> Tier:
    entry = entries.get(_name(item))
    return entry.tier if entry is not None else Tier.ACTIVE


def _name(item: Item) -> str:
    """The name that an item is tracked under; a note's own, as its key may be used again."""
    return item.note.name if item.note is not None else item.key


# --- state ---------------------------------------------------------------------------------------


def _row(entry: TrackedItem) -> list[Any]:
    return [
        entry.key, entry.sha, entry.tokens, str(entry.tier), entry.n, entry.group, entry.talk
    ]  # fmt: skip


def _read(state: Mapping[str, Any]) -> dict[str, TrackedItem]:
    """The entries of a state; none if it is invalid."""
    try:
        entries = [
            TrackedItem(str(k), str(sha), int(tokens), Tier(tier), int(n), str(group), bool(talk))
            for k, sha, tokens, tier, n, group, talk in state.get("entries", ())
        ]
    except (TypeError, ValueError):
        return {}
    return {entry.key: entry for entry in entries}
