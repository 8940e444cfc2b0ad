"""Names of git's folder and of ours, however a file system may spell them."""

from __future__ import annotations

import pytest

from tierline.workspace.secretfiles import reserved


@pytest.mark.parametrize(
    "name",
    [".git", ".GIT", ".Git.", ".git ", ".git. .", ".git::$INDEX_ALLOCATION", ".git:x", "GIT~1",
     "git~12", ".g\u200cit", "\ufeff.git", ".gi\u202et"],
)  # fmt: skip
def test_every_spelling_of_gits_folder(name: str) -> None:
    assert reserved(name) == "git"


@pytest.mark.parametrize("name", [".tierline", ".TierLine", ".tierline ", "TIERLI~1"])
def test_every_spelling_of_ours(name: str) -> None:
    assert reserved(name) == "tierline"


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "git", ".gitignore", ".github", ".git2", "x.git", "git~", "agit~1", "tierline",
     ".tierlineignore", "src", "~", "gìt"],
)  # fmt: skip
def test_other_names_are_the_users(name: str) -> None:
    assert reserved(name) == ""
