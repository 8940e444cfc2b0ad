"""Instruction files: which there are, for what they are, what they bring along."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tierline.workspace import frontmatter
from tierline.workspace.instructions import (
    MAX_CHARACTERS,
    MAX_FILES,
    Instruction,
    find,
    find_own,
    names_inside,
)
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(root: Path, *files: str) -> dict[str, Instruction]:
    loader = Loader(Roots.from_uris([("work", root.as_uri())]))
    return {one.name: one for one in find(loader, files)}


def test_the_files_of_every_ecosystem_are_found(tmp_path: Path) -> None:
    names = [
        "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".claude/CLAUDE.md", ".cursorrules",
        ".github/copilot-instructions.md", ".github/instructions/py.instructions.md",
        ".github/instructions/web/ts.instructions.md", ".cursor/rules/style.mdc",
        ".clinerules/01-tests.md",
    ]  # fmt: skip
    write(tmp_path, **{name: f"Rule of {name}" for name in names}, **{"src/notes.md": "no"})
    (tmp_path / ".cursor/rules/notes.txt").write_text("no")
    assert set(found(tmp_path)) == set(names)


def test_nested_files_are_for_their_folder_and_only_where_a_file_of_the_context_lies(
    tmp_path: Path,
) -> None:
    write(tmp_path, **{"AGENTS.md": "All.", "a/AGENTS.md": "A.", "a/b/AGENTS.md": "B.",
                       "c/AGENTS.md": "C.", "a/b/x.py": "", "c/y.py": ""})  # fmt: skip
    deep = found(tmp_path, "a/b/x.py")
    assert list(deep) == ["AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md"], "the most general first"
    assert deep["a/b/AGENTS.md"].folder == "a/b/"
    assert deep["a/b/AGENTS.md"].fits(["a/b/x.py"])
    assert not deep["a/b/AGENTS.md"].fits(["a/z.py"])


@pytest.mark.parametrize(
    ("head", "fits", "fits_not"),
    [
        ('applyTo: "**/*.py"', ["a.py", "src/a.py"], ["a.ts"]),
        ("applyTo: 'src/**/*.{ts,tsx}, *.vue'", ["src/x/a.tsx", "a/b.vue"], ["a.tsx", "src/a.js"]),
        ("applyTo: '**'", ["a.py", "anything"], []),
        ("globs: *.ts, *.tsx\nalwaysApply: false", ["a.ts", "x/y.tsx"], ["a.py"]),
        ("globs:\n  - src/\n  - docs/*.md", ["src/a/b.c", "docs/a.md"], ["docs/x/a.md", "b.c"]),
        ("globs: ['*.go', \"cmd/**\"]", ["x.go", "cmd/a"], ["x.py"]),
        ("description: only\nalwaysApply: true", ["a.py"], []),
        ("paths: src/api/**", ["src/api/x.py"], ["src/x.py"]),
    ],
)
def test_patterns_say_for_which_files(
    tmp_path: Path, head: str, fits: list[str], fits_not: list[str]
) -> None:
    write(tmp_path, **{".cursor/rules/r.mdc": f"---\n{head}\n---\nUse tabs.\n"})
    (one,) = found(tmp_path).values()
    assert one.text == "Use tabs."
    for name in fits:
        assert one.fits([name]), name
    for name in fits_not:
        assert not one.fits([name]), name


def test_a_rule_with_a_description_alone_waits_to_be_named(tmp_path: Path) -> None:
    write(tmp_path, **{".cursor/rules/r.mdc": "---\ndescription: For releases\n---\nTag it.\n"})
    (one,) = found(tmp_path).values()
    assert (one.description, one.asked_for) == ("For releases", True)
    assert not one.fits(["a.py"])


def test_imports_are_read_from_the_workspace_alone(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (tmp_path / "outside.md").write_text("OUTSIDE")
    write(root, **{
        "CLAUDE.md": "Start.\n@docs/style.md and @../outside.md, @~/own.md, `@docs/no.md`, "
                     "@.env, me@example.org, @someone\n",
        "docs/style.md": "Style.\nSee @more.md\n",
        "docs/more.md": "More, and round again @style.md @../CLAUDE.md\n",
        "docs/no.md": "NO",
        ".env": "PASSWORD=hunter2hunter2\n",
    })  # fmt: skip
    one = found(root)["CLAUDE.md"]
    assert one.imports == ["docs/style.md", "docs/more.md"]
    assert one.text.count("Style.") == one.text.count("More,") == 1
    for never in ("OUTSIDE", "NO", "hunter2"):
        assert never not in one.text
    assert "@someone" in one.text
    assert any("@~/own.md lies outside" in notice for notice in one.notices)


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
def test_markdown_links_bring_files_along_where_the_format_says_so(tmp_path: Path) -> None:
    linking = (
        "See [style](../docs/My%20style.md#names), [again](<../docs/My style.md>) and\n"
        "[reference][r]. ![picture](../docs/p.md) [page](https://example.org/docs/p.md)\n"
        "`[code](../docs/p.md)` [out](../../out.md) [own](copilot-instructions.md)\n"
        "[keys](../.env) [gone](gone.md) [root](/docs/p.md) [up](#names)\n\n"
        "[r]: ../docs/reference.md\n"
    )
    files = {
        ".github/copilot-instructions.md": linking,
        "docs/My style.md": "Use tabs. See [deeper](p.md).",
        "docs/reference.md": "Name things well.",
        "docs/p.md": "not wanted",
        ".env": "PASSWORD=hunter2hunter2",
        "AGENTS.md": "See [reference](docs/reference.md).",
        ".cursor/rules/a.mdc": "---\nalwaysApply: true\n---\nAs @../../docs/reference.md says.",
    }
    root = tmp_path / "work"
    write(root, **files)
    (tmp_path / "out.md").write_text("outside")
    seen = found(root)
    one = seen[".github/copilot-instructions.md"]
    assert one.imports == ["docs/My style.md", "docs/reference.md"]
    assert one.text == (
        f"{linking}\n\ndocs/My style.md:\nUse tabs. See [deeper](p.md).\n\n"
        "docs/reference.md:\nName things well."
    )
    assert any(".env" in notice for notice in one.notices)
    assert seen["AGENTS.md"].imports == [], "its format knows no links"
    assert "Name things well." in seen[".cursor/rules/a.mdc"].text


def test_links_are_bounded(tmp_path: Path) -> None:
    names = [f"{n}.md" for n in range(12)]
    write(tmp_path, **{f".github/{name}": f"Rule of {name}" for name in names})
    rules = " ".join(f"[a]({name})" for name in names) + "[" * 60_000
    write(tmp_path, **{".github/copilot-instructions.md": rules})
    began = time.process_time()
    one = found(tmp_path)[".github/copilot-instructions.md"]
    assert time.process_time() - began < 5
    assert len(one.imports) == 10 and "first 10 files" in " ".join(one.notices)


def test_a_hostile_folder_of_rules_is_bounded_and_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (tmp_path / "secret.md").write_text("SECRET OUTSIDE")
    rules = root / ".cursor/rules"
    rules.mkdir(parents=True)
    (rules / "link.mdc").symlink_to("../../../secret.md")
    os.mkfifo(rules / "pipe.mdc")
    (rules / "folder").symlink_to(tmp_path)
    (root / "AGENTS.md").symlink_to("/dev/zero")
    os.mkfifo(root / "CLAUDE.md")
    (rules / "big.mdc").write_text("x" * 2 * MAX_CHARACTERS)
    (rules / "braces.mdc").write_text("---\nglobs: " + "{a,b}" * 60 + "*a*a*a*a*a*b\n---\nHm.\n")
    for number in range(2 * MAX_FILES):
        (rules / f"{number:03}.mdc").write_text(f"---\nalwaysApply: true\n---\nRule {number}.\n")
    (rules / "000.mdc").write_text("Hidden\u200b\u202e words \U000e0041.")
    began = time.monotonic()
    files = found(root, "a/x.py")
    assert not any(one.fits(["a" * 300]) for one in files.values() if one.globs)
    assert time.monotonic() - began < 5
    assert len(files) <= MAX_FILES
    assert "SECRET" not in "".join(one.text for one in files.values())
    assert "AGENTS.md" not in files and "CLAUDE.md" not in files
    assert files[".cursor/rules/000.mdc"].text == "Hidden\\u{200b}\\u{202e} words \\u{e0041}."


def test_thousands_of_names_that_are_no_files_are_not_all_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    load = Loader.load

    def counted(self: Loader, name: str, *arguments: Any, **more: Any) -> Any:
        asked.append(name)
        return load(self, name, *arguments, **more)

    monkeypatch.setattr(Loader, "load", counted)
    names = " ".join(f"@docs/no{number}.md" for number in range(5_000))
    big = "x" * (4 * MAX_CHARACTERS + 1)
    write(tmp_path, **{"CLAUDE.md": f"@docs/big.md {names}", "docs/big.md": big})
    (one,) = found(tmp_path).values()
    assert "@docs/no2000.md" in one.text
    assert len(asked) < 200
    assert "docs/big.md is not read" in one.notices[0]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_folder_of_rules_that_is_a_link_is_not_looked_into(tmp_path: Path) -> None:
    root, outside = tmp_path / "work", tmp_path / "outside"
    write(outside, **{"rules/a.mdc": "---\nalwaysApply: true\n---\nOutside."})
    (root / ".cursor").mkdir(parents=True)
    assert names_inside(str(root), ".cursor/rules", ".mdc") == []
    (root / ".cursor/rules").symlink_to(outside / "rules")
    assert names_inside(str(root), ".cursor/rules", ".mdc") == []
    (root / ".cursor/rules").unlink()
    (root / ".cursor").rmdir()
    (root / ".cursor").symlink_to(outside)
    assert names_inside(str(root), ".cursor/rules", ".mdc") == []
    assert names_inside(str(outside), "rules", ".mdc") == ["a.mdc"]


def test_two_files_that_say_the_same_are_one(tmp_path: Path) -> None:
    write(tmp_path, **{"AGENTS.md": "The same.\n", "CLAUDE.md": "The same.\n"})
    assert list(found(tmp_path)) == ["AGENTS.md"]


def test_the_users_own_lie_in_the_configuration_folder(tmp_path: Path) -> None:
    write(
        tmp_path, **{"AGENTS.md": "Be brief.", "instructions/py.md": "---\nglobs: '*.py'\n---\nP."}
    )
    own = {one.name: one for one in find_own(tmp_path)}
    assert own["~/AGENTS.md"].text == "Be brief."
    assert own["~/instructions/py.md"].fits(["a.py"])
    assert not own["~/instructions/py.md"].fits(["a.ts"])


@pytest.mark.parametrize(
    "text", ["", "---", "---\nno end", "--- \nx\n---\n", "---\n---\n", "---\n: x\n- y\n---\nBody\n"]
)
def test_a_head_that_is_none_loses_nothing_but_itself(text: str) -> None:
    values, body = frontmatter.split(text)
    assert text.endswith(body)
    assert isinstance(dict(values), dict)
