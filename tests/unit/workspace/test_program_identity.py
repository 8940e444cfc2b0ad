"""What the user was asked about is what is used."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tierline.workspace.reading import identify

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and inodes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "go").write_text("1")
    return root


def test_nothing_changed(folder: Path) -> None:
    for command in (["./go"], ["make"], "make && go", ["./no"], [str(folder / "go")]):
        looked = identify(str(folder), command)
        (folder / "else").write_text("x")
        assert looked.changed() == ""


def test_another_folder_in_its_place(folder: Path) -> None:
    looked = identify(str(folder), ["make"])
    folder.rename(folder.with_name("old"))
    folder.symlink_to(folder.with_name("old"))
    assert looked.changed() == "", "the same folder by a link"
    folder.unlink()
    folder.mkdir()
    assert looked.changed() == "the folder"


@pytest.mark.parametrize("how", ["written", "times set back", "replaced", "link", "gone", "made"])
def test_another_program_in_its_place(folder: Path, how: str) -> None:
    program = folder / "go"
    if how == "made":
        program.unlink()
    looked = identify(str(folder), ["./go"])
    if how == "gone":
        program.unlink()
    elif how == "link":
        program.rename(folder / "was")
        (folder / "was2").write_text("1")
        program.symlink_to(folder / "was2")
    elif how == "replaced":
        (folder / "new").write_text("1")
        (folder / "new").replace(program)
    else:
        program.write_text("2")
        if how == "times set back":
            os.utime(program, (1, 1))
    assert looked.changed() == "./go"
