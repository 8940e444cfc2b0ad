"""Extraction line by line: what is chosen when room is short, what becomes of tasks and errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.histories import msg, talk
from tierline.context.blocks import Text, ToolResult
from tierline.history.extract import (
    LINE_CHARACTERS,
    LineKind,
    digest,
    extractive_summary,
    render,
    sentences,
    standing_rules,
)
from tierline.history.messages import HistoryRole, Message


def found(kind: LineKind, *parts: str | tuple[HistoryRole, str]) -> tuple[str, ...]:
    return digest(talk(*parts)).of(kind)


LINES = (
    "Always use tabs.",
    "Never touch legacy code.",
    "We decided on trial division.",
    "The server listens on port 6390.",
    "TODO: write the tests.",
    "It fails with status code 500.",
    "See src/a.py and lib/b.py.",
    "call load_user() and runServer().",
    "The timeout is 30 s.",
)


# --- what fits -----------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(LINES), max_size=8, unique=True), st.integers(0, 400))
def test_nothing_is_left_out_that_would_still_fit(said: list[str], budget: int) -> None:
    everything = digest(talk(*[("user", text) for text in said]))
    text = render(everything, budget_tokens=budget, count=len)
    assert len(text) <= budget
    assert render(everything, budget_tokens=budget, count=len) == text
    for kind in LineKind:
        whole = everything.of(kind)
        lines = [", ".join(whole)] if kind in (LineKind.FILES, LineKind.NAMES) and whole else whole
        for line in lines:
            if f"- {line}" not in text.splitlines():
                heading = 0 if f"{kind.value}:" in text.splitlines() else len(f"{kind.value}:\n")
                assert len(text) + 1 + heading + len(f"- {line}\n") > budget, line


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8, unique=True))
def test_what_fits_exactly_is_there(said: list[str]) -> None:
    everything = digest(talk(*[("user", text) for text in said]))
    text = render(everything, budget_tokens=10_000, count=len)
    assert render(everything, budget_tokens=len(text) + 1, count=len) == text
    assert len(render(everything, budget_tokens=len(text) - 1, count=len)) < len(text)


def test_a_whole_that_counts_more_than_its_parts_still_keeps_to_the_budget() -> None:
    """Then what matters least goes first, and of one kind the oldest."""

    def squared(text: str) -> int:
        return len(text.splitlines()) ** 2

    lines = [("user", line) for line in (
        "Always use tabs.", "TODO: write the first test.", "TODO: write the second test.",
    )]  # fmt: skip
    made = digest([*talk(*lines), *talk(("assistant", "ok"))])  # type: ignore[arg-type]
    assert squared(render(made, budget_tokens=25, count=squared)) == 25, "exactly so much stays"
    four = render(made, budget_tokens=24, count=squared)
    assert four.splitlines() == [
        "Standing rules:", "- Always use tabs.", "Open tasks:", "- TODO: write the second test."
    ]  # fmt: skip
    assert render(made, budget_tokens=4, count=squared).splitlines() == [
        "Standing rules:", "- Always use tabs."
    ]  # fmt: skip
    assert render(made, budget_tokens=1, count=squared) == ""


RULE, TASK_1, TASK_2 = "Always use tabs.", "TODO: write tests.", "TODO: write docs."
CHOICE_1, CHOICE_2 = "We agreed to use tabs.", "We agreed to use Redis."
FACT = "It listens on port 6390."
DONE_1, DONE_2 = "Write the login page", "Write the logout page"


def made(*said: str) -> list[Message]:
    """Replies that say so; rules stand in an earlier summary, and what is done was asked for."""
    messages: list[Message] = []
    for text in said:
        number = 2 * len(messages)
        if text in (DONE_1, DONE_2):
            messages += [msg(number, "user", text), msg(number + 1, "assistant", "It did.")]
        elif text == RULE:
            card = f"[History Summary]\nStanding rules:\n- {RULE}"
            messages.append(msg(number, "user", card, meta={"summary": True}))
        else:
            messages.append(msg(number, "assistant", text))
    return messages


@pytest.mark.parametrize(
    ("kept", "left_out"),
    [
        ((RULE,), TASK_1),
        ((TASK_1,), CHOICE_1),
        ((TASK_1,), "It fails with KeyError."),
        ((CHOICE_1,), FACT),
        ((CHOICE_1,), DONE_1),
        ((DONE_1,), FACT),
        ((DONE_1,), "call load_user and run_all"),
        # even a second one
        ((CHOICE_1, CHOICE_2), DONE_1),
        ((DONE_1, DONE_2), FACT),
    ],
)
def test_what_outweighs_what(kept: tuple[str, ...], left_out: str) -> None:
    """Whichever was said later, what matters more is kept where there is no room for both."""
    alone = {line for line in chosen(made(*kept), 10) if line.startswith("- ")}
    for said in ((*kept, left_out), (left_out, *kept)):
        assert set(chosen(made(*said), len(kept))) == alone, said


def test_the_newest_decision_outweighs_a_second_task() -> None:
    said = made(TASK_1, TASK_2, CHOICE_1)
    assert set(chosen(said, 2)) == {f"- {TASK_2}", f"- {CHOICE_1}"}


def chosen(messages: list[Message], room: int) -> list[str]:
    """The lines that are kept where there is room for so many, whatever their length."""
    text = render(digest(messages), budget_tokens=room, count=lines)
    return [line for line in text.splitlines() if line.startswith("- ")]


def lines(text: str) -> int:
    return sum(line.startswith("- ") for line in text.splitlines())


def test_many_lines_of_one_kind_leave_room_for_another() -> None:
    """Each further one weighs a little less, so a dozen tasks do not push out the one decision."""
    tasks = [f"TODO: write test number {n} of many." for n in range(12)]
    everything = digest(talk(*[("user", t) for t in [*tasks, "We agreed to use tabs here."]]))
    room = len("Open tasks:\nDecisions:\n") + 5 * len(f"- {tasks[-1]}\n")
    text = render(everything, budget_tokens=room, count=len)
    assert "We agreed" in text and tasks[-1] in text and tasks[0] not in text


def test_of_one_kind_the_newest_are_kept_and_stand_in_order() -> None:
    facts = [f"The limit number {n} is {n} MB." for n in range(3, 7)]
    everything = digest(talk(*[("assistant", fact) for fact in facts]))
    room = len("Facts:\n") + 2 * len(f"- {facts[0]}\n")
    text = render(everything, budget_tokens=room, count=len)
    assert text.splitlines() == ["Facts:", f"- {facts[2]}", f"- {facts[3]}"]


def test_rules_do_not_fade_however_many_they_are() -> None:
    rules = [f"Never touch file number {n}." for n in range(9)]
    made = digest(talk(*[("user", t) for t in [*rules, "We agreed to use tabs now"]]))
    room = len("Standing rules:\n") + 9 * len(f"- {rules[0]}\n")
    text = render(made, budget_tokens=room, count=len)
    assert text.splitlines() == ["Standing rules:", *(f"- {rule}" for rule in rules)]


def test_a_list_of_names_ends_before_it_gets_long() -> None:
    names = [f"module_{n}.py" for n in range(100)]
    text = extractive_summary(talk(" ".join(names)), budget_tokens=10_000, count=len)
    _, _, line = text.partition("Files:\n")
    assert 380 < len(line) < 410
    assert all(name.endswith(".py") for name in line.removeprefix("- ").split(", ")), "whole names"


# --- sentences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Yes. No! Ok? Go", ["Yes.", "No!", "Ok?"]),  # two letters say nothing
        ("one two.three four", ["one two.three four"]),
        ("- item one\n2) item two\n> quoted\n# Title", ["item one", "item two", "quoted", "Title"]),
        ("**bold** and __init__ a__b", ["bold and __init__ a__b"]),
        ('He said "so." Then left.', ['He said "so.', "Then left."]),
        ("-----\n***\n!!!", []),
        ("before\n```py\ncode here\n```\nafter", ["before", "after"]),
        ("before\n~~~\ncode ```\n~~~\nafter", ["before", "after"]),
        ("before\n```\nnever closed", ["before"]),
        ("好的。下一步！走", ["好的。下一步！走"]),  # no blanks between: one line
        ("a  b\tc", ["a b c"]),
    ],
)
def test_sentences(text: str, pieces: list[str]) -> None:
    assert list(sentences(text)) == pieces


def test_of_a_very_long_message_both_ends_are_looked_at() -> None:
    text = "Always use tabs. " + "filler words here " * 6_000 + "here. Never touch legacy code."
    rules = standing_rules(msg(1, "user", text))
    assert "Always use tabs." in rules and "Never touch legacy code." in rules[-1]


def test_a_line_is_clipped_and_says_so() -> None:
    exact = "Always use " + "x y " * 100
    exact = exact[: LINE_CHARACTERS - 1] + "z"
    assert found(LineKind.RULE, exact) == (exact,)
    (clipped,) = found(LineKind.RULE, exact + "z")
    assert clipped == exact + "…"


def test_what_is_said_twice_is_one_line() -> None:
    assert found(LineKind.RULE, "Always use tabs.", "ok", "always use TABS!") == (
        "Always use tabs.",
    )
    assert len(found(LineKind.RULE, "Always use tabs.", "ok", "Always use blanks.")) == 2


# --- what a sentence is --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Never use globals, TODO in main.", LineKind.RULE),
        ("TODO: decide on Redis, it fails.", LineKind.OPEN),
        ("Still missing: the docs.", LineKind.OPEN),
        ("We decided on Redis as it fails with status 500.", LineKind.DECISION),
        ("It fails on port 6390.", LineKind.ERROR),
        ("It listens on port 6390.", LineKind.FACT),
    ],
)
def test_a_sentence_of_the_user_is_of_the_first_kind_that_it_fits(
    sentence: str, kind: LineKind
) -> None:
    said = digest(talk(sentence, "Hm.", "Fine.", "Hm."))
    kinds = [line.kind for line in said.lines if line.text == sentence]
    assert kinds == [kind]


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("TODO: we decided on port 6390.", LineKind.OPEN),
        ("I decided on port 6390.", LineKind.DECISION),
        ("It listens on port 6390.", LineKind.FACT),
        ("Always use port 6390.", LineKind.FACT),  # the assistant lays down no rules
    ],
)
def test_a_sentence_of_the_assistant_likewise(sentence: str, kind: LineKind) -> None:
    said = digest(talk("Where?", sentence))
    assert [line.kind for line in said.lines if line.text == sentence] == [kind]


# --- tasks ---------------------------------------------------------------------------------------

TASK = "Please write a login page with a form."


def test_a_task_is_open_until_somebody_says_that_it_is_done() -> None:
    assert found(LineKind.OPEN, TASK) == (TASK,)
    assert found(LineKind.OPEN, TASK, "I will look.") == (TASK,)
    done = digest(talk(TASK, "First this. The page is implemented. It has two fields."))
    assert done.of(LineKind.OPEN) == ()
    assert done.of(LineKind.DONE) == (f"{TASK.rstrip('.')}: The page is implemented.",)


@pytest.mark.parametrize("thanks", ["Thanks!", "ok, great.", "That works now.", "danke"])
def test_thanks_close_a_task(thanks: str) -> None:
    done = digest(talk(TASK, "Here you are.", thanks))
    assert (done.of(LineKind.OPEN), done.of(LineKind.DONE)) == ((), (TASK.rstrip("."),))
    assert digest(talk(thanks)).of(LineKind.DONE) == (), "thanks for nothing"


def test_the_task_is_what_follows_the_thanks() -> None:
    second = "Now write a logout page too."
    done = digest(talk(TASK, "Here you are.", f"Thanks, great. {second}"))
    assert (done.of(LineKind.OPEN), done.of(LineKind.DONE)) == ((second,), (TASK.rstrip("."),))


def test_a_task_that_another_one_followed_is_remembered_as_asked() -> None:
    second = "Rather write a logout page."
    done = digest(talk(TASK, "Hm.", second))
    assert done.of(LineKind.FACT) == (f"Asked: {TASK}",)
    assert done.of(LineKind.OPEN) == (second,)
    assert digest(talk("Go on, do it", "Hm.", second)).of(LineKind.FACT) == (), (
        "too short to say much"
    )


def test_what_was_noted_as_open_and_then_done_is_only_done() -> None:
    task = "We still need to write a login page."
    open_one = digest(talk(task, "Hm."))
    assert open_one.of(LineKind.OPEN) == (task,)
    done = digest(talk(task, "The page is implemented."))
    assert done.of(LineKind.OPEN) == ()
    assert done.of(LineKind.DONE) == (f"{task.rstrip('.')}: The page is implemented.",)
    other = "TODO: write the docs for it."
    assert found(LineKind.OPEN, f"{task} {other}", "The page is implemented.") == (other,)


def test_what_is_done_only_in_part_is_still_open() -> None:
    reply = "The form is added. TODO: not yet done with the page."
    said = digest(talk(TASK, reply))
    assert said.of(LineKind.DONE) == (f"{TASK.rstrip('.')}: The form is added.",)
    assert said.of(LineKind.OPEN) == ("TODO: not yet done with the page.",)
    assert found(LineKind.OPEN, TASK, "The page is still missing, it has to be added.")[-1] == TASK


def test_a_prompt_that_says_itself_that_it_is_done_is_not_told_twice() -> None:
    assert found(LineKind.DONE, "Say that it is done", "Say that it is done") == (
        "Say that it is done",
    )


def test_long_tasks_and_reports_are_told_in_short() -> None:
    long = "Please write " + "a very long page " * 20
    report = "It is implemented " + "as was asked for " * 20
    (line,) = found(LineKind.DONE, long, report)
    asked, told = line.split(": ")
    assert len(asked) <= LINE_CHARACTERS // 2 and len(told) <= LINE_CHARACTERS // 2 + 1
    assert long.startswith(asked) and report.startswith(told.rstrip("…"))
    (line,) = found(LineKind.DONE, TASK, report)
    _, told = line.split(": ")
    assert len(told) <= LINE_CHARACTERS // 2 and report.startswith(told)
    (line,) = found(
        LineKind.ERROR, "It fails with KeyError " + "and so on " * 15, "The cause is a typo."
    )
    assert len(line.split(" → ")[0]) <= LINE_CHARACTERS // 2 and line.endswith(
        "The cause is a typo."
    )


# --- errors --------------------------------------------------------------------------------------


def result(text: str, failed: bool = False) -> Message:
    return msg(50, "user", (ToolResult("t", (Text(text),), is_error=failed),))


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("a\nKeyError: 'x'\nb\nValueError: y\nc", "ValueError: y"),  # the last one counts
        ("E   AssertionError: assert 1 == 2", "AssertionError: assert 1 == 2"),  # as pytest writes
        ("EOFError: EOF when reading a line", "EOFError: EOF when reading a line"),
        ("ElementNotFoundException: #id", "ElementNotFoundException: #id"),
        ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
        ("requests.exceptions.HTTPError: 404", "requests.exceptions.HTTPError: 404"),
    ],
)
def test_the_last_error_of_a_tool_is_found_by_its_shape(output: str, error: str) -> None:
    assert digest([result(output)]).of(LineKind.ERROR) == (error,)


def test_an_error_in_a_code_block_of_a_prompt_is_found() -> None:
    prompt = "It says:\n```\nKeyError: 'x'\nValueError: y\n```\nWhy?"
    assert found(LineKind.ERROR, prompt) == ("ValueError: y",)


def test_of_a_prompt_that_quotes_errors_the_last_counts() -> None:
    prompt = "Look at this\nKeyError: 'x'\nand this\nValueError: y\nplease"
    assert found(LineKind.ERROR, prompt)[-1] == "ValueError: y"
    assert "ValueError: y → " in found(LineKind.ERROR, prompt, "The cause is a typo.")[-1]


def test_a_fix_stands_behind_its_error_once() -> None:
    errors = found(LineKind.ERROR, "It crashes with KeyError.", "The cause is a typo. Fixed it.")
    assert errors == ("It crashes with KeyError. → The cause is a typo.",)


def test_an_error_that_came_later_is_the_one_that_is_fixed() -> None:
    said = digest([*talk("It crashes with KeyError.", "Hm."), result("ValueError: y"),
                   msg(60, "assistant", "The cause is a typo.")])  # fmt: skip
    assert said.of(LineKind.ERROR) == (
        "It crashes with KeyError.",
        "ValueError: y → The cause is a typo.",
    )
