"""Records and messages: nothing is lost on the way, nothing foreign gets in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histories import event, msg
from property.strategies import images, odd_text, reasonings, results, texts, uses
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.history.codec import decode, encode
from tierline.history.events import Event
from tierline.history.messages import Message, Status
from tierline.store.log import encode_line

SEED = {
    "id": "1700000000000-0badcafe",
    "session_id": "sess_1700000000000_abc123",
    "timestamp": "2024-01-01T00:00:00Z",
    "role": "user",
    "content": "hello",
    "image_refs": ["a.png"],
    "images": 1,
    "files": ["src/a.py"],
    "files_modified": ["src/b.py"],
    "edit_results": [{"file": "src/b.py", "status": "applied"}],
}


def test_seed_schema_is_read_with_all_its_fields() -> None:
    """Seed 004, "Message Schema"."""
    message = decode(SEED)
    assert isinstance(message, Message)
    assert message.content == (Text("hello"),)
    assert message.image_refs == ("a.png",) and message.files == ("src/a.py",)
    assert message.files_modified == ("src/b.py",)
    assert message.edit_results == ({"file": "src/b.py", "status": "applied"},)


@pytest.mark.parametrize(
    "change",
    [
        {"id": None},
        {"session_id": ""},
        {"session_id": 7},
        {"role": "critic"},
        {"role": None},
        {"role": ["user"]},
        {"type": "summary"},
        {"type": ["message"]},
    ],
)
def test_records_that_are_not_ours_are_foreign(change: dict[str, Any]) -> None:
    assert decode({**SEED, **change}) is None
    assert decode({}) is None


blocks = st.lists(st.one_of(texts, images, uses, results, reasonings), max_size=4).map(tuple)
built = st.builds(
    Message,
    id=odd_text.filter(bool),
    session_id=odd_text.filter(bool),
    group_id=odd_text,
    timestamp=odd_text,
    role=st.sampled_from(["user", "assistant", "tool", "system"]),
    content=blocks,
    branch_id=odd_text.filter(bool),
    status=st.sampled_from([Status.INTERRUPTED, Status.ERROR, Status.DROPPED]),
    parsing_strategy=st.sampled_from(["anthropic", "openai", "gemini", "text"]),
    files=st.lists(odd_text, max_size=2).map(tuple),
    tokens=st.integers(0, 10**9),
    meta=st.dictionaries(odd_text.filter(bool), odd_text, max_size=2),
)


@given(built)
def test_any_message_comes_back_as_it_was_written(message: Message) -> None:
    assert same(decode(json.loads(encode_line(encode(message)))), message)


def same(found: object, wanted: Message) -> bool:
    """Equal but for what JSON cannot say: NaN, and an image that is stored by its name."""
    assert isinstance(found, Message)

    def shown(message: Message) -> str:
        return json.dumps(encode(message), ensure_ascii=True)

    return shown(found) == shown(wanted)


def test_event_comes_back_as_it_was_written() -> None:
    made = event(3, "drop", on="other", groups=["g1"])
    assert decode(json.loads(encode_line(encode(made)))) == made


def test_event_of_a_later_version_is_kept() -> None:
    made = decode({**SEED, "type": "event", "kind": "telepathy", "data": {"x": 1}})
    assert isinstance(made, Event) and made.kind == "telepathy"


def test_plain_text_stays_a_string_on_disk() -> None:
    """Seed 004, "Message Schema": content is a string."""
    assert encode(msg(1, "user", "hello"))["content"] == "hello"
    assert encode(msg(1, "user", ()))["content"] == []


def test_call_makes_the_status_tool_call() -> None:
    shape = {**SEED, "role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}
    message = decode(shape)
    assert isinstance(message, Message) and message.status is Status.TOOL_CALL


def test_stored_picture_is_written_by_its_name_only() -> None:
    stored = encode(msg(1, "user", (Image("image/png", "aGk=", 3, 4, "abc.png"),)))
    assert "aGk=" not in json.dumps(stored)
    again = decode(stored)
    assert isinstance(again, Message)
    assert again.content == (Image("image/png", "", 3, 4, "abc.png"),)


def test_all_kinds_of_blocks_survive() -> None:
    content = (
        Text("t"),
        Image("image/png", "aGk="),
        ToolUse("a", "f", {"x": [1, {"y": None}]}),
        ToolResult("a", (Text("r"), Image("image/png", "aGk=")), True),
        Reasoning("anthropic", {"type": "thinking", "thinking": "h", "signature": "s"}),
    )
    again = decode(encode(msg(1, "assistant", content)))
    assert isinstance(again, Message) and again.content == content


def test_figures_of_usage_come_back_and_nothing_but_whole_numbers() -> None:
    message = msg(1, "assistant", "Hi.", usage={"input_tokens": 50, "output_tokens": 7})
    record = encode(message)
    back = decode(record)
    assert isinstance(back, Message)
    assert back.usage == {"input_tokens": 50, "output_tokens": 7}
    odd = decode({**record, "usage": {"input_tokens": 5, "a": True, "b": "7", "c": 1.5}})
    assert isinstance(odd, Message)
    assert odd.usage == {"input_tokens": 5}
    none = decode({**record, "usage": [1]})
    assert isinstance(none, Message)
    assert none.usage == {}
