"""Roots, keys and mentions beyond the bug cases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tierline.context.refusals import Reason, Refusal
from tierline.workspace.flavour import POSIX, WINDOWS
from tierline.workspace.mentions import mentions, readings
from tierline.workspace.paths import ResolvedPath, Roots


def key(roots: Roots, reference: str, base: str = "") -> str:
    place = roots.resolve(reference, base=base)
    assert isinstance(place, ResolvedPath), place
    return place.key


def reason(roots: Roots, reference: str) -> Reason:
    refusal = roots.resolve(reference)
    assert isinstance(refusal, Refusal), refusal
    return refusal.reason


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("x/app/a.py", "y/app/a.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x\n")
    roots = Roots([str(tmp_path / "x/app"), str(tmp_path / "y/app")])
    assert [root.name for root in roots] == ["app", "app~2"]
    assert key(roots, str(tmp_path / "y/app/a.py")) == "app~2/a.py"
    assert key(roots, "app~2/a.py") == "app~2/a.py"


def test_the_editors_folder_names_are_used_and_never_hold_a_slash(tmp_path: Path) -> None:
    roots = Roots.from_uris([("front/end", tmp_path.as_uri()), ("", (tmp_path / "b").as_uri())])
    assert [root.name for root in roots] == ["front_end", "b"]
    assert roots.primary == tmp_path


def test_a_file_in_nested_folders_belongs_to_the_inner_one(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.py").write_text("x\n")
    roots = Roots([("outer", str(tmp_path)), ("inner", str(tmp_path / "in"))])
    assert key(roots, "outer/in/a.py") == "inner/a.py"
    assert key(roots, str(tmp_path / "in/a.py")) == "inner/a.py"


def test_a_qualified_name_wins_over_an_equal_folder_within(tmp_path: Path) -> None:
    for name in ("api/web/a.py", "web/a.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x\n")
    roots = Roots([str(tmp_path / "api"), str(tmp_path / "web")])
    assert key(roots, "web/a.py") == "web/a.py"
    assert key(roots, "api/web/a.py") == "api/web/a.py"


def test_replacing_the_folders_says_where_old_keys_went(tmp_path: Path) -> None:
    roots = Roots.from_uris([("a", str(tmp_path / "a")), ("b", str(tmp_path / "b"))])
    version = roots.version
    new_key = roots.replace([("b", str(tmp_path / "b"))])
    assert (new_key("a/x.py"), new_key("b/x.py")) == (None, "x.py")
    assert roots.version > version


def test_without_a_folder_everything_is_outside() -> None:
    roots = Roots([])
    assert roots.primary is None
    assert reason(roots, "a.py") is Reason.OUTSIDE_WORKSPACE


@pytest.mark.parametrize("reference", ["", "a\0b", "x" * 40_000])
def test_unusable_paths(tmp_path: Path, reference: str) -> None:
    assert reason(Roots([str(tmp_path)]), reference) is Reason.INVALID_PATH


@pytest.mark.parametrize(
    "reference", ["https://example.org/a.py", "untitled:Untitled-1", "git://x/a.py"]
)
def test_other_schemes_are_no_files(tmp_path: Path, reference: str) -> None:
    assert reason(Roots([str(tmp_path)]), reference) is Reason.UNSUPPORTED_SCHEME


@pytest.mark.skipif(os.name == "nt", reason="POSIX names")
def test_a_name_with_a_colon_is_a_path(tmp_path: Path) -> None:
    roots = Roots([str(tmp_path)])
    assert key(roots, "a:b.py") == "a:b.py"
    assert key(roots, "c:x.py") == "c:x.py"


def test_backslashes_from_a_windows_habit_find_the_file(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("x\n")
    assert key(Roots([str(tmp_path)]), "src\\a.py") == "src/a.py"


def test_the_root_itself_has_no_key(tmp_path: Path) -> None:
    assert key(Roots([str(tmp_path)]), ".") == ""
    assert key(Roots([str(tmp_path)]), tmp_path.as_uri()) == ""


def test_a_notebook_cells_uri_is_its_notebook() -> None:
    assert POSIX.from_uri("vscode-notebook-cell:/w/n.ipynb#W0sZ") == "/w/n.ipynb"
    assert POSIX.from_uri("file://localhost/w/a%20b") == "/w/a b"
    assert POSIX.from_uri("file:///w/a%3Fb?c") == "/w/a?b?c"
    assert WINDOWS.from_uri("file:///C%3A/a") == "c:\\a"
    assert WINDOWS.from_uri("file://SRV/share/a") == "\\\\srv\\share\\a"
    assert WINDOWS.to_uri("C:\\a b\\ü") == "file:///c:/a%20b/%C3%BC"
    assert WINDOWS.to_uri("\\\\srv\\share\\a") == "file://srv/share/a"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see @src/a.py.", ["src/a.py"]),
        ("@a.py and @b.py, (@c.py) [@d.py]; @e.py!", ["a.py", "b.py", "c.py", "d.py", "e.py"]),
        ("@src/app/[id]/page.tsx", ["src/app/[id]/page.tsx"]),
        ("@src/(group)/y.ts?", ["src/(group)/y.ts"]),
        ('@"My Docs/a file.md"', ["My Docs/a file.md"]),
        (r"@My\ Docs/a\ file.md now", ["My Docs/a file.md"]),
        (r'@"a \"b\" c.md"', ['a "b" c.md']),
        (r"@src\sub\a.py", [r"src\sub\a.py"]),
        (r'@"C:\My Docs\a.md"', [r"C:\My Docs\a.md"]),
        ("mail a@b.py or x@y", []),
        ("@ a.py", []),
        ("@", []),
        ("@...", []),
        ("`@property` and ```py\n@staticmethod\n``` but @x.py", ["x.py"]),
        ("~~~\n@a.py\n~~~\n@b.py", ["b.py"]),
        ("an open ` tick @a.py", ["a.py"]),
        ("line\n@a.py\n", ["a.py"]),
        ("@.env", [".env"]),
        ("@v1..v2.diff", ["v1..v2.diff"]),
        ("@a.py's tests", ["a.py's"]),
        ("@'My Docs/a file.md', please", ["My Docs/a file.md"]),
        ("@“My Docs/a.md” and @‘b c.md’ and @«d e.md»", ["My Docs/a.md", "b c.md", "d e.md"]),
        ("请看@src/a.py。", ["src/a.py"]),
        ("見て：@「メモ 一.md」", ["メモ 一.md"]),
        ("naïve@b.py, ü@b.py", []),
    ],
)
def test_mentions(text: str, paths: list[str]) -> None:
    found = mentions(text)
    assert [mention.path for mention in found] == paths
    assert all(text[mention.start] == "@" for mention in found)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("a.py", ["a.py"]),
        ("a.py:10", ["a.py:10", "a.py"]),
        ("a.py:10-20", ["a.py:10-20", "a.py"]),
        ("a.py:3:7", ["a.py:3:7", "a.py"]),
        ("a.py#L10-L20", ["a.py#L10-L20", "a.py"]),
        ("a.py's", ["a.py's", "a.py"]),
        ("src/a.py，然后", ["src/a.py，然后", "src/a.py"]),
        ("a.py里的foo吧", ["a.py里的foo吧", "a.py里的foo", "a.py"]),
        ("C:\\x\\y.py", ["C:\\x\\y.py"]),
    ],
)
def test_what_a_mention_can_mean(path: str, wanted: list[str]) -> None:
    assert readings(path) == wanted


@pytest.mark.parametrize("piece", ["a吧", ":1", "，", "@“", "@'", "#L1", "(@"])
def test_readings_and_quotes_take_linear_time(piece: str) -> None:
    long = piece * 5_000
    assert len(readings(long)) <= 9
    assert len(readings(long[:400])) <= 9
    mentions("@" + long)


def test_many_mentions_take_linear_time() -> None:
    text = "`x` @a.py " * 20_000
    assert len(mentions(text)) == 20_000
