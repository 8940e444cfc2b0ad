"""Seed 004: the Testing lists for History Store and Message ID generation, and what it says about
sessions, each with the line that asks for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.histories import exchange, seen, texts
from tierline.context.blocks import Image, Text, pictures
from tierline.context.prompt import PromptBlock, PromptMessage
from tierline.history import actions
from tierline.history.actions import Action
from tierline.history.groups import to_prompt
from tierline.history.ids import message_id, session_id
from tierline.history.messages import Status
from tierline.history.timeline import Timeline
from tierline.store.sessions import HistoryStore

pytestmark = pytest.mark.requirement("004")

PNG = "iVBORw0KGgo="


# --- Testing / History Store, Message ID Generation ----------------------------------------------


def test_append_and_retrieve_by_session(tmp_path: Path) -> None:
    """Seed 004:344: "Append and retrieve messages by session"."""
    store = HistoryStore(tmp_path)
    exchange(store, "one", "two")
    found = store.timeline().visible()
    assert [m.role for m in found] == ["user", "assistant"]
    assert texts(found) == ["one", "two"]


def test_sessions_are_isolated(tmp_path: Path) -> None:
    """Seed 004:345: "Session grouping isolates messages"."""
    store = HistoryStore(tmp_path)
    exchange(store, "in the first")
    first = store.session_id
    second = store.new_session()
    exchange(store, "in the second")
    assert seen(store, first) == ["in the first", "ok"]
    assert seen(store, second) == ["in the second", "ok"] == seen(store)


def test_list_sessions_with_preview_count_role_and_limit(tmp_path: Path) -> None:
    """Seed 004:346: "list_sessions returns all sessions with preview and message_count; respects
    limit"; newest first; "First ~100 chars of first message".
    """
    store = HistoryStore(tmp_path)
    names = []
    for number in range(3):
        names.append(store.new_session())
        exchange(store, f"question {number} " + "x" * 200)
    listed = store.list_sessions()
    assert [s.session_id for s in listed] == names[::-1]
    assert {s.message_count for s in listed} == {2} and {s.first_role for s in listed} == {"user"}
    assert listed[0].preview.startswith("question 2 x") and len(listed[0].preview) == 100
    assert [s.session_id for s in store.list_sessions(limit=1)] == names[2:]
    assert store.list_sessions(limit=0) == []
    store.load_session(names[0])
    exchange(store, "again")
    assert store.list_sessions(1)[0].session_id == names[0], "the one used last comes first"


def test_search_is_a_case_insensitive_substring_with_role_filter(tmp_path: Path) -> None:
    """Seed 004:347: "case-insensitive substring, role filter, empty query returns empty"."""
    store = HistoryStore(tmp_path)
    exchange(store, "The Parser breaks", "the parser is mended")
    for maintained in (False, True):
        assert len(store.search("PARSER").hits) == 2
        assert len(store.search("arse").hits) == 2, maintained
        assert [h.role for h in store.search("parser", role="user").hits] == ["user"]
        assert [h.snippet for h in store.search("parser mended").hits] == ["the parser is mended"]
        assert store.search("").hits == store.search("  ").hits == ()
        assert len(store.search("parser", limit=1).hits) == 1
        assert store.search("parser", limit=0).hits == ()
        assert store.search("parser", session_id="elsewhere").hits == ()
        assert store.maintain(5)


def test_search_falls_back_to_memory(tmp_path: Path) -> None:
    """Seed 004:209, "Search Fallback"."""
    store = HistoryStore(tmp_path)
    unsaved = store.make("user", "only in Memory")
    result = store.search("memory", memory=[unsaved])
    assert [h.id for h in result.hits] == [unsaved.id] and result.source == "memory"
    assert store.search("memory", role="assistant", memory=[unsaved]).hits == ()


def test_new_instance_reads_what_was_written(tmp_path: Path) -> None:
    """Seed 004:348: "Persistence: new HistoryStore instance reads previously written messages"."""
    store = HistoryStore(tmp_path)
    exchange(store, "kept")
    again = HistoryStore(tmp_path)
    assert seen(again, store.session_id) == ["kept", "ok"]
    assert again.timeline(store.session_id) == store.timeline()


def test_corrupt_line_is_skipped(tmp_path: Path) -> None:
    """Seed 004:349: "Corrupt JSONL line skipped (partial write recovery)"."""
    store = HistoryStore(tmp_path)
    exchange(store, "kept")
    with store.log.path.open("ab") as log:
        log.write(b'{"id": "x", "session_id"')
    exchange(store, "after")
    again = HistoryStore(tmp_path)
    assert seen(again, store.session_id) == ["kept", "ok", "after", "ok"] == seen(store)


def test_messages_have_the_required_fields(tmp_path: Path) -> None:
    """Seed 004:350: "Message has required fields (id, timestamp, session_id, files, images)"."""
    store = HistoryStore(tmp_path, clock=lambda: 1_700_000_000.123)
    store.append(store.make("user", "x", files=("src/a.py",)))
    (found,) = store.timeline().visible()
    assert re.fullmatch(r"1700000000123-[0-9a-f]{8}", found.id)
    assert re.fullmatch(r"sess_1700000000123_[0-9a-f]{6}", found.session_id)
    assert found.timestamp == "2023-11-14T22:13:20.123Z"
    assert found.files == ("src/a.py",) and found.image_refs == ()


def test_context_gets_role_and_content_only(tmp_path: Path) -> None:
    """Seed 004:351: "get_session_messages_for_context returns only role/content (no metadata)"."""
    store = HistoryStore(tmp_path)
    store.append(store.make("user", "x", files=("src/a.py",)))
    store.append(store.make("user", (Image("image/png", PNG),)))
    said, shown = HistoryStore(tmp_path).load_session(store.session_id).context()
    assert to_prompt(said) == PromptMessage("user", (PromptBlock(Text("x"), f"history:{said.id}"),))
    (picture,) = to_prompt(shown).blocks
    assert isinstance(picture.block, Image) and picture.block.data == PNG


def test_unknown_and_empty_sessions_are_empty_lists(tmp_path: Path) -> None:
    """Seed 004:352: "Empty/nonexistent session returns empty list"."""
    store = HistoryStore(tmp_path)
    assert store.timeline("sess_1_nobody").visible() == ()
    assert store.timeline(store.new_session()).context() == ()
    assert store.list_sessions() == [] and store.restore_newest() is None
    assert store.timeline().visible() == ()
    assert not store.folder.exists(), "looking writes nothing"


def test_newest_session_is_restored_with_images_files_and_pins(tmp_path: Path) -> None:
    """Seed 004:412, "Auto-Restore on Startup", with images, file selection and pins."""
    store = HistoryStore(tmp_path)
    exchange(store, "older")
    store.new_session()
    store.append(store.make("user", (Image("image/png", PNG, 4, 5), Text("look"))))
    store.record(actions.files([{"path": "a.py", "pin": "sticky"}]))
    store.record(actions.scratchpad("- plan"))
    again = HistoryStore(tmp_path)
    now = again.restore_newest()
    assert now is not None and again.session_id == store.session_id
    image, text = now.visible()[0].content
    assert isinstance(image, Image) and image.data == PNG and (image.width, image.height) == (4, 5)
    assert text == Text("look") and now.scratchpad == "- plan"
    assert now.files == ({"path": "a.py", "pin": "sticky"},)
    exchange(again, "continued")
    assert seen(store) == ["look", "continued", "ok"], "the other window sees it too"


def test_formats() -> None:
    """Seed 004:355: "Format: {epoch_ms}-{uuid8}; session format: sess_{epoch_ms}_{uuid6}"."""
    assert re.fullmatch(r"1700000000123-[0-9a-f]{8}", message_id(1700000000123, os.urandom(4)))
    assert re.fullmatch(r"sess_1700000000123_[0-9a-f]{6}", session_id(1700000000123, os.urandom(3)))


def test_a_hundred_ids_of_one_moment_are_unique() -> None:
    """Seed 004:356: "100 generated IDs are unique"."""
    assert len({message_id(1700000000123, os.urandom(4)) for _ in range(100)}) == 100


# --- the rest of "Persistent History Store" and "Lifecycle" --------------------------------------


def test_ids_of_the_store_have_the_format_too(tmp_path: Path) -> None:
    """Seed 004:137 and 004:151, with real time and randomness; 004:356 through the store."""
    store = HistoryStore(tmp_path)
    assert re.fullmatch(r"sess_\d{13}_[0-9a-f]{6}", store.session_id)
    made = [store.new_id() for _ in range(100)]
    assert len(set(made)) == 100
    assert all(re.fullmatch(r"\d{13}-[0-9a-f]{8}", name) for name in made)


def test_log_is_append_only(tmp_path: Path) -> None:
    """Seed 004:129: one file that only grows, whatever is done with the conversation."""
    store = HistoryStore(tmp_path)
    first = exchange(store, "one")
    second = exchange(store, "two")
    before = store.log.path.read_bytes()
    steps: list[Callable[[Timeline], Action]] = [
        actions.undo,
        actions.restore,
        lambda now: actions.drop(now, first.group_id),
        lambda now: actions.remove(now, second.group_id),
        lambda now: actions.restore(now, first.group_id),
        actions.fork,
        lambda _: actions.rename("t"),
        lambda _: actions.state("Goal: x"),
        lambda _: actions.scratchpad("- x"),
    ]
    for action in steps:
        store.record(action(store.timeline()))
        now = store.log.path.read_bytes()
        assert now.startswith(before) and len(now) > len(before)
        before = now
    store.delete_session(store.session_id)
    assert store.log.path.read_bytes().startswith(before)


SCHEMA: dict[str, Any] = {
    "id": str,
    "session_id": str,
    "timestamp": str,
    "role": str,
    "content": (str, list),
    "image_refs": list,
    "files": list,
    "files_modified": list,
    "edit_results": list,
}


@pytest.mark.parametrize("name", SCHEMA)
def test_message_schema(tmp_path: Path, name: str) -> None:
    """Seed 004:135 to 004:146: every field, with its type; it survives the way to disk and back."""
    store = HistoryStore(tmp_path)
    store.append(store.make("user", (Image("image/png", PNG), Text("look")), files=("a.py",)))
    edits = ({"path": "a.py", "status": "applied"},)
    store.append(store.make("assistant", "done", files_modified=("a.py",), edit_results=edits))
    user, assistant = HistoryStore(tmp_path).load_session(store.session_id).visible()
    records = store.log.scan().records
    assert any(isinstance(record.get(name), SCHEMA[name]) for record in records)
    assert user.files == ("a.py",) and len(user.image_refs) == 1
    assert assistant.files_modified == ("a.py",) and assistant.edit_results == edits
    (picture, _) = user.content
    assert isinstance(picture, Image) and picture.data == PNG


def test_session_summary_schema(tmp_path: Path) -> None:
    """Seed 004:155 to 004:162."""
    store = HistoryStore(tmp_path)
    exchange(store, "first words " + "x" * 200)
    (found,) = store.list_sessions()
    assert found.session_id == store.session_id and found.message_count == 2
    assert found.timestamp == store.timeline().visible()[-1].timestamp
    assert found.preview.startswith("first words") and len(found.preview) <= 100
    assert found.first_role == "user"


def test_new_load_and_clear(tmp_path: Path) -> None:
    """Seed 004:168 to 004:170: a session is made with its first message or explicitly; loading
    continues it; clearing gives a fresh id.
    """
    store = HistoryStore(tmp_path)
    exchange(store, "a")
    first = store.session_id
    assert store.new_session() != first
    assert [s.session_id for s in store.list_sessions()] == [first], "an empty one is not listed"
    store.load_session(first)
    exchange(store, "b")
    assert store.session_id == first and seen(store, first) == ["a", "ok", "b", "ok"]


def test_retrieval_paths_differ(tmp_path: Path) -> None:
    """Seed 004:196 to 004:201: all metadata for display, role and content for the context."""
    store = HistoryStore(tmp_path)
    store.append(store.make("user", "x", files=("a.py",)))
    now = store.timeline()
    (shown,), (sent,) = now.visible(), now.context()
    assert shown.files == ("a.py",)
    assert to_prompt(sent) == PromptMessage("user", (PromptBlock(Text("x"), f"history:{sent.id}"),))


def test_prompt_without_a_reply_stays(tmp_path: Path) -> None:
    """Seed 004:205: written before the call, so a crash leaves an orphan, by design."""
    store = HistoryStore(tmp_path)
    store.append(store.make("user", "what I wanted"), durable=True)
    again = HistoryStore(tmp_path)
    now = again.restore_newest()
    assert now is not None and [m.role for m in now.visible()] == ["user"]
    assert again.list_sessions()[0].message_count == 1


def test_loading_a_session_gives_images_back(tmp_path: Path) -> None:
    """Seed 004:400 to 004:408: from ``image_refs`` to data URIs, in both retrieval paths; each
    picture is stored once.
    """
    store = HistoryStore(tmp_path)
    for text in ("one", "two"):
        store.append(store.make("user", (Image("image/png", PNG), Text(text))))
    first = store.session_id
    store.new_session()
    again = HistoryStore(tmp_path)
    loaded = again.load_session(first)
    assert again.session_id == first
    for path in (loaded.visible(), loaded.context()):
        assert [p.data for m in path for p in pictures(m.content)] == [PNG, PNG]
    assert len(list((store.folder / "images").iterdir())) == 1
    assert all(m.status is Status.OK for m in loaded.visible())


def test_restore_without_sessions_or_with_damage_starts_empty(tmp_path: Path) -> None:
    """Seed 004:390: "If no sessions exist or loading fails, history starts empty"."""
    store = HistoryStore(tmp_path)
    assert store.restore_newest() is None
    store.folder.mkdir(parents=True)
    store.log.path.write_bytes(b"\x00\xff not json\n" * 5)
    damaged = HistoryStore(tmp_path)
    assert damaged.restore_newest() is None
    exchange(damaged, "works all the same")
    assert seen(HistoryStore(tmp_path), damaged.session_id) == ["works all the same", "ok"]
