"""The seed's policy, rule by rule (seed 004:38, 004:282-284, 004:327-337, 004:380, 004:389; design,
section 6a).
"""

from __future__ import annotations

import pytest
from attrs import define, evolve, field

from tierline.context.blocks import Text
from tierline.context.items import Item, Section
from tierline.context.prompt import PromptBlock, PromptMessage
from tierline.context.tiers import counter
from tierline.context.tiers.base import (
    Arrangement,
    CacheState,
    Pricing,
    RequestContext,
    Signals,
    Tier,
)
from tierline.context.tiers.counter import ENTRY_N, MAX_ROUNDS, CounterPolicy

TARGET = 100
"""``cache_target_tokens`` of these tests."""


def file(name: str, tokens: int = 150, version: int = 0) -> Item:
    text = f"{name} {version}"
    return Item(f"file:{name}", Section.FILES, text, tokens, text, path=name)


def said(number: int, tokens: int = 150, group: str = "") -> Item:
    key = f"history:{number}"
    message = PromptMessage("user", (PromptBlock(Text(f"message {number}"), key),))
    return Item(
        key, Section.HISTORY, key, tokens, messages=(message,), group=group or f"turn {number}"
    )


@define
class Requests:
    """Requests in a row, each accepted."""

    sent: CacheState = field(factory=CacheState)
    target: int = TARGET
    head: int = 500
    signals: dict[str, Signals] = field(factory=dict)
    last: Arrangement | None = None

    def send(self, *items: Item, active: str = "now") -> dict[str, Tier]:
        head = Item("system:head", Section.SYSTEM, "head", self.head, "You help.", required=True)
        moment = RequestContext(1000.0 + self.sent.requests, "m", "", active, self.signals)
        pricing = Pricing(minimum=0, target=self.target)
        self.last = CounterPolicy().arrange([head, *items], self.sent, moment, pricing)
        self.sent = self.last.next
        return self.tiers()

    def tiers(self) -> dict[str, Tier]:
        assert self.last is not None
        return {p.key.partition(":")[2]: p.tier for p in self.last.pieces if p.key != "system:head"}

    def n(self, name: str) -> int:
        assert self.last is not None
        return next(p.streak for p in self.last.pieces if p.key.partition(":")[2] == name)

    def until(self, tier: Tier, *items: Item, most: int = 40) -> int:
        """Send the same items until the first of them is in a tier; how many requests that took."""
        name = items[0].key.partition(":")[2]
        for count in range(1, most):
            if self.send(*items)[name] is tier:
                return count
        raise AssertionError(f"{name} never reached {tier}")


# --- thresholds and entry N ----------------------------------------------------------------------


def test_an_item_climbs_at_3_6_9_and_12() -> None:
    """6a: active at 0, L3 at 3, L2 at 6, L1 at 9, L0 at 12."""
    requests = Requests()
    seen = [(requests.send(file("a"))["a"], requests.n("a")) for _ in range(14)]
    assert seen == [
        (Tier.ACTIVE, 0), (Tier.ACTIVE, 1), (Tier.ACTIVE, 2),
        (Tier.L3, 3), (Tier.L3, 4), (Tier.L3, 5),
        (Tier.L2, 6), (Tier.L2, 7), (Tier.L2, 8),
        (Tier.L1, 9), (Tier.L1, 10), (Tier.L1, 11),
        (Tier.L0, 12), (Tier.L0, 13),
    ]  # fmt: skip
    assert ENTRY_N == {Tier.L3: 3, Tier.L2: 6, Tier.L1: 9, Tier.L0: 12}


def test_a_changed_hash_sends_an_item_to_active_with_n_0() -> None:
    requests = Requests()
    requests.until(Tier.L2, file("a"))
    assert requests.send(file("a", version=1))["a"] is Tier.ACTIVE
    assert requests.n("a") == 0


def test_an_item_that_enters_a_tier_gets_that_tiers_n() -> None:
    """One that waited long outside enters L3 with N = 3, not with what it had."""
    requests = Requests()
    requests.until(Tier.L3, file("a"))
    for _ in range(5):  # L3 is neither broken nor empty while a stands in it.
        requests.send(file("a", version=0), file("b"))
        requests.sent = _with_n(requests.sent, "file:a", 3)  # a would leave for L2 otherwise
    assert requests.tiers()["b"] is Tier.ACTIVE
    assert requests.n("b") >= 4
    tiers = requests.send(file("a", version=1), file("b"))
    assert tiers["b"] is Tier.L3
    assert requests.n("b") == 3


def _with_n(sent: CacheState, key: str, n: int) -> CacheState:
    rows = [[*row[:4], n, *row[5:]] if row[0] == key else row for row in sent.state["entries"]]
    return evolve(sent, state={"entries": rows})


# --- promotion -----------------------------------------------------------------------------------


