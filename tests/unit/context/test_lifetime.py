"""Lifetimes and keep-alive as pure functions of the pauses that a user makes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierline.context.tiers.base import Pricing
from tierline.context.tiers.lifetime import MARGIN, choose_ttl, keep_alive, missed, survival

PRICES = Pricing(input=3, read=0.3, write_5m=3.75, write_1h=6)


def ask(**changes: Any) -> Any:
    facts = {
        "idle": 285.0, "since_use": 285.0, "ttl": "5m", "prefix": 50_000, "spent": 0.0,
        "gaps": [400.0] * 10, "prices": PRICES,
    }  # fmt: skip
    return keep_alive(**{**facts, **changes})


def lived(gaps: list[float], size: int = 50_000, growth: int = 500) -> str:
    """The lifetime that is chosen when all is written anew after these pauses."""
    amount = missed(0.0, 0, size, None, PRICES)
    for number, gap in enumerate(gaps):
        now = size + number * growth
        amount = missed(amount, now, now + growth, gap, PRICES)
    return choose_ttl(amount, size + len(gaps) * growth, PRICES).ttl


@pytest.mark.parametrize(
    ("gaps", "ttl"),
    [([30.0] * 20, "5m"), ([900.0] * 20, "1h"), ([20_000.0] * 20, "5m"), ([], "5m")],
)
def test_the_lifetime_follows_the_pauses(gaps: list[float], ttl: str) -> None:
    """Before any was seen, the write that costs less is the one that is paid."""
    assert lived(gaps) == ttl


def test_long_pauses_must_have_cost_four_times_the_dear_write() -> None:
    assert lived([60.0, 900.0]) == "5m"
    assert lived([60.0, 900.0, 40.0, 700.0, 900.0]) == "5m"
    late = [60.0, 900.0, 40.0, 700.0, 900.0, 800.0]
    assert lived(late) == "1h"
    assert lived(late, size=500, growth=20_000) == "5m", "there was little to write at first"


def test_pauses_that_no_lifetime_survives_speak_against_a_dear_write() -> None:
    assert lived([900.0] * 4) == "1h"
    assert lived([900.0] * 4 + [20_000.0] * 2) == "5m"
    assert lived([900.0] * 6 + [20_000.0]) == "1h", "one of them does not change it"


def test_the_users_choice_and_the_providers_offer_come_first() -> None:
    assert choose_ttl(0.0, 50_000, PRICES, "1h").ttl == "1h"
    assert choose_ttl(1e9, 50_000, PRICES, "5m").ttl == "5m"
    only = Pricing(ttls=("5m",))
    assert choose_ttl(1e9, 50_000, only, "1h").ttl == "5m"
    assert missed(5.0, 100, 200, 900.0, only) == 0
    assert choose_ttl(1e9, 50_000, Pricing(ttls=()), "1h").ttl == "5m"


def test_a_ping_is_sent_only_shortly_before_the_end() -> None:
    early = ask(idle=100.0, since_use=100.0)
    assert not early.send
    assert early.early
    assert early.wait == 300 - 100 - MARGIN
    assert ask().send
    late = ask(idle=301.0, since_use=301.0)
    assert not late.send
    assert not late.early


def test_the_numbers_that_it_decided_by_are_given() -> None:
    numbers = ask().numbers
    assert numbers["price"] == 0.3 * 50_000
    assert numbers["loss"] == (3.75 - 0.3) * 50_000
    assert numbers["chance"] == survival([400.0] * 10, 285.0, 285.0 + 15 + 300)


def test_it_lets_go_of_what_is_not_worth_it() -> None:
    assert not ask(gaps=[60.0] * 30 + [9000.0] * 10).send, "nobody is back by then"
    assert ask(gaps=[60.0] * 30 + [9000.0] * 10, since_activity=5.0).send, "someone is typing"
    assert not ask(prefix=500).send, "too small to be cached"
    assert not ask(spent=3.45 * 50_000).send, "the rent has been paid"


@given(
    gaps=st.lists(st.floats(1, 20_000), max_size=30),
    pause=st.floats(1, 200_000),
    prefix=st.integers(1024, 1_000_000),
    active=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_a_pause_never_costs_more_than_the_loss_that_is_insured(
    gaps: list[float], pause: float, prefix: int, active: bool
) -> None:
    """Rent or buy: pings of one pause, and then the write all the same, at most double the loss."""
    now, used, spent = 0.0, 0.0, 0.0
    for _ in range(1000):
        verdict = keep_alive(
            idle=now, since_use=now - used, ttl="5m", prefix=prefix, spent=spent, gaps=gaps,
            prices=PRICES, since_activity=1.0 if active else None,
        )  # fmt: skip
        if verdict.send:
            used, spent = now, spent + PRICES.read * prefix
        elif verdict.early:
            now += verdict.wait
        else:
            break
        if now > pause:
            break
    assert spent <= (PRICES.write_5m - PRICES.read) * prefix
