"""Tool isolation beyond the bug cases of area F."""

from __future__ import annotations

import attrs
import pytest

from support.histories import msg, tool_turn, turn
from tierline.context.blocks import Reasoning, Text, ToolResult, ToolUse
from tierline.history.isolation import EXTERNAL, compatible, isolate
from tierline.history.messages import Status


def test_compatibility() -> None:
    assert compatible("gemini", "gemini_gca") and compatible("openai", "openai")
    assert not compatible("openai", "anthropic") and not compatible("gemini", "openai")


def test_own_history_is_left_alone() -> None:
    history = (*turn(1), *tool_turn(2, ["a"]))
    assert isolate(history, "anthropic") == tuple(history)


def test_text_beside_a_foreign_call_stays_without_the_call() -> None:
    mixed = msg(
        1,
        "assistant",
        (Text("looking"), ToolUse("a", "f"), Reasoning("openai", {"r": 1})),
        parsing_strategy="openai",
        status=Status.TOOL_CALL,
    )
    (kept,) = isolate([mixed], "anthropic")
    assert kept.content == (Text("looking"),) and kept.status is Status.OK


def test_result_goes_with_its_foreign_call_even_if_it_is_tagged_as_ours() -> None:
    history = (
        msg(1, "assistant", (ToolUse("a", "f"),), parsing_strategy="openai"),
        msg(2, "user", (ToolResult("a", (Text("r"),)), Text("and?")), parsing_strategy="anthropic"),
    )
    kept = isolate(history, "anthropic")
    assert [m.content for m in kept] == [(Text("and?"),)], "and the result is gone"


def test_an_id_that_both_used_is_judged_by_its_latest_call() -> None:
    history = (
        *tool_turn(1, ["foreign"], "openai"),
        msg(1, "assistant", (ToolUse("toolu_1_0", "f"),), parsing_strategy="anthropic"),
        msg(2, "user", (ToolResult("toolu_1_0", (Text("ours"),)),), parsing_strategy="anthropic"),
    )
    kept = [b for m in isolate(history, "anthropic") for b in m.content]
    assert [b for b in kept if isinstance(b, ToolResult)] == [
        ToolResult("toolu_1_0", (Text("ours"),))
    ]


def test_sessions_do_not_share_their_ids() -> None:
    theirs = msg(1, "assistant", (ToolUse("a", "f"),), parsing_strategy="openai")
    ours = [
        msg(2, "assistant", (ToolUse("a", "f"),), session_id="other", parsing_strategy="anthropic"),
        msg(3, "user", (ToolResult("a", ()),), session_id="other", parsing_strategy="anthropic"),
    ]
    assert isolate([theirs, *ours], "anthropic") == tuple(ours)


def test_a_message_of_a_tool_without_any_result_is_left_out() -> None:
    """Its text would stand alone, as if somebody had said it."""
    left = msg(1, "tool", (Text("so"), ToolResult("a", ())), parsing_strategy="openai")
    assert isolate([left], "anthropic") == ()
    assert isolate([left], "openai") == (left,)
    gemini = attrs.evolve(left, parsing_strategy="gemini")
    assert isolate([gemini], "gemini_gca") == (gemini,)


def test_what_became_of_a_message_is_kept_unless_its_call_is_gone() -> None:
    cut = msg(1, "assistant", (Text("a"), ToolUse("x", "f")), parsing_strategy="openai",
              status=Status.INTERRUPTED)  # fmt: skip
    (kept,) = isolate([cut], "anthropic")
    assert kept.status is Status.INTERRUPTED and kept.content == (Text("a"),)


@pytest.mark.parametrize("made", ["anthropic", "openai", "text"])
@pytest.mark.parametrize("active", ["anthropic", "openai", "responses", "gemini", "text"])
def test_output_that_was_added_from_outside_goes_to_every_provider(made: str, active: str) -> None:
    use = msg(1, "assistant", (ToolUse("c", EXTERNAL, {}),), parsing_strategy=made)
    result = msg(2, "tool", (ToolResult("c", (Text("FAILED"),)),), parsing_strategy=made)
    after = msg(3, "user", "What now?")
    sent = isolate([use, result, after], active)
    assert "FAILED" in str([m.content for m in sent])
    again = isolate(sent, active)
    assert "FAILED" in str([m.content for m in again])
    calls = [b for m in sent for b in m.content if isinstance(b, ToolUse | ToolResult)]
    assert bool(calls) is (made == active), "a call and its result cross together or not at all"
    alone = isolate([use, result, after], active, reasoned=True)
    assert "FAILED" in str([m.content for m in alone])
    assert not [b for m in alone for b in m.content if isinstance(b, ToolUse | ToolResult)]
