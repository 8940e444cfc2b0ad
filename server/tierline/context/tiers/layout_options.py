"""The options of the log-structured policy to send a request: append, or rewrite from a place on.
Each has its size and the part that can still be read from the cache.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from math import exp2

from attrs import frozen

from tierline.context.blocks import Reasoning, ToolResult
from tierline.context.items import Item
from tierline.context.prefix import bound
from tierline.context.prompt import Ttl
from tierline.context.tiers import outdated
from tierline.context.tiers.base import (
    Piece,
    PieceKind,
    PlanParts,
    Pricing,
    RequestContext,
    Tier,
    piece_of,
    place_of,
    rewritten,
)
from tierline.context.tiers.cost import LayoutSize
from tierline.context.tiers.document_updates import DocumentUpdates
from tierline.context.tiers.logstate import BaseVersion, LogEntry, LogState, said_piece, versions
from tierline.context.tiers.model_edits import KnownVersions, VersionIndex, among, told_in

TIER_HAZARDS = ((Tier.L0, 0.04), (Tier.L1, 0.10), (Tier.L2, 0.25))
"""Upper limits of hazard: a document goes into the first tier with one above its own, else L3."""


@frozen(order=True)
class RewritePoint:
    """Where a rewrite begins: at a tier of the base, or at an entry of the log."""

    tier: Tier
    place: int = 0
    """Entries of the log that stay as they are; 0 for a tier of the base."""

    def __str__(self) -> str:
        return f"{self.tier}:{self.place}" if self.place else str(self.tier)


ALL = RewritePoint(Tier.L0)
"""Everything is written anew."""
FRESH_TURNS, HALVED = 5, 4.0
"""Thinking of the newest five turns is worth its whole price; for every four turns before, half of
that: a model relies on its latest thinking. Measured in docs/tiers.md.
"""
KEPT_VERSIONS = 8
"""Older versions whose texts are kept, so that a difference can be made after an undo."""


@frozen
class LayoutOption:
    """One way to send the request."""

    cut: RewritePoint | None
    """Where rewriting begins; None if nothing is rewritten."""
    base: tuple[BaseVersion, ...]
    talk: tuple[Item, ...]
    """The conversation as it is sent then."""
    unchanged: tuple[LogEntry, ...]
    """Entries of the log that stay as they were sent."""
    appended: Callable[[], tuple[LogEntry, ...]]
    """Entries after them. There may be thousands, and only the chosen option needs them."""
    updates: tuple[LogEntry, ...]
    """The updates among all of them, in the log's order."""
    ended: int
    """Entries of the log up to the end of the newest earlier request that the cache has, or 0."""
    layout: LayoutSize
    thinking: int
    """Tokens of thinking after the first changed byte."""
    worth: float
    """Those tokens, weighted by the age of their turns (``thinking_weight``)."""
    changed: Mapping[str, Item | None]
    """Rewritten items, as in ``RequestContext.anew``."""

    @property
    def kept(self) -> int:
        """How many entries of the log stay as they were sent."""
        return len(self.unchanged)

    @cached_property
    def log(self) -> tuple[LogEntry, ...]:
        """The whole log."""
        return (*self.unchanged, *self.appended())


