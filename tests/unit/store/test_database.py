"""A SQLite file of ours, whatever has happened to it: what is kept, and what the user is told."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from tierline.store import database
from tierline.store.database import Database

DDL = ("CREATE TABLE note (text TEXT)",)


class Notes(Database):
    """The smallest user of a database."""

    def __init__(self, path: Path, version: int = 1) -> None:
        super().__init__(path, version=version, ddl=DDL, tables=("note",))
        self.told: list[str] = []
        self.on_damage = self.told.append

    def add(self, text: str) -> bool:
        def write(db: sqlite3.Connection) -> bool:
            db.execute("INSERT INTO note VALUES (?)", (text,))
            return True

        return self.run(write, lambda: False)

    def all(self) -> list[str]:
        return self.run(lambda db: [t for (t,) in db.execute("SELECT text FROM note")], lambda: [])


def test_damaged_files_are_set_aside_one_after_the_other_and_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite3"
    for number, damage in enumerate((b"first" * 999, b"second" * 999), start=1):
        path.write_bytes(damage)
        notes = Notes(path)
        assert notes.add("new") and notes.all() == ["new"]
        assert (tmp_path / f"notes.sqlite3.damaged-{number}").read_bytes() == damage
        (told,) = notes.told
        assert "notes.sqlite3 was damaged" in told and f"damaged-{number}" in told
        notes.close()
    assert len(list(tmp_path.glob("*.damaged-*"))) == 2


def test_a_file_of_a_later_version_is_left_alone_and_it_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite3"
    later = Notes(path, version=3)
    assert later.add("of tomorrow")
    later.close()
    notes = Notes(path, version=2)
    assert notes.add("x") is False and notes.all() == [] and notes.add("y") is False
    (told,) = notes.told
    assert "newer version" in told
    assert Notes(path, version=3).all() == ["of tomorrow"]


def test_a_file_of_an_earlier_version_is_begun_anew_with_todays_tables(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite3"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE note (other INTEGER)")
        db.execute("PRAGMA user_version = 1")
    db.close()
    notes = Notes(path, version=2)
    assert notes.add("x") and notes.all() == ["x"] and notes.told == []
    notes.close()
    assert Notes(path, version=2).all() == ["x"], "and only once"


def test_a_file_that_was_deleted_is_begun_anew(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "sub" / "notes.sqlite3")
    notes.add("one")
    for left in list(notes.path.parent.iterdir()):
        left.unlink()
    assert notes.add("two") and notes.all() == ["two"]
    assert notes.path.exists()


def test_a_folder_in_its_place_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite3"
    path.mkdir()
    notes = Notes(path)
    assert notes.add("x") is False and notes.all() == []
    (told,) = notes.told
    assert "it is a folder" in told and path.is_dir()


def test_a_file_without_permission_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.sqlite3"
    path.touch(0o000)
    # As anybody but root would be.
    monkeypatch.setattr(os, "access", lambda name, _mode: Path(name) != path)
    notes = Notes(path)
    assert notes.add("x") is False and notes.add("y") is False
    (told,) = notes.told
    assert "permissions" in told


def test_a_missing_place_is_nobodys_damage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    notes = Notes(tmp_path / "file" / "notes.sqlite3")
    assert notes.add("x") is False
    assert notes.told == [], "the log tells of a folder that cannot be made"


def test_work_that_fails_leaves_nothing(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "notes.sqlite3")

    def half(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO note VALUES ('half')")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        notes.run(half, lambda: None)
    assert notes.all() == [] and notes.add("whole"), "no transaction is left open"


def test_a_lock_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    notes = Notes(tmp_path / "notes.sqlite3")
    notes.add("mine")
    other = sqlite3.connect(notes.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert notes.add("x") is False and notes.all() == ["mine"]
    other.execute("COMMIT")
    other.close()
    assert notes.add("y") and notes.told == []
    assert not list(tmp_path.glob("*.damaged*"))
