"""The three layers (seed 004, Testing / Budget Enforcement)."""

from __future__ import annotations

import pytest
from attrs import evolve

from support.planning import atom, file, limits, prompt, system
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.enforce import (
    FixedPartTooLarge,
    PlanCode,
    Selection,
    emergency_truncate,
    shed_files,
    shed_rest,
)
from tierline.context.items import Item, Pin, Section
from tierline.context.prompt import PromptBlock, PromptMessage


def shed_keys(selection: Selection) -> list[str]:
    return [drop.item.key for drop in selection.dropped]


def test_files_are_shed_largest_first_when_over_budget() -> None:
    """Seed 004, Budget Enforcement: "shed_files_if_needed removes largest files when budget
    exceeded".
    """
    files = [file("a.py", 300), file("b.py", 500), file("c.py", 100), file("d.py", 400)]
    selection = Selection([system(50), *files])
    notices = shed_files(selection, limits(1_000, output=50))
    assert shed_keys(selection) == ["file:b.py"]
    assert selection.tokens == 850
    assert len(notices) == 1
    assert "b.py" in notices[0]
    assert "500" in notices[0]


def test_nothing_is_shed_under_budget() -> None:
    """Seed 004, Budget Enforcement: "no-op when under budget"."""
    selection = Selection([system(100), file("a.py", 700), prompt(100)])
    assert shed_files(selection, limits(1_000, output=50)) == []
    assert shed_rest(selection, limits(1_000, output=50)) == []
    assert selection.dropped == []


def test_shedding_begins_beyond_ninety_percent() -> None:
    at, over = Selection([file("a.py", 900)]), Selection([file("a.py", 901)])
    assert shed_files(at, limits(1_000, output=50)) == []
    assert len(shed_files(over, limits(1_000, output=50))) == 1


def test_files_pinned_by_the_user_are_shed_last() -> None:
    files = [file("pin.py", 700, pin=Pin.STICKY), file("a.py", 200), file("b.py", 150)]
    selection = Selection(files)
    shed_files(selection, limits(1_000, output=50))
    assert shed_keys(selection) == ["file:a.py"]
    selection = Selection([*files, system(850)])
    shed_files(selection, limits(1_000, output=50))
    assert shed_keys(selection) == ["file:a.py", "file:b.py", "file:pin.py"]


def test_the_margin_makes_shedding_come_earlier() -> None:
    files = [file("a.py", 800)]
    assert shed_files(Selection(files), limits(1_000, output=50)) == []
    assert len(shed_files(Selection(files), limits(1_000, output=50, margin=0.25))) == 1


def test_a_file_that_could_never_fit_is_named_as_too_large() -> None:
    selection = Selection([file("big.log", 5_000), file("a.py", 10)])
    (notice,) = shed_files(selection, limits(1_000, output=50))
    assert selection.dropped[0].code is PlanCode.TOO_LARGE
    assert "big.log" in notice
    assert "5,000" in notice


def test_a_tie_is_shed_in_the_order_of_keys() -> None:
    for order in (["a.py", "b.py"], ["b.py", "a.py"]):
        selection = Selection([file(path, 500) for path in order])
        shed_files(selection, limits(1_000, output=50))
        assert shed_keys(selection) == ["file:a.py"]


def test_the_rest_leaves_by_priority_and_old_turns_before_new_ones() -> None:
    memo = Item("memo:1", Section.MEMOS, "m", 200, priority=10)
    found = Item("symbol:x", Section.RETRIEVED, "r", 200, priority=50)
    history = [atom(1, 200), atom(2, 200), atom(3, 200)]
    selection = Selection([system(100), memo, found, *history, prompt(100)])
    shed_rest(selection, limits(700, output=100))
    assert shed_keys(selection) == ["memo:1", "symbol:x", "history:1"]


def test_whole_earlier_turns_leave_but_single_atoms_of_the_current_one() -> None:
    old = [atom(1, 100, group="old"), atom(2, 100, group="old")]
    rounds = [atom(n, 100, group="turn now") for n in range(10, 15)]
    selection = Selection([*old, prompt(50), *rounds])
    shed_rest(selection, limits(420, output=20))
    assert shed_keys(selection) == ["history:1", "history:2", "history:10", "history:11"]
    assert "history:999999" in selection.kept


def test_what_cannot_leave_and_does_not_fit_is_an_error_that_names_it() -> None:
    tools = Item("tools", Section.TOOLS, "t", 900, required=True)
    with pytest.raises(FixedPartTooLarge) as caught:
        shed_rest(Selection([tools, system(50), file("a.py", 10), prompt(200)]), limits(1_000))
    error = caught.value
    assert error.code == "fixed_part_too_large"
    assert [part.key for part in error.parts] == ["tools", "history:999999", "system:head"]
    assert error.message.endswith(
        "the list of tools (900), your prompt (200), the instructions (50)."
    )
    assert "tools" in error.advice


@pytest.mark.parametrize(("parts", "said"), [(4, "."), (5, " and 1 smaller part."), (7, " and 3 ")])
def test_the_error_names_the_four_largest_and_counts_the_rest(parts: int, said: str) -> None:
    items = [system(100 + n, f"system:{n}") for n in range(parts)]
    with pytest.raises(FixedPartTooLarge) as caught:
        shed_rest(Selection(items), limits(200, output=20))
    assert caught.value.message.partition(": ")[2].count("(10") == 4
    _, _, rest = caught.value.message.rpartition(")")
    assert rest.startswith(said)