@frozen
class LayoutInput:
    """One request while it is arranged."""

    head: tuple[Item, ...]
    parts: PlanParts
    state: LogState
    number: int
    clock: RequestContext
    prices: Pricing
    ttl: Ttl
    """Lifetime of cache entries."""
    hazards: Mapping[str, float]
    changes: DocumentUpdates
    cold: bool = False
    """Nothing can be read from the cache."""
    other_model: bool = False
    """The model is another than before: messages differ by the thinking that it may see."""
    goes_on: bool = False
    """The request belongs to the turn of the last one."""
    limit: float = outdated.LIMIT
    """Share of outdated text above which a rewrite happens whatever it costs."""

    def keep(self) -> LayoutOption:
        """The option that leaves everything as it was sent and appends."""
        return self._option(None, self.state.base, self._unchanged)

    def rewrite(self, cut: RewritePoint) -> LayoutOption:
        """The option that rewrites from a place on: items in their rewritten form, documents in
        their current versions, without the updates that become needless.
        """
        if cut.tier is Tier.LOG:
            return self._option(cut, self.state.base, self._unchanged[: cut.place])
        kept = tuple(b for b in self.state.base if b.tier < cut.tier)
        there = {b.key for b in kept}
        rest = [doc for doc in self.parts.docs if doc.key not in there]
        return self._option(cut, (*kept, *self._based(rest, cut.tier)), ())

    @cached_property
    def _unchanged(self) -> tuple[LogEntry, ...]:
        """The still valid beginning of the log: up to a removed or changed entry of the talk."""
        talk, log = self.parts.talk, self.state.log
        place, most, said = 0, len(talk), PieceKind.ITEM
        for index, entry in enumerate(log):
            if entry.kind is not said:
                continue
            if place == most or talk[place].sha256 != entry.sha:
                return log[:index]
            place += 1
        return log

    def _based(self, docs: Iterable[Item], lowest: Tier) -> list[BaseVersion]:
        """Documents in their tiers, by hazard relative to size within each."""
        placed = []
        for doc in docs:
            risk = self.hazards[doc.key]
            tier = next((t for t, limit in TIER_HAZARDS if risk < limit), Tier.L3)
            tier = max(tier, lowest)
            rank = (tier, place_of(doc), round(risk / max(doc.tokens, 1), 9), doc.key)
            entry = BaseVersion(
                doc.key, doc.section, tier, doc.sha256, doc.tokens, doc.path, self.number
            )
            placed.append((rank, entry))
        return [entry for _, entry in sorted(placed, key=lambda pair: pair[0])]

    @cached_property
    def _versions(self) -> VersionIndex:
        return VersionIndex(self._have())

    @cached_property
    def _told(self) -> list[tuple[int, Item]]:
        """The items of the conversation that may tell of applied edits, with their indexes."""
        return among(self.parts.talk)

    def _known(self, base: Iterable[BaseVersion], kept: int) -> KnownVersions:
        """The versions that the model has after ``kept`` entries of the log."""
        now, texts = {entry.key: entry.sha for entry in base}, self._versions.texts
        known = KnownVersions(
            self._versions, now, {key: sha for key, sha in now.items() if sha in texts}
        )
        there = [(place, update) for place, update in self.state.updates if place < kept]
        known.read(there, [one for one in self._told if one[0] < kept - len(there)])
        return known

    @cached_property
    def _said_before(self) -> list[int]:
        """Tokens of the conversation before each place of it, and in all."""
        return [0, *accumulate(item.tokens for item in self.parts.talk)]

    @cached_property
    def _logged_before(self) -> list[int]:
        """Tokens of the log before each place of it, and in all."""
        return [0, *accumulate(entry.tokens for entry in self.state.log)]

    @cached_property
    def _thinking(self) -> list[tuple[int, int, float]]:
        """The items of the conversation with thinking: index, tokens, and their worth."""
        talk = enumerate(self.parts.talk)
        found = [(n, item, thinking_tokens(item, self.changes.count)) for n, item in talk]
        return [(n, t, t * self._weights.get(item.group, 1.0)) for n, item, t in found if t]

    @cached_property
    def _anew(self) -> list[tuple[int, str]]:
        """The items of the conversation that a rewrite changes: index and key."""
        talk, anew = self.parts.talk, self.clock.anew
        return [(n, item.key) for n, item in enumerate(talk) if item.key in anew] if anew else []

    def _option(
        self, cut: RewritePoint | None, base: tuple[BaseVersion, ...], kept: tuple[LogEntry, ...]
    ) -> LayoutOption:
        earlier = [entry for i, entry in self.state.updates if i < len(kept)]
        said = len(kept) - len(earlier)
        head, rest = self.parts.talk[:said], self.parts.talk[said:]
        fresh = self._said_before[-1] - self._said_before[said]
        told = [(n - said, item) for n, item in self._told if n >= said]
        thinking, worth, changed = 0, 0.0, {}
        other = len(kept) < len(self.state.log) and not self.other_model
        if cut is not None or other:
            lost = [one for one in self._thinking if one[0] >= said]
            thinking, worth = sum(one[1] for one in lost), sum(one[2] for one in lost)
            changed = {key: self.clock.anew[key] for n, key in self._anew if n >= said}
        if changed:
            rest = tuple(chain.from_iterable(rewritten(rest, changed)))
            fresh, told = sum(item.tokens for item in rest), among(rest)
        known = self._known(base, len(kept))
        place = self._place(rest, told)
        known.follow([one for one in told if one[0] < place])
        changes = self.changes.since(known, base, earlier, (*head, *rest[:place]))

        def appended() -> tuple[LogEntry, ...]:
            return (*map(self._said, rest[:place]), *changes, *map(self._said, rest[place:]))

        ended = self._ended(len(kept))
        front = sum(item.tokens for item in self.head)
        stays = sum(b.tokens for b in base if cut is None or b.tier < cut.tier)
        logged = self._logged_before
        read = front + stays + logged[ended]
        fresh += sum(entry.tokens for entry in changes)
        total = front + sum(b.tokens for b in base) + logged[len(kept)] + fresh
        return LayoutOption(
            cut=cut,
            base=base,
            talk=(*head, *rest),
            unchanged=kept,
            appended=appended,
            updates=(*earlier, *changes),
            ended=ended,
            layout=LayoutSize(0, total) if self.cold else LayoutSize(read, total - read),
            thinking=thinking,
            worth=worth,
            changed=changed,
        )

    def _place(self, rest: Sequence[Item], told: Sequence[tuple[int, Item]]) -> int:
        """Index for updates among the new items: before the newest prompt, unless results of
        applied edits after it would then lead away from the current texts.
        """
        place = _before_prompt(rest)
        behind = [one for one in told if one[0] >= place]
        if not behind:
            return place
        now = {doc.key: doc.sha256 for doc in self.parts.docs}
        after = KnownVersions(self._versions, dict(now))
        after.follow(behind)
        return place if after.now == now else sum(not item.volatile for item in rest)

    @cached_property
    def _weights(self) -> dict[str, float]:
        """Weight of thinking by turn."""
        groups = list(dict.fromkeys(item.group for item in self.parts.talk if item.group))
        return {group: thinking_weight(age) for age, group in enumerate(reversed(groups))}

    def _said(self, item: Item) -> LogEntry:
        return LogEntry(
            item.key, item.sha256, item.tokens,
            section=item.section, path=item.path, since=self.number,
        )  # fmt: skip

    def _ended(self, kept: int) -> int:
        """The end of the newest earlier request that this one leaves as it was, and so cached."""
        if not self.prices.explicit:
            return kept
        alive = (
            end.length
            for end in self.state.ends
            if end.length <= kept and self.prices.alive(self.clock.now - end.at, self.ttl)
        )
        return max(alive, default=0)

    def too_much(self, option: LayoutOption, part: float = 1.0) -> bool:
        """True if the request would have more outdated text than this part of the limits."""
        return outdated.too_much(
            option.base,
            option.updates,
            self.parts.docs,
            self._have(),
            total=option.layout.total + self.clock.tool_tokens,
            limit=self.limit,
            part=part,
        )

    # --- the result ------------------------------------------------------------------------------

    def texts(self, chosen: LayoutOption) -> dict[str, str]:
        """The texts that the next arrangement may need."""
        have = self._have()
        needed = {b.sha for b in chosen.base} | set(versions(chosen.base, chosen.updates).values())
        needed |= {doc.sha256 for doc in self.parts.docs}
        if chosen.cut is None:
            needed |= set(self._known(chosen.base, self.checkpoint(chosen)).whole.values())
        written = [e.sha for e in chosen.updates if e.sha in have]
        told = (edit for _, item in self._told for edit in told_in(item))
        written += [sha for one in told if (sha := self._versions.sha(one.path, one.after)) in have]
        return {sha: have[sha] for sha in sorted(needed | set(written[-KEPT_VERSIONS:]))}

    def checkpoint(self, chosen: LayoutOption) -> int:
        """Number of entries of the log up to the end of the newest rewrite; 0 if there was none."""
        if chosen.cut is not None and self.state.log:
            return len(chosen.log)
        kept = (end.length for end in self.state.ends if end.kept and end.length <= chosen.kept)
        return next(kept, 0)

    def _have(self) -> dict[str, str]:
        return {**self.state.texts, **{doc.sha256: doc.text for doc in self.parts.docs}}

    def pieces(self, chosen: LayoutOption) -> tuple[list[Piece], tuple[int, ...]]:
        """The pieces of an option, and where breakpoints go, the most useful first: the end of this
        request, of the base, of the newest rewrite, of tier L0, of the previous request. If the
        last is too far from the end of this one for the provider's look-back, it comes second.
        """
        have = self._have()
        current = {doc.key: doc.sha256 for doc in self.parts.docs}
        newest = {e.key: e for e in chosen.updates}
        talk = iter(chosen.talk)
        head = [piece_of(item, Tier.HEAD) for item in self.head]
        base = [
            self._sent(b, b.tier, have[b.sha], stale=current.get(b.key) != b.sha)
            for b in chosen.base
        ]
        log = [
            said_piece(next(talk))
            if e.kind is PieceKind.ITEM
            else self._sent(e, Tier.LOG, e.text, kind=e.kind, stale=newest[e.key] is not e)
            for e in chosen.log
        ]
        behind = len(head) + len(base)
        stable = len(head) + sum(b.tier is Tier.L0 for b in chosen.base)
        rest = (behind, behind + self.checkpoint(chosen), stable)
        before = behind + chosen.ended if chosen.ended else 0
        # The strict form may add a few blocks to these.
        far = 0 < self.prices.lookback // 2 < sum(map(_blocks, log[chosen.ended :]))
        ends = (behind + len(log), *((before, *rest) if far else (*rest, before)))
        marks = tuple(dict.fromkeys(end - 1 for end in ends if end))
        return [*head, *base, *log], marks

    def _sent(
        self,
        entry: BaseVersion | LogEntry,
        tier: Tier,
        text: str,
        *,
        stale: bool,
        kind: PieceKind = PieceKind.ITEM,
    ) -> Piece:
        """The piece of a document in the base or of an update, with the bytes that were sent."""
        return Piece(
            entry.key,
            tier,
            entry.section,
            entry.tokens,
            text,
            kind=kind,
            path=entry.path,
            stale=stale,
            age=self.number - entry.since,
            hazard=self.hazards.get(entry.key, 0.0),
        )


