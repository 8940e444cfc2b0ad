"""MessageParser: one place for every provider's shapes (seed 000, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.strategies import json_values, odd_text
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.history.parser import UNNAMED, MessageParser, full_text, text_of


def calls(parser: MessageParser, record: Mapping[str, Any]) -> tuple[ToolUse, ...]:
    return tuple(b for b in parser.blocks(record) if isinstance(b, ToolUse))


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
    assert calls(parser, record) == (ToolUse("call_1", "f", {"a": 1}),)
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
    first, second = calls(parser, record)
    assert first.id != second.id and first.input == {"a": 1}
    assert calls(parser, record) == (first, second)
    assert calls(parser, {**record, "id": "m2"})[0].id != first.id
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
    (use,) = calls(MessageParser("openai"), {"tool_calls": [call]})
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


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        (None, ()),
        ("", (Text(""),)),
        ([None, "a", None], (Text("a"),)),
        (["é", 3, ["ü"], True], (Text("é"), Text("3"), Text('["ü"]'), Text("true"))),
        ({"type": "text", "text": "a"}, (Text("a"),)),
        ([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}],
         (Text("a"), Text("b"))),
        ([{"type": "refusal", "refusal": "no"}], (Text("no"),)),
        ([{"type": "text", "text": 3}], (Reasoning("openai", {"type": "text", "text": 3}),)),
        ([{"type": "reasoning", "strategy": "anthropic", "data": {"x": 1}}],
         (Reasoning("anthropic", {"x": 1}),)),
        ([{"type": "reasoning", "data": 3}],
         (Reasoning("openai", {"type": "reasoning", "data": 3}),)),
        ([{"type": "telepathy"}], (Reasoning("openai", {"type": "telepathy"}),)),
        ([{"type": "tool_result", "tool_use_id": "a"}], (ToolResult("a", ()),)),
        ([{"type": "tool_use", "id": 7, "name": None}], (ToolUse("7", "", {}),)),
    ],
)  # fmt: skip
def test_parts_of_any_kind(content: Any, blocks: tuple[Any, ...]) -> None:
    """What is understood becomes a block, the rest is kept as it is, nothing is dropped."""
    assert MessageParser("openai").blocks({"role": "assistant", "content": content}) == blocks


def test_a_result_holds_text_and_pictures_and_the_rest_as_json() -> None:
    parts = [
        {"type": "text", "text": "é"}, {"type": "document", "title": "ü"},
        {"type": "image", "source": {"media_type": "image/gif", "data": "aGk="}},
        {"type": "tool_use", "id": "x", "name": "f"},
    ]  # fmt: skip
    record = {"content": [{"type": "tool_result", "tool_use_id": "a", "content": parts}]}
    (result,) = MessageParser("anthropic").blocks(record)
    assert result == ToolResult("a", (
        Text("é"), Text('{"type": "document", "title": "ü"}'), Image("image/gif", "aGk="),
    ), False)  # fmt: skip


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ({"source": {"data": "aGk="}, "width": 3, "height": 4}, Image("image/png", "aGk=", 3, 4)),
        ({"source": {"ref": "x.png", "media_type": "image/png"}, "width": "3"},
         Image("image/png", "", None, None, "x.png")),
        ({"source": {"type": "url", "url": "data:image/gif;base64,aGk="}},
         Image("image/gif", "aGk=")),
        ({"source": {"type": "url", "url": "https://example.org/a.png"}},
         Text("[image: https://example.org/a.png]")),
        ({"source": 3}, Image("image/png", "")),
    ],
)  # fmt: skip
def test_pictures_of_one_provider(part: dict[str, Any], block: Any) -> None:
    assert MessageParser("anthropic").blocks({"content": [{"type": "image", **part}]}) == (block,)


@pytest.mark.parametrize(
    "url", ["https://example.org/a.png", "data:image/png,plain", ";base64,x", ""]
)
def test_a_picture_that_is_elsewhere_is_named(url: str) -> None:
    for value in (url, {"url": url}):
        record = {"content": [{"type": "image_url", "image_url": value}]}
        assert MessageParser("openai").blocks(record) == (Text(f"[image: {url}]"),)


def test_calls_that_are_damaged_do_not_hide_those_behind_them() -> None:
    good = {"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}
    damaged = [None, 3, {"function": 7}, {}]
    record = {"id": "m", "content": "x", "tool_calls": [*damaged, good]}
    uses = calls(MessageParser("openai"), record)
    assert [u.name for u in uses] == ["", "", "f"] and uses[-1] == ToolUse("c", "f", {"a": 1})
    assert len({u.id for u in uses}) == 3 and all(u.id for u in uses), "each has an id of its own"
    assert MessageParser("openai").blocks({"content": "x", "tool_calls": {"0": good}}) == (
        Text("x"),
    )


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        (None, {}), ("", {}), ('{"a": 1}', {"a": 1}), ({"a": 1}, {"a": 1}),
        ("[1]", {"_raw": [1]}), ("3", {"_raw": 3}), ("null", {}), ("{torn", {"_raw": "{torn"}),
        ("[" * 100_000, {"_raw": "[" * 100_000}), (7, {"_raw": 7}), (False, {"_raw": False}),
    ],
)  # fmt: skip
def test_arguments_of_any_shape(arguments: Any, read: dict[str, Any]) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    (use,) = calls(MessageParser("openai"), {"tool_calls": [call]})
    assert use.input == read


def test_thoughts_stand_before_what_was_said() -> None:
    record = {"reasoning": "r", "reasoning_content": "c", "content": "x"}
    assert MessageParser("openai").blocks(record) == (
        Reasoning("openai", {"reasoning_content": "c"}), Reasoning("openai", {"reasoning": "r"}),
        Text("x"),
    )  # fmt: skip
    assert MessageParser("openai").blocks({"reasoning": "", "content": "x"}) == (Text("x"),)


@pytest.mark.parametrize("role", ["tool", "function"])
def test_a_result_without_an_id_names_its_function(role: str) -> None:
    record = {"role": role, "name": "f", "content": [{"type": "text", "text": "out"}]}
    assert MessageParser("openai").blocks(record) == (ToolResult(UNNAMED + "f", (Text("out"),)),)


def test_gemini_parts() -> None:
    def read(*parts: Any, **more: Any) -> tuple[Any, ...]:
        return MessageParser("gemini").blocks({"id": "m", "content": list(parts), **more})

    call, answer = {"name": "f", "args": {"a": 1}, "id": "7"}, {"name": "f", "id": "7"}
    assert read({"functionCall": call}) == (ToolUse("7", "f", {"a": 1}),)
    assert read({"functionResponse": {**answer, "response": "é"}}) == (
        ToolResult("7", (Text("é"),)),
    )
    unnamed = {"name": "f", "response": {"x": "é"}}
    assert read({"functionResponse": unnamed}) == (ToolResult("unnamed:f", (Text('{"x": "é"}'),)),)
    inline = {"mimeType": "image/png", "data": "aGk="}
    assert read({"inlineData": inline}) == (Image("image/png", "aGk="),)
    thought = {"thought": True, "text": "hm"}
    assert read(thought) == (Reasoning("gemini", thought),)
    assert read({"thought": False, "text": "said"}) == (Text("said"),)
    assert read({"type": "text", "text": "ours"}, "plain") == (Text("ours"), Text("plain"))
    parser = MessageParser("gemini")
    assert parser.blocks({"content": {"parts": [{"text": "a"}]}}) == (Text("a"),)
    assert parser.blocks({"content": "a", "parts": [{"text": "b"}]}) == (Text("a"),)
    assert parser.blocks({}) == ()


def test_texts_are_joined_by_line_breaks() -> None:
    content = (Text("a"), ToolUse("i", "f", {"p": "é"}), Text("b"))
    assert text_of(content) == "a\nb" and full_text(content) == 'a\nf({"p": "é"})\nb'
    picture = ToolResult("i", (Text("c"), Image("image/png", ""), Text("d")))
    assert full_text((picture, Reasoning("x", {}))) == "c\nd"
