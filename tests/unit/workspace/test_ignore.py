"""Where ignore rules come from, and how they are kept up to date."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tierline.workspace.ignore import IgnoreRules

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        check=True,
        capture_output=True,
        env=environment,
    )


def ignored(root: Path, name: str, **options: str) -> bool:
    return bool(IgnoreRules(str(root), user_file="", **options).ignored(str(root / name)))


def test_rules_change_with_their_file(tmp_path: Path) -> None:
    rules = IgnoreRules(str(tmp_path), user_file="")
    path = str(tmp_path / "a.log")
    assert rules.ignored(path) == ""
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert rules.ignored(path) == ".gitignore: *.log"
    (tmp_path / ".gitignore").write_text("!.log\n")
    assert rules.ignored(path) == ""
    (tmp_path / ".gitignore").unlink()
    assert rules.ignored(path) == ""


def test_unchanged_rules_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tierline.workspace import ignore

    (tmp_path / ".gitignore").write_text("*.log\n")
    rules = IgnoreRules(str(tmp_path), user_file="")
    rules.ignored(str(tmp_path / "sub/a.log"))
    monkeypatch.setattr(ignore, "parse", lambda *_: pytest.fail("parsed again"))
    assert rules.ignored(str(tmp_path / "sub/b.log"))


def test_our_own_ignore_file_adds_and_takes_back(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.gen.py\n")
    (tmp_path / ".tierlineignore").write_text("vendor/\n!keep.gen.py\n")
    assert ignored(tmp_path, "a.gen.py")
    assert not ignored(tmp_path, "keep.gen.py")
    assert ignored(tmp_path, "vendor/x.py")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.gitignore").write_text("keep.gen.py\n")
    assert ignored(tmp_path, "sub/keep.gen.py")


@needs_git
def test_rules_of_the_repository_above_the_workspace_count(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("pkg/dist/\n")
    (tmp_path / "pkg").mkdir()
    assert ignored(tmp_path / "pkg", "dist/x.js")
    assert not ignored(tmp_path / "pkg", "src/x.js")


@needs_git
def test_exclude_file_and_global_excludes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".git/info").mkdir(exist_ok=True)
    (tmp_path / ".git/info/exclude").write_text("local.txt\n")
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.swp\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    rules = IgnoreRules(str(tmp_path))
    assert rules.ignored(str(tmp_path / "local.txt"))
    assert rules.ignored(str(tmp_path / "a.swp"))
    (home / "mine").write_text("*.mine\n")
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    rules = IgnoreRules(str(tmp_path))
    assert rules.ignored(str(tmp_path / "a.mine"))
    assert not rules.ignored(str(tmp_path / "a.swp"))


@needs_git
def test_a_linked_work_tree_shares_the_exclude_file(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    (main / "a").write_text("x\n")
    git(main, "add", "a")
    git(main, "commit", "-q", "-m", "x")
    (main / ".git/info").mkdir(exist_ok=True)
    (main / ".git/info/exclude").write_text("local.txt\n")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert ignored(tmp_path / "linked", "local.txt")
    assert not ignored(tmp_path / "linked", "a")


@needs_git
def test_a_committed_file_is_not_ignored_except_by_our_own_rules(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("kept.log", "other.log"):
        (tmp_path / name).write_text("x\n")
    git(tmp_path, "add", "-f", "kept.log")
    rules = IgnoreRules(str(tmp_path), user_file="")
    assert not rules.ignored(str(tmp_path / "kept.log"))
    assert rules.ignored(str(tmp_path / "other.log"))
    git(tmp_path, "add", "-f", "other.log")
    assert not rules.ignored(str(tmp_path / "other.log"))
    (tmp_path / ".tierlineignore").write_text("*.log\n")
    assert rules.ignored(str(tmp_path / "kept.log"))


def test_gits_own_folder_is_never_offered(tmp_path: Path) -> None:
    assert ignored(tmp_path, ".git/config")
    assert ignored(tmp_path, "sub/.git/HEAD")


def test_without_git_the_rules_still_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert IgnoreRules(str(tmp_path)).ignored(str(tmp_path / "a.log"))


@pytest.mark.parametrize(
    "rules",
    [
        b"\xff\xfe\n*.log\n",
        b"[\n*.log\n",
        b"\xef\xbb\xbf*.log\n",
        b"*.log\r\n",
        b"!\n*.log",
        b"\\\n*.log\n",
        b"***\\\n*.log\n",
    ],
)
def test_damaged_lines_do_not_spoil_the_others(tmp_path: Path, rules: bytes) -> None:
    (tmp_path / ".gitignore").write_bytes(rules)
    assert ignored(tmp_path, "a.log")


def test_paths_outside_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/.gitignore").write_text("*\n")
    assert IgnoreRules(str(tmp_path / "in"), user_file="").ignored(str(tmp_path / "x")) == ""
