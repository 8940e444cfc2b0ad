"""Snapshots and going back, part by part: kills at every step, limits, what is left out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.going_back import World
from tierline import disk
from tierline import protocol as p
from tierline.config import HistoryConfig, Settings
from tierline.errors import TierlineError
from tierline.session.state.preferences import Preferences
from tierline.store.log import HistoryLog
from tierline.store.snapshots import SnapshotStore


class KilledError(BaseException):
    """The process ends here."""


async def changed_world(root: Path) -> tuple[World, str]:
    """Three files that a turn has changed, made and deleted."""
    world = World(root)
    world.user("a.txt", b"old a\n")
    world.user("gone.txt", b"old gone\n")
    await world.prompt("Before.")
    group = await world.prompt("Change them.")
    await world.tool(group, "a.txt", b"new a\n")
    await world.tool(group, "gone.txt", None)
    await world.tool(group, "made.txt", b"new made\n")
    return world, group


THEN = {"a.txt": b"old a\n", "gone.txt": b"old gone\n"}
NOW = {"a.txt": b"new a\n", "made.txt": b"new made\n"}


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Every write counts: the one with this number does not come to its end, nor any after it."""
    left = [number]

    def counted(original: Any) -> Any:
        def run(*args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise KilledError
            return original(*args, **more)

        return run

    for name in ("replace", "remove", "create"):
        monkeypatch.setattr(disk, name, counted(getattr(disk, name)))
    monkeypatch.setattr(HistoryLog, "append", counted(HistoryLog.append))


def test_a_kill_at_any_write_leaves_the_old_or_the_new_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a move gets through: then there were no more writes to be killed at."""
    seen = set()
    for number in range(40):
        root = tmp_path / str(number)
        root.mkdir()

        async def run(root: Path = root, number: int = number) -> tuple[bool, str]:
            world, group = await changed_world(root)
            with monkeypatch.context() as patch:
                kill_at(patch, number)
                try:
                    await world.go(group_id=group)
                    through = True
                except KilledError:
                    through = False
            world.close()
            again = World(root)
            await again.start()
            texts = [m.text for m in again.conversation.shown()]
            state = "there" if len(texts) == 1 else "here"
            assert again.files() == (NOW if state == "here" else THEN), number
            again.close()
            assert bool(again.said) == (not through and unfinished(root)), again.said
            third = World(root)
            await third.start()
            assert third.said == [], "it is said once"
            third.close()
            return through, state

        def unfinished(root: Path) -> bool:
            return b'"move"' in (root / ".tierline/snapshots/journal.jsonl").read_bytes()

        through, state = asyncio.run(run())
        seen.add(state)
        if through:
            break
    else:
        pytest.fail("a move with more than 40 writes")
    assert seen == {"here", "there"}


async def test_a_damaged_journal_costs_no_more_than_the_damaged_line(tmp_path: Path) -> None:
    world, group = await changed_world(tmp_path)
    world.close()
    journal = tmp_path / ".tierline/snapshots/journal.jsonl"
    whole = journal.read_bytes()
    for cut in (1, 20):
        journal.write_bytes(whole + whole[:cut])
        again = World(tmp_path)
        await again.start()
        seen = await again.back.preview(p.BackParams(group))
        assert [f.path for f in seen.files] == ["a.txt", "gone.txt", "made.txt"]
        again.close()


async def test_a_content_that_is_lost_is_said_and_the_file_left(tmp_path: Path) -> None:
    world, group = await changed_world(tmp_path)
    for blob in (tmp_path / ".tierline/snapshots/blobs").rglob("*"):
        if blob.is_file():
            blob.write_bytes(b"damage")
    seen = {f.path: f for f in (await world.back.preview(p.BackParams(group))).files}
    assert seen["a.txt"].choices == ["mine"]
    assert "no longer kept" in seen["a.txt"].why
    done = await world.go(group_id=group)
    assert "a.txt" in done.kept
    assert (tmp_path / "a.txt").read_bytes() == b"new a\n"


async def test_binary_and_huge_files_are_said_to_be_left_out(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.user("picture.bin", bytes(100))
    world.user("huge.txt", b"x" * 5_000_001)
    group = await world.prompt("Change them.")
    await world.tool(group, "picture.bin", b"text now\n")
    await world.tool(group, "huge.txt", b"small now\n")
    seen = await world.back.preview(p.BackParams(group))
    assert [(f.path, f.choices) for f in seen.files] == [
        ("huge.txt", ["mine"]),
        ("picture.bin", ["mine"]),
    ]
    assert all("cannot be brought back" in f.why for f in seen.files)
    assert "5" in seen.files[0].why


async def test_a_choice_that_is_not_offered_changes_nothing(tmp_path: Path) -> None:
    world, group = await changed_world(tmp_path)
    before = world.files()
    with pytest.raises(TierlineError, match="cannot be taken"):
        await world.go(group_id=group, choices=[p.BackChoice("a.txt", "merge")])
    assert world.files() == before
    assert len(world.conversation.groups()) == 2


async def test_without_snapshots_the_conversation_goes_back_alone(tmp_path: Path) -> None:
    off = Preferences(Settings(history=HistoryConfig(snapshot_mb=0)))
    world = World(tmp_path, off)
    world.user("a.txt", b"old\n")
    group = await world.prompt("Change it.")
    await world.tool(group, "a.txt", b"new\n")
    done = await world.go(group_id=group)
    assert done.changed == []
    assert world.conversation.groups() == []
    assert not (tmp_path / ".tierline/snapshots").exists()


def test_the_oldest_changes_are_forgotten_first(tmp_path: Path) -> None:
    import random

    store = SnapshotStore(tmp_path, 200_000)
    chance = random.Random(1)
    shas = []
    for number in range(60):
        with store.held():
            sha = store.keep(chance.randbytes(10_000))
            store.write({"kind": "change", "id": number, "before": {"sha": sha}, "after": {}})
            store.prune()
        shas.append(sha)
        assert store.size() < 230_000
    left = [entry["id"] for entry in store.entries()]
    assert left == list(range(left[0], 60))
    assert len(left) >= 10
    assert store.load(shas[-1]) is not None
    assert store.load(shas[0]) is None
