"""Both adapters against servers that speak the real wire formats, through the official SDKs.

Issue 2, Must show 3: streaming, usage, 401, 429 with retry-after, 529, a stall, an early close.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anthropic
import openai
import pytest

from tierline.providers.base import (
    MalformedEvent,
    ReasoningChunk,
    ReasoningDone,
    Stop,
    TextChunk,
    ToolCall,
    Usage,
)
from wire.drive import KEY, adapter, ask, hear, prompt, reply
from wire.scripts import (
    a_block,
    a_end,
    a_event,
    a_reply,
    a_start,
    a_texts,
    a_thinking,
    a_tool,
    o_call,
    o_chunk,
    o_data,
    o_end,
    o_reply,
    o_texts,
    split,
)
from wire.servers import Kind, Reply, wire_server

KINDS: list[Kind] = ["anthropic", "openai"]
both = pytest.mark.parametrize("kind", KINDS)


# --- what comes back ------------------------------------------------------------------------------


@both
async def test_text_streams_and_ends(kind: Kind) -> None:
    async with wire_server(kind, reply(kind, "Grü", "ße ", "😀")) as server:
        heard = await ask(server)
    assert heard.error is None
    assert [event.text for event in heard.of(TextChunk)] == ["Grü", "ße ", "😀"]
    assert heard.stop.reason == "end"


@both
async def test_the_exact_bytes_of_the_rendered_request_are_sent(kind: Kind) -> None:
    async with wire_server(kind, reply(kind, "x")) as server:
        provider = adapter(server)
        request = provider.render(prompt())
        await hear(provider, request)
    assert server.requests[0].raw == request.payload


@both
async def test_headers_are_those_of_the_sdks_own_call(kind: Kind) -> None:
    """We hand the SDK exact bytes; authorisation and versions stay its business."""
    async with wire_server(kind, reply(kind, "x")) as server:
        await ask(server)
        message: Any = {"role": "user", "content": "hi"}
        if kind == "anthropic":
            async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url) as claude:
                await claude.messages.create(
                    model="m", max_tokens=9, messages=[message], stream=True
                )
        else:
            async with openai.AsyncOpenAI(api_key=KEY, base_url=server.url) as gpt:
                await gpt.chat.completions.create(model="m", messages=[message], stream=True)
    ours, theirs = (request.headers for request in server.requests)
    different = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
    assert different <= {
        "content-length",
        "x-stainless-timeout",
        "x-stainless-read-timeout",
        "idempotency-key",
    }
    assert any(KEY in value for value in ours.values())
    assert ours["content-type"] == "application/json"


async def test_anthropic_usage_is_the_whole_prompt() -> None:
    script = a_reply("x", input_tokens=3, cache_read_input_tokens=70, cache_creation_input_tokens=7)
    async with wire_server("anthropic", script) as server:
        heard = await ask(server)
    assert heard.usage == Usage(80, 5, 70, 7, reply_id="msg_01")
    assert isinstance(heard.events[0], Usage), "an interrupted reply has its figures too"


async def test_openai_usage_and_none_where_nothing_is_said() -> None:
    async with wire_server("openai", [o_reply("x"), o_reply("x", usage=None)]) as server:
        first, second = await ask(server), await ask(server)
    assert first.usage == Usage(100, 5, 64, None)
    assert second.usage is None
    assert second.stop.reason == "end"


async def test_anthropic_thinking_is_shown_and_kept_whole() -> None:
    script = Reply(
        [
            a_start(),
            *a_thinking(0, "hm", " well", signature="c2ln"),
            *a_block(1, {"type": "redacted_thinking", "data": "x"}),
            *a_thinking(2, "unsigned", signature=""),
            *a_texts(3, "so"),
            *a_end(),
        ]
    )
    async with wire_server("anthropic", script) as server:
        heard = await ask(server)
    assert [event.text for event in heard.of(ReasoningChunk)] == ["hm", " well", "unsigned"]
    assert [event.data for event in heard.of(ReasoningDone)] == [
        {"type": "thinking", "thinking": "hm well", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "x"},
    ]
    assert heard.text == "so"


async def test_openai_compatible_thinking_is_shown() -> None:
    pieces = [o_chunk({"reasoning_content": "hm"}), o_chunk({"reasoning": " well"})]
    async with wire_server("openai", Reply([*pieces, *o_texts("so"), *o_end()])) as server:
        heard = await ask(server)
    assert [event.text for event in heard.of(ReasoningChunk)] == ["hm", " well"]
    assert heard.text == "so"


@both
async def test_tool_calls_are_put_together(kind: Kind) -> None:
    if kind == "anthropic":
        calls = [*a_tool(0, "c1", "read", '{"path": ', '"a.py"}'), *a_tool(1, "c2", "list")]
        script = Reply([a_start(), *calls, *a_end("tool_use")])
    else:
        calls = [*o_call(0, "c1", "read", '{"path": ', '"a.py"}'), *o_call(1, "c2", "list")]
        script = Reply([*calls, *o_end("tool_calls")])
    async with wire_server(kind, script) as server:
        heard = await ask(server)
    assert heard.of(ToolCall) == [
        ToolCall("c1", "read", {"path": "a.py"}),
        ToolCall("c2", "list", {}),
    ]
    assert heard.stop.reason == "tool_use"


@both
@pytest.mark.parametrize("arguments", ['{"path": ', "[1]", "nope"])
async def test_arguments_that_are_no_object_are_reported_in_the_call(
    kind: Kind, arguments: str
) -> None:
    if kind == "anthropic":
        script = Reply([a_start(), *a_tool(0, "c1", "read", arguments), *a_end("tool_use")])
    else:
        script = Reply([*o_call(0, "c1", "read", arguments), *o_end("tool_calls")])
    async with wire_server(kind, script) as server:
        (call,) = (await ask(server)).of(ToolCall)
    assert call.input == {}
    assert "JSON" in call.error


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "output_limit"),
        ("refusal", "filtered"),
        ("pause_turn", "other"),
        ("weird_new_value", "other"),
    ],
)
async def test_anthropic_stop_reasons(raw: str, reason: str) -> None:
    async with wire_server("anthropic", a_reply("x", reason=raw)) as server:
        assert (await ask(server)).stop == Stop(reason, raw)


@both
async def test_unknown_events_are_passed_over(kind: Kind) -> None:
    if kind == "anthropic":
        odd = [a_event("new_thing", x=1), *a_block(5, {"type": "new_block"}, {"type": "new"})]
        script = Reply([a_start(), *odd, *a_texts(0, "x"), *a_end()])
    else:
        odd = [o_data({"x": 1}), o_data({"choices": []}), b": comment\n\n"]
        script = Reply([*odd, *o_texts("x"), *o_end()])
    async with wire_server(kind, script) as server:
        heard = await ask(server)
    assert (heard.text, heard.stop.reason) == ("x", "end")
    assert heard.of(MalformedEvent) == []


@both
async def test_cut_at_every_byte_the_text_is_exact(kind: Kind) -> None:
    async with wire_server(kind, split(reply(kind, "Grüße ", "世界 😀"), 1)) as server:
        heard = await ask(server)
    assert heard.text == "Grüße 世界 😀"
    assert heard.of(MalformedEvent) == []


@both
async def test_a_damaged_event_is_skipped_and_counted(kind: Kind) -> None:
    whole = reply(kind, "one ", "two ", "three")
    parts = [part for part in whole.body if isinstance(part, bytes)]
    broken = [part[:40] + b"\n\n" if b"two" in part else part for part in parts]
    async with wire_server(kind, Reply(broken)) as server:
        heard = await ask(server)
    assert heard.text == "one three"
    assert len(heard.of(MalformedEvent)) == 1
    assert heard.stop.reason == "end"


# --- the rest -------------------------------------------------------------------------------------


async def test_anthropic_counts_by_its_endpoint() -> None:
    async with wire_server("anthropic", a_reply("x"), input_tokens=77) as server:
        provider = adapter(server)
        assert await provider.count_tokens(provider.render(prompt())) == 77
        await provider.close()
    (request,) = server.others
    assert request.path == "/v1/messages/count_tokens"
    assert set(request.body) == {"model", "system", "messages"}


async def test_a_server_without_a_counting_endpoint_gives_none() -> None:
    async with wire_server("openai", o_reply("x")) as server:
        provider = adapter(server)
        assert await provider.count_tokens(provider.render(prompt())) is None
        await provider.close()


@both
async def test_loopback_is_never_reached_through_a_proxy(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with wire_server(kind, reply(kind, "x")) as server:
        assert (await ask(server)).text == "x"


@both
async def test_a_redirect_is_not_followed(kind: Kind) -> None:
    async with wire_server(kind, reply(kind, "x")) as other:
        moved = Reply([], 307, {"location": other.url})
        async with wire_server(kind, moved) as server:
            heard = await ask(server)
        assert heard.error is not None
        assert other.requests == []


@both
async def test_one_provider_serves_many_turns(kind: Kind) -> None:
    async with wire_server(kind, [reply(kind, "one"), reply(kind, "two")]) as server:
        provider = adapter(server)
        request = provider.render(prompt())
        texts = []
        for _ in range(2):
            async with aclosing(provider.stream(request)) as stream:
                events = [event async for event in stream]
            texts.append("".join(e.text for e in events if isinstance(e, TextChunk)))
        await provider.close()
        await provider.close()
    assert texts == ["one", "two"]
