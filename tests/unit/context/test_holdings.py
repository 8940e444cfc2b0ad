"""How firmly cards are held: promotion, leases and their ends (seed 003)."""

from __future__ import annotations

from typing import Any

import pytest

from tierline.context.items import Pin
from tierline.context.retrieval.holdings import FADE, MAX_LEASED, WEIGHTS, HoldingChange, Holdings


def begun(task: str = "") -> Holdings:
    holdings = Holdings()
    holdings.begin_turn(task)
    return holdings


def pins(holdings: Holdings) -> dict[str, tuple[Pin, str]]:
    return {key: (held.pin, held.scope) for key, held in holdings.items.items()}


def test_a_card_that_nobody_uses_is_gone_with_its_turn() -> None:
    holdings = begun()
    holdings.offer(["a", "b"])
    assert pins(holdings) == {"a": (Pin.EPHEMERAL, "turn:1"), "b": (Pin.EPHEMERAL, "turn:1")}
    assert holdings.end_turn() == ["a", "b"]
    assert holdings.items == {} and holdings.changes == [], "a hook's end is no news"


def test_first_use_leases_for_a_turn_and_the_second_for_the_task() -> None:
    holdings = begun("t1")
    holdings.offer(["a"])
    (change,) = holdings.observe(quoted=["a"])
    assert change == HoldingChange("a", "leased for the next turn", "the model used it (1 use)")
    assert holdings.end_turn() == [] and pins(holdings)["a"] == (Pin.LEASED, "turn:2")
    holdings.begin_turn("t1")
    (change,) = holdings.observe(named=["a"])
    assert change == HoldingChange("a", "leased for the task", "you named it (2 uses)")
    assert holdings.changes == [change]
    assert holdings.end_turn() == [] and pins(holdings)["a"] == (Pin.LEASED, "task:t1")
    assert holdings.observe(quoted=["a"]) == [], "more is not to be had"
    holdings.begin_turn("t2")
    assert pins(holdings)["a"] == (Pin.NONE, "")
    assert holdings.changes == [HoldingChange("a", "lease ended", "its scope task:t1 ended")]


def test_without_a_task_a_lease_never_outlives_the_next_turn() -> None:
    holdings = begun()
    holdings.offer(["a"])
    holdings.observe(quoted=["a"])
    for turn in (2, 3):
        holdings.end_turn()
        holdings.begin_turn("")
        holdings.observe(quoted=["a"])
        assert pins(holdings)["a"] == (Pin.LEASED, f"turn:{turn + 1}")
    assert holdings.end_turn() == [], "it goes on as long as it is used"
    holdings.begin_turn("")
    assert holdings.end_turn() == ["a"]


def test_what_a_turn_that_broke_off_held_ends_with_the_next() -> None:
    holdings = begun()
    holdings.offer(["a"])
    holdings.begin_turn("")
    holdings.offer(["b"])
    assert pins(holdings) == {"a": (Pin.NONE, ""), "b": (Pin.EPHEMERAL, "turn:2")}


def test_scores_rise_by_what_happens_and_fade_each_turn() -> None:
    holdings = begun()
    holdings.observe(planned=["a"], quoted=["a"], hops=["b"], cluster=["b"])
    assert holdings.score("a") == WEIGHTS["planned"] + WEIGHTS["quoted"]
    assert holdings.score("b") == pytest.approx(WEIGHTS["hop"] + WEIGHTS["cluster"])
    holdings.observe(named=["b"])
    assert holdings.score("a") == pytest.approx(FADE * 2.5)
    assert holdings.score("b") == pytest.approx(FADE * 0.7 + WEIGHTS["named"])
    assert holdings.score("unknown") == 0.0
    assert (holdings.items["a"].uses, holdings.items["b"].uses) == (1, 1)


def test_a_task_lease_that_nobody_uses_ends_and_is_forgotten() -> None:
    holdings = begun("t")
    holdings.offer(["a"])
    for _ in range(2):
        holdings.observe(quoted=["a"])
    turns = 0
    while not (gone := holdings.end_turn()):
        holdings.begin_turn("t")
        holdings.observe()
        turns += 1
    assert gone == ["a"] and 4 <= turns <= 8
    assert holdings.items == {}, "what is not held and not active is forgotten"
    assert [c.why for c in holdings.changes] == ["nobody used it lately"]


def test_of_too_many_leases_those_that_are_used_most_stay() -> None:
    holdings = begun("t")
    keys = [f"k{n:02}" for n in range(MAX_LEASED + 3)]
    holdings.offer(keys)
    holdings.observe(quoted=keys)
    holdings.observe(quoted=keys, planned=keys[3:])
    assert holdings.end_turn() == keys[:3]
    assert [held.key for held in holdings.held(Pin.LEASED)] == keys[3:]
    assert {c.why for c in holdings.changes if c.what == "lease ended"} == {"others are used more"}


def test_only_the_user_makes_it_sticky_and_only_the_user_takes_that_away() -> None:
    holdings = begun("t")
    holdings.offer(["a"])
    holdings.pin("a")
    holdings.pin("new")
    holdings.offer(["a"])
    holdings.observe(quoted=["a"])
    assert holdings.end_turn() == []
    assert holdings.end_scope("") == [], "sticky ones have no scope that could end"
    assert pins(holdings) == {"a": (Pin.STICKY, ""), "new": (Pin.STICKY, "")}
    assert holdings.unpin("a") is True and holdings.unpin("a") is False
    assert holdings.unpin("nobody") is False
    assert holdings.items["a"].uses == 0, "its next use is a first one again"


def test_a_renamed_file_takes_its_card_along() -> None:
    holdings = begun()
    holdings.pin("card:a#f")
    holdings.rename({"card:a#f": "card:b#f", "card:x": "card:y"})
    (held,) = holdings.held(Pin.STICKY)
    assert held.key == "card:b#f" and list(holdings.items) == ["card:b#f"]


def test_a_fork_goes_its_own_way_from_now_on() -> None:
    holdings = begun("t")
    holdings.pin("a")
    fork = holdings.copy()
    assert (fork.turn, fork.task, fork.items) == (1, "t", holdings.items)
    fork.unpin("a")
    assert holdings.items["a"].pin is Pin.STICKY


def test_holdings_come_back_from_disk_as_they_were() -> None:
    holdings = begun("t")
    holdings.offer(["a", "b"])
    holdings.observe(quoted=["a"], planned=["b"])
    holdings.pin("c")
    back = Holdings.from_json(holdings.to_json())
    assert (back.items, back.turn, back.task) == (holdings.items, 1, "t")


@pytest.mark.parametrize(
    "value",
    [
        None, {}, {"turn": 1, "task": "t"}, {"turn": "x", "task": "t", "items": []},
        {"turn": 1, "task": "", "items": [["a", "none"]]},
        {"turn": 1, "task": "", "items": [["a", "glued", "", 0, 0, ""]]},
        {"turn": 1, "task": "", "items": [["a", "leased", "week:1", 0, 0, ""]]},
        {"turn": 1, "task": "", "items": [["a", "leased", "turn:x", 0, 0, ""]]},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_no_holdings(value: Any) -> None:
    assert Holdings.from_json(value) == Holdings()


def test_uses_of_a_card_add_up() -> None:
    holdings = Holdings()
    for _ in range(2):
        holdings.observe(quoted=["k"])
    assert holdings.items["k"].uses == 2
    holdings.observe(planned=["k"])
    assert holdings.items["k"].uses == 2, "to be planned is not to be used"
