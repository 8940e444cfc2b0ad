"""Retrieved sets and what branches hold: found again, bounded, never in the way."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tierline.store import retrieval
from tierline.store.retrieval import RetrievalStore


def made(number: int) -> dict[str, Any]:
    return {"set": {"set_id": f"set{number}"}, "number": number, "text": "é"}


def test_sets_are_found_by_id_by_turn_and_the_newest_by_session(tmp_path: Path) -> None:
    store = RetrievalStore(tmp_path / "r.sqlite3")
    assert store.find(session_id="s") is None and store.held("s", "main") is None
    assert list(tmp_path.iterdir()) == [], "looking leaves nothing behind"
    for number in range(3):
        store.keep("s", f"turn{number}", made(number))
    store.keep("other", "turn9", made(9))
    assert store.find(set_id="set1") == made(1)
    assert store.find(turn_id="turn0") == made(0)
    assert store.find(session_id="s") == made(2)
    assert store.find(set_id="set1", turn_id="turn0") == made(1), "the id says it exactly"
    assert store.find(set_id="none") is None and store.find(session_id="none") is None
    store.keep("s", "turn1", {**made(1), "text": "again"})
    assert (store.find(set_id="set1") or {})["text"] == "again"


def test_old_sets_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "MAX_SETS", 3)
    store = RetrievalStore(tmp_path / "r.sqlite3")
    for number in range(5):
        store.keep("s", f"turn{number}", made(number))
    assert [store.find(turn_id=f"turn{n}") for n in range(5)] == [None, None, *map(made, (2, 3, 4))]


def test_each_branch_holds_its_own(tmp_path: Path) -> None:
    store = RetrievalStore(tmp_path / "r.sqlite3")
    store.hold("s", "main", {"turn": 1})
    store.hold("s", "fork", {"turn": 2})
    store.hold("s", "main", {"turn": 3})
    assert (store.held("s", "main"), store.held("s", "fork")) == ({"turn": 3}, {"turn": 2})
    assert store.held("t", "main") is None
    store.close()
    assert RetrievalStore(store.path).held("s", "fork") == {"turn": 2}, "after a restart, too"


@pytest.mark.parametrize("value", ["{torn", "[1]", "7", ""])
def test_a_damaged_row_is_as_good_as_none(tmp_path: Path, value: str) -> None:
    store = RetrievalStore(tmp_path / "r.sqlite3")
    store.hold("s", "main", {"turn": 1})
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE held SET value = ?", (value,))
    db.close()
    assert store.held("s", "main") is None
