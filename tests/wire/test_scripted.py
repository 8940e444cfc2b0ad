"""What a scripted server finds wrong with a prompt: its format, and what its replies ask for."""

from __future__ import annotations

from typing import Any

import pytest

from wire.rules import Refused
from wire.rules_completions import Completions
from wire.rules_responses import Responses
from wire.scripted import Scripted
from wire.scripts import o_chunk, o_reply
from wire.servers import Kind, Reply, Request

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
SIGNED = {"google": {"thought_signature": "c2ln"}}


def prompt(*messages: Any, **more: Any) -> Request:
    body = {"model": "m", "max_tokens": 100, "messages": list(messages), **more}
    return Request("POST", "/", {}, b"", body, 0.0)


def said(role: str, *content: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    return {"role": role, "content": blocks}


def held(kind: Kind, *prompts: Request, reply: Reply | None = None) -> list[str]:
    """What is refused of some prompts, each answered by the same reply."""
    rules = Scripted(kind)
    for each in prompts:
        rules.check(each)
        rules.answered(each, reply or o_reply("Yes."))
    return [str(refused) for refused in rules.refused]


def test_thinking_may_stand_behind_a_prompt_that_was_sent_and_behind_no_other() -> None:
    one, answer = said("user", "One?"), said("assistant", THOUGHT, "Yes.")
    two, three = said("user", "Two?"), said("user", "Three?")
    assert held("anthropic", prompt(one), prompt(one, answer, two)) == []
    (found,) = held("anthropic", prompt(one), prompt(three, answer, two))
    assert "bound to a different conversation" in found
    (found,) = held("anthropic", prompt(one), prompt(one, answer, two, system="Be brief."))
    assert "bound to a different conversation" in found


def test_a_count_binds_nothing() -> None:
    rules = Scripted("anthropic")
    one, answer = said("user", "One?"), said("assistant", THOUGHT, "Yes.")
    counted = prompt(one)
    counted.body.pop("max_tokens")
    rules.count(counted)
    assert rules.refused == []
    rules.check(prompt(one, answer, said("user", "Two?")))
    assert len(rules.refused) == 1


@pytest.mark.parametrize(
    ("given", "fine"),
    [
        ({"reasoning_content": "Hm.", "calls": {**CALL, "extra_content": SIGNED}}, True),
        ({"reasoning_content": "Ah.", "calls": {**CALL, "extra_content": SIGNED}}, False),
        ({"calls": {**CALL, "extra_content": SIGNED}}, False),
        ({"reasoning_content": "Hm.", "calls": CALL}, False),
    ],
)
def test_a_call_brings_back_what_it_came_with(given: dict[str, Any], fine: bool) -> None:
    reply = Reply([
        o_chunk({"reasoning_content": "H"}),
        o_chunk({"reasoning_content": "m."}),
        o_chunk({"tool_calls": [{"index": 0, **CALL, "extra_content": SIGNED}]}),
        b"data: {broken\n\n",
    ])  # fmt: skip
    calls = [given.pop("calls")]
    assistant = {"role": "assistant", "content": None, "tool_calls": calls, **given}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "x"}
    one = {"role": "user", "content": "One?"}
    found = held("openai", prompt(one), prompt(one, assistant, result), reply=reply)
    assert (found == []) == fine
    other = prompt(one, assistant, result)
    other.body["model"] = "another"
    assert held("openai", prompt(one), other, reply=reply) == [], "it said nothing of the kind"


def test_at_most_four_places_are_marked_at_every_service_that_knows_marks() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    five = said("user", *({"type": "text", "text": str(n), **mark} for n in range(5)))
    for kind in ("anthropic", "openai"):
        (found,) = held(kind, prompt(five))
        assert "maximum of 4" in found
    with pytest.raises(Refused, match="Unknown parameter"):
        Completions("deepseek").check(prompt(said("user", {**five["content"][0]})).body, {})


@pytest.mark.parametrize(
    ("mark", "many", "words"),
    [
        ({"mode": "explicit"}, 5, "up to 4 breakpoints"),
        ({"mode": "explicit", "ttl": "1h"}, 1, "Invalid value"),
        ({"mode": "explicit", "ttl": "12h"}, 4, ""),
    ],
)
def test_breakpoints_of_responses(mark: dict[str, str], many: int, words: str) -> None:
    part = {"type": "input_text", "text": "x", "prompt_cache_breakpoint": mark}
    asked = {"role": "user", "content": [part] * many}
    body: dict[str, Any] = {"model": "gpt-6", "store": False, "input": [asked]}
    if words:
        with pytest.raises(Refused, match=words):
            Responses().check(body, {})
    else:
        Responses().check(body, {})
    said_by_model = {"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "x", "prompt_cache_breakpoint": mark}]}  # fmt: skip
    with pytest.raises(Refused):
        Responses().check({**body, "input": [asked, said_by_model]}, {})
