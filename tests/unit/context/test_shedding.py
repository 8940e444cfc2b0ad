"""Seed 004, Testing / Budget Enforcement (004:340-341), and the limits behind it (004:110-121).

``tests/unit/context/test_enforce.py`` goes into every detail; ``tests/bugcases/test_lsp_cases.py``
sees the notices in the chat.
"""

from __future__ import annotations

import pytest

from support.atoms import atoms
from support.histories import four_characters, tool_turn, turn
from support.planning import file, limits, prompt, system
from tierline.context.blocks import ToolResult, ToolUse
from tierline.context.enforce import PlanCode, Selection, emergency_truncate, shed_files
from tierline.context.items import Item, Section
from tierline.context.plan import plan

pytestmark = pytest.mark.requirement("004:340-341")


def history(turns: int) -> list[Item]:
    """Turns with a tool call each, as the planner gets them."""
    messages = [
        m for n in range(turns) for m in (*turn(9_000 + n), *tool_turn(2 * n + 1, ["output " * 30]))
    ]
    return list(atoms(messages, count=four_characters))


def test_largest_files_are_shed_when_the_budget_is_exceeded() -> None:
    """004:340, "shed_files_if_needed removes largest files when budget exceeded"; 004:121: at 90 %
    of the input limit, with a warning for each.
    """
    candidates = [system(50), file("s.py", 100), file("l.py", 600), file("m.py", 300), prompt(20)]
    made = plan(candidates, limits(1_000, output=50))
    assert [e.path for e in made.excluded] == ["l.py"]
    assert made.excluded[0].code == PlanCode.SHED
    assert made.tokens <= 900
    assert len(made.notices) == 1
    assert "l.py" in made.notices[0]


def test_nothing_is_shed_under_budget() -> None:
    """004:340, "no-op when under budget"."""
    candidates = [system(50), file("s.py", 100), file("m.py", 300), prompt(20)]
    made = plan(candidates, limits(1_000, output=50))
    assert made.excluded == () and made.notices == ()
    selection = Selection(candidates)
    assert shed_files(selection, limits(1_000, output=50)) == []


@pytest.mark.parametrize("turns", [4, 9, 30])
def test_emergency_truncation_drops_the_oldest_and_keeps_pairs(turns: int) -> None:
    """004:341, "emergency_truncate reduces message count, preserves user/assistant pairs"; 004:118:
    beyond twice the trigger, without a summary. Calls stay with their results as well.
    """
    items = history(turns)
    limit = limits(100_000, compaction_trigger_tokens=60)
    selection = Selection([system(), *items, prompt()])
    notices = emergency_truncate(selection, limit)
    left = [i for i in selection.kept.values() if i.section is Section.HISTORY and not i.required]
    assert len(left) < len(items)
    assert len(notices) == 1 and "oldest" in notices[0]
    assert left == items[len(items) - len(left) :], "what is left is the newest, in its order"
    roles = [m.role for item in left for m in item.messages]
    assert roles[:1] in ([], ["user"]), "the first turn left begins with its prompt"
    assert roles[::2] == ["user"] * len(roles[::2]) and roles[1::2] == ["assistant"] * (
        len(roles) // 2
    )
    blocks = [b.block for i in left for m in i.messages for b in m.blocks]
    asked = [b.id for b in blocks if isinstance(b, ToolUse)]
    assert asked == [b.tool_use_id for b in blocks if isinstance(b, ToolResult)]
    assert selection.kept["history:999999"].required, "the request that is being answered stays"


def test_the_truncation_is_for_failed_compaction_only() -> None:
    """004:118, "If compaction fails AND history exceeds": otherwise nothing is cut."""
    items = history(9)
    limit = limits(100_000, compaction_trigger_tokens=60)
    assert plan([*items, prompt()], limit).excluded == ()
    cut = plan([*items, prompt()], limit, compaction_failed=True)
    assert {entry.code for entry in cut.excluded} == {PlanCode.TRUNCATED}
    roomy = limits(100_000, compaction_trigger_tokens=50_000)
    assert plan([*items, prompt()], roomy, compaction_failed=True).excluded == ()
