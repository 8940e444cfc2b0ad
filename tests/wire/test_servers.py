"""The loopback servers are faithful: the official SDKs read them with their own stream helpers.

Issue 2, Must show 3.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request

import anthropic
import openai
import pytest

from wire.scripts import (
    a_end,
    a_error,
    a_reply,
    a_start,
    a_texts,
    a_thinking,
    a_tool,
    o_call,
    o_end,
    o_error,
    o_reply,
    o_texts,
    split,
)
from wire.servers import Hold, Reply, WireServer, wire_server


def claude(server: WireServer) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0)


def gpt(server: WireServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0)


async def test_the_anthropic_sdk_assembles_thinking_text_and_a_call() -> None:
    script = Reply(
        [
            a_start(cache_read_input_tokens=7),
            *a_thinking(0, "hm", " well"),
            *a_texts(1, "Grüße ", "😀"),
            *a_tool(2, "toolu_1", "read_file", '{"path"', ': "a.py"}'),
            *a_end("tool_use", 9),
        ]
    )
    async with (
        wire_server("anthropic", split(script, 3)) as server,
        claude(server) as client,
        client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        message = (await stream.get_final_message()).to_dict()
    assert isinstance(message["content"], list)
    thinking, text, call = message["content"]
    assert (thinking["type"], text["type"], call["type"]) == ("thinking", "text", "tool_use")
    assert thinking["thinking"] == "hm well"
    assert thinking["signature"] == "c2ln"
    assert text["text"] == "Grüße 😀"
    assert call["input"] == {"path": "a.py"}
    assert message["stop_reason"] == "tool_use"
    assert isinstance(message["usage"], dict)
    assert message["usage"]["cache_read_input_tokens"] == 7
    assert message["usage"]["output_tokens"] == 9


async def test_the_openai_sdk_assembles_text_a_call_and_usage() -> None:
    calls = o_call(0, "call_1", "read_file", '{"path"', ': "a.py"}')
    script = Reply([*o_texts("Grü", "ße"), *calls, *o_end("tool_calls")])
    async with (
        wire_server("openai", split(script, 3)) as server,
        gpt(server) as client,
        client.chat.completions.stream(
            model="m",
            messages=[{"role": "user", "content": "hi"}],
            stream_options={"include_usage": True},
        ) as stream,
    ):
        completion = await stream.get_final_completion()
    choice = completion.choices[0]
    assert choice.message.content == "Grüße"
    assert choice.message.tool_calls is not None
    assert choice.message.tool_calls[0].function.arguments == '{"path": "a.py"}'
    assert choice.finish_reason == "tool_calls"
    assert completion.usage is not None
    assert completion.usage.prompt_tokens == 100


async def test_the_sdks_raise_their_own_errors() -> None:
    async with (
        wire_server("anthropic", a_error("overloaded_error", "busy", 529)) as server,
        claude(server) as client,
    ):
        with pytest.raises(anthropic.InternalServerError) as raised:
            await client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            )
        assert raised.value.status_code == 529
    async with wire_server("openai", o_error("no", 401)) as server, gpt(server) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "hi"}]
            )


async def test_counts_and_lists_take_nothing_from_the_script() -> None:
    async with wire_server("anthropic", a_reply("x")) as server, claude(server) as client:
        counted = await client.messages.count_tokens(
            model="m", messages=[{"role": "user", "content": "hi"}]
        )
        assert counted.input_tokens == 42
        assert server.requests == []
        assert len(server.others) == 1


def post(server: WireServer) -> bytes:
    request = urllib.request.Request(
        f"{server.url}/chat/completions", b"{}", {"content-type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as response:
        return bytes(response.read())


def test_it_serves_a_plain_thread_and_remembers_the_request() -> None:
    scripts = [o_reply("one"), o_reply("two")]
    with wire_server("openai", scripts, unchecked="the bodies are about the wire") as server:
        assert b"one" in post(server)
        assert b"two" in post(server)
        assert b"two" in post(server), "the last reply repeats"
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 3
    assert server.bodies == [{}] * 3


def test_a_held_reply_goes_on_once_released() -> None:
    held = Reply([*o_texts("a"), Hold(), *o_end()])
    with wire_server("openai", held, unchecked="the body is about the wire") as server:
        got: list[bytes] = []
        thread = threading.Thread(target=lambda: got.append(post(server)))
        thread.start()
        assert server.waiting.wait(30)
        time.sleep(0.05)
        assert got == []
        server.release()
        thread.join(5)
    assert got[0].endswith(b"[DONE]\n\n")


def test_what_a_service_would_refuse_fails_the_test_that_sent_it() -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "assistant", "content": "I begin."}]})
    with (
        pytest.raises(AssertionError, match="would have refused"),
        wire_server("openai", o_reply("one")) as server,
    ):
        request = urllib.request.Request(f"{server.url}/chat/completions", body.encode())
        assert b"one" in urllib.request.urlopen(request).read()
