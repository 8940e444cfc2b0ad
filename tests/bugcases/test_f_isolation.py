"""Bug cases of area F: tool calls and ids across providers."""

from __future__ import annotations

import re
from typing import Any

from bugcases.bodies import body, load, prompt_of, text, violations
from bugcases.fixtures import case, expect
from tierline.context.blocks import ToolResult, ToolUse
from tierline.history.isolation import isolate
from tierline.history.messages import Message


def test_br069_only_plain_text_crosses_to_another_provider() -> None:
    """BR-069: after switching provider, calls and reasoning of the former one are refused."""
    path = case("BR-069") / "history.jsonl"
    before = path.read_bytes()
    wanted = expect("BR-069")
    kept = isolate(load(path), wanted["active"])
    value = body(prompt_of(kept, "next"), wanted["active"])
    assert violations(value, wanted["active"]) == []
    assert all(part in text(value) for part in wanted["request_contains"])
    assert not [part for part in wanted["request_not_contains"] if part in text(value)]
    assert path.read_bytes() == before


def test_br069_own_provider_still_gets_its_calls_and_reasoning() -> None:
    history = load(case("BR-069") / "history.jsonl")
    assert isolate(history, "openai") == history


def ids(value: dict[str, Any]) -> tuple[list[str], list[str]]:
    blocks = [b for m in value["messages"] for b in m["content"]]
    calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
    return calls, [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]


def test_br071_illegal_ids_become_legal_the_same_way_each_time() -> None:
    """BR-071: call ids legal for one API contain characters another rejects."""
    path = case("BR-071") / "history.jsonl"
    before = path.read_bytes()
    wanted = expect("BR-071")
    value = body(prompt_of(load(path), "go on"), "anthropic")
    assert violations(value, "anthropic") == []
    calls, answers = ids(value)
    assert calls == answers and len(set(calls)) == 3
    assert all(re.match(wanted["id_pattern"], i) for i in calls)
    assert ids(body(prompt_of(load(path), "go on"), "anthropic")) == (calls, answers)
    assert path.read_bytes() == before


def made_ids(messages: tuple[Message, ...]) -> list[str]:
    return [b.id for m in messages for b in m.content if isinstance(b, ToolUse)]


def test_br073_calls_without_ids_get_distinct_stable_ones_and_find_their_results() -> None:
    """BR-073: ids made from the tool name let two calls collide."""
    path = case("BR-073") / "history.jsonl"
    history = load(path)
    calls = made_ids(history)
    assert len(set(calls)) == expect("BR-073")["internal_ids_unique"]
    assert made_ids(load(path)) == calls
    answers = [b.tool_use_id for m in history for b in m.content if isinstance(b, ToolResult)]
    assert answers == calls
    for provider in ("anthropic", "openai"):
        assert violations(body(prompt_of(history, "go on"), provider), provider) == []


def test_br073_gemini_variants_understand_each_other() -> None:
    """Seed 000, section 2: "with compatibility between gemini and gemini_gca"."""
    history = load(case("BR-073") / "history.jsonl")
    assert isolate(history, "gemini_gca") == history
    assert made_ids(isolate(history, "openai")) == []
