"""Lifetimes and keep-alive as pure functions of the pauses that a user makes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierline.context.tiers.base import Pricing
from tierline.context.tiers.lifetime import MARGIN, choose_ttl, keep_alive, survival

PRICES = Pricing(input=3, read=0.3, write_5m=3.75, write_1h=6)


def ask(**changes: Any) -> Any:
    facts = {
        "idle": 285.0, "since_use": 285.0, "ttl": "5m", "prefix": 50_000, "spent": 0.0,
        "gaps": [400.0] * 10, "prices": PRICES,
    }  # fmt: skip
    return keep_alive(**{**facts, **changes})


@pytest.mark.parametrize(
    ("gaps", "ttl"),
    [([30.0] * 20, "5m"), ([900.0] * 20, "1h"), ([20_000.0] * 20, "5m"), ([], "5m")],
)
def test_the_lifetime_follows_the_pauses(gaps: list[float], ttl: str) -> None:
    """Before any was seen, the write that costs less is the one that is paid."""
    assert choose_ttl(gaps, 50_000, 500, PRICES).ttl == ttl


def test_one_long_pause_is_not_enough_for_a_dear_write_but_the_third_is() -> None:
    assert choose_ttl([60.0, 900.0], 50_000, 500, PRICES).ttl == "5m"
    assert choose_ttl([60.0, 900.0, 40.0, 700.0, 900.0], 50_000, 500, PRICES).ttl == "1h"


def test_the_users_choice_and_the_providers_offer_come_first() -> None:
    assert choose_ttl([30.0] * 20, 50_000, 500, PRICES, "1h").ttl == "1h"
    assert choose_ttl([900.0] * 20, 50_000, 500, PRICES, "5m").ttl == "5m"
    only = Pricing(ttls=("5m",))
    assert choose_ttl([900.0] * 20, 50_000, 500, only, "1h").ttl == "5m"


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
