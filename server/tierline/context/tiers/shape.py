"""The shape of a request: its blocks in the order of their bytes, as hashes.

A provider caches prefixes of requests. Comparing two shapes shows how much of one a later request
can use and where they differ, without keeping any text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any

from attrs import evolve, field, frozen

from tierline.context.blocks import Reasoning, visible
from tierline.context.prompt import Prompt, PromptBlock
from tierline.context.prompt_json import block_to_json, encode
from tierline.context.tiers.base import AUTOMATIC_LIFETIME, LIFETIMES, Pricing

TOOL_PREFIX = "tool:"
_HASH = 16
_FORM = ("heading:", "ack:")


@frozen
class SentBlock:
    """One block as it was sent. ``sha`` is the beginning of a SHA-256 over role and content."""

    key: str
    sha: str
    tokens: int
    mark: str = ""
    """The lifetime that a breakpoint after it asked for; empty without one."""

    @property
    def is_form(self) -> bool:
        """True for headings and acknowledgements, which come and go with the items beside them."""
        return self.key.startswith(_FORM)


@frozen
class Shape:
    """The facts of a request that matter to the cache. Converts to and from JSON."""

    provider: str = ""
    model: str = ""
    policy: str = ""
    instance: str = ""
    """Id of the process that holds the cache, for the embedded model; else empty."""
    at: float = 0.0
    """Seconds since the epoch at which it was sent, or kept alive last."""
    ttl: str = "5m"
    parts: tuple[SentBlock, ...] = ()
    stable: int = 0
    """Number of parts before the tail."""

    def to_json(self) -> list[Any]:
        """JSON values."""
        parts = [[p.key, p.sha, p.tokens, p.mark] for p in self.parts]
        return [
            self.provider, self.model, self.policy, self.instance, self.at, self.ttl, parts,
            self.stable,
        ]  # fmt: skip

    @classmethod
    def from_json(cls, value: Any) -> Shape | None:
        """The shape of JSON values; None if they are invalid."""
        try:
            provider, model, policy, instance, at, ttl, parts, stable = value
            return cls(
                str(provider), str(model), str(policy), str(instance), float(at), str(ttl),
                tuple(SentBlock(str(k), str(s), int(n), str(m)) for k, s, n, m in parts),
                int(stable),
            )  # fmt: skip
        except (TypeError, ValueError):
            return None

    @property
    def tokens(self) -> int:
        """All tokens, by our own count."""
        return sum(part.tokens for part in self.parts)

    def kept_alive(self, at: float) -> Shape:
        """The shape, used again at a later time."""
        return evolve(self, at=max(self.at, at))


def shape(
    prompt: Prompt, count: Callable[[Any], int], *, volatile: Collection[str] = (), **facts: Any
) -> Shape:
    """The shape of a prompt as it is sent. ``volatile`` are the keys of items for this request
    alone; ``facts`` are the shape's other fields.
    """
    tools = sorted(prompt.tools, key=lambda tool: (not tool.builtin, tool.name))
    parts = [
        SentBlock(
            TOOL_PREFIX + tool.name,
            digest([tool.name, tool.description, tool.input_schema]),
            count(tool),
        )
        for tool in tools
    ]
    if parts and prompt.tools_mark:
        last = max((n for n, tool in enumerate(tools) if tool.builtin), default=len(tools) - 1)
        parts[last] = evolve(parts[last], mark=prompt.tools_mark)
    sides = [("system", prompt.system), *((m.role, m.blocks) for m in prompt.messages)]
    parts += [_part(role, block, count) for role, blocks in sides for block in blocks
              if visible(block.block)]  # fmt: skip
    stable = len(parts)
    while stable and parts[stable - 1].key in volatile:
        stable -= 1
    return Shape(model=prompt.model, parts=tuple(parts), stable=stable, **facts)


def _part(role: str, block: PromptBlock, count: Callable[[Any], int]) -> SentBlock:
    mark = "" if isinstance(block.block, Reasoning) else block.mark or ""
    return SentBlock(
        block.key, digest([role, block_to_json(block.block)]), count(block.block), mark
    )


def digest(value: Any) -> str:
    """A short name of a JSON value's bytes."""
    return hashlib.sha256(encode(value)).hexdigest()[:_HASH]


