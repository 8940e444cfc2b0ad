"""When a read is answered with "unchanged": only where the same text stands whole."""

from __future__ import annotations

import pytest

from support.histories import tool_turn
from tierline.history.groups import results
from tierline.session.turns.duplicate_results import unchanged
from tierline.tools.registry import ToolOutput

TEXT = "line\n" * 400
HISTORY = (*tool_turn(1, [TEXT]), *tool_turn(2, ["other\n" * 400]))
(READ,) = (m.id for m in HISTORY if m.group_id == "g1" and results(m))


def asked(tool: str, text: str, limit: int = 26_000, **more: object) -> str:
    found = unchanged(tool, ToolOutput(text, **more), HISTORY, {READ: (limit,)}, "g2")  # type: ignore[arg-type]
    return found.text if found is not None else ""


def test_it_names_the_turn_in_which_the_text_stands() -> None:
    said = asked("read_file", TEXT)
    assert said.startswith("Unchanged since turn 1 (“")
    assert unchanged("read_file", ToolOutput(TEXT), HISTORY, {READ: (26_000,)}, "g1") is not None


@pytest.mark.parametrize("limit", [300, len(TEXT) - 1])
def test_what_was_cut_since_is_read_again(limit: int) -> None:
    assert not asked("read_file", TEXT, limit)


def test_other_texts_errors_short_ones_and_tools_that_act_are_sent() -> None:
    assert not asked("read_file", TEXT + "x")
    assert not asked("read_file", TEXT, error=True)
    assert not asked("run_command", TEXT)
    assert not asked("read_file", "short")
    assert unchanged("read_file", ToolOutput(TEXT), HISTORY, {}, "g2") is None, "it was not sent"
