"""Any history whatsoever becomes a body that both providers accept."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bugcases.bodies import body, violations
from property.strategies import messages, prompts
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import MAX_MARKS, strict

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "150"))
PROVIDERS = ["anthropic", "openai"]


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(prompt=prompts)
def test_every_prompt_becomes_a_body_that_the_oracle_accepts(provider: str, prompt: Prompt) -> None:
    assert violations(body(prompt, provider), provider) == []


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(prompt=prompts)
def test_repairing_twice_changes_nothing(provider: str, prompt: Prompt) -> None:
    once = strict(prompt, strategy=provider)
    assert strict(once, strategy=provider) == once


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(prompt=prompts)
def test_marks_are_at_most_four_and_never_vanish_while_something_can_carry_them(
    prompt: Prompt,
) -> None:
    repaired = strict(prompt, strategy="anthropic")
    marks = [b.mark for b in repaired.system if b.mark]
    marks += [b.mark for m in repaired.messages for b in m.blocks if b.mark]
    total = len(marks) + bool(repaired.tools_mark)
    assert total <= MAX_MARKS
    asked = sum(b.mark is not None for m in prompt.messages for b in m.blocks)
    given = asked + sum(b.mark is not None for b in prompt.system) + bool(prompt.tools_mark)
    assert total <= given, "none is added"
    if asked and (repaired.system or repaired.tools):
        assert total >= 1


def good_turn(n: int) -> tuple[PromptMessage, ...]:
    call = ToolUse(f"toolu_{n}", "read_file", {"path": f"{n}.py"})
    key = f"history:{n}"
    return (
        PromptMessage("user", (PromptBlock(Text(f"question {n}"), key),)),
        PromptMessage("assistant", (PromptBlock(Text("looking"), key), PromptBlock(call, key))),
        PromptMessage("user", (PromptBlock(ToolResult(call.id, (Text("x"),)), key),)),
        PromptMessage("assistant", (PromptBlock(Text("done"), key),)),
    )


@given(st.integers(1, 5))
def test_well_formed_conversation_is_left_exactly_as_it_is(turns: int) -> None:
    history = tuple(m for n in range(turns) for m in good_turn(n))
    prompt = Prompt(
        "m", (PromptBlock(Text("s"), "system:head", "5m"),), (*history, good_turn(9)[0])
    )
    assert strict(prompt, strategy="anthropic") == prompt


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(prompt=prompts, more=st.lists(messages, max_size=4))
def test_appending_after_a_reply_leaves_earlier_bytes_alone(
    prompt: Prompt, more: list[PromptMessage]
) -> None:
    """Whatever came before, once the user's prompt has been sent and a reply has come, nothing that
    follows changes what was sent.
    """
    sent = Prompt(
        "m",
        prompt.system,
        (*prompt.messages, PromptMessage("user", (PromptBlock(Text("prompt"), "prompt"),))),
    )
    reply = PromptMessage("assistant", (PromptBlock(Text("reply"), "reply"),))
    later = Prompt("m", prompt.system, (*sent.messages, reply, *more))
    before = body(sent, "anthropic")["messages"]
    after = body(later, "anthropic")["messages"]
    plain = [json.dumps(_unmarked(m)) for m in after[: len(before)]]
    assert plain == [json.dumps(_unmarked(m)) for m in before]


def _unmarked(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in b.items() if k != "cache_control"} for b in message["content"]]
