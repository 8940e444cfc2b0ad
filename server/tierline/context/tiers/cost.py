"""What a rewrite costs, what it saves, and the one rule that decides: rent or buy.

Bytes that were sent are cheap to send again; rewriting one makes everything after it expensive
once. Carrying text that a rewrite would remove costs a little at every request. The number of
requests to come is unknown, so the ski-rental rule decides: pay rent until it amounts to the price,
then buy. That never costs more than twice as much as knowing all requests in advance, while the
price stays the same (``tests/property/test_tiers_cost.py``), and otherwise twice the factor by
which the price rises between two purchases.
"""

from __future__ import annotations

from attrs import evolve, frozen

from tierline.context.prompt import Ttl
from tierline.context.tiers.base import Pricing


@frozen
class RentAccount:
    """Rent paid since the last purchase, in the unit of ``Pricing`` times tokens."""

    rent: float = 0.0

    def due(self, rent: float, price: float) -> bool:
        """True if the rent, with this request's, reaches the price, so that it is time to buy.

        The rent of the request at which one buys is not paid.
        """
        return self.rent + rent >= price

    def pay(self, rent: float) -> RentAccount:
        """The account after paying rent for one more request."""
        return evolve(self, rent=self.rent + max(rent, 0.0))


@frozen
class LayoutSize:
    """The tokens of one way to send a request: readable from the cache, and to be written."""

    read: int
    written: int

    @property
    def total(self) -> int:
        """All tokens."""
        return self.read + self.written

    def cost(self, prices: Pricing, ttl: Ttl) -> float:
        """Price of this request's input."""
        return self.read * prices.read + self.written * prices.write(ttl)


@frozen
class Verdict:
    """Whether a rewrite happens now, why, and the numbers."""

    rewrite: bool
    code: str
    """``free``, ``due`` or ``wait``; ``forced`` or ``cold`` of callers without a choice."""
    rent: float
    """Rent without the rewrite until now, this request included."""
    price: float
    """Additional cost of the rewrite at this request."""
    account: RentAccount
    """The account to keep if the decision is carried out."""

    @property
    def ratio(self) -> float:
        """Rent over price; infinite if the rewrite costs nothing."""
        return self.rent / self.price if self.price > 0 else float("inf")


def weigh(
    account: RentAccount,
    keep: LayoutSize,
    rewritten: LayoutSize,
    prices: Pricing,
    ttl: Ttl,
    *,
    thinking: int = 0,
    worth: float | None = None,
) -> Verdict:
    """Decide on one rewrite of bytes that were sent.

    ``keep`` is the request without it, ``rewritten`` with it. The rent is the cost per request of
    reading the dead text from the cache: the difference in size without the ``thinking`` (tokens)
    that becomes invalid, which is not dead. The price is the cost of the tokens that must be
    written instead of read, and of that thinking, counted as ``worth`` tokens (None: all of it). A
    rewrite that costs nothing, because everything after it is new anyway or nothing is cached,
    happens at once.
    """
    rent = max(keep.total - rewritten.total - thinking, 0) * prices.read
    worth = thinking if worth is None else worth
    price = rewritten.cost(prices, ttl) - keep.cost(prices, ttl) + worth * prices.thinking
    if price <= 0:
        return Verdict(True, "free", account.rent + rent, 0.0, RentAccount())
    if rent > 0 and account.due(rent, price):
        return Verdict(True, "due", account.rent + rent, price, RentAccount())
    return Verdict(False, "wait", account.rent + rent, price, account.pay(rent))
