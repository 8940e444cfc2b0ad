"""The index over a log that is larger than one batch, and its work when there is nothing to do."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.store_actions import undo
from tierline.history import actions
from tierline.store import index as module
from tierline.store import indexing, records
from tierline.store.index import CatchUpResult, Index, SessionSummary
from tierline.store.sessions import HistoryStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    made = HistoryStore(tmp_path)
    yield made
    made.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of some records, and transactions of some batches."""
    for place in (module, indexing):
        monkeypatch.setattr(place, "BATCH_BYTES", 2_000)
    monkeypatch.setattr(module, "BULK_BYTES", 9_000)


def fill(store: HistoryStore, count: int) -> None:
    store.append_all(
        [store.make("user", f"message number{n:03} ünd so weiter") for n in range(count)]
    )


@pytest.mark.usefixtures("small")
def test_a_long_log_is_taken_in_by_parts_and_completely(store: HistoryStore) -> None:
    fill(store, 200)
    size = store.log.size()
    assert size > 40_000
    told: list[tuple[int, int]] = []
    first = store.index.catch_up(lambda done, of: told.append((done, of)), max_bytes=10_000)
    assert 10_000 <= first.read == size - first.behind < 20_000, "about as much as was asked for"
    assert store.index.offset() == first.read and 0 < first.records < 200
    rest = store.index.catch_up(lambda done, of: told.append((done, of)))
    assert rest == CatchUpResult(200 - first.records, 0, False, 0, size - first.read)
    assert store.index.behind() == 0
    places = [done for done, _ in told]
    assert places == sorted(set(places)) and places[-1] == size and {of for _, of in told} == {size}
    assert all(step < 2_500 for step in (b - a for a, b in itertools.pairwise(places)))
    assert store.index.catch_up() == CatchUpResult(), "nothing is left"
    found = [store.search(f"number{n:03} ünd").hits for n in range(0, 200, 7)]
    assert [len(hits) for hits in found] == [1] * len(found), "each is there once"


@pytest.mark.usefixtures("small")
def test_what_is_skipped_is_counted_over_all_parts(store: HistoryStore) -> None:
    for _ in range(4):
        fill(store, 40)
        with store.log.path.open("ab") as stream:
            stream.write(b"{broken\n")
    assert store.index.catch_up() == CatchUpResult(160, 4, False, 0, store.log.size())
    assert store.index.rebuild().records == 160


@pytest.mark.usefixtures("small")
def test_words_are_merged_when_there_is_time_and_not_before(store: HistoryStore) -> None:
    fill(store, 300)
    store.index.catch_up()

    def merging() -> tuple[int, int]:
        with store.index.connection() as db:
            (put_off,) = db.execute("SELECT value FROM meta WHERE key = 'merge'").fetchone()
            row = db.execute("SELECT v FROM words_config WHERE k = 'automerge'").fetchone()
        return put_off, row[0]

    assert merging() == (1, 0)
    assert store.index.deepen(0.0, now=iter(range(100)).__next__) is False, "no time, no work"
    assert merging() == (1, 0)
    assert store.index.deepen(60.0, now=lambda: 0.0) is True
    assert merging() == (0, 4), "as SQLite does it by itself"
    assert store.search("umber29").hits, "parts of words are found by the vocabulary"
    assert store.index.deepen(60.0, now=lambda: 0.0) is True


def test_an_index_that_cannot_be_used_is_behind_and_says_nothing_is_done(
    store: HistoryStore,
) -> None:
    fill(store, 3)
    store.index.path.mkdir(parents=True)
    assert store.index.catch_up() == CatchUpResult(behind=store.log.size())
    assert store.index.offset() == 0
    assert store.index.deepen(1.0, now=lambda: 0.0) is False
    with pytest.raises(sqlite3.Error):
        store.index.sessions()


def test_looking_where_nothing_is_leaves_nothing_behind(tmp_path: Path) -> None:
    index = Index(HistoryStore(tmp_path).log, tmp_path / "sub" / "index.sqlite3")
    assert index.nothing and index.catch_up() == CatchUpResult() and index.behind() == 0
    assert index.sessions() == [] and index.places("s") == [] and index.events("undo", "", 9) == []
    assert list(tmp_path.iterdir()) == []


def test_places_are_joined_where_nothing_lies_between(store: HistoryStore) -> None:
    first = store.session_id
    fill(store, 2)
    middle = store.log.size()
    store.new_session()
    fill(store, 1)
    third = store.log.size()
    store.load_session(first)
    fill(store, 2)
    store.index.catch_up()
    assert store.index.places(first) == [(0, middle), (third, store.log.size())]


def test_sessions_by_the_index_and_by_the_log_are_the_same(store: HistoryStore) -> None:
    one = store.session_id
    shown = store.append(store.make("user", "one\n" + "x" * 200))
    store.append(store.make("assistant", "yes", group_id=shown.group_id))
    store.new_session()
    fill(store, 1)
    gone = store.append(store.make("user", "is taken back"))
    undo(store)
    two = store.session_id
    store.load_session(one)
    fill(store, 1)
    listed = store.list_sessions()
    read = list(records.tail(store.log, 0).sessions)
    assert listed == read
    assert [s.session_id for s in listed] == [one, two], "the one that was used last is first"
    assert [(s.message_count, s.first_role) for s in listed] == [(3, "user"), (1, "user")]
    assert listed[0].preview == "one " + "x" * 95 + "…" and len(listed[0].preview) == 100
    assert isinstance(listed[0], SessionSummary) and gone.id not in str(listed)
    assert store.list_sessions(limit=1) == read[:1] == listed[:1]
    assert store.list_sessions(limit=-1) == []


@pytest.mark.usefixtures("small")
def test_the_thread_that_reads_ahead_ends_with_the_index(store: HistoryStore) -> None:
    fill(store, 60)
    before = set(threading.enumerate())
    store.index.catch_up()
    (reader,) = set(threading.enumerate()) - before
    store.index.close()
    reader.join(5)
    assert not reader.is_alive()
    fill(store, 60)
    assert store.index.catch_up().records == 60, "and begins again when there is more"


def test_events_are_found_the_moment_they_are_written(store: HistoryStore) -> None:
    first = store.session_id
    fill(store, 1)
    store.record(actions.window(3))
    store.record(actions.window(5))
    assert store.index.events("window", "", 9) == [(first, {"size": 5}), (first, {"size": 3})]
    store.new_session()
    fill(store, 1)
    store.record(actions.window(7))
    assert store.index.events("window", first, 9)[0] == (first, {"size": 5})
    assert len(store.index.events("window", "", 2)) == 2
    assert len(store.index.events("window", "", 0)) == 3, "0 is no limit"
    store.delete_session(first)
    assert [data for _, data in store.index.events("window", "", 9)] == [{"size": 7}]


def test_who_asks_while_another_thread_is_at_it_does_not_wait(store: HistoryStore) -> None:
    fill(store, 3)
    found: list[CatchUpResult] = []
    asks = threading.Thread(target=lambda: found.append(store.index.catch_up()), daemon=True)
    with store.index._catching:
        asks.start()
        asks.join(5)
        assert found == [CatchUpResult(behind=store.log.size())]
    assert store.index.catch_up().records == 3
