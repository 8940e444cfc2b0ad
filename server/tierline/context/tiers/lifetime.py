"""How long cache entries should live: the lifetime that writes ask for, and keep-alive requests.

Both are rent-or-buy decisions. Surviving a pause costs a more expensive write (one hour instead of
five minutes) or a read of the whole prefix every few minutes; not surviving it costs writing the
prefix anew. This session's pauses decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from attrs import frozen

from tierline.context.prompt import Ttl
from tierline.context.tiers.base import LIFETIMES, Pricing

# Prior: as if this many pauses of each length had been observed.
_PRIOR = ((60.0, 4.0), (900.0, 0.6), (7200.0, 0.4))
ENOUGH = 4.0
"""How often what was missed must cover the extra price of a longer lifetime. Once would be rent or
buy; but most sessions end soon after that. Measured on recorded sessions (docs/tiers.md).
"""
MARGIN = 20.0
"""Seconds before expiry at which a keep-alive request is sent."""
ACTIVE = 120.0
"""Seconds after typing or focus for which the user counts as present."""


@frozen
class TtlChoice:
    """The lifetime to ask for, and why: ``missed`` so far, against its ``extra`` price now."""

    ttl: Ttl
    numbers: Mapping[str, float]


@frozen
class KeepAlive:
    """Whether to send a keep-alive request, and when to ask again (seconds from now)."""

    send: bool
    wait: float
    sentence: str
    numbers: Mapping[str, float]
    early: bool = False
    """True if the decision may change after ``wait`` seconds even if nothing happens."""


def survival(gaps: Sequence[float], idle: float, until: float) -> float:
    """Probability of a request by ``until`` seconds after the last one, if none by ``idle``."""
    weighted = [*_PRIOR, *((gap, 1.0) for gap in gaps)]
    open_ = sum(weight for gap, weight in weighted if gap > idle)
    within = sum(weight for gap, weight in weighted if idle < gap <= until)
    return within / open_ if open_ else 0.0


def missed(before: float, size: int, total: int, gap: float | None, prices: Pricing) -> float:
    """What the longest lifetime would have saved in the session until now, had it been the only
    one, over the shortest: less than 0 if it would have been dearer. In the unit of ``Pricing``
    times tokens.

    Args:
        before: the same before this request.
        size: tokens of the request before.
        total: tokens of this one.
        gap: seconds between the two; None if nothing of the last can be read in any case.
        prices: the model's pricing.
    """
    offered = _offered(prices)
    if len(offered) < 2:
        return 0.0

    def paid(ttl: Ttl) -> float:
        kept = min(size, total) if gap is not None and prices.alive(gap, ttl) else 0
        return kept * prices.read + (total - kept) * prices.write(ttl)

    return before + paid(offered[0]) - paid(offered[-1])


def choose_ttl(missed: float, total: int, prices: Pricing, setting: str = "auto") -> TtlChoice:
    """The lifetime for a request of ``total`` tokens that is written anew: the longest if it would
    have saved enough so far, else the shortest.

    ``setting`` is the user's: ``auto``, ``5m`` (the shortest available) or ``1h`` (the longest). A
    provider that offers one lifetime, or none, gets that.
    """
    offered = _offered(prices)
    if not offered:
        return TtlChoice("5m", {})
    short, long = offered[0], offered[-1]
    extra = (prices.write(long) - prices.write(short)) * total
    numbers = {"missed": missed, "extra": extra}
    if setting in ("5m", "1h") and short != long:
        return TtlChoice(long if setting == "1h" else short, numbers)
    return TtlChoice(long if missed > ENOUGH * extra else short, numbers)


def _offered(prices: Pricing) -> list[Ttl]:
    return [ttl for ttl in get_args(Ttl) if ttl in prices.ttls]


def keep_alive(
    *,
    idle: float,
    since_use: float,
    ttl: Ttl,
    prefix: int,
    spent: float,
    gaps: Sequence[float],
    prices: Pricing,
    since_activity: float | None = None,
) -> KeepAlive:
    """Whether to read the prefix once more so that it stays cached.

    Args:
        idle: seconds since the user's last request.
        since_use: seconds since the cache was last used, by a request or a keep-alive.
        ttl: lifetime of the entries.
        prefix: tokens that would be kept.
        spent: what keep-alive requests have cost since the user's last request.
        gaps: pauses between requests so far, in seconds.
        prices: the model's pricing.
        since_activity: seconds since the user last typed in or focused the editor, if known.

    Two conditions must hold. The request must pay on average: the chance that the user is back
    before the next expiry, times the loss that it averts, is more than its price. And the rent is
    not yet the price: what was spent in this pause plus this one stays below that loss, so that
    however long the pause, keep-alive never costs more than the loss it insures.
    """
    life = LIFETIMES[ttl] if prices.explicit else prices.lifetime
    loss = (prices.write(ttl) - prices.read) * prefix
    price = prices.read * prefix
    left = life - since_use
    chance = survival(gaps, idle, idle + max(left, 0.0) + life)
    if since_activity is not None and since_activity <= ACTIVE:
        chance = max(chance, 0.5)
    numbers = {"price": price, "loss": loss, "chance": chance, "spent": spent, "left": left}
    if left <= 0:
        return KeepAlive(False, life, "The cache has expired already.", numbers)
    if prefix < prices.minimum or loss <= 0:
        return KeepAlive(False, life, "There is nothing to keep.", numbers)
    if left > MARGIN:
        return KeepAlive(False, left - MARGIN, "It is too early.", numbers, early=True)
    if spent + price > loss:
        return KeepAlive(
            False, life, "Keeping has cost as much as writing anew would; it is let go.", numbers
        )
    if chance * loss <= price:
        return KeepAlive(False, life, "It is unlikely that you are back in time.", numbers)
    return KeepAlive(True, life - MARGIN, "Reading it once more is worth its price.", numbers)
