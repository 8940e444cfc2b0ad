"""The history store (seed 004, Testing / History Store)."""

from __future__ import annotations

import base64
import stat
import threading
from pathlib import Path

import attrs
import pytest

from support.histories import exchange, seen, texts
from support.store_actions import drop, remove, undo
from tierline import disk
from tierline.context.blocks import Block, Image, Reasoning, Text, ToolResult, ToolUse
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.actions import rename, window
from tierline.history.messages import Status
from tierline.store.errors import StorageError
from tierline.store.records import inspect, newest_session
from tierline.store.sessions import HistoryStore

PNG = "iVBORw0KGgo="


def test_images_are_stored_once_privately_and_by_hash(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    shot = ToolResult("c", (Image("image/png", PNG),))
    first = store.append(store.make("user", (Image("image/png", PNG),)))
    second = store.append(store.make("user", (Image("image/png", PNG + "\n"), shot)))
    assert first.image_refs == second.image_refs and len(first.image_refs) == 1
    (path,) = store.images.folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_bytes() == base64.b64decode(PNG)
    assert PNG not in store.log.path.read_text()


def test_missing_or_damaged_image_becomes_a_placeholder_not_an_error(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    stored = store.append(store.make("user", (Image("image/png", PNG), Text("look"))))
    path = store.images.folder / stored.image_refs[0]
    path.write_bytes(b"something else")
    again = HistoryStore(tmp_path)
    now = again.load_session(store.session_id)
    image = now.visible()[0].content[0]
    assert isinstance(image, Image) and image.data == ""
    path.unlink()
    gone = HistoryStore(tmp_path).load_session(store.session_id).visible()[0].content[0]
    assert isinstance(gone, Image) and gone.data == ""
    assert again.images.load("../../etc/passwd") is None


def test_picture_that_is_no_base64_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    with pytest.raises(StorageError, match="base64"):
        store.append(store.make("user", (Image("image/png", "!!"),)))
    assert not store.log.path.exists()


def redact(text: str) -> str:
    return text.replace("hunter2", "[redacted:password]")


def test_secrets_are_redacted_before_anything_is_written(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path, redact=redact)
    content: tuple[Block, ...] = (
        Text("it is hunter2"),
        ToolUse("c", "login", {"password": ["hunter2"]}),
        ToolResult("c", (Text("hunter2 accepted"),)),
        Reasoning("anthropic", {"type": "thinking", "thinking": "hunter2", "signature": "s"}),
    )
    message = store.make("assistant", content, meta={"note": "hunter2"})
    returned = store.append(message)
    store.record(actions.scratchpad("remember hunter2"))
    store.record(actions.rename("hunter2"))
    store.maintain()
    store.close()
    for path in store.folder.rglob("*"):
        if path.is_file():
            assert b"hunter2" not in path.read_bytes(), path
    assert "hunter2" not in repr(returned) and "[redacted:password]" in repr(returned)
    assert HistoryStore(tmp_path).load_session(store.session_id).visible() == (returned,)


def test_folder_ignores_itself_and_is_private(tmp_path: Path) -> None:
    """Bug case BR-136: "Session store ignored by git and mode 0600"."""
    store = HistoryStore(tmp_path)
    exchange(store, "x")
    store.list_sessions()
    assert (store.folder / ".gitignore").read_text() == "*\n"
    for path in store.folder.iterdir():
        if path.name != ".gitignore":
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    (store.folder / ".gitignore").write_text("!kept\n")
    exchange(store, "y")
    assert (store.folder / ".gitignore").read_text() == "!kept\n", "yours is left alone"


def test_failed_write_is_said_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = HistoryStore(tmp_path)
    exchange(store, "before")

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    message = store.make("user", "lost?")
    with monkeypatch.context() as patch:
        patch.setattr("tierline.store.log.os.write", full)
        with pytest.raises(StorageError, match="disk is full"):
            store.append(message, durable=True)
        assert seen(store) == ["before", "ok"]
    store.append(message, durable=True)
    assert seen(store) == ["before", "ok", "lost?"]


def test_interrupted_reply_is_kept_flagged_and_sent(tmp_path: Path) -> None:
    """Bug case BR-173, the storage part: "Partial kept, flagged interrupted, counted"."""
    store = HistoryStore(tmp_path)
    asked = store.append(store.make("user", "tell me"), durable=True)
    partial = store.make(
        "assistant", "part0 part1 ", group_id=asked.group_id, status=Status.INTERRUPTED
    )
    store.append(partial, durable=True)
    now = HistoryStore(tmp_path).load_session(store.session_id)
    assert [m.status for m in now.context()] == [Status.OK, Status.INTERRUPTED]
    assert seen(store) == ["tell me", "part0 part1 "]
    assert store.list_sessions()[0].message_count == 2


def test_branches_fork_switch_and_are_listed(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    first = exchange(store, "one")
    exchange(store, "two")
    reply = store.timeline().visible()[1]
    store.record(actions.fork(store.timeline(), reply.id, "try"))
    assert store.timeline().branch == "main"
    store.record(actions.switch(store.timeline(), "try"))
    exchange(store, "another two")
    assert seen(store) == ["one", "ok", "another two", "ok"]
    assert [m.branch_id for m in store.timeline().visible()][-1] == "try"
    store.record(actions.switch(store.timeline(), "main"))
    assert seen(store) == ["one", "ok", "two", "ok"]
    assert {h.snippet for h in store.search("two").hits} == {"two", "another two"}
    store.record(actions.switch(store.timeline(), "try"))
    drop(store, first.group_id)
    assert store.search("one").hits == (), "hidden where we are, though not on main"


def test_renamed_session_shows_its_title(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    exchange(store, "x")
    store.record(actions.rename("Porting the parser"))
    assert store.list_sessions()[0].title == "Porting the parser"


def test_deleting_the_current_session_begins_a_new_one(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    exchange(store, "x")
    old = store.session_id
    store.delete_session(old)
    assert store.session_id != old and store.list_sessions() == []
    assert store.timeline().visible() == ()


def test_undo_without_anything_is_an_error_with_advice(tmp_path: Path) -> None:
    with pytest.raises(TierlineError) as caught:
        undo(HistoryStore(tmp_path))
    assert caught.value.code == "not_found"


def test_threads_may_append_and_read_at_once(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    store.append(store.make("user", "start"))
    errors: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for step in range(25):
                store.append(store.make("user", f"thread {name} step {step}"))
                store.timeline()
                store.search(f"step {step}")
                store.maintain(0.01)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(store.timeline().visible()) == 101
    assert store.list_sessions()[0].message_count == 101
    assert len(store.search("thread", limit=200).hits) == 100


def test_index_without_the_damaged_file_is_built_again(tmp_path: Path) -> None:
    """Issue 5: the index is "never the truth"."""
    store = HistoryStore(tmp_path)
    exchange(store, "needle")
    assert store.search("needle").hits
    for kind in ("empty", "garbage", "holes"):
        store.close()
        raw = store.index.path.read_bytes()
        holes = raw[:4096] + b"\xff" * (4096 * 3) + raw[4096 * 4 :]
        damage = {"empty": b"", "garbage": b"garbage" * 1000, "holes": holes}[kind]
        store.index.path.write_bytes(damage)
        store.index.path.with_name("index.sqlite3-wal").unlink(missing_ok=True)
        assert store.search("needle").hits, kind
        assert HistoryStore(tmp_path).list_sessions()[0].message_count == 2


def test_index_reports_progress_while_it_is_built(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    for _ in range(24):
        store.append(store.make("user", "x" * 1_000_000))
    steps: list[tuple[int, int]] = []
    done = store.index.catch_up(lambda at, total: steps.append((at, total)))
    assert done.records == 24 and done.behind == 0
    assert len(steps) >= 3 and steps == sorted(steps) and steps[-1][0] == steps[-1][1]
    assert {total for _, total in steps} == {store.log.size()}


def test_message_that_arrives_twice_is_written_as_it_comes_and_counted_once(
    tmp_path: Path,
) -> None:
    store = HistoryStore(tmp_path)
    message = store.append(store.make("user", "x"))
    store.append(attrs.evolve(message))
    assert len(store.timeline().visible()) == 1 == store.list_sessions()[0].message_count


def test_newest_session_is_restored_without_waiting_for_a_missing_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 5: "start-up unaffected" by a large log."""
    store = HistoryStore(tmp_path)
    exchange(store, "older")
    older = store.session_id
    store.new_session()
    exchange(store, "newest")
    monkeypatch.setattr("tierline.store.sessions.BULK_BYTES", 100)
    again = HistoryStore(tmp_path)
    now = again.restore_newest()
    assert now is not None and seen(again) == ["newest", "ok"]
    assert not again.index.path.exists()
    assert seen(again, older) == ["older", "ok"]
    assert [m.role for m in again.iter_messages(older)] == ["user", "assistant"]
    again.delete_session(store.session_id)
    third = HistoryStore(tmp_path)
    assert third.restore_newest() is not None and third.session_id == older


def test_sessions_with_odd_names_are_found_by_scanning_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tierline.store.sessions.BULK_BYTES", 1)
    for name in ('sess "quoted"', "sess\\back", "sitzung-ä", "sess\ud83d", "sess\n"):
        store = HistoryStore(tmp_path)
        store.append(attrs.evolve(store.make("user", "x"), session_id=name))
        assert len(store.timeline(name).visible()) == 1, name


def test_what_was_chosen_before_the_first_prompt_comes_back(tmp_path: Path) -> None:
    """A session in which nothing was said is taken up only if there is no other."""
    store = HistoryStore(tmp_path)
    store.record(actions.urls(["https://example.org/"]))
    chosen = store.session_id
    store.close()
    store = HistoryStore(tmp_path)
    found = store.restore_newest()
    assert found is not None
    assert (found.urls, store.session_id) == (("https://example.org/",), chosen)
    store.new_session()
    said = store.append(store.make("user", (Text("Hello"),)))
    store.new_session()
    store.record(actions.urls(["https://example.org/other"]))
    store.close()
    store = HistoryStore(tmp_path)
    found = store.restore_newest()
    assert found is not None and store.session_id == said.session_id
    store.delete_session(said.session_id)
    store.close()
    deleted = HistoryStore(tmp_path)
    deleted.record(actions.urls([]), session_id=chosen)
    deleted.delete_session(chosen)
    assert deleted.restore_newest() is None
    deleted.close()


def test_removing_by_the_store_tells_what_went(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    first = store.append(store.make("user", (Text("one"),)))
    store.append(store.make("user", (Text("two"),)))
    assert remove(store, first.group_id) == (first.group_id,)
    assert texts(store.timeline().context()) == ["two"]


def test_a_deleted_session_is_not_the_newest_and_another_event_changes_nothing(
    tmp_path: Path,
) -> None:
    store = HistoryStore(tmp_path)
    first = store.append(store.make("user", (Text("one"),)))
    store.record(window(3))
    assert newest_session(store.log) == first.session_id
    store.delete_session(first.session_id)
    assert newest_session(store.log) == ""


def test_what_another_process_has_written_is_read_before_the_next_answer(tmp_path: Path) -> None:
    mine, other = HistoryStore(tmp_path), HistoryStore(tmp_path)
    first = mine.append(mine.make("user", (Text("one"),)))
    assert len(mine.timeline().messages) == 1
    other.load_session(first.session_id)
    other.append(other.make("user", (Text("two"),)))
    assert [m.content for m in mine.timeline().messages] == [(Text("one"),), (Text("two"),)]
    other.record(window(1))
    assert mine.timeline().window == 1
    mine.close()
    other.close()


def test_a_log_that_was_deleted_is_written_again_from_memory(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    for text in ("one", "two"):
        store.append(store.make("user", (Text(text),)))
    store.record(window(3))
    store.log.path.unlink()
    store.append(store.make("user", (Text("three"),)))
    again = HistoryStore(tmp_path)
    told = again.timeline(store.session_id)
    assert [m.content[0] for m in told.messages] == [Text("one"), Text("two"), Text("three")]
    assert told.window == 3 and store.timeline().messages == told.messages
    store.close()
    again.close()


def test_a_log_that_is_deleted_just_when_it_is_looked_at_leaves_the_conversation_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = HistoryStore(tmp_path)
    store.append(store.make("user", (Text("one"),)))
    look = disk.regular

    def too_late(path: Path) -> object:
        store.log.path.unlink(missing_ok=True)
        return look(path)

    monkeypatch.setattr(disk, "regular", too_late)
    assert [m.content[0] for m in store.timeline().messages] == [Text("one")]
    store.close()


def test_what_is_recorded_is_given_back_as_it_was_written(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path, redact=lambda text: text.replace("hunter2", "[secret]"))
    assert store.record(rename("hunter2")).data == {"title": "[secret]"}
    store.close()


def test_a_log_is_sound_or_partly_or_not_at_all(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    store.append(store.make("user", (Text("one"),)))
    store.close()
    whole = store.log.path.read_bytes()
    file = tmp_path / "copy.jsonl"
    for text, health, skipped in (
        (whole, "ok", 0), (whole + b"{torn\n", "partly", 1),
        (b"{torn\n", "damaged", 1), (b"", "empty", 0),
    ):  # fmt: skip
        file.write_bytes(text)
        report = inspect(file)
        assert (report.health, report.skipped) == (health, skipped)
