"""The cost of a request: before it is sent, by what the cache should still hold, and as billed."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from tierline.context.models import ModelFacts
from tierline.context.prompt import LONG
from tierline.context.tiers.attribution import Attribution
from tierline.context.tiers.base import Pricing
from tierline.context.tiers.shape import PrefixOverlap, Shape, lifetime, overlap

ColdReason = Literal["", "first", "model", "expired", "changed", "uncached"]
"""Why little can be read: the session's first request, another model or provider, too long a pause,
other bytes at the beginning, a provider without a cache. Empty if most of it can be read."""
_MILLION = 1_000_000
WARM_SHARE = 0.5
"""Share of a request from which it counts as warm if it can be read."""


@frozen
class Forecast:
    """The forecast of one request. Tokens by our own count; US dollars, 0 if unknown."""

    tokens: int
    readable: int
    """Tokens of those that the provider's cache should hold."""
    cost: float
    """Cost of the input."""
    best: float
    """Cost of the input if the cache held everything that was sent before."""
    cold: ColdReason
    idle: float = 0.0
    """Seconds since the previous request."""


def forecast(before: Shape | None, now: Shape, facts: ModelFacts) -> Forecast:
    """The forecast for ``now`` after ``before``, the newest request of the session."""
    found, why = seen(before, now, facts)
    tokens = now.tokens
    readable = min(found.readable, tokens)
    cold: ColdReason = "" if readable >= WARM_SHARE * tokens else why or "changed"
    return Forecast(
        tokens=tokens,
        readable=readable,
        cost=input_cost(tokens, readable, facts, now.ttl),
        best=input_cost(tokens, min(found.offered, tokens), facts, now.ttl),
        cold=cold,
        idle=now.at - before.at if before is not None else 0.0,
    )


def seen(before: Shape | None, now: Shape, facts: ModelFacts) -> tuple[PrefixOverlap, ColdReason]:
    """The part of an earlier request that the cache still has, and the reason if it has none."""
    nothing = PrefixOverlap(0, 0, 0, 0, broken=False)
    if facts.caching == "none":
        return nothing, "uncached"
    if before is None:
        return nothing, "first"
    prices = Pricing.of(facts)
    if (before.provider, before.model, before.instance) != (now.provider, now.model, now.instance):
        return nothing, "model"
    if now.at - before.at > lifetime(before, prices):
        return nothing, "expired"
    return overlap(before, now, prices), ""


def input_cost(tokens: int, readable: int, facts: ModelFacts, ttl: str) -> float:
    """US dollars for an input of which ``readable`` tokens are read from the cache."""
    prices = facts.prices_for(tokens)
    if prices.input <= 0:
        return 0.0
    fresh = prices.input
    if facts.explicit_markers:
        fresh = Pricing.of(facts, input_tokens=tokens).write("1h" if ttl == "1h" else "5m")
    read = prices.read or prices.input
    return (readable * read + max(tokens - readable, 0) * fresh) / _MILLION


@frozen
class Bill:
    """Costs in US dollars. ``priced`` is false for a model without known prices, or a free one."""

    cost: float = 0.0
    uncached: float = 0.0
    """Cost of the same request with all input at the uncached price."""
    priced: bool = False

    @property
    def saved(self) -> float:
        """US dollars that the cache saved; negative if writing it cost more than reading saved."""
        return self.uncached - self.cost


def bill(found: Attribution, facts: ModelFacts, ttl: str, *, charged: float | None = None) -> Bill:
    """The bill of one request. If the provider does not report what it read, nothing is assumed to
    have been read. ``charged``: the cost that the provider reports, in US dollars; it takes
    precedence, and the table is used only for the saving.
    """
    listed = _listed(found, facts, ttl)
    if charged is None:
        return listed
    return Bill(charged, charged + listed.saved, priced=True)


def _listed(found: Attribution, facts: ModelFacts, ttl: str) -> Bill:
    """The bill by the prices of the model table."""
    prices = facts.prices_for(found.input)
    if prices.input <= 0:
        return Bill()
    read, written = found.read or 0, found.written or 0
    plain = max(found.input - read - written, 0)
    hour = found.written_1h
    if hour is None:
        hour = written if ttl in LONG else 0
    hour = min(hour, written)
    output = found.output * prices.output
    cost = (
        plain * prices.input
        + read * (prices.read or prices.input)
        + hour * (prices.write_1h or prices.input)
        + (written - hour) * (prices.write_5m or prices.input)
        + output
    )
    return Bill(cost / _MILLION, (found.input * prices.input + output) / _MILLION, priced=True)
