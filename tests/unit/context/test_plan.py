"""ContextPlan: decisions, reasons, order, identity (seed 003)."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from attrs import evolve

from support.planning import atom, file, limits, prompt, system
from tierline.context.items import Item, Pin, Section
from tierline.context.limits import Limits
from tierline.context.mode import LIMITS, ContextMode
from tierline.context.plan import FRAME_KEY, ContextPlan, PlanEntry, SentItem, explain, plan
from tierline.context.plan_diff import diff
from tierline.context.plan_json import plan_from_json, plan_to_json
from tierline.context.prompt_json import encode


def retrieved(number: int, tokens: int = 100, **more: Any) -> Item:
    return Item(
        f"symbol:{number}", Section.RETRIEVED, f"r{number}", tokens, origin="rank 1", **more
    )


def keys(made: ContextPlan) -> list[str]:
    return [entry.key for entry in made.included]


def test_order_follows_the_sections_and_then_the_key_or_the_given_order() -> None:
    candidates = [
        prompt(),
        atom(2, 10),
        atom(1, 10),
        file("b.py", 10),
        file("a.py", 10),
        retrieved(9),
        retrieved(3),
        system(),
    ]
    made = plan(candidates, limits(), mode=ContextMode.HEAVY)
    assert keys(made) == [
        "system:head",
        "file:a.py",
        "file:b.py",
        "symbol:9",
        "symbol:3",
        "history:999999",
        "history:2",
        "history:1",
    ]


def test_the_order_in_which_files_were_added_changes_the_id_but_not_the_request() -> None:
    files = [file("a.py", 10), file("b.py", 20)]
    made, other = plan(files, limits()), plan(files[::-1], limits())
    assert keys(made) == keys(other)


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "other"},
        {"tokens": 11},
        {"priority": 1},
        {"pin": Pin.STICKY},
        {"required": True},
        {"volatile": True},
        {"depends": ("file:b.py",)},
        {"group": "g"},
        {"path": "other"},
    ],
)
def test_the_id_is_a_hash_of_everything_that_matters(change: dict[str, Any]) -> None:
    items = [file("a.py", 10), file("b.py", 10)]
    changed = [evolve(items[0], **change), items[1]]
    assert plan(changed, limits()).plan_id != plan(items, limits()).plan_id


def test_the_id_depends_on_limits_model_mode_branch_and_turn() -> None:
    items = [file("a.py", 10)]
    ids = {
        plan(items, limits()).plan_id,
        plan(items, limits(50_000)).plan_id,
        plan(items, limits(), model="m").plan_id,
        plan(items, limits(), mode=ContextMode.OFF).plan_id,
        plan(items, limits(), branch="b").plan_id,
        plan(items, limits(), group_id="t").plan_id,
        plan(items, limits(), retrieval_set="r").plan_id,
        plan(items, limits(), absent=[PlanEntry("x", Section.FILES, 0, "c", "r")]).plan_id,
    }
    assert len(ids) == 8
    assert plan(items, limits()).plan_id == plan(list(items), limits()).plan_id


def test_reasons_say_who_wanted_an_item() -> None:
    made = plan(
        [
            system(),
            file("pin.py", 10, pin=Pin.STICKY),
            file("lease.py", 10, pin=Pin.LEASED),
            file("plain.py", 10, origin="added by you"),
            retrieved(1),
            prompt(),
        ],
        limits(),
    )
    codes = {entry.key: entry.code for entry in made.included}
    assert codes == {
        "system:head": "required",
        "file:pin.py": "pinned",
        "file:lease.py": "leased",
        "file:plain.py": "selected",
        "symbol:1": "selected",
        "history:999999": "required",
    }
    assert "you pinned it" in explain(made, "file:pin.py")
    assert "added by you" in explain(made, "file:plain.py")
    assert "is being answered" in explain(made, "history:999999")


def test_explain_says_in_a_sentence_why_something_is_out() -> None:
    made = plan(
        [file("big.log", 5_000), file("a.py", 10)],
        limits(1_000, output=50),
        absent=[
            PlanEntry("file:gone.py", Section.FILES, 0, "missing", "It is not on disk any more.")
        ],
    )
    out = explain(made, "file:big.log")
    assert out.startswith("big.log (5,000 tokens) is not in: ")
    assert out.endswith(".")
    assert explain(made, "file:gone.py") == "file:gone.py is not in: It is not on disk any more."
    assert "was not a candidate" in explain(made, "file:nobody.py")
    assert made.notices == (made.excluded[0].reason,)


def test_tiers_are_noted_without_changing_the_id() -> None:
    made = plan([file("a.py", 10)], limits())
    tiered = made.with_tiers({"file:a.py": "L1"})
    assert tiered.plan_id == made.plan_id
    assert tiered.included[0].tier == "L1"
    assert "in tier L1" in explain(tiered, "file:a.py")


def test_the_frame_counts_and_shows() -> None:
    made = plan([file("a.py", 10)], limits(), frame_tokens=7)
    assert made.tokens == 17
    entry = made.entry(FRAME_KEY)
    assert entry is not None
    assert (entry.section, entry.tokens) == (Section.SYSTEM, 7)
    assert [item.key for item in made.select([file("a.py", 10)])] == ["file:a.py"]


def test_a_second_version_of_an_item_stays_out() -> None:
    made = plan([file("a.py", 10), file("a.py", 10), file("a.py", 20, sha256="new")], limits())
    assert made.tokens == 10
    assert [entry.code for entry in made.excluded] == ["duplicate"]


def test_an_item_whose_dependency_is_absent_stays_out() -> None:
    delta = Item("delta:a.py", Section.FILES, "d", 10, depends=("file:a.py",))
    made = plan([delta], limits())
    assert made.included == ()
    assert "file:a.py" in made.excluded[0].reason


def test_an_item_whose_dependency_is_there_is_in_and_one_behind_a_missing_one_is_not() -> None:
    delta = Item("delta:a.py", Section.FILES, "d", 10, depends=("file:a.py",))
    made = plan([file("a.py", 10), delta], limits())
    assert {entry.key for entry in made.included} == {"file:a.py", "delta:a.py"}
    assert made.includes("delta:a.py") and not made.includes("delta:b.py")
    note = Item("note:a.py", Section.FILES, "n", 10, depends=("delta:a.py",))
    alone = plan([delta, note], limits())
    assert alone.included == () and not alone.includes("delta:a.py")
    assert [(entry.key, entry.code) for entry in alone.excluded] == [
        ("delta:a.py", "dependency"),
        ("note:a.py", "dependency"),
    ]


def test_history_is_truncated_only_if_compaction_failed() -> None:
    """Seed 004, Layer 2: "If compaction fails AND history exceeds"."""
    history = [atom(n, 100) for n in range(10)]
    limit = limits(compaction_trigger_tokens=300)
    assert len(plan([*history, prompt()], limit).included) == 11
    failed = plan([*history, prompt()], limit, compaction_failed=True)
    assert [entry.key for entry in failed.included] == [
        "history:8",
        "history:9",
        "history:999999",
    ]
    assert failed.notices


@pytest.mark.parametrize("mode", list(ContextMode))
def test_the_mode_governs_what_is_retrieved(mode: ContextMode) -> None:
    """Seed 003, "Context Mode": off never retrieves by itself, light is thin, heavy is more."""
    candidates = [retrieved(n, tokens=150) for n in range(30)]
    candidates += [Item("symbols:src", Section.SYMBOLS, "s", 500), file("mine.py", 10)]
    made = plan(candidates, limits(), mode=mode)
    found = [e for e in made.included if e.section is Section.RETRIEVED]
    allowed = LIMITS[mode]
    assert len(found) == min(allowed.candidates, allowed.tokens(100_000) // 150)
    assert made.includes("symbols:src") == allowed.symbols
    assert made.includes("file:mine.py")
    assert all(entry.reason for entry in made.excluded)


def test_the_best_ranked_are_kept() -> None:
    made = plan([retrieved(n) for n in range(30)], limits(), mode=ContextMode.LIGHT)
    count = LIMITS[ContextMode.LIGHT].candidates
    assert keys(made) == [f"symbol:{n}" for n in range(count)]


def test_pins_are_not_subject_to_the_mode() -> None:
    pinned = [retrieved(1, pin=Pin.STICKY), retrieved(2, pin=Pin.LEASED), retrieved(3)]
    assert keys(plan(pinned, limits(), mode=ContextMode.OFF)) == ["symbol:1", "symbol:2"]


def test_modes_cycle() -> None:
    """Seed 003, "Context Mode": "hotkey cycles"."""
    assert ContextMode.OFF.next is ContextMode.LIGHT
    assert ContextMode.LIGHT.next is ContextMode.HEAVY
    assert ContextMode.HEAVY.next is ContextMode.OFF
    assert ContextMode.LIGHT.label == "CTX: Light"


def test_heavier_modes_allow_more() -> None:
    off, light, heavy = (LIMITS[mode] for mode in ContextMode)
    assert off.tokens(10**6) == 0
    assert light.tokens(10**6) < heavy.tokens(10**6)
    assert light.candidates < heavy.candidates
    assert heavy.tokens(8_192) <= 8_192 // 4


def test_a_plan_of_a_later_version_can_be_read() -> None:
    made = plan([system(), file("a.py", 10, pin=Pin.STICKY)], limits(), model="m", group_id="t")
    made = evolve(made, sent=(SentItem("system:head", "abc", True),))
    stored = json.loads(json.dumps(plan_to_json(made)))
    assert plan_from_json(stored) == made
    stored["columns"].append("from_the_future")
    for row in (*stored["included"], *stored["excluded"]):
        row.append(1)
    assert plan_from_json({**stored, "also_new": 5}) == made


@pytest.mark.parametrize("damage", [{}, {"mode": "odd"}, {"included": [[1]]}])
def test_damaged_plans_are_refused(damage: dict[str, object]) -> None:
    stored = plan_to_json(plan([system()], limits()))
    with pytest.raises((KeyError, ValueError, TypeError)):
        plan_from_json({**stored, **damage} if damage else {})


# --- what changed --------------------------------------------------------------------------------


def test_diff_names_what_was_added_removed_and_changed() -> None:
    a = plan([system(), file("a.py", 10), file("b.py", 10)], limits())
    b = plan([system(), file("b.py", 12, sha256="new"), file("c.py", 10)], limits())
    found = diff(a, b)
    assert found.added == ("file:c.py",)
    assert found.removed == ("file:a.py",)
    assert found.changed == ("file:b.py",)
    assert found.first_break == "file:a.py"
    assert found.first_break_index == 1
    assert any("file:a.py was removed" in line for line in found.lines)


def test_a_longer_conversation_breaks_nothing() -> None:
    a = plan([system(), atom(1, 10)], limits())
    b = plan([system(), atom(1, 10), atom(2, 10)], limits())
    found = diff(a, b)
    assert (found.first_break, found.first_break_index) == ("", -1)
    assert "holds" in found.lines[-1]


def test_only_what_moved_counts_as_reordered() -> None:
    a = plan([atom(n, 10) for n in (1, 2, 3, 4)], limits())
    b = plan([atom(n, 10) for n in (4, 1, 2, 3)], limits())
    found = diff(a, b)
    assert found.reordered == ("history:4",)
    assert found.first_break == "history:4"


def test_what_was_sent_decides_where_it_is_known() -> None:
    """The plans agree, the bytes do not: an item was rendered in another place."""
    made = plan([system(), file("a.py", 10)], limits())
    a = evolve(made, sent=(SentItem("system:head", "1"), SentItem("file:a.py", "2")))
    b = evolve(made, sent=(SentItem("system:head", "1"), SentItem("file:a.py", "3")))
    assert diff(a, a).first_break == ""
    assert diff(a, b).first_break == "file:a.py"


def test_diff_names_model_and_mode() -> None:
    a = plan([system()], limits(), model="m1", mode=ContextMode.LIGHT)
    b = plan([system()], limits(), model="m2", mode=ContextMode.OFF)
    assert {"* model: m1 became m2", "* mode: light became off"} <= set(diff(a, b).lines)


def test_lowered_output_is_recorded() -> None:
    tight = Limits(window=1_000, max_input_tokens=1_000, max_output_tokens=200)
    assert plan([system(801)], tight).max_output_tokens == 199
    assert plan([system(100)], tight).max_output_tokens == 200


def test_a_comparison_of_plans_gives_sizes() -> None:
    a = plan([system(), file("a.py", 1_234), file("b.py", 10)], limits())
    b = plan([system(), file("b.py", 12, sha256="new"), file("c.py", 5_678)], limits())
    lines = diff(a, b).lines
    assert f"* size: {a.tokens:,} became {b.tokens:,} tokens" in lines
    assert any(line.startswith("+ file:c.py (5,678 tokens): ") for line in lines)
    assert any(line.startswith("- file:a.py (1,234 tokens): ") for line in lines)
    assert "~ file:b.py: 10 tokens became 12 tokens" in lines
    assert not any("size" in line for line in diff(a, a).lines), "only what differs"


def test_any_value_of_a_tool_call_can_be_stored_with_a_plan() -> None:
    assert encode({"a": MappingProxyType({"b": 1}), "p": Path("x")}) == b'{"a":{"b":1},"p":"x"}'
