"""Bodies: what goes out, byte for byte, for both wire formats."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bugcases.fixtures import oracle
from property.strategies import blocks as any_blocks
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.context.strict import strict
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.openai import OpenAIProvider
from tierline.providers.transport import Endpoint
from wire.drive import prompt, said

CLAUDE = AnthropicProvider(Endpoint())
OFFICIAL = OpenAIProvider(Endpoint())
OTHER = OpenAIProvider(Endpoint("http://127.0.0.1:9/v1"))
PICTURE = Image("image/png", "aGk=")


def claude(value: Prompt) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(CLAUDE.render(value).payload)
    return body


def gpt(value: Prompt, provider: OpenAIProvider = OTHER) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(provider.render(value).payload)
    return body


def test_payload_is_compact_utf8_and_hashed() -> None:
    request = CLAUDE.render(prompt(said("user", Text("Grüße 😀"))))
    assert "Grüße 😀".encode() in request.payload
    assert b'": ' not in request.payload
    assert request.sha256 == hashlib.sha256(request.payload).hexdigest()
    assert request.body == json.loads(request.payload)
    assert (request.provider, request.strategy, request.model) == (
        "anthropic",
        "anthropic",
        "mock-a",
    )


@pytest.mark.parametrize("provider", [CLAUDE, OFFICIAL, OTHER])
def test_the_same_prompt_gives_the_same_bytes(provider: Any) -> None:
    assert provider.render(prompt()).payload == provider.render(prompt()).payload


@pytest.mark.parametrize("provider", [CLAUDE, OFFICIAL, OTHER])
def test_half_a_surrogate_pair_does_not_break_the_request(provider: Any) -> None:
    payload = provider.render(prompt(said("user", Text("a\ud83d b \ud83d\ude00")))).payload
    assert "a\ufffd b 😀" in payload.decode("utf-8")


@pytest.mark.parametrize("provider", [CLAUDE, OFFICIAL, OTHER])
def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter_one(provider: Any) -> None:
    first = said("user", Text("one"))
    short = provider.render(prompt(first)).payload
    long = provider.render(
        prompt(first, said("assistant", Text("two")), said("user", Text("three")))
    ).payload
    same = short[: short.index(b'"one"') + 5]
    assert long.startswith(same)


def test_anthropic_marks_are_cache_controls_with_their_time_to_live() -> None:
    body = claude(
        prompt(
            said("user", PromptBlock(Text("x"), "k", "5m"), Text("y")),
            system=(PromptBlock(Text("s"), "k", "1h"),),
        )
    )
    assert body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    first, second = body["messages"][0]["content"]
    assert first["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in second


def test_anthropic_tools_mark_stands_on_the_last_built_in_tool() -> None:
    tools = (
        ToolSpec("zz", "z"),
        ToolSpec("ext", "e", builtin=False),
        ToolSpec("aa", "a"),
    )
    body = claude(prompt(tools=tools, tools_mark="1h"))
    assert [t["name"] for t in body["tools"]] == ["aa", "zz", "ext"]
    assert [t["name"] for t in body["tools"] if "cache_control" in t] == ["zz"]
    only = claude(prompt(tools=tools[1:2], tools_mark="5m"))
    assert only["tools"][0]["cache_control"] == {"type": "ephemeral"}


def test_anthropic_thinking_goes_back_untouched_and_unmarked() -> None:
    data = {"type": "thinking", "thinking": "hm", "signature": "s"}
    body = claude(
        prompt(
            said("user", Text("x")),
            said(
                "assistant",
                PromptBlock(Reasoning("anthropic", data), "k", "5m"),
                Reasoning("openai", {"type": "reasoning"}),
                Text("y"),
            ),
            said("user", Text("z")),
        )
    )
    assert body["messages"][1]["content"] == [data, {"type": "text", "text": "y"}]


def test_anthropic_results_say_when_they_are_errors_and_hold_nothing_empty() -> None:
    body = claude(
        prompt(
            said("user", Text("x")),
            said("assistant", ToolUse("a", "t"), ToolUse("b", "t")),
            said(
                "user",
                ToolResult("a", (Text(" "), PICTURE), is_error=True),
                ToolResult("b", (Text(""),)),
            ),
        )
    )
    failed, empty = body["messages"][2]["content"]
    assert failed["is_error"] is True
    assert [part["type"] for part in failed["content"]] == ["image"]
    assert empty == {"type": "tool_result", "tool_use_id": "b"}


def test_openai_has_one_system_message_and_asks_for_usage() -> None:
    body = gpt(prompt(system=(PromptBlock(Text("a"), "k"), PromptBlock(Text("b"), "k"))))
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"] == "a\n\nb"
    assert body["stream_options"] == {"include_usage": True}


def test_openai_only_its_own_service_gets_the_cache_key() -> None:
    official = gpt(prompt(cache_key="s1"), OFFICIAL)
    assert official["prompt_cache_key"] == "s1"
    assert official["max_completion_tokens"] == 16
    assert "max_tokens" not in official
    other = gpt(prompt(cache_key="s1"))
    assert "prompt_cache_key" not in other
    assert other["max_tokens"] == 16
    assert "prompt_cache_key" not in gpt(prompt(), OFFICIAL)


def test_openai_results_become_tool_messages_and_their_pictures_follow() -> None:
    body = gpt(
        prompt(
            said("user", Text("x")),
            said("assistant", ToolUse("a", "t", {"p": "ä"}), ToolUse("b", "t"), ToolUse("c", "t")),
            said(
                "user",
                ToolResult("a", (Text("one"), Text("two"))),
                ToolResult("b", (PICTURE,), is_error=True),
                ToolResult("c"),
                Text("and now?"),
            ),
        )
    )
    call, a, b, c, after = body["messages"][2:]
    assert call["content"] is None
    assert call["tool_calls"][0]["function"] == {"name": "t", "arguments": '{"p":"ä"}'}
    assert a == {"role": "tool", "tool_call_id": "a", "content": "one\n\ntwo"}
    assert b["content"].startswith("Error: ")
    assert c["content"] == "(no output)"
    assert after["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "text", "text": "and now?"},
    ]


def test_schemas_are_objects_even_if_nothing_is_declared() -> None:
    tools = (ToolSpec("t", "d"),)
    want = {"type": "object", "properties": {}}
    assert claude(prompt(tools=tools))["tools"][0]["input_schema"] == want
    assert gpt(prompt(tools=tools))["tools"][0]["function"]["parameters"] == want


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant"]), st.lists(any_blocks, max_size=4)),
        max_size=6,
    )
)
def test_whatever_strict_form_lets_through_renders_to_a_valid_body(turns: Any) -> None:
    raw = [
        PromptMessage(role, tuple(PromptBlock(b, "history:1") for b in items))
        for role, items in turns
    ]
    raw.append(said("user", Text("now")))
    check = oracle()
    for strategy, render in (("anthropic", claude), ("openai", gpt)):
        body = render(strict(prompt(*raw), strategy=strategy))
        if strategy == "anthropic":
            assert check.check_anthropic(body) == []
        else:
            # A reply after a result follows tool messages, which this check passes over.
            found = check.check_openai(body, strict=False)
            assert found == []
