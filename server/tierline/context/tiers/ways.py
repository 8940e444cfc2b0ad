"""The ways in which the log-structured policy could send a request: append, or rewrite from a tier
on. Each knows its size and how much of it the cache can still give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from attrs import frozen

from tierline.context.blocks import ToolResult
from tierline.context.items import Item
from tierline.context.prompt import Ttl
from tierline.context.tiers.base import (
    Kind,
    Moment,
    Parts,
    Piece,
    Tariff,
    Tier,
    piece_of,
    place_of,
)
from tierline.context.tiers.changes import Changes
from tierline.context.tiers.cost import Layout
from tierline.context.tiers.logstate import (
    Based,
    Logged,
    LogState,
    based_piece,
    said_piece,
    update_piece,
    versions,
)

TIER_HAZARDS = ((Tier.L0, 0.04), (Tier.L1, 0.10), (Tier.L2, 0.25))
"""A document goes into the first tier whose limit its hazard is below, else into L3."""
KEPT_VERSIONS = 8
"""Older versions whose texts are kept, so that after an undo a difference can be given."""


@frozen
class Way:
    """One way to send the request."""

    tier: Tier | None
    """Where rewriting begins: a tier of the base, ``LOG`` for the log alone, None for nothing."""
    base: tuple[Based, ...]
    unchanged: tuple[Logged, ...]
    """Entries of the log that stay as they were sent."""
    appended: Callable[[], tuple[Logged, ...]]
    """What comes behind them. There may be thousands, and only the chosen way needs them."""
    updates: tuple[Logged, ...]
    """The updates among all of them, in the log's order."""
    ended: int
    """Entries of the log up to the end of the newest earlier request that can be read; 0: none."""
    layout: Layout

    @property
    def kept(self) -> int:
        """How many entries of the log stay as they were sent."""
        return len(self.unchanged)

    @cached_property
    def log(self) -> tuple[Logged, ...]:
        """The whole log."""
        return (*self.unchanged, *self.appended())


