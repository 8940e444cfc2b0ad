"""The plan store: exact, deduplicated, bounded, and never in the way."""

from __future__ import annotations

import sqlite3
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from support.planning import file, limits, system
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.plan import ContextPlan, plan
from tierline.context.plan_diff import diff
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.errors import TierlineError
from tierline.store import plans
from tierline.store.plans import PlanStore

PROMPT = Prompt(
    "m",
    (PromptBlock(Text("Be brief."), "system:head", "1h"),),
    (
        PromptMessage(
            "user",
            (
                PromptBlock(Text("half \ud83d and \ud83d\ude0b"), "history:1"),
                PromptBlock(Image("image/png", "aGk=", 3, 4, "x.png"), "history:1", "5m"),
            ),
        ),
        PromptMessage(
            "assistant",
            (
                PromptBlock(Reasoning("anthropic", {"type": "thinking", "b": 1, "a": 2}), "r"),
                PromptBlock(ToolUse("c1", "read_file", {"path": "a.py", "lines": [1, 2]}), "u"),
            ),
        ),
        PromptMessage("user", (PromptBlock(ToolResult("c1", (Text("out"),), True), "r"),)),
    ),
    (ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {}}}),),
    "1h",
    777,
    "session",
)


def make(turn: str, tokens: int = 10) -> ContextPlan:
    return plan([system(), file("a.py", tokens)], limits(), model="m", group_id=turn)


def grown(number: int, size: int = 2_000) -> Prompt:
    """A conversation of ``number`` messages, each with a text of its own."""
    return Prompt(
        "m",
        (PromptBlock(Text("Be brief."), "system:head"),),
        tuple(
            PromptMessage("user", (PromptBlock(Text(f"{n} " * size), f"history:{n}"),))
            for n in range(number)
        ),
    )


@pytest.fixture
def store(tmp_path: Path) -> PlanStore:
    return PlanStore(tmp_path / "deep" / "plans.sqlite3")


def test_a_plan_and_its_prompt_come_back_exactly(store: PlanStore) -> None:
    made = make("t1")
    assert store.save(
        made, PROMPT, "sha", "2026-11-28T00:00:00Z", provider="anthropic", session_id="s"
    )
    store.close()
    found = PlanStore(store.path).get(made.plan_id)
    assert found is not None
    assert (found.session_id, found.turn_id, found.created) == ("s", "t1", "2026-11-28T00:00:00Z")
    assert (found.request_sha256, found.provider) == ("sha", "anthropic")
    assert found.plan.included == made.included
    assert repr(PlanStore(store.path).load_prompt(made.plan_id)) == repr(PROMPT)


def test_what_was_sent_is_listed_in_the_order_of_its_bytes(store: PlanStore) -> None:
    made = make("t1")
    store.save(made, PROMPT, "sha", "now")
    found = store.get(made.plan_id)
    assert found is not None
    assert [sent.key for sent in found.plan.sent] == [
        "tools",
        "system:head",
        "history:1",
        "history:1",
        "r",
        "u",
        "r",
    ]
    assert [sent.marked for sent in found.plan.sent[:4]] == [True, True, False, True]
    assert len({sent.sha256 for sent in found.plan.sent}) == 7


def test_two_stored_plans_tell_where_the_prefix_broke(store: PlanStore) -> None:
    first, second = make("t1"), make("t2")
    store.save(first, grown(3), "a", "1")
    changed = grown(4)
    block = PromptBlock(Text("edited"), "history:1")
    messages = (changed.messages[0], PromptMessage("user", (block,)), *changed.messages[2:])
    store.save(second, Prompt("m", changed.system, messages), "b", "2")
    a, b = store.get(first.plan_id), store.get(second.plan_id)
    assert a is not None
    assert b is not None
    found = diff(a.plan, b.plan)
    assert (found.first_break, found.first_break_index) == ("history:1", 2)


