"""The strict outgoing form, case by case; the fuzz is in tests/property/test_strict.py."""

from __future__ import annotations

import pytest

from tierline.context.blocks import Block, Image, Reasoning, Role, Text, ToolResult, ToolUse
from tierline.context.cleaning import NO_OUTPUT, ORPHAN
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec, Ttl
from tierline.context.strict import HEAD, NO_RESULT, TAIL, strict


def say(role: Role, *blocks: Block | str, mark: Ttl | None = None) -> PromptMessage:
    made = [PromptBlock(Text(b) if isinstance(b, str) else b, "k") for b in blocks]
    if mark:
        made[-1] = PromptBlock(made[-1].block, "k", mark)
    return PromptMessage(role, tuple(made))


def repaired(
    *messages: PromptMessage, strategy: str = "anthropic"
) -> list[tuple[Role, list[Block]]]:
    result = strict(Prompt("m", (), messages), strategy=strategy)
    return [(m.role, [b.block for b in m.blocks]) for m in result.messages]


CALL = ToolUse("toolu_1", "f", {})
ANSWER = ToolResult("toolu_1", (Text("r"),))


def test_nothing_becomes_something_that_can_be_sent() -> None:
    assert repaired() == [("user", [Text(HEAD)])]
    assert repaired(say("assistant", "\u200b")) == [("user", [Text(HEAD)])]


def test_assistant_first_gets_a_user_before_and_assistant_last_one_behind() -> None:
    assert repaired(say("assistant", "hi")) == [
        ("user", [Text(HEAD)]),
        ("assistant", [Text("hi")]),
        ("user", [Text(TAIL)]),
    ]


def test_call_at_the_end_is_closed_by_its_placeholder() -> None:
    assert repaired(say("user", "go"), say("assistant", CALL))[-1] == (
        "user",
        [ToolResult("toolu_1", (Text(NO_RESULT),), True)],
    )


def test_results_stand_before_text_in_the_order_of_their_calls() -> None:
    second = ToolUse("toolu_2", "g", {})
    answers = say("user", "and now?", ToolResult("toolu_2", (Text("2"),)), ANSWER)
    assert repaired(say("user", "go"), say("assistant", CALL, second), answers)[-1] == (
        "user",
        [ANSWER, ToolResult("toolu_2", (Text("2"),)), Text("and now?")],
    )


def test_result_without_call_becomes_text() -> None:
    assert repaired(say("user", ANSWER, "x")) == [("user", [Text(f"{ORPHAN}\nr"), Text("x")])]


def test_second_equal_result_is_left_out_and_a_different_one_becomes_text() -> None:
    other = ToolResult("toolu_1", (Text("other"),))
    turns = repaired(say("user", "go"), say("assistant", CALL), say("user", ANSWER, ANSWER, other))
    assert turns[-1][1] == [ANSWER, Text(f"{ORPHAN}\nother")]


def test_late_result_leaves_what_was_sent_alone() -> None:
    turns = repaired(
        say("user", "go"), say("assistant", CALL), say("user", "hm"), say("assistant", "ok"),
        say("user", ANSWER),
    )  # fmt: skip
    assert turns[2][1][0] == ToolResult("toolu_1", (Text(NO_RESULT),), True)
    assert turns[-1][1] == [Text(f"{ORPHAN}\nr")]


def test_assistant_messages_in_a_row_share_results_that_follow() -> None:
    second = ToolUse("toolu_2", "g", {})
    results = say("user", ANSWER, ToolResult("toolu_2", (Text("2"),)))
    turns = repaired(say("user", "go"), say("assistant", CALL), say("assistant", second), results)
    assert [r for r, _ in turns] == ["user", "assistant", "user"]
    assert turns[1][1] == [CALL, second]


def test_unanswered_call_is_closed_before_the_next_assistant_message() -> None:
    turns = repaired(
        say("user", "go"), say("assistant", CALL), say("assistant", "sorry"), say("user", "x")
    )
    assert [r for r, _ in turns] == ["user", "assistant", "user", "assistant", "user"]


def test_same_id_twice_in_one_message() -> None:
    answers = say("user", ANSWER, ToolResult("toolu_1", (Text("second"),)))
    turns = repaired(say("user", "go"), say("assistant", CALL, CALL), answers)
    first, second = (b for b in turns[1][1] if isinstance(b, ToolUse))
    assert first.id == "toolu_1" != second.id
    assert turns[2][1] == [ANSWER, ToolResult(second.id, (Text("second"),))]


@pytest.mark.parametrize(("strategy", "longest"), [("anthropic", 64), ("openai", 40)])
def test_ids_are_legal_for_the_service(strategy: str, longest: int) -> None:
    for length, kept in ((longest, True), (longest + 1, False)):
        call = ToolUse("x" * length, "f", {})
        turns = repaired(say("user", "go"), say("assistant", call), strategy=strategy)
        made = turns[1][1][0]
        assert isinstance(made, ToolUse) and (made.id == call.id) is kept
        assert len(made.id) <= longest


