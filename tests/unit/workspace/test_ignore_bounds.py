"""Rules of a repository that are written to be slow, large, or no file at all."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tierline.tools.reading import list_files
from tierline.tools.searching import search_code
from tierline.workspace.ignore import IgnoreRules
from tierline.workspace.ignorefile import MAX_BYTES, MAX_PATTERNS
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots
from tierline.workspace.wildmatch import compile_pattern

LONG = "a" * 200
DEEP = "a/" * 1500 + "a"
SLOW = [
    ("*a" * 30 + " b", LONG),
    ("*a" * 30 + "*b", LONG),
    ("a*" * 100 + "b", LONG),
    ("?*" * 60 + "b", LONG),
    ("[!b]*" * 60 + "b", LONG),
    ("[!a]*" * 60 + "b", "b" * 200 + "c"),
    ("*[a-z]*[[:alpha:]]" * 30 + "9", LONG),
    ("**/" + "a/**/" * 100 + "b", DEEP),
    ("a/**/a/**/*a*a*a*a*a*a*a*a/**/b", "a/" * 40 + LONG + "/" + "a/" * 40 + "c"),
    ("**/*a*a*a*a*a*a*a*a*b/**/*a*a*a*a*b", "/".join([LONG] * 15)),
    ("**/" + "*a*/" * 50 + "b", DEEP),
    ("/".join(["*" * 50] * 50) + "/b", DEEP),
    ("*" * 90_000 + "b", LONG),
    ("[" + "a-z" * 10_000 + "]*b", LONG),
    ("a" * 4000 + "*", LONG),
]


@pytest.mark.parametrize(("pattern", "path"), SLOW, ids=range(len(SLOW)))
def test_no_pattern_takes_long_on_a_path_that_it_almost_matches(
    tmp_path: Path, pattern: str, path: str
) -> None:
    (tmp_path / ".gitignore").write_text(pattern + "\n")
    rules = IgnoreRules(str(tmp_path), user_file="")
    began = time.process_time()
    assert rules.ignored(str(tmp_path / path)) == ""
    assert time.process_time() - began < 2


def test_the_same_shapes_still_match_what_they_should() -> None:
    shapes = [
        ("*a" * 30 + "*b", LONG + "b", False),
        ("a*" * 100 + "b", LONG + "b", False),
        ("[!b]*" * 60 + "b", LONG + "b", False),
        ("**/" + "a/**/" * 100 + "b", "a/" * 1500 + "b", True),
        ("**/*a*a*a*b/**/*a*a*b", f"{LONG}b/x/{LONG}b", True),
        ("**/" + "*a*/" * 50 + "b", "a/" * 50 + "b", True),
    ]
    for pattern, path, paths in shapes:
        compiled = compile_pattern(pattern, paths=paths)
        assert compiled is not None and compiled.fullmatch(path), pattern


def test_a_file_of_thousands_of_plain_lines_is_used_in_full(tmp_path: Path) -> None:
    lines = [f"name-{number}.txt\n*.end{number}\n/a/path-{number}/\n" for number in range(10_000)]
    (tmp_path / ".gitignore").write_text("".join(lines) + "!name-7.txt\n")
    rules = IgnoreRules(str(tmp_path), user_file="")
    began = time.process_time()
    for number in range(2000):
        assert rules.ignored(str(tmp_path / f"sub/x.end{number}"))
        assert not rules.ignored(str(tmp_path / f"sub/x.other{number}"))
    assert rules.ignored(str(tmp_path / "a/path-9/x"))
    assert rules.ignored(str(tmp_path / "name-8.txt"))
    assert not rules.ignored(str(tmp_path / "name-7.txt"))
    assert time.process_time() - began < 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("".join(f"a*{n}*b\n" for n in range(MAX_PATTERNS + 1)), "more patterns than"),
        ("*" + "a?" * 60_000 + "\n", "more patterns than"),
        ("x\n" * (MAX_BYTES // 2 + 1), "more than 1,000,000 bytes"),
    ],
    ids=["many", "long", "large"],
)
def test_a_file_that_is_too_large_hides_its_folder_and_says_so(
    tmp_path: Path, text: str, why: str
) -> None:
    """To use it in part could show what the rest of it hides."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.gitignore").write_text(text)
    rules = IgnoreRules(str(tmp_path), user_file="")
    assert why in rules.ignored(str(tmp_path / "sub/x"))
    assert rules.ignored(str(tmp_path / "sub/x")).startswith("sub/.gitignore: ")
    assert rules.ignored(str(tmp_path / "other")) == ""
    (tmp_path / "sub/.gitignore").write_text("y\n")
    assert rules.ignored(str(tmp_path / "sub/x")) == "", "it is read again when it has changed"