@frozen
class PrefixOverlap:
    """The part of an earlier request that a later one can use, in parts and our own tokens."""

    common: int
    """Number of equal parts from the beginning."""
    offered: int
    """Tokens that the earlier request left in the cache."""
    readable: int
    """Tokens of those that the later request begins with, up to the last breakpoint in them."""
    end: int
    """Index of the first part after ``readable``."""
    broken: bool
    """True if the later request differs within ``offered``."""
    far: bool = False
    """True if no breakpoint is near enough to the cached prefix to find it."""


def overlap(before: Shape, now: Shape, prices: Pricing) -> PrefixOverlap:
    """Compare two requests to one provider, the older first."""
    pairs = zip(before.parts, now.parts, strict=False)
    common = next(
        (n for n, (old, new) in enumerate(pairs) if old.sha != new.sha),
        min(len(before.parts), len(now.parts)),
    )
    totals, counted = _totals(before), _totals(now)
    if totals[common]:
        # Calibration changes counts: the same bytes may have been counted differently before.
        totals = [round(total * counted[common] / totals[common]) for total in totals]
    if not prices.explicit:
        stable = min(before.stable, len(before.parts))
        offered = totals[stable] if totals[stable] >= prices.minimum else 0
        end = min(common, stable)
        end = end if totals[end] >= prices.minimum else 0
        return PrefixOverlap(common, offered, totals[end], end, common < stable)
    wrote = [n + 1 for n, part in enumerate(before.parts) if part.mark]
    wrote = [end for end in wrote if totals[end] >= prices.minimum]
    asks = [n + 1 for n, part in enumerate(now.parts) if part.mark]
    last = max(wrote, default=0)
    there = [end for end in wrote if end <= common]
    found = [
        end
        for end in there
        if any(end <= ask <= end + (prices.lookback or len(now.parts)) for ask in asks)
    ]
    end = max(found, default=0)
    return PrefixOverlap(
        common, totals[last], totals[end], end, common < last, far=max(there, default=0) > end
    )


def _totals(shape: Shape) -> list[int]:
    totals = [0]
    for part in shape.parts:
        totals.append(totals[-1] + part.tokens)
    return totals


def lifetime(shape: Shape, prices: Pricing) -> float:
    """Seconds that the cached prefix lives without being used."""
    if prices.explicit:
        return LIFETIMES.get(shape.ttl, LIFETIMES["5m"])
    return prices.lifetime or AUTOMATIC_LIFETIME


@frozen
class PrefixBreak:
    """The first item that differs, and how: ``edited``, ``removed``, ``added``, ``reordered``."""

    key: str
    how: str
    place: int = field(default=0)
    """Index of the part, from 0."""


def first_break(before: Shape, now: Shape, common: int) -> PrefixBreak | None:
    """The item at the first difference; None if the later request begins with the earlier one."""
    if common >= len(before.parts):
        return None
    old = next((p for p in before.parts[common:] if not p.is_form), None)
    new = next((p for p in now.parts[common:] if not p.is_form), None)
    if old is None or new is None:
        part = old or new
        return (
            PrefixBreak(part.key, "removed" if part is old else "added", common) if part else None
        )
    if old.key == new.key:
        # The bytes of both items may be equal: then only headings around them differ.
        return PrefixBreak(new.key, "reordered" if old.sha == new.sha else "edited", common)
    keys_before, keys_now = {p.key for p in before.parts}, {p.key for p in now.parts}
    later = {(p.key, p.sha) for p in now.parts}
    if old.key not in keys_now:
        found = PrefixBreak(old.key, "removed", common)
    elif new.key not in keys_before:
        found = PrefixBreak(new.key, "added", common)
    elif (old.key, old.sha) not in later:
        found = PrefixBreak(old.key, "edited", common)
    elif (new.key, new.sha) not in {(p.key, p.sha) for p in before.parts}:
        found = PrefixBreak(new.key, "edited", common)
    else:
        found = PrefixBreak(new.key, "reordered", common)
    return found
