"""MessageParser: one place for every provider's shapes (seed 000, section 2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.strategies import json_values, odd_text
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.history.parser import UNNAMED, MessageParser, full_text


def test_openai_calls_and_text() -> None:
    record = {
        "id": "m1",
        "role": "assistant",
        "content": "let me look",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
        ],
    }
    parser = MessageParser("openai")
    assert parser.tool_calls(record) == (ToolUse("call_1", "f", {"a": 1}),)
    assert parser.text(record) == "let me look"


def test_openai_tool_message_is_a_result() -> None:
    record = {"role": "tool", "tool_call_id": "call_1", "content": "out"}
    assert MessageParser("openai").blocks(record) == (ToolResult("call_1", (Text("out"),)),)


def test_openai_reasoning_is_kept_apart() -> None:
    record = {"role": "assistant", "content": None, "reasoning_content": "hm"}
    assert MessageParser("openai").blocks(record) == (
        Reasoning("openai", {"reasoning_content": "hm"}),
    )


@pytest.mark.parametrize("strategy", ["gemini", "gemini_gca"])
def test_gemini_calls_get_ids_that_are_stable_and_distinct(strategy: str) -> None:
    part = {"functionCall": {"name": "f", "args": {"a": 1}}}
    record = {"id": "m1", "content": [{"text": "so"}, part, part]}
    parser = MessageParser(strategy)
    first, second = parser.tool_calls(record)
    assert first.id != second.id and first.input == {"a": 1}
    assert parser.tool_calls(record) == (first, second)
    assert parser.tool_calls({**record, "id": "m2"})[0].id != first.id
    assert parser.text(record) == "so"


def test_gemini_answers_name_their_function() -> None:
    record = {"id": "m1", "parts": [{"functionResponse": {"name": "f", "response": {"t": 3}}}]}
    (answer,) = MessageParser("gemini").blocks(record)
    assert answer == ToolResult(UNNAMED + "f", (Text('{"t": 3}'),))


def test_anthropic_blocks() -> None:
    record = {
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "so"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            {"type": "tool_result", "tool_use_id": "a", "content": "out", "is_error": True},
            {"type": "image", "source": {"media_type": "image/png", "data": "aGk="}},
        ]
    }
    assert MessageParser("anthropic").blocks(record) == (
        Reasoning("anthropic", {"type": "thinking", "thinking": "hm", "signature": "s"}),
        Text("so"),
        ToolUse("a", "f", {"x": 1}),
        ToolResult("a", (Text("out"),), True),
        Image("image/png", "aGk="),
    )


def test_image_url_with_a_data_uri_is_a_picture() -> None:
    record = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}],
    }
    assert MessageParser("openai").blocks(record) == (Image("image/png", "aGk="),)


def test_arguments_that_are_no_object_are_kept_as_they_are() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "not json"}}
    (use,) = MessageParser("openai").tool_calls({"tool_calls": [call]})
    assert use.input == {"_raw": "not json"}


def test_strategy_decides_and_not_the_looks_of_the_content() -> None:
    """Seed 000: "eliminates heuristic JSON sniffing"."""
    quoted = '{"functionCall": {"name": "f"}}'
    for strategy in ("openai", "anthropic", "gemini", "text"):
        assert MessageParser(strategy).blocks({"content": quoted}) == (Text(quoted),)


def test_searchable_text_has_results_and_arguments_too() -> None:
    content = (Text("a"), ToolUse("i", "f", {"p": "b"}), ToolResult("i", (Text("c"),)))
    assert full_text(content) == 'a\nf({"p": "b"})\nc'


keys = st.sampled_from(
    [
        "id",
        "role",
        "content",
        "parts",
        "tool_calls",
        "tool_call_id",
        "reasoning",
        "type",
        "text",
        "functionCall",
        "functionResponse",
        "inlineData",
        "thought",
        "source",
        "input",
        "name",
        "arguments",
        "function",
    ]
)
anything = st.recursive(
    json_values, lambda x: st.lists(x, max_size=3) | st.dictionaries(keys, x, max_size=4)
)


@given(
    st.dictionaries(keys, anything, max_size=6),
    st.sampled_from(["openai", "anthropic", "gemini", "text", "?"]) | odd_text,
)
def test_no_record_whatsoever_raises(record: dict[str, Any], strategy: str) -> None:
    parser = MessageParser(strategy)
    parser.blocks(record)
    parser.text(record)
