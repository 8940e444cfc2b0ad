"""A history of many sessions: what asks for one of them reads one, and nothing waits for the index.

Counted, not timed. ``tests/benchmarks/years.py`` measures it with 100,000 sessions.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.years import Made, write
from tierline.folder import FOLDER
from tierline.history.codec import decode, encode
from tierline.store import log as logs
from tierline.store import records, sessions, vocabulary
from tierline.store.index import Index
from tierline.store.log import HistoryLog, encode_line
from tierline.store.sessions import HistoryStore


@pytest.fixture
def years(tmp_path: Path) -> Made:
    (tmp_path / FOLDER).mkdir()
    return write(tmp_path / FOLDER / "history.jsonl", sessions=120, megabytes=0.5)


def test_the_history_of_years_is_in_the_format_that_the_store_writes(
    tmp_path: Path, years: Made
) -> None:
    path = tmp_path / FOLDER / "history.jsonl"
    scan = HistoryLog(path).scan()
    assert (len(scan.records), scan.skipped, scan.end) == (years.records, 0, years.bytes)
    entries = [entry for record in scan.records if (entry := decode(record)) is not None]
    assert path.read_bytes() == b"".join(encode_line(encode(entry)) for entry in entries)
    assert len({entry.id for entry in entries}) == years.records
    listed = HistoryStore(tmp_path).list_sessions()
    assert {one.session_id for one in listed} == {*years.sessions} - years.deleted
    assert {one.session_id for one in listed if one.title} == years.renamed - years.deleted


def test_one_session_is_found_without_listing_the_others(
    tmp_path: Path, years: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = HistoryStore(tmp_path)
    listed = {one.session_id: one for one in store.list_sessions()}
    monkeypatch.setattr(Index, "sessions", lambda *_: pytest.fail("all are listed"))
    for name in years.sessions:
        assert store.session(name) == listed.get(name)
    assert store.session("") is None and store.session("sess_0_none") is None


def test_a_list_of_some_reads_no_more_rows_than_it_shows(tmp_path: Path, years: Made) -> None:
    store = HistoryStore(tmp_path)
    whole = store.sessions()
    assert not whole.partial and store.sessions(7).sessions == whole.sessions[:7]
    wanted = whole.sessions[50]
    assert store.sessions(1, wanted.preview.upper()).sessions == (wanted,)
    assert store.sessions(None, "Renamed").sessions == tuple(
        one for one in whole.sessions if one.session_id in years.renamed
    )


def test_while_the_index_is_far_behind_the_newest_sessions_are_listed_at_once(
    tmp_path: Path, years: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "TAIL_BYTES", 60_000)
    monkeypatch.setattr(Index, "catch_up", lambda self, *_, **__: None)  # another thread is at it
    store = HistoryStore(tmp_path)
    found = store.sessions()
    assert found.partial and 2 < len(found.sessions) < 60
    monkeypatch.undo()
    whole = store.list_sessions()
    order = [one.session_id for one in whole]
    assert [one.session_id for one in found.sessions] == order[: len(found.sessions)]
    assert found.sessions[:-1] == tuple(whole[: len(found.sessions) - 1]), "all but the cut one"


def test_a_list_joins_what_the_index_holds_and_what_the_log_has_gained(
    tmp_path: Path, years: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = HistoryStore(tmp_path)
    before = store.list_sessions()
    old, gone = before[-1].session_id, before[3].session_id
    store.load_session(old)
    store.append(store.make("user", "Again"))
    store.delete_session(gone)
    monkeypatch.setattr(Index, "catch_up", lambda self, *_, **__: None)
    behind = store.sessions()
    monkeypatch.undo()
    assert not behind.partial and list(behind.sessions) == store.list_sessions()
    assert behind.sessions[0].session_id == old
    assert behind.sessions[0].message_count == before[-1].message_count + 1


def test_whoever_reads_another_session_keeps_nobody_from_the_current_one(
    tmp_path: Path, years: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = HistoryStore(tmp_path)
    store.load_session(years.sessions[0])
    load = HistoryStore._load

    def slow(self: HistoryStore, name: str) -> sessions._Known:
        other = threading.Thread(target=store.timeline)
        other.start()
        other.join(10)
        assert not other.is_alive(), "the current session waits for the other one"
        return load(self, name)

    monkeypatch.setattr(HistoryStore, "_load", slow)
    read = store.timeline(years.sessions[5])
    assert read.session_id == years.sessions[5] and read.messages
    assert store.load_session(years.sessions[7]).session_id == years.sessions[7]
    assert store.timeline().session_id == years.sessions[7]


def test_who_only_looks_copies_no_large_index(
    tmp_path: Path, years: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = HistoryStore(tmp_path).list_sessions()
    monkeypatch.setattr(sessions, "COPIED_BYTES", 1000)
    store = HistoryStore(tmp_path, read_only=True)
    assert store.index.path == tmp_path / FOLDER / "index.sqlite3"
    assert store.list_sessions() == listed
    store.close()


def test_the_lines_of_one_session_are_found_without_reading_each_of_the_others(
    tmp_path: Path, years: Made
) -> None:
    log = HistoryLog(tmp_path / FOLDER / "history.jsonl")
    wanted = years.sessions[60]
    lines = list(log.read(containing=records.needle(wanted)))
    found = [x.record for x in lines if x.record is not None]
    every = [r for r in log.scan().records if r["session_id"] == wanted]
    assert found == every
    assert len(lines) <= 2 * len(every) + 1 < years.records / 10
    assert lines[-1].end == years.bytes


def test_another_log_in_the_folder_is_read_once_until_it_changes(
    tmp_path: Path, years: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / FOLDER / "old.jsonl"
    other.write_bytes(b"noise\n")
    read: list[Path] = []
    inspect = records.inspect

    def counted(path: Path) -> records.LogReport:
        read.append(path)
        return inspect(path)

    monkeypatch.setattr(records, "inspect", counted)
    store = HistoryStore(tmp_path)
    assert [r.health for r in (*store.other_files(), *store.other_files())] == ["damaged"] * 2
    assert read == [other]
    write(other, sessions=1, megabytes=0.001)
    assert store.other_files()[0].health == "ok" and read == [other, other]


def test_the_words_of_a_large_index_are_taken_in_pieces_that_hold_nobody_up(
    tmp_path: Path, years: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "_ROWS", 10)
    monkeypatch.setattr(vocabulary, "_TERMS", 50)
    store = HistoryStore(tmp_path)
    store.list_sessions()

    def piece() -> bool:
        with store.index.connection() as db:
            return vocabulary.extend(db, iter([False, True]).__next__)

    with store.index.connection() as db:
        (words,) = db.execute("SELECT count(*) FROM vocabulary").fetchone()
    assert words > 500
    found = len(store.search("enamed 4", limit=1000).hits)
    for _ in range(words // 50):
        assert piece() is False
    assert len(store.search("enamed 4", limit=1000).hits) == found, "scanned meanwhile"
    store.close()  # a restart goes on where it was
    assert piece() is True and piece() is True
    with store.index.connection() as db:
        (taken,) = db.execute("SELECT count(*) FROM term").fetchone()
        (findable,) = db.execute("SELECT count(*) FROM terms").fetchone()
        whole = "SELECT count(*) FROM vocabulary WHERE length(term) BETWEEN 3 AND 64"
        assert taken == findable == db.execute(whole).fetchone()[0]
    store.append(store.make("user", "thelatestword"))
    store.index.catch_up()
    assert store.maintain(5) and store.search("latestwor").hits


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 300)), max_size=40),
    st.integers(30, 200),
    st.sampled_from([b"", b'{"session_id":"sess_wanted","x":1', b"noise"]),
)
def test_lines_with_certain_bytes_are_the_same_however_the_file_is_cut_into_blocks(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[bool, int]],
    block: int,
    torn: bytes,
) -> None:
    path = tmp_path_factory.mktemp("log") / "history.jsonl"
    written = [
        encode_line({"x": "y" * size, "session_id": "sess_wanted" if ours else "sess_other"})
        for ours, size in lines
    ]
    path.write_bytes(b"".join(written) + torn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "_BLOCK_BYTES", block)
        patch.setattr(logs, "_MOST_BLOCK_BYTES", 2 * block)
        found = list(HistoryLog(path).read(containing=b"sess_wanted"))
    every = list(HistoryLog(path).read())
    wanted = [x for x in every if x.record and x.record["session_id"] == "sess_wanted"]
    assert [x for x in found if x.record is not None] == wanted
    ends = [0, *(x.end for x in found)]
    assert [x.start for x in found] == ends[:-1], "without gaps"
    assert ends[-1] == path.stat().st_size
