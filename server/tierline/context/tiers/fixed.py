"""One section order for every request: instructions, map, files, conversation, prompt.

The simple policy, for providers whose cache does not matter, and the benchmark's baseline: a change
makes everything after it uncached.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from tierline.context.items import Item, Section
from tierline.context.tiers.base import (
    Arrangement,
    CacheState,
    Piece,
    PlanParts,
    Pricing,
    RequestContext,
    Tier,
    advance,
    common_length,
    is_cold,
    piece_of,
    place_of,
)


class FixedPolicy:
    """The policy ``fixed``. Marks the ends of head, files, last request and this one."""

    name = "fixed"

    def arrange(
        self, items: Sequence[Item], sent: CacheState, clock: RequestContext, prices: Pricing
    ) -> Arrangement:
        """Items in their current versions, by kind, then in the plan's order, at any price."""
        parts = PlanParts.of(items)
        cause = is_cold(sent, clock, prices)
        if clock.forced or (cause and clock.group_id != sent.group):
            parts = parts.anew(clock.anew)
        parts = evolve(parts, talk=(*parts.talk, *parts.tail), tail=())
        front = [piece_of(i, Tier.HEAD) for i in parts.head]
        front += [piece_of(i, Tier.L0) for i in parts.docs if i.section is Section.SYMBOLS]
        docs = sorted((i for i in parts.docs if i.section is not Section.SYMBOLS), key=place_of)
        base = [*front, *(piece_of(i, Tier.ACTIVE) for i in docs)]
        talk = [piece_of(i, Tier.LOG) for i in parts.talk]
        pieces: list[Piece] = [*base, *talk]
        known = common_length(sent.state.get("talk", ()), [i.sha256 for i in parts.talk])
        ends = [len(pieces), len(base) + known, len(base), len(front)]
        return Arrangement(
            policy=self.name,
            pieces=tuple(pieces),
            marks=tuple(dict.fromkeys(end - 1 for end in ends if end)),
            ttl="5m",
            next=advance(
                sent,
                clock,
                parts,
                self.name,
                ttl="5m",
                state={"talk": [i.sha256 for i in parts.talk]},
            ),
        )

    def purge(self, sent: CacheState, prefix: str) -> CacheState:  # noqa: ARG002
        """Do nothing: no place depends on the past."""
        return sent