@frozen
class Request:
    """One request while it is arranged."""

    head: tuple[Item, ...]
    parts: Parts
    state: LogState
    number: int
    clock: Moment
    prices: Tariff
    ttl: Ttl
    """Lifetime of what is cached."""
    hazards: Mapping[str, float]
    changes: Changes

    def keep(self) -> Way:
        """Leave everything as it was sent and append."""
        return self._way(None, self.state.base, self._unchanged())

    def rewrite(self, tier: Tier) -> Way:
        """Rewrite from a tier on; ``LOG`` rewrites only the log, without dead updates."""
        if tier is Tier.LOG:
            return self._way(tier, self.state.base, ())
        kept = tuple(b for b in self.state.base if b.tier < tier)
        there = {b.key for b in kept}
        rest = [doc for doc in self.parts.docs if doc.key not in there]
        return self._way(tier, (*kept, *self._based(rest, tier)), ())

    def _unchanged(self) -> tuple[Logged, ...]:
        """The beginning of the log that is still right: up to the first entry of the conversation
        that is no longer there or differs.
        """
        talk, log = self.parts.talk, self.state.log
        place, most, said = 0, len(talk), Kind.ITEM
        for index, entry in enumerate(log):
            if entry.kind is not said:
                continue
            if place == most or talk[place].sha256 != entry.sha:
                return log[:index]
            place += 1
        return log

    def _based(self, docs: Iterable[Item], lowest: Tier) -> list[Based]:
        """Documents in their tiers, by hazard relative to size within each."""
        placed = []
        for doc in docs:
            risk = self.hazards[doc.key]
            tier = next((t for t, limit in TIER_HAZARDS if risk < limit), Tier.L3)
            tier = max(tier, lowest)
            rank = (tier, place_of(doc), round(risk / max(doc.tokens, 1), 9), doc.key)
            entry = Based(doc.key, doc.section, tier, doc.sha256, doc.tokens, doc.path, self.number)
            placed.append((rank, entry))
        return [entry for _, entry in sorted(placed, key=lambda pair: pair[0])]

    def _way(self, tier: Tier | None, base: tuple[Based, ...], kept: tuple[Logged, ...]) -> Way:
        talk = self.parts.talk
        earlier = [entry for i, entry in self.state.updates if i < len(kept)]
        said = len(kept) - len(earlier)
        place = said + _before_prompt(talk[said:])
        changes = self.changes.since(base, earlier, place)

        def appended() -> tuple[Logged, ...]:
            return (*map(self._said, talk[said:place]), *changes, *map(self._said, talk[place:]))

        ended = self._ended(len(kept))
        head = sum(item.tokens for item in self.head)
        stays = sum(b.tokens for b in base if tier in (None, Tier.LOG) or b.tier < (tier or ""))
        read = head + stays + sum(entry.tokens for entry in kept[:ended])
        fresh = sum(entry.tokens for entry in changes) + sum(i.tokens for i in talk[said:])
        rest = sum(entry.tokens for entry in kept[ended:])
        total = head + sum(b.tokens for b in base) + fresh + (read - head - stays) + rest
        news = (*earlier, *changes)
        return Way(tier, base, kept, appended, news, ended, Layout(read, total - read))

    def _said(self, item: Item) -> Logged:
        return Logged(
            item.key, item.sha256, item.tokens,
            section=item.section, path=item.path, since=self.number,
        )  # fmt: skip

    def _ended(self, kept: int) -> int:
        """Where the newest earlier request ended whose bytes all stand: the cache has it."""
        if not self.prices.explicit:
            return kept
        alive = (
            end.length
            for end in self.state.ends
            if end.length <= kept and self.prices.alive(self.clock.now - end.at, self.ttl)
        )
        return max(alive, default=0)

    # --- the result ------------------------------------------------------------------------------

    def texts(self, chosen: Way) -> dict[str, str]:
        """The texts that the next arrangement may need."""
        have = self._have()
        needed = {b.sha for b in chosen.base} | set(versions(chosen.base, chosen.updates).values())
        written = [e.sha for e in chosen.updates if e.sha in have]
        return {sha: have[sha] for sha in sorted(needed | set(written[-KEPT_VERSIONS:]))}

    def _have(self) -> dict[str, str]:
        return {**self.state.texts, **{doc.sha256: doc.text for doc in self.parts.docs}}

    def pieces(self, chosen: Way) -> tuple[list[Piece], tuple[int, ...]]:
        """The pieces of a way, and where breakpoints go, the most useful first: the end of this
        request, of the one before, of the base, of tier L0.
        """
        have = self._have()
        current = {doc.key: doc.sha256 for doc in self.parts.docs}
        newest = {e.key: e for e in chosen.updates}
        talk = iter(self.parts.talk)
        head = [piece_of(item, Tier.HEAD) for item in self.head]
        base = [
            based_piece(
                b,
                have[b.sha],
                stale=current.get(b.key) != b.sha,
                request=self.number,
                hazard=self.hazards.get(b.key, 0.0),
            )
            for b in chosen.base
        ]
        log = [
            said_piece(next(talk))
            if e.kind is Kind.ITEM
            else update_piece(
                e,
                stale=newest[e.key] is not e,
                request=self.number,
                hazard=self.hazards.get(e.key, 0.0),
            )
            for e in chosen.log
        ]
        tail = [piece_of(item, Tier.TAIL) for item in self.parts.tail]
        behind = len(head) + len(base)
        ends = (
            behind + len(log),
            behind + chosen.ended if chosen.ended else 0,
            behind,
            len(head) + sum(b.tier is Tier.L0 for b in chosen.base),
        )
        marks = tuple(dict.fromkeys(end - 1 for end in ends if end))
        return [*head, *base, *log, *tail], marks


def _before_prompt(talk: Sequence[Item]) -> int:
    """Where updates go among the new items: before the newest prompt, else at the end."""
    for place in reversed(range(len(talk))):
        last = place == len(talk) - 1
        if talk[place].required or (last and _is_prompt(talk[place])):
            return place
    return len(talk)


def _is_prompt(item: Item) -> bool:
    blocks = [b.block for m in item.messages for b in m.blocks]
    users = all(m.role == "user" for m in item.messages)
    return users and not any(isinstance(block, ToolResult) for block in blocks)