@pytest.mark.skipif(sys.platform == "win32", reason="FIFOs and devices")
@pytest.mark.parametrize("kind", ["zero", "fifo", "folder", "outside"])
def test_rules_that_are_no_regular_file_are_not_read(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    (root / ".git/info").mkdir(parents=True)
    (tmp_path / "secret").write_text("*\n")
    for name in (".gitignore", ".tierlineignore", ".git/info/exclude", ".git/commondir"):
        path = root / name
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif name.startswith(".git/"):
            continue
        else:
            path.symlink_to("/dev/zero" if kind == "zero" else tmp_path / "secret")
    began = time.monotonic()
    assert IgnoreRules(str(root), user_file="").ignored(str(root / "a.py")) == ""
    assert time.monotonic() - began < 5


def test_many_nested_files_of_rules_do_not_stay_in_memory(tmp_path: Path) -> None:
    rules = IgnoreRules(str(tmp_path), user_file="")
    text = "".join(f"name{number}\n" for number in range(20_000))
    for number in range(12):
        folder = tmp_path / f"f{number}"
        folder.mkdir()
        (folder / ".gitignore").write_text(text)
        assert rules.ignored(str(folder / "name7"))
    assert rules.kept <= 100_000
    assert rules.ignored(str(tmp_path / "f0/name7")), "it is read again"


def test_a_changed_file_changes_the_verdict_on_a_folder_at_once(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    rules = IgnoreRules(str(tmp_path), user_file="")
    assert rules.ignored(str(tmp_path / "a/b/x")) == ""
    (tmp_path / "a/.gitignore").write_text("b/\n")
    assert rules.ignored(str(tmp_path / "a/b/x")) == "a/.gitignore: b/"
    (tmp_path / "a/.gitignore").unlink()
    assert rules.ignored(str(tmp_path / "a/b/x")) == ""


def test_a_listing_of_nothing_but_ignored_files_ends_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitignore").write_text("*\n")
    for number in range(300):
        (tmp_path / f"f{number}").touch()
    loader = Loader(Roots([str(tmp_path)]), git_excludes="")
    monkeypatch.setattr("tierline.tools.reading.SECONDS", -1.0)
    monkeypatch.setattr("tierline.tools.searching.SECONDS", -1.0)
    assert "took too long" in list_files(loader, {}).text
    assert "took too long" in search_code(loader, {"query": "x"}).text
    assert "took too long" in list_files(loader, {"pattern": "no such"}).text


def test_a_folder_that_takes_too_long_is_left_out_in_part_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.py").write_text("x\n")
    loader = Loader(Roots([str(tmp_path)]), git_excludes="")
    monkeypatch.setattr("tierline.workspace.loader._FOLDER_SECONDS", -1.0)
    _files, notices = loader.load_any("sub")
    assert notices == ["sub took too long; the rest of it was left out."]


@pytest.mark.parametrize(
    "query",
    [
        "a{1000000000}b",
        "(?:a{99999}){99999}",
        "((a{ 100 }){1000}){,1000}",
        "(?:" * 300 + ")*" * 300,
    ],
)
def test_an_expression_that_would_eat_memory_is_not_compiled(tmp_path: Path, query: str) -> None:
    (tmp_path / "a.txt").write_text("aaa\n")
    loader = Loader(Roots([str(tmp_path)]), git_excludes="")
    began = time.process_time()
    answer = search_code(loader, {"query": query, "regex": True})
    assert answer.error and "not usable" in answer.text
    assert time.process_time() - began < 1
