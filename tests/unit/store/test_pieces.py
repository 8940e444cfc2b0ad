"""A large rebuild leaves the pieces of the word index for idle moments to merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierline.store.sessions import HistoryStore


def pieces(store: HistoryStore) -> int:
    with store.index.connection() as db:
        found = db.execute("SELECT count(DISTINCT segid) FROM words_idx").fetchone()
    return int(found[0])


def test_nothing_is_merged_until_all_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tierline.store.index.BULK_BYTES", 2_000)
    monkeypatch.setattr("tierline.store.indexing.BATCH_BYTES", 2_000)
    store = HistoryStore(tmp_path)
    for number in range(60):
        store.append(store.make("user", f"needle number{number} " + f"filler{number} " * 200))
    assert store.index.catch_up().behind == 0
    assert pieces(store) > 50, "one for each transaction"

    def hits(word: str) -> int:
        return len(store.search(word, limit=100).hits)

    assert (hits("needle"), hits("number7"), hits("umber5")) == (60, 1, 11)
    for _ in range(1000):
        if store.maintain(0.05):
            break
    assert pieces(store) < 10
    assert (hits("needle"), hits("number7"), hits("umber5")) == (60, 1, 11)
    with store.index.connection() as db:
        settings = dict(db.execute("SELECT k, v FROM words_config").fetchall())
    assert (settings["automerge"], settings["crisismerge"]) == (4, 16), "as FTS5 has them"
    for number in range(60):
        store.append(store.make("user", f"later{number}"))
        assert hits(f"later{number}") == 1
    assert pieces(store) < 20, "merged as they come again"
