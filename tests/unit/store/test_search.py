"""Searching while the index is behind, locked or gone: nothing is missed, nothing hidden shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.store_actions import undo
from tierline.history.messages import Message
from tierline.store import search as module
from tierline.store.errors import StorageError
from tierline.store.search import SearchQuery, search, search_log, search_messages, snippet
from tierline.store.sessions import HistoryStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    made = HistoryStore(tmp_path)
    made.index._busy_ms = 1
    yield made
    made.close()


def say(store: HistoryStore, text: str, role: str = "user") -> Message:
    return store.append(store.make("user" if role == "user" else "assistant", text))


@contextmanager
def locked(store: HistoryStore) -> Iterator[None]:
    """Another process writes to the index; it can be read meanwhile."""
    store.search("anything")
    other = sqlite3.connect(store.index.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def texts(store: HistoryStore, query: str, **more: str) -> list[str]:
    result = store.search(query, **more)  # type: ignore[arg-type]
    assert result.source == "index" and not result.partial
    return [hit.snippet for hit in result.hits]


def test_what_the_index_lacks_is_read_from_the_log_and_comes_first(store: HistoryStore) -> None:
    say(store, "apple one")
    with locked(store):
        say(store, "apple two")
        say(store, "pear")
        say(store, "apple three", "assistant")
        assert texts(store, "apple") == ["apple three", "apple two", "apple one"]
        assert texts(store, "apple", role="assistant") == ["apple three"]
        assert texts(store, "apple", session_id=store.session_id)[2:] == ["apple one"]
        assert texts(store, "apple", session_id="another") == []
        assert [h.snippet for h in store.search("apple", limit=2).hits] == [
            "apple three",
            "apple two",
        ]
    assert store.index.behind() > 0
    assert len(texts(store, "apple")) == 3 and store.index.behind() == 0


def test_what_was_hidden_meanwhile_is_not_shown(store: HistoryStore) -> None:
    say(store, "apple one")
    with locked(store):
        say(store, "apple two")
        assert undo(store) and undo(store)
        assert texts(store, "apple") == [], "neither the old one nor the new one"
    assert texts(store, "apple") == []


def test_a_session_that_was_deleted_meanwhile_is_in_no_search(store: HistoryStore) -> None:
    gone = store.session_id
    say(store, "apple one")
    store.new_session()
    say(store, "apple two")
    with locked(store):
        store.load_session(gone)
        say(store, "apple three")
        store.delete_session(gone)
        assert texts(store, "apple") == ["apple two"], "whether the index knew it or not"


def test_a_record_that_comes_twice_is_one_hit(store: HistoryStore) -> None:
    say(store, "pear")
    with locked(store):
        message = say(store, "apple")
        store.append_all([message])
        assert texts(store, "apple") == ["apple"]


def test_where_the_index_cannot_be_opened_the_log_is_searched(store: HistoryStore) -> None:
    for number in range(3):
        say(store, f"apple {number}")
    store.index.path.mkdir()
    result = store.search("apple", limit=2)
    assert ([h.snippet for h in result.hits], result.source) == (["apple 2", "apple 1"], "log")
    assert not result.partial, "all of it was read"


def test_where_nothing_can_be_read_nothing_is_claimed(
    store: HistoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise StorageError("The log cannot be read.", "Look at its permissions.")

    monkeypatch.setattr("tierline.store.sessions.search", fails)
    result = store.search("apple")
    assert (result.hits, result.partial, result.source) == ((), True, "log")
    assert store.search("apple", memory=[store.make("user", "apple")]).source == "memory"
    monkeypatch.undo()
    store.log.path.mkdir(parents=True)
    assert store.log.size() == 0, "a folder holds no records"


def test_a_search_that_ran_out_of_time_or_room_says_so(
    store: HistoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        say(store, f"apple {number}")
    assert search_log(store.log, SearchQuery("apple"), seconds=-1).partial
    assert not search_log(store.log, SearchQuery("apple"), seconds=9).partial
    late = search(store.index, SearchQuery("apple"), seconds=-1)
    assert late.partial and len(late.hits) < 3
    monkeypatch.setattr(module, "SCAN_BYTES", store.log.size() // 2)
    half = search_log(store.log, SearchQuery("apple"), seconds=9)
    assert half.partial and [h.snippet for h in half.hits] == ["apple 2"]
    with locked(store):
        monkeypatch.setattr(module, "TAIL_BYTES", 10)
        say(store, "apple far away")
        far = search(store.index, SearchQuery("apple"))
        assert far.partial and len(far.hits) == 3, "too much to read it all"


def test_nothing_is_searched_for_nothing(store: HistoryStore) -> None:
    say(store, "apple")
    assert store.search("  ").hits == () and store.search("apple", limit=0).hits == ()
    assert search_messages([say(store, "apple")], SearchQuery("")).hits == ()


def test_the_conversation_in_memory_is_the_last_resort(store: HistoryStore) -> None:
    memory = [store.make("user", "plum one"), store.make("assistant", "plum two")]
    result = store.search("plum", memory=memory)
    assert ([h.snippet for h in result.hits], result.source) == (["plum two", "plum one"], "memory")
    assert [h.snippet for h in store.search("plum", "user", memory=memory).hits] == ["plum one"]
    assert len(store.search("plum", limit=1, memory=memory).hits) == 1
    assert store.search("cherry", memory=memory).source == "index"


def test_a_snippet_shows_the_surroundings_of_the_first_word() -> None:
    text = "begin " * 60 + "NEEDLE " + "end " * 60
    shown = snippet(text, ("needle",))
    assert "NEEDLE" in shown and shown.startswith("…") and shown.endswith("…")
    assert len(shown) <= module.SNIPPET_CHARACTERS + 2
    assert snippet("a\n needle", ("needle",)) == "a needle"
    assert snippet("x" * 200, ("absent",)) == "x" * 160 + "…"
    assert snippet("x" * 160, ()) == "x" * 160
