"""Whose ``.tierline`` it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tierline.disk import ownership
from tierline.disk.folder import make


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "state"
    monkeypatch.setenv("TIERLINE_STATE_DIR", str(place))
    return place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def test_a_folder_that_we_made_is_ours_also_after_it_was_moved(root: Path) -> None:
    assert ownership.home(root) == ownership.Home(root / ".tierline")
    make(root / ".tierline" / "drafts")
    (root / ".tierline" / "history.jsonl").write_text("{}\n")
    assert ownership.home(root) == ownership.Home(root / ".tierline")
    moved = root.rename(root.with_name("moved"))
    assert ownership.home(moved) == ownership.Home(moved / ".tierline")


def test_the_token_is_for_nobody_else_to_read(root: Path, state: Path) -> None:
    make(root / ".tierline")
    (record,) = (state / "folders").iterdir()
    token = root / ".tierline" / ownership.TOKEN
    assert token.stat().st_mode & 0o777 == record.stat().st_mode & 0o777 == 0o600
    assert token.read_text() not in record.read_text() + record.name


def test_a_folder_that_came_with_a_repository_is_left_alone(root: Path) -> None:
    (root / ".tierline").mkdir()
    (root / ".tierline" / "history.jsonl").write_text("{}\n")
    home = ownership.home(root)
    assert home.aside == root / ".tierline"
    assert not home.folder.is_relative_to(root)
    assert "not made by your Tierline" in home.why


def test_a_copy_of_a_folder_of_ours_is_a_stranger(root: Path) -> None:
    make(root / ".tierline")
    copy = root.with_name("copy")
    shutil.copytree(root, copy)
    assert ownership.home(copy).aside == copy / ".tierline"
    assert ownership.home(root).aside is None


@pytest.mark.parametrize("token", [b"", b"0" * 64, b"../../x", b"\xff" * 64, b"a" * 10_000])
def test_a_token_that_we_do_not_know_is_worth_nothing(root: Path, token: bytes) -> None:
    (root / ".tierline").mkdir()
    (root / ".tierline" / ownership.TOKEN).write_bytes(token)
    assert ownership.folder_status(root / ".tierline") == "unknown"


def test_an_empty_folder_is_made_ours(root: Path) -> None:
    (root / ".tierline").mkdir()
    home = ownership.prepare(ownership.home(root))
    assert home == ownership.Home(root / ".tierline")
    assert ownership.folder_status(home.folder) == "ours"


@pytest.mark.parametrize("target", [".", "..", "/etc", "nowhere", "file"])
def test_a_link_or_a_file_in_its_place_is_left_alone(root: Path, target: str) -> None:
    if target == "file":
        (root / ".tierline").write_text("x")
    else:
        (root / ".tierline").symlink_to(target)
    home = ownership.prepare(ownership.home(root))
    assert home.aside == root / ".tierline"
    assert home.folder.parent.is_dir()
    assert ("a link" if target != "file" else "a file") in home.why


def test_in_restricted_mode_nothing_of_the_workspace_is_used(root: Path) -> None:
    make(root / ".tierline")
    home = ownership.home(root, trusted=False)
    assert not home.folder.is_relative_to(root)
    assert home.folder == ownership.user_folder_for(root)
    assert ownership.home(root).folder == root / ".tierline"


def test_a_conversation_that_began_in_restricted_mode_goes_on_where_it_is(root: Path) -> None:
    home = ownership.prepare(ownership.home(root, trusted=False))
    make(home.folder)
    (home.folder / "history.jsonl").write_text("{}\n")
    assert ownership.home(root) == ownership.Home(home.folder)


def test_without_a_writable_state_folder_a_temporary_one_has_to_do(root: Path, state: Path) -> None:
    state.write_text("in the way")
    (root / ".tierline").symlink_to("..")
    home = ownership.prepare(ownership.home(root))
    assert home.folder.parent.is_dir()
    assert "TIERLINE_STATE_DIR" in home.why
    assert ownership.prepare(ownership.home(root / "other")).folder == root / "other" / ".tierline"
