"""What servers send that is not quite what the format says, through a real language server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from lsp.conftest import Start
from tierline import protocol as p
from wire.agents import Use as Wanted
from wire.agents import calls, results, says
from wire.scripts import O_DONE, a_event, dumps, o_chunk, o_data, o_end, o_texts
from wire.servers import Kind, Reply, wire_server

JSON = {"content-type": "application/json"}
ONE = {"path": "src/a.py"}
TWO = {"path": "src/b.py"}


def call(arguments: Any, name: str | None = "read_file", **more: Any) -> dict[str, Any]:
    """One entry of ``tool_calls``."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {**more, "type": "function", "function": function}


def pieces(*entries: Any) -> list[bytes]:
    """A chunk for each entry, or for each list of them."""
    lists = [entry if isinstance(entry, list) else [entry] for entry in entries]
    return [o_chunk({"tool_calls": entry}) for entry in lists]


def text(value: Any) -> str:
    return json.dumps(value)


TWO_CALLS: dict[str, list[bytes]] = {
    "ids differ, the index is always 0": pieces(
        call("", index=0, id="call_a"),
        call(text(ONE), None, index=0, id="call_a"),
        call("", index=0, id="call_b"),
        call(text(TWO), None, index=0, id="call_b"),
    ),
    "only the first piece of each call has its id, the index is always 0": pieces(
        call("", index=0, id="call_a"),
        call(text(ONE)[:9], None, index=0),
        call(text(ONE)[9:], None, index=0),
        call("", index=0, id="call_b"),
        call(text(TWO), None, index=0),
    ),
    "no index, a whole call in each chunk": pieces(
        call(text(ONE), id="call_a"), call(text(TWO), id="call_b")
    ),
    "neither index nor id": pieces(call(text(ONE)), call(text(TWO))),
    "index null, id null, in one list": pieces(
        [call(text(ONE), index=None, id=None), call(text(TWO), index=None, id=None)]
    ),
    "one id for all": pieces(call(text(ONE), index=0, id="x"), call(text(TWO), index=1, id="x")),
    "one id and one index for all": pieces(
        call(text(ONE), index=0, id="x"), call(text(TWO), index=0, id="x")
    ),
    "the name again with each piece": pieces(
        call(text(ONE)[:5], index=0, id="a"),
        call(text(ONE)[5:], index=0),
        call(text(TWO)[:5], index=1, id="b"),
        call(text(TWO)[5:], index=1),
    ),
    "an id made anew for each piece": pieces(
        call("", index=0, id="r1"),
        call(text(ONE), None, index=0, id="r2"),
        call("", index=1, id="r3"),
        call(text(TWO), None, index=1, id="r4"),
    ),
    "pieces interleaved": pieces(
        call(text(ONE)[:7], index=0, id="a"),
        call(text(TWO)[:7], index=1, id="b"),
        call(text(ONE)[7:], None, index=0),
        call(text(TWO)[7:], None, index=1),
    ),
    "numbers as text": pieces(call(text(ONE), index="0", id=1), call(text(TWO), index="1", id=2)),
    "arguments as objects": pieces(call(ONE, index=0, id="a"), call(TWO, index=1, id="b")),
    "one object instead of a list": [
        o_chunk({"tool_calls": call(text(ONE), index=0, id="a")}),
        o_chunk({"tool_calls": call(text(TWO), index=1, id="b")}),
    ],
    "flat, with input": pieces(
        {"id": "a", "name": "read_file", "input": ONE},
        {"id": "b", "name": "read_file", "input": TWO},
    ),
    "an empty object first": pieces(
        call("{}", index=0, id="a"),
        call(text(ONE), None, index=0),
        call("{}", index=1, id="b"),
        call(text(TWO), None, index=1),
    ),
    "a whole message": [
        o_data(
            {
                "choices": [
                    {
                        "message": {"tool_calls": [call(text(ONE), id="a"), call(text(TWO))]},
                        "finish_reason": "tool_calls",
                    }
                ]
            }
        )
    ],
}


