"""Bug cases of area P (streaming) and the cases of other areas that an adapter must get right.

Turns, persistence and the editor's side of BR-173, BR-183 and BR-185 are tested with the session.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from typing import Any

import pytest

from bugcases.bodies import load, prompt_of
from bugcases.fixtures import case, expect, oracle
from tierline.context.prompt import Prompt, ToolSpec
from tierline.context.strict import strict
from tierline.providers import render_anthropic, render_openai
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.base import MalformedEvent, TextChunk
from tierline.providers.canonical import dumps
from tierline.providers.openai import OpenAIProvider
from tierline.providers.retry import RetryPolicy
from tierline.providers.transport import Endpoint
from wire.drive import adapter, ask, prompt, stopped_in_a_wait
from wire.scripts import a_error, a_reply, o_end, o_reply, o_texts, raw, text_error
from wire.servers import Hold, Reply, wire_server


def fixture(name: str, file: str) -> Any:
    return json.loads((case(name) / file).read_text(encoding="utf-8"))


# --- P: streaming ---------------------------------------------------------------------------------


async def test_br173_the_text_before_a_stop_is_there_and_the_request_ends() -> None:
    want = expect("BR-173")
    whole = (case("BR-173") / "long_reply.sse").read_bytes()
    events = [event + b"\n\n" for event in whole.split(b"\n\n") if event]
    upto = 2 + want["cancel_after_delta"]
    async with wire_server("anthropic", Reply([*events[:upto], Hold(), *events[upto:]])) as server:
        provider = adapter(server)
        heard = ""
        async with aclosing(provider.stream(provider.render(prompt()))) as stream:
            async for event in stream:
                if isinstance(event, TextChunk):
                    heard += event.text
                    if heard == want["stored_text"]:
                        break
        assert heard == want["stored_text"]
        assert await asyncio.to_thread(server.hung_up.wait, 1)
        await provider.close()


@pytest.mark.parametrize("index", range(4))
async def test_br175_overload_is_waited_out_within_bounds(index: int) -> None:
    sequence = fixture("BR-175", "mock_sequences.json")[index]
    kinds = {529: "overloaded_error", 401: "authentication_error", 400: "invalid_request_error"}
    script = [
        a_reply("done") if status == 200 else a_error(kinds[status], "own made", status)
        for status in sequence["seq"]
    ]
    async with wire_server("anthropic", script) as server:
        heard = await ask(server)
    match sequence["want"]:
        case "success, 2 waits":
            assert heard.text == "done"
            assert len(heard.waits) == 2
            assert all(wait.wait_seconds > 0 for wait in heard.waits)
        case "stop after bounded tries and time":
            assert heard.failed.code == "overloaded"
            assert len(server.requests) == 1 + RetryPolicy().retries
        case "no retry":
            assert heard.error is not None
            assert len(server.requests) == 1
        case other:
            raise AssertionError(other)


async def test_br175_a_wait_ends_at_once_when_the_user_stops() -> None:
    assert fixture("BR-175", "mock_sequences.json")[4]["want"] == "stops at once"
    async with wire_server("anthropic", a_error("overloaded_error", "own made", 529)) as server:
        assert await stopped_in_a_wait(server, 30) < 0.5
        assert len(server.requests) == 1


async def test_br177_an_overload_after_text_keeps_it_once() -> None:
    want = expect("BR-177")
    async with wire_server("anthropic", raw(case("BR-177") / "overload_mid.sse")) as server:
        heard = await ask(server)
    assert heard.text == want["stored_text"]
    assert heard.failed.code == want["error_type"]
    assert len(server.requests) == 1


async def test_br179_a_glued_line_costs_one_event() -> None:
    want = expect("BR-179")
    async with wire_server("openai", raw(case("BR-179") / "broken_join.sse")) as server:
        heard = await ask(server)
    assert all(text in heard.text for text in want["text_contains"])
    assert len(heard.of(MalformedEvent)) == want["malformed_events"]
    assert heard.stop.reason == "end"


async def test_br181_characters_survive_every_cut() -> None:
    want = expect("BR-181")
    for chunks in fixture("BR-181", "chunks.json").values():
        script = Reply([bytes.fromhex(chunk) for chunk in chunks])
        async with wire_server("openai", script) as server:
            heard = await ask(server)
        assert heard.text == want["text"]
        assert not any(bad in heard.text for bad in want["not_contains"])


async def test_br183_a_connection_that_just_closes_is_not_an_end() -> None:
    want = expect("BR-183")
    async with wire_server("anthropic", raw(case("BR-183") / "premature.sse")) as server:
        heard = await ask(server)
    assert heard.text == want["stored_text"]
    assert (heard.stop.reason != "incomplete") == want["complete"]


async def test_br185_closing_in_the_middle_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    """BR-185: gone within a second, nothing logged per piece."""
    pieces = [str(i) for i in range(200)]
    script = Reply([*o_texts(*pieces[:3]), Hold(), *o_texts(*pieces[3:]), *o_end()])
    with caplog.at_level(logging.WARNING):
        async with wire_server("openai", script) as server:
            provider = adapter(server)
            async with aclosing(provider.stream(provider.render(prompt()))) as stream:
                seen = 0
                async for event in stream:
                    seen += isinstance(event, TextChunk)
                    if seen == 3:
                        break
            assert await asyncio.to_thread(server.hung_up.wait, 1)
            await provider.close()
    assert caplog.records == []


# --- A: figures and limits ------------------------------------------------------------------------


async def test_br003_usage_is_asked_for_and_its_absence_is_no_figure() -> None:
    want = expect("BR-003")
    async with wire_server("openai", raw(case("BR-003") / "stream_no_usage.sse")) as server:
        heard = await ask(server)
    assert heard.text == want["text"]
    assert want["request_must_have"].items() <= server.bodies[0].items()
    assert heard.usage is None, "zero would be taken for a measured figure"


@pytest.mark.parametrize("index", range(7))
async def test_br013_only_a_limit_is_called_a_limit(index: int) -> None:
    row = fixture("BR-013", "finish_reasons.json")[index]
    if "http_status" in row:
        body = json.dumps({"error": {"message": "x", "code": row["code"]}})
        script = text_error(body, row["http_status"])
        async with wire_server("openai", script) as server:
            assert (await ask(server)).failed.code == "overflow"
        assert row["limit_notice"] == "input"
        return
    async with wire_server("openai", o_reply("x", finish=row["finish"])) as server:
        stop = (await ask(server)).stop
    assert (stop.reason == "output_limit") == (row["limit_notice"] == "output")
    assert stop.raw == (row["finish"] or "")


@pytest.mark.parametrize(
    ("kind", "word", "reason"),
    [
        ("openai", "model_length", "output_limit"),
        ("openai", "eos", "end"),
        ("anthropic", "model_context_window_exceeded", "output_limit"),
        ("anthropic", "pause_turn", "other"),
    ],
)
async def test_br013_words_of_other_services(kind: Any, word: str, reason: str) -> None:
    script = o_reply("x", finish=word) if kind == "openai" else a_reply("x", reason=word)
    async with wire_server(kind, script) as server:
        stop = (await ask(server)).stop
    assert (stop.reason, stop.raw) == (reason, word)


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("kind", ["anthropic", "openai"])
async def test_br036_overflow_is_known_by_other_words(kind: Any, index: int) -> None:
    row = fixture("BR-036", "overflow_other_wording.json")[index]
    body = row["body"] if isinstance(row["body"], str) else json.dumps(row["body"])
    async with wire_server(kind, text_error(body, row["http_status"])) as server:
        heard = await ask(server)
    assert (heard.failed.code == "overflow") == row.get("is_overflow", True)
    assert len(server.requests) == 1, "never sent again as it is"


# --- D: tools in the prefix -----------------------------------------------------------------------


def tools(name: str, file: str) -> list[ToolSpec]:
    value = fixture(name, file)
    rows = value if isinstance(value, list) else [value]
    return [ToolSpec(**row, builtin=not row["name"].startswith("ext__")) for row in rows]


def test_br042_the_same_tools_in_any_order_give_the_same_bytes() -> None:
    a, b = tools("BR-042", "tools_a.json"), tools("BR-042", "tools_b.json")
    assert expect("BR-042")["same_serialised_bytes"]
    for provider in (AnthropicProvider(Endpoint()), OpenAIProvider(Endpoint())):
        one, two = (provider.render(prompt(tools=t, tools_mark="5m")) for t in (a, b))
        assert one.payload == two.payload
    write = next(t for t in render_anthropic.tools(b, None) if t["name"] == "write_file")
    assert write["input_schema"]["required"] == ["path", "text"], "the order has a meaning"


def test_br052_a_dynamic_tool_leaves_the_built_ins_as_they_were() -> None:
    base, extra = tools("BR-052", "tools_base.json"), tools("BR-052", "tool_extra.json")
    for render in (lambda t: render_anthropic.tools(t, "1h"), render_openai.tools):
        before = dumps(render(base))
        after = dumps(render([*extra, *base]))
        assert after.startswith(before[:-1])
    marked = [bool(t.get("cache_control")) for t in render_anthropic.tools([*extra, *base], "1h")]
    assert marked == [False, True, False]


# --- E: shape -------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["history.jsonl", "history_openai.jsonl"])
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_br057_a_call_alone_has_no_empty_text_beside_it(file: str, provider: str) -> None:
    value = prompt_of(load(case("BR-057") / file), "and now?")
    body = rendered(strict(value, strategy=provider), provider)
    check = oracle()
    calls = []
    if provider == "anthropic":
        assert check.check_anthropic(body) == []
        calls = [m for m in body["messages"] if _has_call(m)]
        assert all(len(m["content"]) == 1 for m in calls)
    else:
        assert check.check_openai(body, strict=False) == []
        calls = [m for m in body["messages"] if m.get("tool_calls")]
        assert all(m["content"] is None for m in calls)
    assert len(calls) == 1


def rendered(value: Prompt, provider: str) -> Any:
    made = AnthropicProvider if provider == "anthropic" else OpenAIProvider
    return json.loads(made(Endpoint()).render(value).payload)


def _has_call(message: Any) -> bool:
    return any(block["type"] == "tool_use" for block in message["content"])
