"""Replies and refusals in forms that few servers use: each has one reading."""

from __future__ import annotations

from typing import Any

import pytest

from tierline.providers.base import ToolCall
from tierline.providers.completion import CompletionReader
from tierline.providers.errors import error_in
from tierline.providers.overflows import Overflow, overflow
from tierline.providers.retry import RetryPolicy
from tierline.providers.thinking_refusals import about_thinking
from wire.drive import ask
from wire.scripts import o_end, o_texts
from wire.servers import Reply, wire_server


def piece(index: int | None = 0, identifier: str | None = None, **function: str) -> dict[str, Any]:
    found: dict[str, Any] = {"function": function}
    found |= {} if index is None else {"index": index}
    return found | ({} if identifier is None else {"id": identifier})


def calls(*pieces: dict[str, Any]) -> list[ToolCall]:
    reader = CompletionReader("X")
    for one in pieces:
        list(reader.read({"choices": [{"index": 0, "delta": {"tool_calls": [one]}}]}))
    list(reader.read({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
    return [event for event in reader.end() if isinstance(event, ToolCall)]


def test_a_name_that_comes_in_pieces_is_one_name() -> None:
    (call,) = calls(
        piece(0, "c1", name="read_"),
        piece(0, name="fi"),
        piece(0, name="le", arguments='{"path"'),
        piece(0, arguments=':"a"}'),
    )
    assert (call.id, call.name, call.input) == ("c1", "read_file", {"path": "a"})


def test_names_without_ids_or_with_arguments_before_them_are_calls_of_their_own() -> None:
    two = calls(piece(0, name="list_files"), piece(0, name="read_file", arguments='{"path":"a"}'))
    assert [call.name for call in two] == ["list_files", "read_file"]
    two = calls(piece(0, "c1", name="list_files", arguments="{}"), piece(0, name="read_file"))
    assert [call.name for call in two] == ["list_files", "read_file"]


def test_pieces_that_each_hold_all_before_them_are_not_joined() -> None:
    grown = ('{"pa', '{"path": "a', '{"path": "a.py"}')
    (call,) = calls(*(piece(0, "c1", name="read_file", arguments=text) for text in grown))
    assert call.input == {"path": "a.py"}
    (call,) = calls(piece(0, "c1", name="f", arguments="{"), piece(0, arguments='"a": {}}'))
    assert call.input == {"a": {}}, "pieces that are none are joined"


async def test_a_mark_that_a_second_gateway_put_before_the_data_is_passed_over() -> None:
    events = [*o_texts("One ", "two."), *o_end()]
    twice = [event.replace(b"data: ", b"data: data: ", 1) for event in events]
    with wire_server("openai", [Reply(twice)]) as server:
        assert (await ask(server)).text == "One two."


async def test_words_in_place_of_a_reply_are_shown_without_the_key() -> None:
    reply = Reply([b"data: upstream worker died, sk-test-0123456789abcdef\n\n"])
    with wire_server("openai", [reply]) as server:
        failed = (await ask(server, retry=RetryPolicy(retries=0))).failed
    assert failed.code == "protocol"
    assert "no reply: “upstream worker died" in str(failed)
    assert "0123456789abcdef" not in str(failed)


def test_an_error_in_a_field_of_its_own_is_one_and_its_zero_is_none() -> None:
    bad = {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}
    assert error_in({"choices": None, **bad}) == {
        "error": {"code": 1008, "message": "insufficient balance"}
    }
    assert error_in({"choices": [{"delta": {}}], "base_resp": {"status_code": 0}}) is None
    assert error_in({"choices": [], "usage": {"prompt_tokens": 4}}) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "You passed 4097 tokens. However, the model's context length is only 4096 tokens.",
            Overflow(4096, 4097),
        ),
        ("messages: too many total text bytes: 9500000 > 9437184", Overflow(size=True)),
    ],
)
def test_overflows_in_other_words(text: str, found: Overflow) -> None:
    assert overflow(400, "", "", text) == found


def test_a_think_value_that_is_not_taken_is_about_thinking() -> None:
    said = 'think value "high" is not supported for this model'
    assert about_thinking(400, said) == "thinking_unknown"