async def test_two_calls_of_one_reply_are_two(start: Start) -> None:
    replies = [Reply([*body, *o_end("tool_calls")]) for body in TWO_CALLS.values()]
    script = [each for reply in replies for each in (reply, says("openai", "Done."))]
    with wire_server("openai", script) as model:
        editor = await start(model)
        for how in TWO_CALLS:
            end = await editor.chat(f"Read both: {how}")
            assert (end.outcome, end.message and end.message.text) == ("ok", "Done."), how
            before, told = model.bodies[-2:]
            asked = [m for m in told["messages"][len(before["messages"]) :] if "tool_calls" in m]
            assert [len(m["tool_calls"]) for m in asked] == [2], how
            first, second = list(results(told, "openai").values())[-2:]
            assert "def alpha" in first and "BETA = 2" in second, how


ARGUMENTS: dict[str, str] = {
    "encoded twice": text(text({"path": "src/a.py", "start_line": 1, "end_line": 1})),
    "numbers as text, null for what may be left out": text(
        {"path": "src/a.py", "start_line": "1", "end_line": None}
    ),
    "numbers with a fraction": text({"path": "src/a.py", "start_line": 1.0}),
    "a list with the object": text([{"path": "src/a.py"}]),
    "the object twice": text(ONE) + text(ONE),
    "line ends within": '{"path": \n "src/a.py"}\n',
}


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_arguments_with_one_reading_are_understood(start: Start, kind: Kind) -> None:
    made = [calls(kind, Wanted("read_file", raw=raw)) for raw in ARGUMENTS.values()]
    with wire_server(kind, [e for m in made for e in (m, says(kind, "Done."))]) as model:
        editor = await start(model)
        for how in ARGUMENTS:
            await editor.chat(f"Read it: {how}")
            *_, told = results(model.bodies[-1], kind).values()
            assert "def alpha" in told and not told.startswith("Error"), how


async def test_arguments_with_two_readings_are_not_guessed(start: Start) -> None:
    script = [calls("openai", Wanted("read_file", raw=text(ONE) + text(TWO))), says("openai", "A")]
    with wire_server("openai", script) as model:
        editor = await start(model)
        await editor.chat("Read it.")
        (told,) = results(model.bodies[-1], "openai").values()
    assert told.startswith("Error") and "JSON" in told