def test_promotion_only_into_a_broken_or_empty_tier() -> None:
    requests = Requests()
    requests.until(Tier.L3, file("a"))
    requests.sent = _with_n(requests.sent, "file:a", 3)
    for _ in range(2):
        requests.send(file("a"), file("b"))
    requests.sent = _with_n(requests.sent, "file:a", 3)
    requests.sent = _with_n(requests.sent, "file:b", 7)
    assert requests.send(file("a"), file("b"))["b"] is Tier.ACTIVE, "L3 is whole"
    assert requests.send(file("b"))["b"] is Tier.L3, "a went away and broke L3"


def test_promotion_goes_bottom_up_until_nothing_moves() -> None:
    """What leaves L3 for L2 breaks L3, which takes in what waits outside, in the same request."""
    requests = Requests()
    requests.until(Tier.L3, file("a"))
    requests.send(file("a"), file("b"))
    requests.sent = _with_n(requests.sent, "file:a", 5)
    requests.sent = _with_n(requests.sent, "file:b", 2)
    tiers = requests.send(file("a"), file("b"))
    assert tiers == {"a": Tier.L2, "b": Tier.L3}


def test_one_item_climbs_at_most_one_threshold_at_a_time() -> None:
    """Entering sets N to the entry of the tier, so that nothing runs through several tiers."""
    requests = Requests()
    requests.send(file("a"))
    requests.sent = _with_n(requests.sent, "file:a", 30)
    assert requests.send(file("a"))["a"] is Tier.L3
    assert requests.n("a") == 3


