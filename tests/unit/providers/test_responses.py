"""Bodies and replies of the Responses API, by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, Thinking, ToolSpec, Ttl
from tierline.context.tiers.base import Pricing
from tierline.context.tiers.lifetime import choose_ttl, missed
from tierline.providers.base import (
    ReasoningChunk,
    ReasoningDone,
    Stop,
    StreamEvent,
    TextChunk,
    ToolCall,
    Usage,
)
from tierline.providers.choose import ProviderSettings, choose, make, with_api
from tierline.providers.errors import RequestFailed
from tierline.providers.render_responses import body
from tierline.providers.responses import ResponseReader
from tierline.session.counting import make_counters

TABLE = make_counters(Path()).table

ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}


def block(value: Any, mark: Ttl | None = None) -> PromptBlock:
    return PromptBlock(value, "k", mark)


def prompt(*messages: PromptMessage, **fields: Any) -> Prompt:
    return Prompt("gpt-5.6", (block(Text("Be brief.")),), messages, **fields)


def said(role: Any, *blocks: PromptBlock) -> PromptMessage:
    return PromptMessage(role, blocks)


def test_nothing_is_stored_and_the_system_tools_and_picture_have_this_apis_form() -> None:
    picture = block(Image("image/png", "AAAA"))
    tool = ToolSpec("look", "Look.", {"properties": {"b": {}, "a": {}}})
    shape = body(prompt(said("user", picture, block(Text("What?"))), tools=(tool,), cache_key="s"))
    assert (shape["store"], shape["stream"], shape["prompt_cache_key"]) == (False, True, "s")
    assert shape["tools"][0]["name"] == "look"
    assert list(shape["tools"][0]["parameters"]["properties"]) == ["a", "b"]
    system, user = shape["input"]
    assert (system["role"], system["content"][0]["text"]) == ("system", "Be brief.")
    assert user["content"][0]["image_url"] == "data:image/png;base64,AAAA"
    assert user["content"][1] == {"type": "input_text", "text": "What?"}
    assert not {"prompt_cache_options", "prompt_cache_retention", "messages"} & set(shape)


def test_a_tiny_limit_is_raised_to_what_the_api_takes() -> None:
    assert body(prompt(max_output_tokens=1))["max_output_tokens"] == 16


def test_the_day_long_cache_is_asked_for_where_no_breakpoint_is() -> None:
    assert body(prompt(), retention=True)["prompt_cache_retention"] == "24h"
    marked = body(prompt(said("user", block(Text("x"), "30m"))), retention=True)
    assert "prompt_cache_retention" not in marked
    assert marked["prompt_cache_options"] == {"mode": "explicit"}


def test_the_effort_and_a_summary_of_the_thinking_are_asked_for() -> None:
    asked = prompt(thinking=Thinking(effort="high"))
    assert body(asked)["reasoning"] == {"effort": "high"}
    assert body(asked, summary=True)["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body(prompt(), summary=True)["reasoning"] == {"summary": "auto"}
    assert "reasoning" not in body(prompt())
    off = prompt(thinking=Thinking(effort="none"))
    assert body(off, summary=True)["reasoning"] == {"effort": "none"}


def test_reasoning_stands_before_what_it_led_to_and_never_alone() -> None:
    thought = block(Reasoning("openai", ITEM))
    other = block(Reasoning("openai", {"reasoning_content": "hm"}))
    call = block(ToolUse("c1", "look", {"path": "ä"}))
    result = block(ToolResult("c1", (Text("no"),), is_error=True))
    items = body(prompt(said("assistant", other, thought, call), said("user", result)))["input"]
    assert [item["type"] for item in items[1:]] == [
        "reasoning", "function_call", "function_call_output",
    ]  # fmt: skip
    assert items[1] == ITEM
    assert items[2]["arguments"] == '{"path":"ä"}'
    assert items[3]["output"] == "Error: no"
    cut = body(prompt(said("assistant", block(Text("Half")), thought)))["input"]
    assert [item["type"] for item in cut[1:]] == ["message"]


@pytest.mark.parametrize("mark", ["30m", "12h"])
def test_breakpoints_end_parts_or_move_back_to_one_that_can_carry_them(mark: Ttl) -> None:
    wanted = {"mode": "explicit", "ttl": "12h"} if mark == "12h" else {"mode": "explicit"}
    call = said("assistant", block(ToolUse("c1", "look", {})))
    result = said("user", block(ToolResult("c1", (Text("found"),))))
    answer = said("assistant", block(Text("So."), mark))
    items = body(prompt(said("user", block(Text("?"))), call, result, answer))["input"]
    assert items[3]["output"] == [
        {"type": "input_text", "text": "found", "prompt_cache_breakpoint": wanted}
    ]
    text = body(prompt(said("user", block(Text("a"), mark), block(Text("b")))))["input"][1]
    assert text["content"][0]["prompt_cache_breakpoint"] == wanted
    assert "prompt_cache_breakpoint" not in text["content"][1]


def read(*events: Mapping[str, Any]) -> list[StreamEvent]:
    reader = ResponseReader("OpenAI")
    found = [one for event in events for one in reader.read(event)]
    return [*found, *reader.end()]


DONE: dict[str, Any] = {
    "status": "completed",
    "output": [
        {**ITEM, "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Hi."}]},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}"},
    ],
    "usage": {
        "input_tokens": 90,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20},
        "output_tokens": 7,
    },
}


def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    reasoning, message, call = DONE["output"]
    streamed = read(
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "delta": "Hm."},
        {"type": "response.output_item.done", "item": reasoning},
        {"type": "response.output_text.delta", "item_id": "m1", "delta": "Hi."},
        {"type": "response.output_item.done", "item": message},
        {"type": "response.some_later_event", "x": 1},
        {"type": "response.output_item.done", "item": call},
        {"type": "response.completed", "response": DONE},
    )
    assert streamed == [
        ReasoningChunk("Hm."), ReasoningDone(reasoning), TextChunk("Hi."),
        ToolCall("c1", "look", {}), Usage(90, 7, 60, 20), Stop("tool_use", "completed"),
    ]  # fmt: skip
    assert read({"object": "response", **DONE}) == streamed


def test_ends_and_failures_are_told() -> None:
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert read({"type": "response.incomplete", "response": cut}) == [
        Stop("output_limit", "max_output_tokens")
    ]
    failed = {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}
    with pytest.raises(RequestFailed) as raised:
        read({"type": "response.failed", "response": failed})
    assert raised.value.code == "rate_limited"
    with pytest.raises(RequestFailed):
        read({"type": "error", "code": "server_error", "message": "broke"})
    assert read({"type": "response.created", "response": {}}) == [], "the connection closed"


@pytest.mark.parametrize(
    ("settings", "model", "api", "kind"),
    [
        (ProviderSettings("openai"), "gpt-5.6", "auto", "responses"),
        (ProviderSettings("openai"), "gpt-5.2-pro", "auto", "responses"),
        (ProviderSettings("openai"), "gpt-4.1", "auto", "openai"),
        (ProviderSettings("openai"), "gpt-5.6", "chat", "openai"),
        (ProviderSettings("openai", base_url="https://gateway.example/v1"), "gpt-5.6", "auto",
         "openai"),
        (ProviderSettings("openai", base_url="https://gateway.example/v1"), "gpt-5.6", "responses",
         "responses"),
        (ProviderSettings("azure", base_url="https://me.openai.azure.com/openai/v1"), "gpt-5.6",
         "auto", "responses"),
        (ProviderSettings("openrouter"), "openai/gpt-5.6", "auto", "openai"),
        (ProviderSettings("anthropic"), "claude-opus-5", "responses", "anthropic"),
    ],
)  # fmt: skip
def test_responses_is_spoken_where_it_is_better_or_asked_for(
    settings: ProviderSettings, model: str, api: str, kind: str
) -> None:
    keys = dict.fromkeys(("openai", "azure", "openrouter", "anthropic"), "k")
    chosen = choose(evolve(settings, model=model), {}, keys, ())
    choice = with_api(chosen, TABLE.facts(model), api)
    assert (choice.kind, make(choice).name) == (kind, kind)
    assert choice.strategy == chosen.strategy, "a change of interface loses no call of the history"
    if "gateway" in choice.base_url:
        assert not (choice.reasons or choice.retention), "somebody else's server is asked for less"


def test_the_longer_lifetime_is_asked_for_by_a_user_who_comes_back_late() -> None:
    prices = Pricing(input=4, read=0.4, write_5m=5, write_1h=10, ttls=("30m", "12h"))
    late = quick = 0.0
    for _ in range(9):
        late = missed(late, 50_000, 50_500, 7000.0, prices)
        quick = missed(quick, 50_000, 50_500, 60.0, prices)
    assert choose_ttl(late, 50_000, prices).ttl == "12h"
    assert choose_ttl(quick, 50_000, prices).ttl == "30m"
    assert choose_ttl(late, 50_000, prices, "5m").ttl == "30m"
    assert choose_ttl(quick, 50_000, prices, "1h").ttl == "12h"
