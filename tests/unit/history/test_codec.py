"""Records and messages: nothing is lost on the way, nothing foreign gets in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.strategies import images, odd_text, reasonings, results, texts, uses
from support.histories import event, msg
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.history.codec import decode, encode
from tierline.history.events import LogEvent
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
    assert isinstance(made, LogEvent) and made.kind == "telepathy"


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


@pytest.mark.parametrize(
    ("role", "read"),
    [("human", "user"), ("model", "assistant"), ("ai", "assistant"), ("function", "tool"),
     ("developer", "system"), ("system", "system"), ("tool", "tool")],
)  # fmt: skip
def test_roles_of_other_tools(role: str, read: str) -> None:
    message = decode({**SEED, "role": role})
    assert isinstance(message, Message) and message.role == read


@pytest.mark.parametrize(
    ("status", "read"),
    [("completed", Status.OK), ("cancelled", Status.INTERRUPTED), ("failed", Status.ERROR),
     ("incomplete", Status.INTERRUPTED), ("error", Status.ERROR), ("telepathic", Status.OK),
     (3, Status.OK)],
)  # fmt: skip
def test_statuses_of_other_tools(status: object, read: Status) -> None:
    message = decode({**SEED, "status": status})
    assert isinstance(message, Message) and message.status is read


def test_only_a_foreign_record_gets_the_status_of_its_call() -> None:
    call = [{"type": "tool_use", "id": "a", "name": "f"}]
    for more, status in (
        ({}, Status.TOOL_CALL), ({"v": 1}, Status.OK), ({"status": "failed"}, Status.ERROR),
    ):  # fmt: skip
        message = decode({**SEED, "role": "assistant", "content": call, **more})
        assert isinstance(message, Message) and message.status is status


def test_our_own_records_are_not_parsed_by_their_strategy() -> None:
    """Content in the neutral shape would be mangled by a provider's parser."""
    record = {**SEED, "role": "tool", "content": "x", "parsing_strategy": "openai"}
    foreign, own = decode(record), decode({**record, "v": 1})
    assert isinstance(foreign, Message) and isinstance(foreign.content[0], ToolResult)
    assert isinstance(own, Message) and own.content == (Text("x"),)
    assert own.parsing_strategy == foreign.parsing_strategy == "openai"
    assert decode({**SEED}).parsing_strategy == "text"  # type: ignore[union-attr]


def test_fields_of_later_versions_are_kept_as_meta_and_ours_win() -> None:
    record = {**SEED, "mood": "good", "pinned": False, "meta": {"pinned": True}}
    message = decode(record)
    assert isinstance(message, Message) and message.meta == {"mood": "good", "pinned": True}
    odd = decode({**SEED, "mood": "good", "meta": 3})
    assert isinstance(odd, Message) and odd.meta == {"mood": "good"}


def test_values_of_odd_types_are_the_defaults() -> None:
    odd = decode({
        **SEED, "id": 7, "group_id": 3, "timestamp": None, "branch_id": [], "files": "a.py",
        "files_modified": ["a.py", 3], "edit_results": [{"a": 1}, 3], "tokens": True,
        "image_refs": {"a": 1},
    })  # fmt: skip
    assert isinstance(odd, Message)
    assert (odd.id, odd.group_id, odd.timestamp, odd.branch_id) == ("7", "", "", "main")
    assert (odd.files, odd.files_modified, odd.image_refs) == ((), ("a.py",), ())
    assert (odd.edit_results, odd.tokens) == (({"a": 1},), 0)
    for value, tokens in ((5, 5), (-5, 0), ("5", 0), (0, 0)):
        made = decode({**SEED, "tokens": value})
        assert isinstance(made, Message) and made.tokens == tokens
    assert decode({**SEED, "id": 1.5}) is None


def test_only_what_differs_from_its_default_is_written() -> None:
    """A log of a hundred thousand lines would be twice as long otherwise."""
    assert set(encode(msg(1, "user", "x"))) == {
        "v", "type", "id", "session_id", "group_id", "timestamp", "role", "status",
        "parsing_strategy", "content",
    }  # fmt: skip
    full = msg(
        1, "user", "x", group="g", parent_id="p", branch_id="b", image_refs=("i",), files=("f",),
        files_modified=("m",), edit_results=({"e": 1},), tokens=3, usage={"input_tokens": 3},
        meta={"k": 1},
    )  # fmt: skip
    assert decode(encode(full)) == full
    result = ToolResult("a", (Text("r"),))
    (shown,) = encode(msg(1, "user", (result,)))["content"]
    assert shown == {"type": "tool_result", "tool_use_id": "a", "content": "r"}


@pytest.mark.parametrize(("width", "height"), [(3, 4), (0, 0), (None, 4), (3, None), (None, None)])
def test_the_size_of_a_picture_is_whole_or_not_said(width: int | None, height: int | None) -> None:
    record = encode(msg(1, "user", (Image("image/png", "aGk=", width, height),)))
    known = width is not None and height is not None
    assert ("width" in record["content"][0], "height" in record["content"][0]) == (known, known)
    back = decode(record)
    assert isinstance(back, Message)
    size = (width, height) if known else (None, None)
    assert back.content == (Image("image/png", "aGk=", *size),)


def test_a_summary_record_of_older_tools_is_a_compaction() -> None:
    old = decode({**SEED, "role": "summary", "content": "SUM", "covers": ["g1", 3]})
    assert isinstance(old, LogEvent) and old.kind == "summary" and old.branch_id == "main"
    assert old.data == {"text": "SUM", "covers": ["g1"], "case": "summarize"}


def test_an_event_without_a_kind_is_foreign_and_one_without_data_has_none() -> None:
    record = {**SEED, "type": "event"}
    assert decode(record) is None and decode({**record, "kind": 3}) is None
    bare = decode({**record, "kind": "drop", "data": [1], "branch_id": "b"})
    assert isinstance(bare, LogEvent) and (bare.data, bare.branch_id) == ({}, "b")


def test_plain_is_what_holds_nothing_but_text() -> None:
    assert msg(1, "user", "x").plain is True and msg(1, "user", ()).plain is True
    for block in (
        Image("image/png", ""),
        ToolUse("a", "f"),
        ToolResult("a", ()),
        Reasoning("x", {}),
    ):
        assert msg(1, "user", (Text("x"), block)).plain is False
    assert msg(1, "user", "x").tokens == 0
