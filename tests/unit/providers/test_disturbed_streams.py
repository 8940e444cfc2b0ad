"""One field of a stream is missing, null, or of another JSON type: what the rest says is heard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tierline.providers.base import ProviderError, Stop, StreamEvent, TextChunk, ToolCall, Usage
from tierline.providers.completion import CompletionReader
from tierline.providers.messages import MessageReader
from tierline.providers.responses import ResponseReader
from wire.drive import ask
from wire.scripts import dumps
from wire.servers import Reply, wire_server

ARGUMENTS = '{"path":"a"}'
CALL = {"name": "read_file", "arguments": ARGUMENTS}
MESSAGE = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Yes."}]}
FUNCTION = {"type": "function_call", "id": "f1", "call_id": "c1", **CALL}
STREAMS: dict[str, list[dict[str, Any]]] = {
    "messages": [
        {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 500}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Yes."},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS},
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    ],
    "completions": [
        {"id": "r", "choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": None}]},
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {
                                "index": 0,
                                "id": "c1",
                                "type": "function",
                                "function": {"name": "read_file", "arguments": ""},
                            }
                        ]
                    },
                }
            ]
        },
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ARGUMENTS}}]},
                }
            ]
        },
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {"prompt_tokens": 500, "prompt_tokens_details": {}}},
    ],
    "responses": [
        {"type": "response.created", "response": {"object": "response", "output": []}},
        {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "delta": "Yes."},
        {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},
        {"type": "response.output_item.done", "output_index": 1, "item": FUNCTION},
        {
            "type": "response.completed",
            "response": {
                "status": "completed",
                "error": None,
                "output": [MESSAGE, FUNCTION],
                "usage": {"input_tokens": 500, "output_tokens": 7},
            },
        },
    ],
}
GONE = "(gone)"
OTHERS = [GONE, None, 0, -1, 1.5, True, "", "x", [], {}, [None], {"a": 1}, ["x"]]
SAY_THE_CALL = {"content_block", "name", "partial_json", "arguments", "function", "tool_calls"}
SAY_THE_TEXT = {"delta", "content", "text", "choices", "message"}


def places(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    named = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in named:
        yield (*so_far, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*so_far, key))


def disturbed(events: list[dict[str, Any]], place: tuple[Any, ...], other: Any) -> list[Any]:
    found = json.loads(json.dumps(events))
    at = found
    for key in place[:-1]:
        at = at[key]
    if other == GONE:
        del at[place[-1]]
    else:
        at[place[-1]] = other
    return list(found)


def heard(kind: str, events: list[Any]) -> list[StreamEvent]:
    readers: dict[str, Any] = {
        "messages": MessageReader(),
        "completions": CompletionReader("X"),
        "responses": ResponseReader("X"),
    }
    reader = readers[kind]
    found: list[StreamEvent] = []
    for event in events:
        reader.has_content(event)
        found += reader.read(event)
    return [*found, *reader.end()]


def said(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextChunk))


@pytest.mark.parametrize("kind", STREAMS)
def test_the_stream_itself_is_heard(kind: str) -> None:
    events = heard(kind, STREAMS[kind])
    assert said(events) == "Yes."
    (call,) = [event for event in events if isinstance(event, ToolCall)]
    assert (call.id, call.name, call.input, call.error) == ("c1", "read_file", {"path": "a"}, "")
    usage = [event for event in events if isinstance(event, Usage)][-1]
    assert usage.input_tokens == 500
    assert isinstance(events[-1], Stop) and events[-1].reason == "tool_use"


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_a_disturbed_field_costs_at_most_what_it_said(kind: str, other: Any) -> None:
    """The kind of an event or of an item aside, which is what says how it is read."""
    for place in places(STREAMS[kind]):
        if len(place) == 1 or (place[-1] == "type" and (len(place) == 2 or other == "x")):
            continue
        try:
            events = heard(kind, disturbed(STREAMS[kind], place, other))
        except ProviderError:
            assert "error" in place, place
            continue
        names = {key for key in place if isinstance(key, str)}
        if not names & SAY_THE_TEXT:
            assert said(events) == "Yes.", place
        if not names & (SAY_THE_CALL | {"choices", "delta"}):
            calls = [event for event in events if isinstance(event, ToolCall)]
            assert [call.input for call in calls] == [{"path": "a"}], place
        if names & {"id", "item_id", "index", "output_index", "created"}:
            calls = [event for event in events if isinstance(event, ToolCall)]
            assert [(call.name, call.input) for call in calls] == [("read_file", {"path": "a"})]


@pytest.mark.parametrize("kind", ["messages", "responses"])
@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_an_event_of_no_kind_is_passed_over(kind: str, other: Any) -> None:
    for number in range(len(STREAMS[kind])):
        events = heard(kind, disturbed(STREAMS[kind], (number, "type"), other))
        assert said(events) in ("", "Yes.")
        assert len([event for event in events if isinstance(event, ToolCall)]) <= 1


async def test_a_kind_that_only_the_events_name_says_is_understood() -> None:
    named = [
        f"event: {event['type']}\ndata: {dumps({**event, 'type': None})}\n\n".encode()
        for event in STREAMS["messages"]
    ]
    async with wire_server("anthropic", Reply(named)) as server:
        heard_there = await ask(server)
    assert heard_there.error is None
    assert heard_there.text == "Yes."
    assert [call.input for call in heard_there.of(ToolCall)] == [{"path": "a"}]
    assert heard_there.stop.reason == "tool_use"
