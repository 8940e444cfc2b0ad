"""Bug cases of area N: undo, drop, restore."""

from __future__ import annotations

from pathlib import Path

import pytest

from bugcases.bodies import body, fold, prompt_of, text, violations
from bugcases.fixtures import case, expect
from support.store_actions import drop, remove, restore, undo
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.messages import Message, Status
from tierline.store.query_db import query_db
from tierline.store.sessions import HistoryStore


def imported(tmp_path: Path, path: Path) -> HistoryStore:
    store = HistoryStore(tmp_path)
    store.import_file(path)
    store.load_session(fold(path).session_id)
    return store


def request(store: HistoryStore, prompt: str = "now what?") -> str:
    value = body(prompt_of(store.timeline().context(), prompt), "anthropic")
    assert violations(value, "anthropic") == []
    return text(value)


def test_br163_undo_past_a_compaction_brings_the_originals_back(tmp_path: Path) -> None:
    """BR-163: going back to before a compaction leaves the old messages hidden."""
    wanted = expect("BR-163")
    store = imported(tmp_path, case("BR-163") / "history.jsonl")
    before = request(store)
    assert "SUMMARY-OF-1-4" in before and "Q1-TEXT" not in before and "Q5-TEXT" in before
    undo(store, to=wanted["undo_to"])
    for now in (store, HistoryStore(tmp_path)):
        now.load_session(store.session_id)
        said = request(now)
        assert all(part in said for part in wanted["request_contains"])
        assert not [part for part in wanted["request_not_contains"] if part in said]
    restore(store, "g4")
    assert "SUMMARY-OF-1-4" in request(store)


def test_br163_undo_after_the_compaction_leaves_it_in_force(tmp_path: Path) -> None:
    store = imported(tmp_path, case("BR-163") / "history.jsonl")
    assert undo(store) == ("g6",)
    said = request(store)
    assert "SUMMARY-OF-1-4" in said and "Q6-TEXT" not in said and "Q1-TEXT" not in said


def test_br165_queued_prompt_is_undone_first_and_the_running_turn_stays(tmp_path: Path) -> None:
    """BR-165: "Send P1; while streaming send P2 (queued); undo"."""
    store = HistoryStore(tmp_path)
    first = store.append(store.make("user", "P1"), durable=True)
    second = store.append(store.make("user", "P2"), durable=True)
    assert undo(store) == (second.group_id,)
    store.append(store.make("assistant", "R1", group_id=first.group_id))
    assert [m.group_id for m in store.timeline().visible()] == [first.group_id] * 2
    # What the queue may still write for P2 stays hidden with it.
    store.append(store.make("assistant", "late R2", group_id=second.group_id))
    assert "late R2" not in request(store) and "R1" in request(store)
    assert undo(store) == (first.group_id,)
    with pytest.raises(TierlineError, match="nothing to undo"):
        undo(store)


def with_marker(tmp_path: Path) -> tuple[HistoryStore, Message]:
    store = HistoryStore(tmp_path)
    for prompt in ("first MAROON-11", "second MAROON-12", "third MAROON-13"):
        asked = store.append(store.make("user", prompt), durable=True)
        reply = store.make("assistant", f"about {prompt}", group_id=asked.group_id)
        store.append(reply)
        store.record(actions.state(f"Goal: {prompt}", asked.group_id))
    return store, store.timeline().visible()[2]


@pytest.mark.parametrize("how", ["drop", "remove", "undo"])
def test_br167_what_was_taken_away_is_in_no_body_search_query_state_or_summary(
    tmp_path: Path, how: str
) -> None:
    """BR-167: removed from the screen but still in what is sent."""
    store, target = with_marker(tmp_path)
    marker = "MAROON-12"
    if how == "undo":
        undo(store, count=2)
    else:
        {"drop": drop, "remove": remove}[how](store, target.group_id)
    resumed = HistoryStore(tmp_path)
    resumed.load_session(store.session_id)
    for now in (store, resumed):
        assert marker not in request(now)
        assert now.search(marker).hits == ()
        assert marker not in query_db(now.index, "SELECT content FROM messages").text()
        assert marker not in now.timeline().state
        now.index.rebuild()
        assert now.search(marker).hits == ()
    kept = [m for m in store.timeline().messages if m.group_id == target.group_id]
    assert kept and {m.status for m in kept} == {Status.DROPPED}
    assert marker in store.log.path.read_text()  # append-only: flagged, not erased


def test_br167_summary_that_covers_a_dropped_turn_ceases_to_be_sent(tmp_path: Path) -> None:
    store, target = with_marker(tmp_path)
    covered = [g.id for g in store.timeline().groups()][:2]
    store.record(actions.summarise("They spoke of MAROON-11 and MAROON-12.", covered))
    assert "They spoke of" in request(store)
    drop(store, target.group_id)
    said = request(store)
    assert "MAROON-12" not in said and "first MAROON-11" in said
    restore(store, target.group_id)
    assert "They spoke of" in request(store)


def test_br167_removed_turn_cannot_be_restored_and_is_gone_from_every_branch(
    tmp_path: Path,
) -> None:
    store, target = with_marker(tmp_path)
    store.record(actions.fork(store.timeline(), name="other"))
    store.record(actions.switch(store.timeline(), "other"))
    remove(store, target.group_id)
    with pytest.raises(TierlineError):
        restore(store, target.group_id)
    for branch in ("main", "other"):
        shown = store.timeline(branch=branch).visible()
        assert target.group_id not in {m.group_id for m in shown}
