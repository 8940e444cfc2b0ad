"""Hazards, lifetimes, tariffs, and the facts that all policies share."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from support.tierworld import FACTS, file_item, text_item
from tierline.context.items import Section
from tierline.context.models import ModelFacts, Prices
from tierline.context.tiers.base import (
    CacheState,
    ChangeEvidence,
    PlanParts,
    Pricing,
    RequestContext,
    Signals,
    advance,
    is_cold,
)
from tierline.context.tiers.hazard import DIRTY, PRIORS, VISIBLE, hazard, observe
from tierline.context.tiers.lifetime import ACTIVE, MARGIN, keep_alive, survival

# --- hazard --------------------------------------------------------------------------------------


def test_without_evidence_the_prior_speaks() -> None:
    assert hazard(ChangeEvidence(), Signals(), Section.FILES) == PRIORS[Section.FILES]
    assert hazard(ChangeEvidence(), Signals(churn=0.9), Section.FILES) == 0.9
    assert hazard(ChangeEvidence(), Signals(churn=0.0), Section.FILES) == 0.0
    assert hazard(ChangeEvidence(), Signals(churn=7.0), Section.FILES) == 1.0


def test_what_is_being_edited_is_likelier_to_change() -> None:
    assert hazard(ChangeEvidence(), Signals(churn=0.01, dirty=True), Section.FILES) == DIRTY
    assert hazard(ChangeEvidence(), Signals(churn=0.01, visible=True), Section.FILES) == VISIBLE


def test_evidence_outweighs_the_prior() -> None:
    seen: dict[str, str] = {}
    known: dict[str, ChangeEvidence] = {}
    for version in range(30):
        item = file_item("a.py", f"x = {version}\n")
        still = file_item("b.py", "y = 1\n")
        known = observe(known, seen, [item, still])
        seen = {item.key: item.sha256, still.key: still.sha256}
    assert hazard(known["file:a.py"], Signals(), Section.FILES) > 0.9
    assert hazard(known["file:b.py"], Signals(), Section.FILES) < 0.05


def test_old_evidence_fades() -> None:
    item = file_item("a.py", "x = 1\n")
    known = {item.key: ChangeEvidence(10.0, 0.0)}
    for _ in range(60):
        known = observe(known, {item.key: item.sha256}, [item])
    assert hazard(known[item.key], Signals(), Section.FILES) < 0.1


def test_a_new_item_says_nothing_and_one_that_is_gone_is_forgotten() -> None:
    item = file_item("a.py", "x = 1\n")
    assert observe({"file:b.py": ChangeEvidence(1, 1)}, {}, [item]) == {item.key: ChangeEvidence()}


# --- lifetimes -----------------------------------------------------------------------------------


def test_survival_is_a_share_of_the_pauses() -> None:
    quick = survival([30.0] * 100, 0.0, 300.0)
    assert 0.95 < quick < 1.0
    assert survival([900.0] * 100, 0.0, 300.0) < 0.1
    assert survival([900.0] * 100, 600.0, 1000.0) > 0.95, "given that ten minutes have passed"
    assert survival([], 10_000.0, 20_000.0) == 0.0


def kept(idle: float = 280, since_use: float = 285, spent: float = 0.0, **facts: float) -> bool:
    return keep_alive(
        idle=idle, since_use=since_use, ttl="5m", prefix=int(facts.get("prefix", 30_000)),
        spent=spent, gaps=[400.0] * 20, prices=Pricing(),
        since_activity=facts.get("since_activity"),
    ).send  # fmt: skip


def test_keep_alive_when_the_user_is_likely_back() -> None:
    assert kept()
    assert not kept(since_use=100), "too early"
    assert not kept(since_use=301), "expired"
    assert not kept(prefix=500), "too small to be cached"
    assert not kept(spent=1.15 * 30_000), "the rent has reached the price"
    assert not kept(idle=5000), "nobody ever came back after that"
    assert kept(idle=5000, since_activity=ACTIVE), "but is typing now"


def test_keep_alive_never_costs_more_than_what_it_insures() -> None:
    spent, price = 0.0, 0.1 * 30_000
    while kept(spent=spent, since_activity=0.0):
        spent += price
    assert spent <= 1.15 * 30_000 + 1e-6


def test_keep_alive_says_when_to_ask_again() -> None:
    early = keep_alive(
        idle=10, since_use=10, ttl="5m", prefix=30_000, spent=0, gaps=[], prices=Pricing()
    )
    assert early.wait == 290 - MARGIN
    assert early.numbers["loss"] == pytest.approx(1.15 * 30_000)


# --- tariffs and coldness ------------------------------------------------------------------------


def test_tariffs_of_the_kinds_of_provider() -> None:
    explicit = Pricing.of(FACTS)
    assert (explicit.input, explicit.read, explicit.write("5m"), explicit.write("1h")) == (
        5.0, 0.5, 6.25, 10.0,
    )  # fmt: skip
    openai = Pricing.of(
        ModelFacts("g", family="openai", caching="automatic", prices=Prices(2.0, 8.0, 0, 0, 0.5))
    )
    assert (openai.explicit, openai.max_marks, openai.read, openai.write("1h")) == (
        False, 0, 0.5, 2.0,
    )  # fmt: skip
    local = Pricing.of(ModelFacts("l", family="local", caching="automatic"))
    assert local.read < 0.1 * local.input
    assert local.alive(1e9, "5m"), "the embedded model forgets nothing while it runs"


def test_why_nothing_is_cached() -> None:
    sent = CacheState(model="m", tools="t", at=1000.0, ttl="5m")
    now = RequestContext(1200.0, "m", "t")
    assert is_cold(sent, now, Pricing()) == ""
    assert is_cold(CacheState(), now, Pricing()) == "first"
    assert is_cold(sent, evolve(now, model="other"), Pricing()) == "model"
    assert is_cold(sent, evolve(now, tools="other"), Pricing()) == "tools"
    assert is_cold(sent, evolve(now, now=1301.0), Pricing()) == "expired"
    assert is_cold(evolve(sent, ttl="1h"), evolve(now, now=1301.0), Pricing()) == ""


def test_only_pauses_before_a_turn_count() -> None:
    """Requests within one turn (after tool calls) say nothing about the user."""
    parts = PlanParts.of([])
    sent = advance(CacheState(), RequestContext(100.0, group_id="a"), parts, "p")
    sent = advance(sent, RequestContext(105.0, group_id="a"), parts, "p")
    sent = advance(sent, RequestContext(165.0, group_id="b"), parts, "p")
    sent = advance(sent, RequestContext(10.0, group_id="c"), parts, "p")
    assert sent.gaps == (60.0,), "nor does a clock that was set back"


def test_the_state_survives_json() -> None:
    item = text_item("memo:1", Section.MEMOS, "Use tabs.")
    sent = advance(
        CacheState(), RequestContext(100.0, "m", "t", "g"), PlanParts.of([item]), "counter",
        hazards={"a": ChangeEvidence(1.5, 2.0)}, state={"entries": [["k", 1]]},
    )  # fmt: skip
    assert CacheState.from_json(json.loads(json.dumps(sent.to_json()))) == sent


@pytest.mark.parametrize(
    "broken",
    [None, 3, [], {}, {"hazards": 1}, {"ttl": "9d"}, {"at": "noon"}, {"gaps": ["x"]}, {"seen": 1}],
)
def test_a_broken_state_is_as_none(broken: object) -> None:
    whole = CacheState(at=5.0).to_json()
    value = whole | broken if isinstance(broken, dict) and broken else broken
    assert CacheState.from_json(value) == CacheState()
