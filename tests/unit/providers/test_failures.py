"""Both adapters when the service fails, stalls or hangs up, and when the user does.

Issue 2, Must show 3: 401, 429 with retry-after, 529, a stall, an early close.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Any

import pytest

from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.base import (
    Stop,
    TextChunk,
    ToolCall,
)
from tierline.providers.openai import OpenAIProvider
from tierline.providers.retry import RetryPolicy
from tierline.providers.transport import Endpoint
from wire.drive import KEY, adapter, ask, begun, hear, prompt, refusal, reply, stopped_in_a_wait
from wire.scripts import (
    O_DONE,
    a_end,
    a_event,
    a_reply,
    a_start,
    a_tool,
    o_call,
    o_chunk,
    o_data,
    o_end,
    o_texts,
    text_error,
    then,
)
from wire.servers import Cut, Hold, Kind, Pause, Reply, wire_server

KINDS: list[Kind] = ["anthropic", "openai"]
both = pytest.mark.parametrize("kind", KINDS)


# --- failures -------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("status", "code"), [(400, "bad_request"), (401, "auth"), (403, "auth"), (404, "bad_request")]
)
async def test_refusals_are_final_and_show_no_key(kind: Kind, status: int, code: str) -> None:
    async with wire_server(kind, refusal(kind, status, f"key {KEY} is bad")) as server:
        heard = await ask(server)
    assert heard.failed.code == code
    assert heard.failed.http_status == status
    assert KEY not in heard.failed.message
    assert len(server.requests) == 1


@both
async def test_413_is_overflow_and_final(kind: Kind) -> None:
    async with wire_server(kind, text_error("Request too large", 413)) as server:
        heard = await ask(server)
    assert heard.failed.code == "overflow"
    assert len(server.requests) == 1


@both
async def test_429_waits_as_long_as_it_is_told(kind: Kind) -> None:
    script = [refusal(kind, 429, retry_after="0.3"), reply(kind, "x")]
    async with wire_server(kind, script) as server:
        heard = await ask(server)
    assert heard.text == "x"
    assert [wait.wait_seconds for wait in heard.waits] == [0.3]
    first, second = server.requests
    assert second.at - first.at >= 0.3


@both
async def test_529_twice_then_success(kind: Kind) -> None:
    script = [refusal(kind, 529), refusal(kind, 529), reply(kind, "x")]
    async with wire_server(kind, script) as server:
        heard = await ask(server)
    assert heard.text == "x"
    assert [(wait.attempt, wait.of) for wait in heard.waits] == [(1, 4), (2, 4)]
    assert all(wait.wait_seconds > 0 for wait in heard.waits)
    assert all("overloaded" in wait.reason for wait in heard.waits)


@both
async def test_529_for_ever_ends_after_the_bound(kind: Kind) -> None:
    async with wire_server(kind, refusal(kind, 529)) as server:
        heard = await ask(server)
    assert heard.failed.code == "overloaded"
    assert len(server.requests) == 5
    assert len(heard.waits) == 4


@both
async def test_500_is_tried_again(kind: Kind) -> None:
    async with wire_server(kind, [refusal(kind, 500), reply(kind, "x")]) as server:
        assert (await ask(server)).text == "x"


@both
async def test_a_lost_connection_before_the_reply_is_tried_again(kind: Kind) -> None:
    script = [Reply(before=Cut()), then(begun(kind), Cut()), Reply([]), reply(kind, "x")]
    async with wire_server(kind, script) as server:
        heard = await ask(server)
    assert heard.text == "x"
    assert len(heard.waits) == 3


@both
async def test_nobody_listens(kind: Kind) -> None:
    async with wire_server(kind, reply(kind, "x")) as server:
        pass
    heard = await ask(server, retry=RetryPolicy(retries=1, first_wait=0.01))
    assert heard.failed.code == "network"
    assert len(heard.waits) == 1


@both
@pytest.mark.parametrize("act", [Cut(), b""])
async def test_an_early_close_keeps_the_text_and_is_not_an_end(kind: Kind, act: Any) -> None:
    """Both the broken connection and the body that simply ends."""
    async with wire_server(kind, then(begun(kind, "I was about"), act)) as server:
        heard = await ask(server)
    assert heard.error is None
    assert (heard.text, heard.stop.reason) == ("I was about", "incomplete")
    assert len(server.requests) == 1


@both
async def test_a_call_that_was_cut_off_is_not_made(kind: Kind) -> None:
    if kind == "anthropic":
        parts = [*begun(kind, "so"), *a_tool(1, "c", "read", '{"a":')[:-1]]
    else:
        parts = [*o_texts("so"), *o_call(0, "c", "read", '{"a":')]
    async with wire_server(kind, then(parts, Cut())) as server:
        heard = await ask(server)
    assert heard.of(ToolCall) == []
    assert heard.stop.reason == "incomplete"


async def test_an_overload_in_the_middle_comes_after_the_partial_text() -> None:
    busy = a_event("error", error={"type": "overloaded_error", "message": "busy"})
    async with wire_server("anthropic", then(begun("anthropic", "Half"), busy)) as server:
        heard = await ask(server)
    assert (heard.text, heard.failed.code) == ("Half", "overloaded")
    assert len(server.requests) == 1


async def test_an_overload_before_any_text_is_tried_again() -> None:
    busy = a_event("error", error={"type": "overloaded_error", "message": "busy"})
    async with wire_server("anthropic", [Reply([a_start(), busy]), a_reply("x")]) as server:
        heard = await ask(server)
    assert heard.text == "x"
    assert len(heard.waits) == 1


async def test_openai_errors_inside_the_stream() -> None:
    error = o_data({"error": {"message": "boom", "type": "server_error", "code": None}})
    async with wire_server("openai", then(o_texts("Half"), error)) as server:
        heard = await ask(server)
    assert (heard.text, heard.failed.code) == ("Half", "unavailable")


async def test_openai_streams_without_done_or_without_a_reason() -> None:
    script = [
        Reply([*o_texts("x"), o_chunk({}, "stop")]),
        Reply([*o_texts("x"), O_DONE]),
    ]
    async with wire_server("openai", script) as server:
        assert (await ask(server)).stop == Stop("end", "stop")
        assert (await ask(server)).stop == Stop("end", "")


@both
async def test_a_stall_in_the_middle_keeps_the_text(kind: Kind) -> None:
    async with wire_server(kind, then(begun(kind, "Half"), Hold())) as server:
        began = time.monotonic()
        heard = await ask(server, stall_seconds=0.3)
    assert (heard.text, heard.failed.code) == ("Half", "stalled")
    assert 0.3 <= time.monotonic() - began < 5
    assert len(server.requests) == 1, "the service may still be at work"


@both
async def test_a_slow_first_byte_is_waited_for_but_not_for_ever(kind: Kind) -> None:
    slow = reply(kind, "x")
    script = [Reply(slow.body, before=Pause(0.6)), Reply(before=Hold())]
    async with wire_server(kind, script) as server:
        heard = await ask(server, stall_seconds=0.2, first_byte_seconds=5)
        assert heard.text == "x"
        heard = await ask(server, stall_seconds=0.2, first_byte_seconds=0.3)
        assert heard.failed.code == "stalled"


async def test_pings_keep_a_reply_alive_but_not_for_ever() -> None:
    pings: list[Any] = []
    for _ in range(12):
        pings += [a_event("ping"), Pause(0.1)]
    start = begun("anthropic", "Half")
    alive = Reply([*start, *pings, a_event("content_block_stop", index=0), *a_end()])
    async with wire_server("anthropic", alive) as server:
        heard = await ask(server, stall_seconds=0.5, first_byte_seconds=5)
        assert heard.stop.reason == "end"
    comments = [part if isinstance(part, Pause) else b": ping\n\n" for part in pings]
    async with wire_server("openai", Reply([*o_texts("Half"), *comments, *o_end()])) as server:
        heard = await ask(server, stall_seconds=0.5, first_byte_seconds=0.7)
        assert heard.failed.code == "stalled"


@both
async def test_a_page_or_json_instead_of_a_stream_is_named(kind: Kind) -> None:
    page = Reply([b"<html>hello</html>"], headers={"content-type": "text/html; charset=utf-8"})
    error = Reply(
        [b'{"error": {"message": "busy", "type": "overloaded_error"}}'],
        headers={"content-type": "application/json"},
    )
    async with wire_server(kind, page) as server:
        heard = await ask(server)
        assert heard.failed.code == "protocol"
        assert "text/html" in heard.failed.message
        assert len(server.requests) == 1
    async with wire_server(kind, [error, reply(kind, "x")]) as server:
        heard = await ask(server)
        assert heard.text == "x"
        assert len(heard.waits) == 1


@both
@pytest.mark.parametrize("key", ["sk-\u2026-copied", "sk-two\nlines"])
async def test_a_key_that_http_cannot_carry_is_an_error_without_the_key(
    kind: Kind, key: str
) -> None:
    async with wire_server(kind, reply(kind, "x")) as server:
        heard = await ask(server, key=key)
        assert server.requests == []
    assert heard.failed.code == "auth"
    for part in ("sk-", "copied", "lines"):
        assert part not in heard.failed.message
    assert heard.waits == []


@pytest.mark.parametrize(
    "url", ["http://box:notaport/v1", "http://[bad/v1", "ftp://box", "http:///v1"]
)
@pytest.mark.parametrize("make", [AnthropicProvider, OpenAIProvider])
async def test_an_address_that_is_none_is_an_error_with_advice(make: Any, url: str) -> None:
    heard = await hear(make(Endpoint(url, KEY)))
    assert heard.failed.code == "protocol"
    assert "base URL" in heard.failed.advice


# --- cancellation ---------------------------------------------------------------------------------


@both
async def test_closing_the_stream_hangs_up_at_once(kind: Kind) -> None:
    async with wire_server(kind, then(begun(kind, "a", "b"), Hold())) as server:
        provider = adapter(server)
        async with aclosing(provider.stream(provider.render(prompt()))) as stream:
            async for event in stream:
                if isinstance(event, TextChunk):
                    break
        assert await asyncio.to_thread(server.hung_up.wait, 1.0)
        await provider.close()


@both
async def test_cancelling_the_task_hangs_up_at_once(kind: Kind) -> None:
    async with wire_server(kind, Reply(before=Hold())) as server:
        task = asyncio.ensure_future(ask(server))
        assert await asyncio.to_thread(server.waiting.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.hung_up.wait, 1.0)


@both
async def test_a_wait_between_attempts_can_be_cancelled(kind: Kind) -> None:
    async with wire_server(kind, refusal(kind, 529)) as server:
        assert await stopped_in_a_wait(server, 60) < 1
        assert len(server.requests) == 1