def test_names_and_arguments_of_calls_are_made_legal() -> None:
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    call = ToolUse("a", "do it!", {"x": float("nan"), "y": "\ud83d", "z": deep, "n": 10**5000})
    made = repaired(say("user", "go"), say("assistant", call))[1][1][0]
    assert isinstance(made, ToolUse)
    assert made.name == "do_it_" and made.input["x"] is None and made.input["y"] == "\ufffd"
    assert made.input["n"] is None


def test_result_without_output_says_so() -> None:
    empty = ToolResult("toolu_1", (Text(" "),))
    turns = repaired(say("user", "go"), say("assistant", CALL), say("user", empty))
    assert turns[-1][1] == [ToolResult("toolu_1", (Text(NO_OUTPUT),))]


def test_reasoning_goes_back_to_its_own_service_only_and_never_last() -> None:
    own = Reasoning("anthropic", {"type": "thinking", "thinking": "h", "signature": "s"})
    foreign = Reasoning("openai", {"reasoning_content": "h"})
    unsigned = Reasoning("anthropic", {"type": "thinking", "thinking": "h"})
    history = (
        say("user", "go"),
        say("assistant", own, foreign, unsigned, "hi", own),
        say("user", "x"),
    )
    assert repaired(*history)[1][1] == [own, Text("hi")]
    assert repaired(*history, strategy="openai")[1][1] == [foreign, Text("hi")]
    assert len(repaired(say("user", "go"), say("assistant", own), say("user", "x"))) == 1


def test_pictures_that_cannot_be_sent_become_words() -> None:
    lost = Image("image/png", "", ref="abc.png")
    good = Image("image/png", "aGk=")
    turns = repaired(say("user", lost, Image("image/tiff", "aGk="), good), say("assistant", good))
    assert turns[0][1][0] == Text("[picture not available: abc.png]")
    assert turns[0][1][2] == good
    assert all(isinstance(b, Text) for b in turns[1][1])


def marks(prompt: Prompt) -> list[str]:
    everything = [*prompt.system, *(b for m in prompt.messages for b in m.blocks)]
    return [repr(b.block) for b in everything if b.mark]


def test_mark_of_a_dropped_block_moves_to_the_one_before() -> None:
    prompt = Prompt(
        "m", (), (say("user", "a"), say("assistant", "b"), say("user", "c", "", mark="5m"))
    )
    assert marks(strict(prompt, strategy="anthropic")) == [repr(Text("c"))]
    prompt = Prompt("m", (), (say("user", "a"), say("assistant", "", mark="1h"), say("user", "c")))
    assert marks(strict(prompt, strategy="anthropic")) == [repr(Text("a"))]
    thought = say("assistant", "b", Reasoning("anthropic", {"type": "thinking"}), mark="5m")
    prompt = Prompt("m", (), (say("user", "a"), thought, say("user", "c")))
    assert marks(strict(prompt, strategy="anthropic")) == [repr(Text("b"))]


def test_a_mark_stays_where_it_was_set_and_none_is_added() -> None:
    """Anthropic takes four; one that nobody set would push out one that somebody did."""
    first, second = PromptBlock(Text("so"), "k", "5m"), PromptBlock(CALL, "k")
    asked = PromptMessage("assistant", (first, second))
    prompt = Prompt("m", (), (say("user", "a"), asked, say("user", ANSWER)))
    assert marks(strict(prompt, strategy="anthropic")) == [repr(Text("so"))]


def test_mark_before_the_first_message_moves_to_the_system_or_the_tools() -> None:
    head = (PromptBlock(Text("rules"), "system:head"),)
    lead = (say("user", "", mark="5m"), say("user", "go"))
    assert marks(strict(Prompt("m", head, lead), strategy="anthropic")) == [repr(Text("rules"))]
    bare = strict(Prompt("m", (), lead, (ToolSpec("f", "d"),)), strategy="anthropic")
    assert marks(bare) == [] and bare.tools_mark == "5m"


def test_more_than_four_marks_lose_those_in_the_middle() -> None:
    history = tuple(
        say("user" if n % 2 == 0 else "assistant", f"t{n}", mark="5m") for n in range(7)
    )
    prompt = Prompt("m", (), history, (ToolSpec("f", "d"),), "1h")
    result = strict(prompt, strategy="anthropic")
    assert result.tools_mark == "1h"
    assert marks(result) == [repr(Text(f"t{n}")) for n in (0, 5, 6)]


def test_tools_mark_without_tools_is_taken_off() -> None:
    prompt = Prompt("m", (), (say("user", "x"),), (), "5m")
    assert strict(prompt, strategy="anthropic").tools_mark is None
