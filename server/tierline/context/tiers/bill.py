"""The cost of a request, with and without a cache, by the prices of the model table."""

from __future__ import annotations

from attrs import frozen

from tierline.context.models import ModelFacts
from tierline.context.prompt import LONG
from tierline.context.tiers.attribution import Attribution

_MILLION = 1_000_000


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
