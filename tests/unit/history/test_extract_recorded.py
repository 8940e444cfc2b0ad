"""What recorded sessions showed of extracts: plans that were carried out, and words that only look
like something open.
"""

from __future__ import annotations

import pytest

from support.histories import msg
from tierline.context.blocks import Block, Text, ToolResult, ToolUse
from tierline.history.extract import LineKind, digest

EDIT = ToolUse("c1", "propose_edit", {"path": "a.py", "content": "x = 1\n"})


def open_lines(reply: str, *, acts: bool = False) -> tuple[str, ...]:
    content: tuple[Block, ...] = (Text(reply), EDIT) if acts else (Text(reply),)
    talk = [
        msg(1, "user", "Store the prompts, please.", group="g1"),
        msg(2, "assistant", content, group="g1"),
    ]
    if acts:
        talk.append(msg(3, "tool", (ToolResult("c1", (Text("Accepted."),)),), group="g1"))
    talk.append(msg(4, "assistant", "All done.", group="g1"))
    return digest(talk).of(LineKind.OPEN)


def test_what_a_reply_says_before_it_does_it_is_not_open() -> None:
    plan = "We'll need to add a table for the prompts."
    assert open_lines(plan, acts=True) == ()
    assert open_lines(plan) == (plan,), "nobody did it"


@pytest.mark.parametrize(
    "sentence",
    [
        "The class keeps pending prompts in a dictionary.",
        "The endpoint returns the next pending prompt if there is one.",
        "This addresses the TODO in the Coder class.",
    ],
)
def test_a_word_for_open_things_is_not_an_open_thing(sentence: str) -> None:
    assert open_lines(sentence) == ()


@pytest.mark.parametrize(
    "sentence",
    ["TODO: the migration of old rows.", "The migration is pending.", "Pending: the docs."],
)
def test_what_is_said_to_be_open_stays_open(sentence: str) -> None:
    assert open_lines(sentence) == (sentence,)
