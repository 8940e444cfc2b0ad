"""Copies of databases that somebody else is writing to are always one state of them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierline.store.readonly_copy import ReadOnlyCopy

BEFORE = st.lists(st.sampled_from(["commit", "RESTART", "reopen"]), max_size=3)
DURING = st.lists(
    st.lists(
        st.sampled_from(["commit", "PASSIVE", "FULL", "RESTART", "TRUNCATE", "reopen"]), max_size=5
    ),
    max_size=9,
)
WRITER = """
import select, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = " + sys.argv[2])
db.execute("PRAGMA wal_autocheckpoint = 20")
db.execute("PRAGMA synchronous = OFF")
print("ready", flush=True)
number = 0
while not select.select([sys.stdin], [], [], 0)[0]:  # until the other end is closed
    number += 1
    db.execute("BEGIN IMMEDIATE")
    for table in ("one", "two"):
        db.execute(f"UPDATE {table} SET number = ?, filler = randomblob(900)", (number,))
    db.execute("COMMIT")
print(number)
"""


class World:
    """A database with two tables that every commit changes alike, all rows of both."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self.db = self.open()
        for table in ("one", "two"):
            self.db.execute(f"CREATE TABLE {table} (number INTEGER, filler BLOB)")
            for _ in range(20):
                self.db.execute(f"INSERT INTO {table} VALUES (0, randomblob(900))")

    def open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("PRAGMA synchronous = OFF")
        return db

    def act(self, action: str) -> None:
        if action == "commit":
            self.number += 1
            self.db.execute("BEGIN")
            for table in ("one", "two"):
                self.db.execute(
                    f"UPDATE {table} SET number = ?, filler = randomblob(900)", (self.number,)
                )
            self.db.execute("COMMIT")
        elif action == "reopen":
            self.db.close()  # carries everything over and removes the WAL
            self.db = self.open()
        else:
            self.db.execute(f"PRAGMA wal_checkpoint({action})")


def number_in(copy: Path) -> int:
    """The one number that all rows have."""
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = db.execute("SELECT number FROM one UNION SELECT number FROM two").fetchall()
    assert len(rows) == 1, "half of a commit"
    return int(rows[0][0])


@given(before=BEFORE, during=DURING)
@settings(max_examples=40, deadline=None)
def test_a_copy_is_one_state_whatever_is_written_while_it_is_made(
    before: list[str], during: list[list[str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "it.sqlite3")
        for action in before:
            world.act(action)
        steps: Iterator[list[str]] = iter(during)
        first = world.number

        def between() -> None:
            for action in next(steps, []):
                world.act(action)

        with ReadOnlyCopy(between) as unseen:
            assert first <= number_in(unseen.copy(world.path)) <= world.number
        world.db.close()


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_copy_of_a_file_that_another_process_writes_without_pause(
    tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "it.sqlite3"
    World(path).db.close()
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        seen = []
        for _ in range(10):
            with ReadOnlyCopy() as unseen:
                seen.append(number_in(unseen.copy(path)))
        writer.stdin.close()
        last = int(writer.stdout.read())
    assert seen == sorted(seen) and 0 < seen[-1] <= last


def test_what_is_not_there_is_not_made(tmp_path: Path) -> None:
    with ReadOnlyCopy() as unseen:
        copy = unseen.copy(tmp_path / "none.sqlite3")
        assert not copy.exists() and copy.parent.stat().st_mode & 0o77 == 0
        (tmp_path / "folder.sqlite3").mkdir()
        assert not unseen.place(tmp_path / "folder.sqlite3").exists()
    assert not copy.parent.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["folder.sqlite3"]
