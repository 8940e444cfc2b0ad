"""The enforcing server: the official SDKs read its replies, and it refuses what the documentation
says is refused.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import anthropic
import openai
import pytest

from wire.agents import Use
from wire.enforcing import Answer, EnforcingServer, Family, enforcing
from wire.rules_anthropic import BINDING_BETA, CLEAR_BETA
from wire.test_servers import claude, gpt

MODEL = "claude-sonnet-5-5"
LOOK = Use("look", {"at": "a.py"})
TOOLS: Any = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
FUNCTIONS: Any = [
    {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
]


def user(*content: Any) -> dict[str, Any]:
    words = len(content) == 1 and isinstance(content[0], str)
    return {"role": "user", "content": content[0] if words else list(content)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


async def say(server: EnforcingServer, messages: list[Any], **more: Any) -> Any:
    """One request by the official SDK; the message as plain data."""
    headers = {"anthropic-beta": more.pop("beta")} if "beta" in more else None
    async with claude(server) as client:
        body: dict[str, Any] = {"model": MODEL, "max_tokens": 4000, **more}
        async with client.messages.stream(messages=messages, extra_headers=headers, **body) as got:
            message = (await got.get_final_message()).to_dict()
    content: Any = message["content"]
    message["content"] = [
        {k: v for k, v in block.items() if v is not None and k != "parsed_output"}
        for block in content
    ]
    return message


async def refused(server: EnforcingServer, messages: list[Any], **more: Any) -> str:
    with pytest.raises(anthropic.APIStatusError) as raised:
        await say(server, messages, **more)
    assert raised.value.status_code in (400, 404)
    return raised.value.message


async def test_thinking_comes_back_behind_its_own_prefix_and_is_refused_behind_another() -> None:
    with enforcing("anthropic") as server:
        first = await say(server, [user("One?")])
        assert [block["type"] for block in first["content"]] == ["thinking", "text"]
        talk = [user("One?"), {"role": "assistant", "content": first["content"]}, user("Two?")]
        await say(server, talk)
        assert server.reports[-1].reasoning == 1
        for changed in (
            {"messages": [user("Another?"), *talk[1:]]},
            {"messages": talk, "system": "You help."},
            {"messages": talk, "tools": TOOLS},
        ):
            assert "bound to a different conversation" in await refused(server, **changed)
        bare = [talk[0], {"role": "assistant", "content": first["content"][1:]}, talk[2]]
        await say(server, [user("Another?"), *bare[1:]])
        assert server.reports[-1].reasoning == 0


async def test_a_thought_that_is_missing_or_altered_makes_later_ones_invalid() -> None:
    with enforcing("anthropic") as server:
        one = (await say(server, [user("One?")]))["content"]
        talk: list[Any] = [user("One?"), {"role": "assistant", "content": one}, user("Two?")]
        two = (await say(server, talk))["content"]
        talk += [{"role": "assistant", "content": two}, user("Three?")]
        await say(server, talk)
        assert server.reports[-1].reasoning == 2
        without = deepcopy(talk)
        del without[1]["content"][0]
        assert "bound to a different" in await refused(server, without)
        forged = deepcopy(talk)
        forged[1]["content"][0]["thinking"] = "Something else."
        said = await refused(server, forged)
        assert "Invalid `signature`" in said
        assert "bound" not in said


async def test_marks_are_no_part_of_the_prefix() -> None:
    with enforcing("anthropic") as server:
        one = (await say(server, [user(text("One?"))]))["content"]
        mark = {"cache_control": {"type": "ephemeral"}}
        talk: list[Any] = [{"role": "user", "content": [text("One?", **mark)]}]
        await say(server, [*talk, {"role": "assistant", "content": one}, user("Two?")])
        assert server.reports[-1].reasoning == 1


async def test_drop_block_drops_instead_and_needs_its_beta() -> None:
    binding: Any = {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    with enforcing("anthropic") as server:
        one = (await say(server, [user("One?")]))["content"]
        talk: list[Any] = [user("1?"), {"role": "assistant", "content": one}, user("Two?")]
        assert "block_binding" in await refused(server, talk, thinking=binding)
        got = await say(server, talk, thinking=binding, beta=BINDING_BETA)
        assert got["input_transformations"][0]["reason"] == "prefix_binding_mismatch"
        assert server.reports[-1].reasoning == 0


async def test_thinking_of_another_model_is_dropped_and_told() -> None:
    with enforcing("anthropic") as server:
        one = (await say(server, [user("One?")]))["content"]
        talk: list[Any] = [user("One?"), {"role": "assistant", "content": one}, user("Two?")]
        await say(server, talk, model="claude-opus-5-5")
        assert server.reports[-1].foreign == 1


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-opus-5-5", {"type": "disabled"}),
        ("claude-fable-5-1", {"type": "disabled"}),
        ("claude-sonnet-5-5", {"type": "disabled"}),
        ("claude-opus-5-5", {"type": "enabled", "budget_tokens": 2000}),
        ("claude-haiku-4-5", {"type": "adaptive"}),
        ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 5000}),
    ],
)
async def test_ways_to_think_that_a_model_does_not_have_are_refused(
    model: str, thinking: Any
) -> None:
    with enforcing("anthropic") as server:
        assert "thinking" in await refused(server, [user("One?")], model=model, thinking=thinking)


async def test_thinking_has_its_text_only_where_it_is_asked_for() -> None:
    with enforcing("anthropic") as server:
        silent = await say(server, [user("One?")])
        assert silent["content"][0]["thinking"] == ""
        shown: Any = {"type": "adaptive", "display": "summarized"}
        spoken = await say(server, [user("One?")], thinking=shown)
        assert spoken["content"][0]["thinking"] == "Let me think about that."
        off: Any = {"type": "between_tools"}
        none = await say(server, [user("One?")], thinking=off)
        assert [block["type"] for block in none["content"]] == ["text"]


CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"role": "assistant", "content": "Hi."}], "roles"),
        ([user("a"), user("b")], "roles"),
        ([user("a"), {"role": "assistant", "content": "b"}], "prefill"),
        ([user(" ")], "non-whitespace"),
        ([user("a"), {"role": "assistant", "content": [CALL]}, user("b")], "tool_use"),
        ([user("a"), {"role": "assistant", "content": "b"}, user(RESULT, text("c"))], "unexpected"),
        (
            [user("a"), {"role": "assistant", "content": [CALL]}, user(text("b"), RESULT)],
            "come first",
        ),
        ([{"role": "system", "content": "a"}, user("b")], "system"),
        (
            [{"role": "user", "content": [
                text(str(i), cache_control={"type": "ephemeral"}) for i in range(5)
            ]}],
            "maximum of 4",
        ),
    ],
)  # fmt: skip
async def test_forms_that_the_api_refuses_are_refused(messages: list[Any], said: str) -> None:
    with enforcing("anthropic") as server:
        assert said in await refused(server, messages, tools=TOOLS)
        assert len(server.refused) == 1


async def test_a_system_message_that_clears_needs_its_beta() -> None:
    note: Any = {"role": "system", "content": "Be brief.", "clear_at": "next_user_message"}
    with enforcing("anthropic") as server:
        assert "clear_at" in await refused(server, [user("a"), note])
        await say(server, [user("a"), note], beta=CLEAR_BETA)


async def test_the_cache_is_accounted_for_by_lifetime_and_misses_are_explained() -> None:
    long, more = "word " * 2000, "more " * 2000
    hour, five = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
    with enforcing("anthropic") as server:
        talk: list[Any] = [
            {
                "role": "user",
                "content": [text(long, cache_control=hour), text(more, cache_control=five)],
            }
        ]
        one = await say(server, talk, diagnostics={"previous_message_id": None})
        written = one["usage"]["cache_creation"]
        assert written == {"ephemeral_1h_input_tokens": 2500, "ephemeral_5m_input_tokens": 2500}
        assert one["diagnostics"] is None
        two = await say(server, talk, diagnostics={"previous_message_id": one["id"]})
        assert two["usage"]["cache_read_input_tokens"] == 5000
        assert two["diagnostics"] is None
        three = await say(
            server, talk, system="New.", diagnostics={"previous_message_id": two["id"]}
        )
        reason = three["diagnostics"]["cache_miss_reason"]
        assert reason["type"] == "system_changed"
        assert reason["cache_missed_input_tokens"] == 5000


async def test_no_tokens_fill_the_cache_and_may_not_be_streamed() -> None:
    talk: Any = [{"role": "user", "content": [
        text("word " * 2000, cache_control={"type": "ephemeral"})
    ]}]  # fmt: skip
    async with enforcing("anthropic") as server, claude(server) as client:
        warm = await client.messages.create(model=MODEL, max_tokens=0, messages=talk)
        assert warm.content == []
        assert warm.usage.cache_creation_input_tokens == 2500
        assert "stream" in await refused(server, talk, max_tokens=0)
        read = await say(server, talk)
        assert read["usage"]["cache_read_input_tokens"] == 2500


async def test_counting_sees_what_the_request_has() -> None:
    async with enforcing("anthropic") as server, claude(server) as client:
        one = (await say(server, [user("One?")]))["content"]
        talk: Any = [user("One?"), {"role": "assistant", "content": one}, user("Two?")]
        counted = await client.messages.count_tokens(
            model=MODEL, messages=talk, thinking={"type": "adaptive"}
        )
        assert counted.input_tokens > 0
        with pytest.raises(anthropic.BadRequestError):
            talk[0] = user("Another?")
            await client.messages.count_tokens(model=MODEL, messages=talk)


# --- Chat Completions -----------------------------------------------------------------------------


async def complete(server: EnforcingServer, messages: list[Any], **more: Any) -> Any:
    async with (
        gpt(server) as client,
        client.chat.completions.stream(
            model="m", messages=messages, tools=FUNCTIONS, **more
        ) as stream,
    ):
        return (await stream.get_final_completion()).choices[0].message.to_dict()


def again(message: Any, *without: str) -> list[Any]:
    """The conversation one round later."""
    calls = [
        {k: v for k, v in call.items() if k in ("id", "type", "function", "extra_content")}
        for call in deepcopy(message["tool_calls"])
    ]
    for call in calls:
        call["function"].pop("parsed_arguments", None)
        if "extra_content" in without:
            call.pop("extra_content", None)
    said = {"role": "assistant", "content": message.get("content"), "tool_calls": calls}
    if "reasoning_content" in message and "reasoning_content" not in without:
        said["reasoning_content"] = message["reasoning_content"]
    results = [{"role": "tool", "tool_call_id": c["id"], "content": "x"} for c in calls]
    return [user("One?"), said, *results]


@pytest.mark.parametrize("family", ["deepseek", "kimi", "glm"])
async def test_reasoning_must_come_back_beside_its_calls(family: Family) -> None:
    with enforcing(family, [Answer(uses=(LOOK,)), Answer("Done.")]) as server:
        message = await complete(server, [user("One?")])
        await complete(server, again(message))
        assert server.reports[-1].reasoning == 1
        with pytest.raises(openai.BadRequestError, match="reasoning_content"):
            await complete(server, again(message, "reasoning_content"))
        forged = again({**message, "reasoning_content": "Something else."})
        with pytest.raises(openai.BadRequestError, match="reasoning_content"):
            await complete(server, forged)


async def test_geminis_signature_must_come_back_on_the_same_call() -> None:
    both = (LOOK, Use("look", {"at": "b.py"}))
    with enforcing("gemini", [Answer(uses=both), Answer("Done.")]) as server:
        message = await complete(server, [user("One?")])
        await complete(server, again(message))
        with pytest.raises(openai.BadRequestError, match="missing a thought_signature"):
            await complete(server, again(message, "extra_content"))
        swapped = again(message)
        first, second = swapped[1]["tool_calls"]
        second["extra_content"] = first.pop("extra_content")
        swapped[1]["tool_calls"] = [second, first]
        with pytest.raises(openai.BadRequestError, match="not valid"):
            await complete(server, swapped)


async def test_openais_own_models_refuse_old_and_unknown_fields() -> None:
    with enforcing("openai") as server:
        await complete(server, [user("One?")], max_completion_tokens=9)
        with pytest.raises(openai.BadRequestError, match="max_completion_tokens"):
            await complete(server, [user("One?")], max_tokens=9)
        said = {"role": "assistant", "content": "x", "reasoning_content": "y"}
        with pytest.raises(openai.BadRequestError, match="Unknown parameter"):
            await complete(server, [user("One?"), said, user("Two?")])


# --- Responses ------------------------------------------------------------------------------------


async def respond(server: EnforcingServer, items: list[Any], **more: Any) -> list[Any]:
    options: dict[str, Any] = {
        "model": "gpt-6",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        **more,
    }
    async with gpt(server) as client, client.responses.stream(input=items, **options) as stream:
        response = await stream.get_final_response()
    kept = ("type", "id", "call_id", "name", "arguments", "summary", "encrypted_content")
    return [
        {k: v for k, v in item.to_dict().items() if k in kept or k in ("role", "content")}
        for item in response.output
    ]


async def test_encrypted_reasoning_must_come_back_before_its_call() -> None:
    with enforcing("responses", [Answer("", uses=(LOOK,)), Answer("Done.")]) as server:
        thought, call = await respond(server, [user("One?")])
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "x"}
        await respond(server, [user("One?"), thought, call, result])
        assert server.reports[-1].reasoning == 1
        for items, said in (
            ([user("One?"), call, result], "without its required 'reasoning' item"),
            ([user("One?"), thought, user("Two?")], "without its required following item"),
            ([user("One?"), thought, call], "No tool output found"),
            ([user("One?"), {**thought, "encrypted_content": "x"}, call, result], "verified"),
        ):
            with pytest.raises(openai.BadRequestError, match=said):
                await respond(server, items)
        with pytest.raises(openai.BadRequestError, match="verified"):
            await respond(server, [user("One?"), thought, call, result], model="gpt-5.6")
        with pytest.raises(openai.BadRequestError, match="store"):
            await respond(server, [user("One?")], store=True)
