"""The archive: sessions out of the usual lists and searches, their records as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.histories import exchange
from tierline.folder import FOLDER
from tierline.store import records
from tierline.store.index import Index
from tierline.store.log import HistoryLog
from tierline.store.sessions import HistoryStore


def ids(store: HistoryStore, *, archived: bool = False) -> list[str]:
    return [one.session_id for one in store.sessions(archived=archived).sessions]


@pytest.fixture
def three(tmp_path: Path) -> tuple[HistoryStore, list[str]]:
    store = HistoryStore(tmp_path)
    names = []
    for word in ("apples", "pears", "plums"):
        names.append(store.new_session())
        exchange(store, f"About {word}")
    return store, names


def test_an_archived_session_is_in_no_list_and_no_search_until_it_is_asked_for(
    three: tuple[HistoryStore, list[str]],
) -> None:
    store, (first, second, third) = three
    before = store.log.path.read_bytes()
    store.archive_session(second)
    assert store.log.path.read_bytes().startswith(before), "what was written stays as it is"
    assert ids(store) == [third, first] and ids(store, archived=True) == [second]
    assert [one.session_id for one in store.list_sessions(archived=True)] == [second]
    assert store.search("pears").hits == ()
    assert {h.session_id for h in store.search("pears", archived=True).hits} == {second}
    assert {h.session_id for h in store.search("pears", session_id=second).hits} == {second}
    assert {h.session_id for h in store.search("about", archived=True).hits} == {
        first, second, third,
    }  # fmt: skip
    assert store.timeline(second).visible(), "it can be read"
    store.archive_session(second, away=False)
    assert set(ids(store)) == {first, second, third} and ids(store, archived=True) == []
    assert store.search("pears").hits


def test_who_goes_on_with_an_archived_session_brings_it_back(
    three: tuple[HistoryStore, list[str]],
) -> None:
    store, (first, *_) = three
    store.archive_session(first)
    store.load_session(first)
    assert ids(store, archived=True) == [first], "to look at it is not to go on with it"
    store.append(store.make("user", "Once more about apples"))
    assert ids(store)[0] == first and ids(store, archived=True) == []


def test_the_archive_of_the_current_session_begins_a_new_one_and_no_start_opens_it(
    three: tuple[HistoryStore, list[str]], tmp_path: Path
) -> None:
    store, (_, second, third) = three
    store.archive_session(third)
    assert store.session_id != third
    again = HistoryStore(tmp_path).restore_newest()
    assert again is not None and again.session_id == second
    assert records.newest_session(HistoryLog(tmp_path / FOLDER / "history.jsonl")) != third


@pytest.mark.parametrize("known", [True, False])
def test_while_the_index_is_behind_lists_know_what_was_archived_since(
    three: tuple[HistoryStore, list[str]], monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    store, (first, second, third) = three
    if known:
        store.archive_session(first)
        store.list_sessions()
    monkeypatch.setattr(Index, "catch_up", lambda self, *_, **__: None)
    store.archive_session(second)
    if known:
        store.archive_session(first, away=False)
    away, here = ids(store, archived=True), ids(store)
    assert away == [second] and set(here) == {first, third}
    monkeypatch.undo()
    assert ids(store, archived=True) == away and set(ids(store)) == set(here)
    assert all(one.message_count == 2 for one in store.sessions().sessions)