def test_plans_are_listed_newest_first(store: PlanStore) -> None:
    for number in range(5):
        store.save(make(f"t{number}"), grown(1), "x", str(number), session_id=f"s{number % 2}")
    assert [stored.turn_id for stored in store.list(3)] == ["t4", "t3", "t2"]
    assert [stored.turn_id for stored in store.list(10, session="s1")] == ["t3", "t1"]
    assert store.list(0) == []


def test_saving_a_plan_again_replaces_it(store: PlanStore) -> None:
    made = make("t1")
    store.save(made, grown(1), "old", "1")
    store.save(make("t2"), grown(1), "x", "2")
    store.save(made, grown(2), "new", "3")
    assert [stored.request_sha256 for stored in store.list()] == ["new", "x"]
    assert store.load_prompt(made.plan_id) == grown(2)


def test_what_requests_share_is_stored_once(store: PlanStore) -> None:
    for number in range(1, 31):
        store.save(make(f"t{number}"), grown(number), "x", str(number))
    with sqlite3.connect(store.path) as db:
        (blocks,) = db.execute("SELECT count(*) FROM block").fetchone()
    assert blocks == 31


def test_the_oldest_plans_make_room_and_take_their_own_blocks_along(tmp_path: Path) -> None:
    store = PlanStore(tmp_path / "plans.sqlite3", max_plans=5)
    for number in range(1, 21):
        prompt = Prompt("m", (), (PromptMessage("user", (_own(number), _SHARED)),))
        store.save(make(f"t{number}"), prompt, "x", str(number))
    assert [stored.turn_id for stored in store.list(99)] == ["t20", "t19", "t18", "t17", "t16"]
    for stored in store.list(99):
        assert store.load_prompt(stored.plan.plan_id).messages
    with sqlite3.connect(store.path) as db:
        (blocks,) = db.execute("SELECT count(*) FROM block").fetchone()
    assert blocks == 6


_SHARED = PromptBlock(Text("shared"), "system:head")


def _own(number: int) -> PromptBlock:
    return PromptBlock(Text(f"only in {number}"), f"history:{number}")


def test_disk_use_is_bounded(tmp_path: Path) -> None:
    import random

    source = random.Random(1)
    store = PlanStore(tmp_path / "plans.sqlite3", max_bytes=400_000)
    for number in range(40):
        noise = source.randbytes(30_000).hex()
        prompt = Prompt("m", (PromptBlock(Text(noise), "file:a"),), ())
        assert store.save(make(f"t{number}"), prompt, "x", str(number))
    kept = store.list(99)
    assert 3 <= len(kept) < 20
    assert kept[0].turn_id == "t39"
    store.close()
    assert store.path.stat().st_size < 900_000


def test_one_request_larger_than_the_bound_is_kept_all_the_same(tmp_path: Path) -> None:
    store = PlanStore(tmp_path / "plans.sqlite3", max_bytes=1)
    made = make("t1")
    assert store.save(made, PROMPT, "x", "1")
    assert store.get(made.plan_id) is not None