def test_the_error_tells_the_prompt_from_what_is_selected() -> None:
    selected = Item("1:selection", Section.PROMPT, "s", 700, required=True)
    typed = Item("1:prompt", Section.PROMPT, "p", 600, required=True)
    with pytest.raises(
        FixedPartTooLarge, match=r"what is selected in the editor \(700\), "
    ) as caught:
        shed_rest(Selection([selected, typed]), limits(900, output=100))
    assert caught.value.message.count("selected in the editor") == 1


def test_what_fits_exactly_is_neither_shed_nor_an_error() -> None:
    exact = Selection([system(300), prompt(500)])
    assert shed_rest(exact, limits(900, output=100)) == []
    over = Selection([system(300), prompt(500), file("a.py", 1)])
    assert len(shed_rest(over, limits(900, output=100))) == 1
    assert shed_keys(over) == ["file:a.py"] and over.tokens == 800


def test_a_cut_file_that_does_not_fit_is_named_with_its_true_size() -> None:
    cut = evolve(file("big.py", 2_000), whole_tokens=30_000)
    (notice,) = shed_files(Selection([cut, prompt(10)]), limits(1_000, output=50))
    assert notice.startswith("big.py alone has 30,000 tokens;")
    fits = evolve(file("big.py", 800), whole_tokens=30_000)
    (notice,) = shed_files(Selection([fits, prompt(150)]), limits(1_000, output=50))
    assert notice.startswith("big.py (the first 800 of 30,000 tokens) was left out")


def test_what_is_required_holds_what_it_depends_on() -> None:
    base = file("base.py", 400)
    needs = Item("delta:base.py", Section.FILES, "d", 10, required=True, depends=("file:base.py",))
    selection = Selection([base, needs, file("other.py", 390)])
    shed_files(selection, limits(800, output=50))
    assert shed_keys(selection) == ["file:other.py"]


def test_what_depends_on_a_shed_item_leaves_with_it_and_says_why() -> None:
    delta = Item("delta:a.py", Section.FILES, "d", 10, depends=("file:a.py",))
    selection = Selection([file("a.py", 950), delta, file("b.py", 20)])
    shed_files(selection, limits(1_000, output=50))
    assert shed_keys(selection) == ["file:a.py", "delta:a.py"]
    assert selection.dropped[1].code is PlanCode.DEPENDENCY
    assert "file:a.py" in selection.dropped[1].reason


# --- layer 2 -------------------------------------------------------------------------------------


def test_emergency_truncation_drops_the_oldest_turns() -> None:
    """Seed 004, Budget Enforcement: "emergency_truncate reduces message count"."""
    history = [atom(n, 100) for n in range(10)]
    selection = Selection([*history, prompt(50)])
    limit = limits(100_000, compaction_trigger_tokens=300)
    notices = emergency_truncate(selection, limit)
    assert shed_keys(selection) == [f"history:{n}" for n in range(8)]
    assert [drop.code for drop in selection.dropped] == [PlanCode.TRUNCATED] * 8
    assert len(notices) == 1
    assert "8 messages" in notices[0]
    assert "800" in notices[0]


def test_emergency_truncation_waits_for_twice_the_trigger() -> None:
    """Seed 004, Layer 2: "history exceeds 2 × compaction_trigger_tokens"."""
    limit = limits(100_000, compaction_trigger_tokens=300)
    at = Selection([atom(n, 100) for n in range(6)])
    assert emergency_truncate(at, limit) == []
    over = Selection([atom(n, 100) for n in range(7)])
    assert emergency_truncate(over, limit)


def test_emergency_truncation_preserves_pairs() -> None:
    """Seed 004, Budget Enforcement: "preserves user/assistant pairs"; calls keep their results."""

    def turn(number: int) -> list[Item]:
        call = PromptMessage("assistant", (PromptBlock(ToolUse(f"c{number}", "f"), "k"),))
        result = PromptMessage("user", (PromptBlock(ToolResult(f"c{number}"), "k"),))
        reply = PromptMessage("assistant", (PromptBlock(Text("done"), "k"),))
        return [
            atom(10 * number, 100, group=f"g{number}"),
            Item(f"history:{number}p", Section.HISTORY, f"p{number}", 100,
                 messages=(call, result), group=f"g{number}"),
            Item(f"history:{number}r", Section.HISTORY, f"r{number}", 100,
                 messages=(reply,), group=f"g{number}"),
        ]  # fmt: skip

    selection = Selection([item for n in range(1, 5) for item in turn(n)])
    emergency_truncate(selection, limits(100_000, compaction_trigger_tokens=500))
    kept: dict[str, int] = {}
    for item in selection.kept.values():
        kept[item.group] = kept.get(item.group, 0) + 1
    assert kept == {"g4": 3}


def test_the_active_request_survives_whatever_the_target() -> None:
    rounds = [atom(n, 100, group="turn now") for n in range(20)]
    selection = Selection([prompt(50), *rounds])
    emergency_truncate(selection, limits(100_000), target_tokens=10)
    assert list(selection.kept) == ["history:999999"]