def _blocks(piece: Piece) -> int:
    """Number of blocks of a piece."""
    return sum(len(m.blocks) for m in piece.messages) or 1


def thinking_weight(age: int) -> float:
    """Worth of thinking from ``age`` turns ago, as a share of its price."""
    return exp2(-max(age - FRESH_TURNS + 1, 0) / HALVED)


def thinking_tokens(item: Item, count: Callable[[str], int]) -> int:
    """Tokens of the thinking in an item that is bound to its prefix."""
    found: int | None = item.memo.get("thinking")
    if found is None:
        blocks = (b.block for m in item.messages for b in m.blocks)
        found = sum(count(json.dumps(dict(b.data))) for b in blocks
                    if isinstance(b, Reasoning) and bound(b))  # fmt: skip
        item.memo["thinking"] = found
    return found


def _before_prompt(items: Sequence[Item]) -> int:
    """Index for updates among the new items: before the newest prompt, else at the end, but before
    the items for this prompt alone.
    """
    talk = [item for item in items if not item.volatile]
    for place in reversed(range(len(talk))):
        last = place == len(talk) - 1
        if talk[place].required or (last and _is_prompt(talk[place])):
            return place
    return len(talk)


def _is_prompt(item: Item) -> bool:
    blocks = [b.block for m in item.messages for b in m.blocks]
    users = all(m.role == "user" for m in item.messages)
    return users and not any(isinstance(block, ToolResult) for block in blocks)