def whole(message: Any, **more: Any) -> dict[str, Any]:
    """An ordinary Chat Completions object."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "choices": [choice], **more}


def chunks(*contents: Any, key: str = "content") -> list[bytes]:
    return [o_chunk({key: content}) for content in contents]


MISTRAL = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
    {"type": "text", "text": "The answer"},
]
YES = "Yes, it is."
USAGE = {"prompt_tokens": 100, "completion_tokens": 5}

TEXTS: dict[str, tuple[Reply, str, str]] = {
    "parts": (Reply([*chunks(MISTRAL), *o_end()]), "The answer", "hm"),
    "one part": (Reply([*chunks({"type": "text", "text": YES}), *o_end()]), YES, ""),
    "null and empty between": (
        Reply([*chunks(None, "Yes", "", None, ", it is."), *o_end()]),
        YES,
        "",
    ),
    "parts whose text is an object": (
        Reply([*chunks([{"type": "text", "text": {"value": YES}}]), *o_end()]),
        YES,
        "",
    ),
    "tags": (Reply([*chunks("<think>let me see</think>Yes, it is."), *o_end()]), YES, "let me see"),
    "tags in single characters": (
        Reply([*chunks(*"\n<think>\nlet me see\n</think>\n\nYes, it is."), *o_end()]),
        YES,
        "\nlet me see\n",
    ),
    "other tags": (Reply([*chunks("◁think▷hm◁/thi", "nk▷Yes, it is."), *o_end()]), YES, "hm"),
    "the tag that ends it alone": (
        Reply([*chunks("Let me see. a <b\n", "</thi", "nk>\n", "\nYes, it is."), *o_end()]),
        YES,
        "Let me see. a <b\n",
    ),
    "the tag that ends it, in code": (
        Reply([*chunks("```\n</think>\n```\nYes", ", it is."), *o_end()]),
        "```\n</think>\n```\nYes, it is.",
        "",
    ),
    "harmony": (
        Reply(
            [
                *chunks(
                    "<|channel|>analysis<|mes",
                    "sage|>hm<|end|><|start|>assistant",
                    "<|channel|>final<|message|>Yes, it",
                    " is.",
                ),
                *o_end(),
            ]
        ),
        YES,
        "hm",
    ),
    "harmony without its marks": (
        Reply([*chunks("analysisWe look.assist", "antfinalYes, it is."), *o_end()]),
        YES,
        "analysisWe look.",
    ),
    "the chunks as an array": (
        Reply(
            [
                dumps(
                    [
                        {"choices": [{"index": 0, "delta": {"content": "Yes, "}}]},
                        {
                            "choices": [
                                {
                                    "index": 0,
                                    "delta": {"content": "it is."},
                                    "finish_reason": "stop",
                                }
                            ]
                        },
                    ]
                ).encode()
            ],
            200,
            JSON,
        ),
        YES,
        "",
    ),
    "tags later on are text": (
        Reply([*chunks("Write <think>", "x</think>."), *o_end()]),
        "Write <think>x</think>.",
        "",
    ),
    "thinking that never ends is not lost": (
        Reply([*chunks("<think>let me", " see"), *o_end()]),
        "let me see",
        "let me see",
    ),
    "thinking under another name": (
        Reply([*chunks("hm", key="thinking"), *chunks(YES), *o_end()]),
        YES,
        "hm",
    ),
    "thinking in details, and the same again under a name": (
        Reply(
            [
                o_chunk(
                    {
                        "reasoning": "hm",
                        "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
                    }
                ),
                *chunks(YES),
                *o_end(),
            ]
        ),
        YES,
        "hm",
    ),
    "a whole object": (Reply([dumps(whole({"content": YES})).encode()], 200, JSON), YES, ""),
    "a whole object on many lines, as a stream": (
        Reply([json.dumps(whole({"content": YES}), indent=2).encode()]),
        YES,
        "",
    ),
    "a whole object in an event": (
        Reply([o_data(whole({"content": MISTRAL}))]),
        "The answer",
        "hm",
    ),
    "a whole object in an envelope": (
        Reply([dumps({"result": whole({"content": YES}), "success": True}).encode()], 200, JSON),
        YES,
        "",
    ),
    "message where delta is due": (
        Reply(
            [
                o_data({"choices": [{"index": 0, "message": {"content": piece}}]})
                for piece in ("Yes", ", it", " is.")
            ]
            + [O_DONE]
        ),
        YES,
        "",
    ),
    "deltas, then their sum": (
        Reply([*o_texts("Yes", ", it is."), o_data(whole({"content": YES})), O_DONE]),
        YES,
        "",
    ),
    "texts of the older interface": (
        Reply(
            [o_data({"choices": [{"index": 0, "text": piece}]}) for piece in ("Yes", ", it is.")]
            + [O_DONE]
        ),
        YES,
        "",
    ),
    "one choice instead of a list": (
        Reply([o_data({"choices": {"index": 0, "delta": {"content": YES}}}), O_DONE]),
        YES,
        "",
    ),
    "choices counted from 1": (
        Reply([o_data({"choices": [{"index": 1, "delta": {"content": YES}}]}), O_DONE]),
        YES,
        "",
    ),
    "neither reason nor end, but usage": (
        Reply([*o_texts(YES), o_chunk(None, usage=USAGE)]),
        YES,
        "",
    ),
    "an empty reason in each chunk": (
        Reply([o_chunk({"content": piece}, "") for piece in ("Yes", ", it is.")] + [O_DONE]),
        YES,
        "",
    ),
    "a reason in capitals": (Reply([*o_texts(YES), o_chunk({}, "STOP")]), YES, ""),
    "a reason that is an object": (
        Reply([*o_texts(YES), o_data({"choices": [{"finish_reason": {"type": "stop"}}]})]),
        YES,
        "",
    ),
    "a mark, comments, carriage returns, names, no spaces": (
        Reply(
            [
                b"\xef\xbb\xbf: hi\r\rid: 3\revent: message\rdata:"
                + dumps({"choices": [{"delta": {"content": "Yes"}}]}).encode()
                + b"\r\r: still here\r\n\r\nretry: 5\r\nDATA:  "
                + dumps({"choices": [{"delta": {"content": ", it is."}}]}).encode()
                + b'\r\n\r\ndata: "[DONE]"\r\n\r\n'
            ]
        ),
        YES,
        "",
    ),
    "lines of JSON": (
        Reply(
            [
                dumps({"message": {"role": "assistant", "content": "Yes"}, "done": False}).encode(),
                b"\n",
                dumps({"message": {"content": ", it is."}, "done": False}).encode() + b"\n",
                dumps({"message": {"content": ""}, "done": True, "done_reason": "stop"}).encode(),
            ],
            200,
            {"content-type": "application/x-ndjson"},
        ),
        YES,
        "",
    ),
    "two events on one line": (
        Reply(
            [
                b"data: "
                + dumps({"choices": [{"delta": {"content": "Yes"}}]}).encode()
                + b"data: "
                + dumps({"choices": [{"delta": {"content": ", it is."}}]}).encode()
                + b"\n\ndata: [DONE]\n\n"
            ]
        ),
        YES,
        "",
    ),
    "a refusal": (Reply([*chunks("No, ", "sorry.", key="refusal"), *o_end()]), "No, sorry.", ""),
}


async def ask(
    start: Start, replies: Mapping[str, Reply], kind: Kind = "openai"
) -> AsyncIterator[tuple[str, Any, str]]:
    """For each reply the end of a turn that got it, and the thinking that was shown."""
    with wire_server(kind, replies.values()) as model:
        editor = await start(model)
        for how in replies:
            editor.events.clear()
            end = await editor.chat(f"Is it? {how}")
            yield how, end, "".join(body.text for body in editor.bodies(p.ReasoningDelta))


async def test_text_and_thinking_are_found_wherever_they_stand(start: Start) -> None:
    async for how, end, thought in ask(start, {how: case[0] for how, case in TEXTS.items()}):
        assert (end.outcome, end.error) == ("ok", ""), how
        assert (end.message.text, thought) == TEXTS[how][1:], how


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": YES}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 700, "output_tokens": 5},
}


def events(*values: Any) -> Reply:
    return Reply([a_event(kind, **fields) for kind, fields in values])


MESSAGES: dict[str, Reply] = {
    "a whole object": Reply([dumps(MESSAGE).encode()], 200, JSON),
    "a whole object whose content is a string": Reply(
        [dumps({**MESSAGE, "content": f"<think>hm</think>{YES}"}).encode()], 200, JSON
    ),
    "no type in the deltas, blocks that are never closed, usage at the wrong end": events(
        ("message_start", {"message": {}}),
        ("content_block_delta", {"delta": {"thinking": "hm"}}),
        ("content_block_delta", {"index": "1", "delta": {"text": YES}}),
        ("message_delta", {"stop_reason": "end_turn", "usage": {"input_tokens": "700"}}),
        ("message_stop", {}),
    ),
    "everything in the first event": events(
        ("message_start", {"message": MESSAGE}), ("message_stop", {})
    ),
    "zeros at the end": events(
        ("message_start", {"message": {"usage": {"input_tokens": 700, "output_tokens": 1}}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        (
            "content_block_delta",
            {"index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        ),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": YES}}),
        (
            "message_delta",
            {
                "delta": {"stop_reason": "end_turn"},
                "usage": {"input_tokens": 0, "output_tokens": 7},
            },
        ),
        ("message_stop", {}),
    ),
}


async def test_messages_are_read_in_other_forms(start: Start) -> None:
    async for how, end, thought in ask(start, MESSAGES, "anthropic"):
        assert (end.outcome, end.message.text, thought) == ("ok", YES, "hm"), how
        assert (end.usage.input_tokens, end.usage.estimated) == (700, False), how


ERRORS: dict[str, Sequence[bytes]] = {
    "an object": [o_data({"error": {"message": "the server fell over", "code": 400}})],
    "a text": [o_data({"error": "the server fell over"})],
    "an object that is nothing else": [
        o_data({"object": "error", "message": "the server fell over", "code": 400})
    ],
    "in the choice": [
        o_data({"choices": [{"error": {"code": 400, "message": "the server fell over"}}]})
    ],
    "an event of that name": [b'event: error\ndata: {"message": "the server fell over"}\n\n'],
    "an event of that name with plain text": [b"event: error\ndata: the server fell over\n\n"],
    "details": [o_data({"detail": "the server fell over"})],
    "a list": [o_data({"errors": [{"message": "the server fell over"}]})],
}


async def test_an_error_within_the_reply_is_told_and_the_text_before_it_kept(
    start: Start,
) -> None:
    replies = {how: Reply([*o_texts("Half"), *body]) for how, body in ERRORS.items()}
    async for how, end, _ in ask(start, replies):
        assert end.outcome == "error", how
        assert "the server fell over" in end.error, how
        assert end.message.text == "Half", how


async def test_json_that_is_no_reply_is_named(start: Start) -> None:
    async for _, end, _ in ask(start, {"": Reply([b'{"hello": "world"}'], 200, JSON)}):
        assert (end.outcome, end.code) == ("error", "protocol")
        assert "application/json" in end.error and "/v1" in end.advice