def test_promotion_stops_after_eight_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if every round moved something."""
    rounds: list[Tier] = []

    def fill(self: object, tier: Tier, below: Tier) -> bool:
        rounds.append(tier)
        return True

    monkeypatch.setattr(counter._Tracker, "_fill", fill)
    requests = Requests()
    requests.send(file("a"))
    requests.send(file("a"))
    assert len(rounds) == MAX_ROUNDS * 4 == 32


# --- tiers that are too small --------------------------------------------------------------------


def test_items_in_a_tier_below_the_target_are_anchored() -> None:
    """They do not climb, even into a broken tier that has room for them."""

    def climbing(mate: int) -> dict[str, Tier]:
        requests = Requests()
        items = [file("a", 60), file("b", 60), file("c"), file("d")]
        requests.send(*items)
        for key, tier, n in (("a", Tier.L3, 7), ("b", Tier.L3, 3), ("c", Tier.L2, 6)):
            requests.sent = _placed(requests.sent, f"file:{key}", tier, n)
        requests.sent = _placed(requests.sent, "file:d", Tier.L2, 6)
        return requests.send(file("a", 60), file("b", 60, mate), file("c"), file("d", version=1))

    assert climbing(mate=0)["a"] is Tier.L2, "L3 holds enough and L2 is broken"
    assert climbing(mate=1)["a"] is Tier.ACTIVE, "L3 holds too little: a falls instead"


def test_n_stands_still_in_a_tier_below_the_target() -> None:
    requests = Requests()
    requests.until(Tier.L3, file("a"))
    requests.target = 400  # The user asks for larger tiers.
    requests.send(file("a"))
    assert (requests.tiers()["a"], requests.n("a")) == (Tier.ACTIVE, 3)


def test_items_of_an_underfilled_tier_fall_one_tier() -> None:
    requests = Requests()
    requests.until(Tier.L2, file("a", 60), file("b", 60))
    tiers = requests.send(file("a", 60), file("b", 60, version=1))
    assert tiers["b"] is Tier.ACTIVE
    assert tiers["a"] is Tier.ACTIVE, "60 tokens are too few for L2 and for L3 as well"
    requests = Requests()
    requests.until(Tier.L2, file("a", 60), file("b", 60))
    requests.send(file("a", 60), file("b", 60), file("c", 150))
    requests.sent = _placed(requests.sent, "file:c", Tier.L3, 3)
    tiers = requests.send(file("a", 60), file("b", 60, version=1), file("c", 150))
    assert tiers["a"] is Tier.L3, "with c there are enough"
    assert requests.n("a") == 3


def _placed(sent: CacheState, key: str, tier: Tier, n: int) -> CacheState:
    rows = [
        [*row[:3], str(tier), n, *row[5:]] if row[0] == key else row
        for row in sent.state["entries"]
    ]
    return evolve(sent, state={"entries": rows})


def test_too_little_for_a_tier_stays_active() -> None:
    requests = Requests()
    for _ in range(8):
        assert requests.send(file("small", 40))["small"] is Tier.ACTIVE


def test_target_is_the_larger_of_the_users_minimum_and_the_models_times_1_1() -> None:
    """Seed 004:30; 6a: max of user minimum and model minimum × 1.1."""
    from support.tierworld import FACTS

    assert Pricing.of(FACTS).target == round(FACTS.min_cacheable_tokens * 1.1)
    assert Pricing.of(FACTS, min_tokens=5000).target == 5000
    assert Pricing.of(FACTS, min_tokens=10).target == round(FACTS.min_cacheable_tokens * 1.1)


# --- the first request ---------------------------------------------------------------------------


def test_the_first_request_seeds_tiers_from_the_reference_graph() -> None:
    """Seed 004:389. The most referenced items go deepest."""
    names = "abcdefgh"
    requests = Requests(
        signals={f"file:{n}": Signals(references=10.0 - i) for i, n in enumerate(names)}
    )
    tiers = requests.send(*(file(n) for n in names), file("unreferenced"))
    order = [tiers[n] for n in names]
    assert order == sorted(order)
    assert set(order) == {Tier.L0, Tier.L1, Tier.L2, Tier.L3}
    assert tiers["unreferenced"] is Tier.ACTIVE
    assert [requests.n(n) for n in "ah"] == [12, 3]


def test_without_a_reference_graph_everything_begins_active() -> None:
    assert Requests().send(file("a"), file("b")) == {"a": Tier.ACTIVE, "b": Tier.ACTIVE}


def test_seeding_respects_the_target() -> None:
    """What fills no tier of its own is not spread over four."""
    requests = Requests(
        signals={"file:a": Signals(references=2.0), "file:b": Signals(references=1.0)}
    )
    tiers = requests.send(file("a", 120), file("b", 60))
    assert tiers["a"] is Tier.L0
    assert tiers["b"] is Tier.ACTIVE


def test_seeding_happens_once() -> None:
    requests = Requests()
    requests.send(file("a"))
    requests.signals = {"file:b": Signals(references=9.0)}
    assert requests.send(file("a"), file("b"))["b"] is Tier.ACTIVE


# --- history -------------------------------------------------------------------------------------


def test_history_graduates_only_when_l3_is_broken_anyway() -> None:
    requests = Requests()
    for _ in range(6):
        tiers = requests.send(said(1), said(2))
    assert tiers == {"1": Tier.LOG, "2": Tier.LOG}, "L3 is empty, which is no reason"
    for _ in range(3):
        requests.send(said(1), said(2), file("a"))
    tiers = requests.send(said(1), said(2), file("a"))
    assert tiers["a"] is Tier.L3, "an empty tier takes in files"
    tiers = requests.send(said(1), said(2), file("a", version=1))
    assert tiers["a"] is Tier.ACTIVE
    assert tiers["1"] is Tier.L3, "a left and broke L3"


def test_history_never_breaks_its_order() -> None:
    """No turn stands before an older one, whatever climbs."""
    requests = Requests()
    for turn in range(2, 30):
        talk = [said(i) for i in range(1, turn)]
        requests.send(*talk, file("a", version=turn // 4), file("b", version=turn // 7))
        assert requests.last is not None
        order = [p.key for p in requests.last.pieces if p.key.startswith("history:")]
        assert order == [t.key for t in talk]


def test_the_active_turn_is_not_tracked() -> None:
    requests = Requests()
    for _ in range(6):
        requests.send(said(1, group="now"), active="now")
    assert requests.n("1") == 0


def test_compaction_purges_history() -> None:
    """Seed 004:284, 004:380: entries register on the next request as fresh active items, N = 0."""
    requests = Requests()
    for _ in range(5):
        requests.send(said(1), said(2), file("a"))
    n_before, tier_before = requests.n("a"), requests.tiers()["a"]
    assert requests.n("1") > 0
    requests.sent = CounterPolicy().purge(requests.sent, "history:")
    kept = [row[0] for row in requests.sent.state["entries"]]
    assert kept == ["file:a"]
    tiers = requests.send(said(1), said(2), file("a"))
    assert requests.n("1") == requests.n("2") == 0
    assert tiers["1"] is Tier.LOG
    assert (tiers["a"], requests.n("a")) == (tier_before, n_before + 1), "files keep their place"


def test_purging_another_policys_state_changes_nothing() -> None:
    sent = CacheState(policy="log_structured", state={"base": []})
    assert CounterPolicy().purge(sent, "history:") == sent


def test_clearing_history_leaves_files_alone() -> None:
    """Seed 004:53, 004:398."""
    requests = Requests()
    requests.until(Tier.L3, file("a"), said(1))
    requests.sent = CounterPolicy().purge(requests.sent, "history:")
    assert requests.send(file("a"))["a"] is Tier.L3


# --- state ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [{}, {"entries": 7}, {"entries": [["x"]]}, {"entries": "xy"}])
def test_a_state_that_makes_no_sense_begins_afresh(broken: dict[str, object]) -> None:
    requests = Requests(sent=CacheState(policy="counter", state=broken))
    assert requests.send(file("a"))["a"] is Tier.ACTIVE


def test_a_restart_keeps_every_n() -> None:
    requests = Requests()
    requests.until(Tier.L3, file("a"), said(1))
    requests.sent = CacheState.from_json(requests.sent.to_json())
    requests.send(file("a"), said(1))
    assert requests.n("a") == 4