def test_only_the_user_may_read_it(store: PlanStore) -> None:
    store.save(make("t1"), PROMPT, "x", "1")
    for path in store.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [b"", b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5_000],
    ids=["empty", "text", "torn"],
)
def test_a_damaged_file_is_set_aside_and_begun_anew(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "plans.sqlite3"
    path.write_bytes(damage)
    store = PlanStore(path)
    made = make("t1")
    assert store.get(made.plan_id) is None
    assert store.save(made, PROMPT, "x", "1")
    assert store.get(made.plan_id) is not None
    aside = list(tmp_path.glob("*.damaged-*"))
    if damage:
        assert [found.read_bytes() for found in aside] == [damage]
        assert "set aside" in caplog.text


def test_damage_that_comes_while_it_is_open_loses_no_request(store: PlanStore) -> None:
    store.save(make("t1"), PROMPT, "x", "1")
    store.close()
    data = bytearray(store.path.read_bytes())
    data[100 : len(data)] = b"\xa5" * (len(data) - 100)
    store.path.write_bytes(bytes(data))
    assert store.list() == []
    assert store.save(make("t2"), PROMPT, "x", "2")
    assert [stored.turn_id for stored in store.list()] == ["t2"]


def test_a_damaged_row_hides_only_itself(store: PlanStore) -> None:
    first, second = make("t1"), make("t2")
    store.save(first, grown(1), "x", "1")
    store.save(second, grown(2), "x", "2")
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE plan SET plan = 'junk', frame = 'junk' WHERE turn_id = 't1'")
    assert [stored.turn_id for stored in store.list()] == ["t2"]
    assert store.get(first.plan_id) is None
    with pytest.raises(TierlineError):
        store.load_prompt(first.plan_id)
    assert store.load_prompt(second.plan_id) == grown(2)


def test_a_missing_block_is_an_error_with_advice_not_a_crash(store: PlanStore) -> None:
    made = make("t1")
    store.save(made, PROMPT, "x", "1")
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("DELETE FROM block")
    with pytest.raises(TierlineError) as caught:
        store.load_prompt(made.plan_id)
    assert caught.value.code == "not_found"
    assert caught.value.advice


def test_a_locked_file_costs_the_record_not_the_request(
    store: PlanStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tierline.store.database.BUSY_SECONDS", 0.05)
    store.save(make("t1"), PROMPT, "x", "1")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    fresh = PlanStore(store.path)
    assert not fresh.save(make("t2"), PROMPT, "x", "2")
    assert "locked" in caplog.text
    assert [stored.turn_id for stored in fresh.list()] == ["t1"], "reading still works"
    other.execute("ROLLBACK")
    other.close()
    assert fresh.save(make("t2"), PROMPT, "x", "2")


def test_a_folder_that_cannot_be_made_costs_the_record_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = PlanStore(tmp_path / "file" / "plans.sqlite3")
    assert not store.save(make("t1"), PROMPT, "x", "1")
    assert store.list() == []


def test_an_unknown_plan_is_none_and_has_no_prompt(store: PlanStore) -> None:
    assert store.get("plan_0000000000000000") is None
    with pytest.raises(TierlineError):
        store.load_prompt("plan_0000000000000000")


def test_threads_and_other_windows_may_write_at_the_same_time(store: PlanStore) -> None:
    other = PlanStore(store.path)
    results: list[bool] = []

    def work(target: PlanStore, name: str) -> None:
        results.extend(
            target.save(make(f"{name}{n}"), grown(n % 5 + 1, 50), "x", "1") for n in range(10)
        )

    threads = [
        threading.Thread(target=work, args=(target, name))
        for target, name in ((store, "a"), (store, "b"), (other, "c"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 30
    assert len(store.list(99)) == 30


def test_a_list_reads_each_plan_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for whenever a turn ends."""
    store = PlanStore(tmp_path / "plans.sqlite3", max_plans=3)
    for number in range(5):
        store.save(make(f"g{number}", 10 + number), PROMPT, f"hash {number}", "2026-01-01")
    read: list[object] = []
    real = plans._stored

    def seen(row: tuple[Any, ...]) -> plans.StoredPlan | None:
        read.append(row)
        return real(row)

    monkeypatch.setattr(plans, "_stored", seen)
    found = store.summaries(2)
    assert [(f.turn_id, f.request_sha256) for f in found] == [("g4", "hash 4"), ("g3", "hash 3")]
    assert [f.total_tokens for f in found] == [
        sum(e.tokens for e in s.plan.included) for s in store.list(2)
    ]
    del read[:]
    store.save(make("g5"), PROMPT, "hash 5", "2026-01-01")
    assert [f.turn_id for f in store.summaries(9)] == ["g5", "g4", "g3"]
    assert len(read) == 1, "the new one"
    (tmp_path / "plans.sqlite3").unlink()
    store.save(make("other"), PROMPT, "hash", "2026-01-01")
    assert [f.turn_id for f in store.summaries(9)] == ["other"], "of the new file"
