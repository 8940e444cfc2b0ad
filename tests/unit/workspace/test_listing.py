"""A look at all files of a workspace: the same verdicts as for each alone, for less work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tierline.context.refusals import Refusal
from tierline.workspace import ignore
from tierline.workspace.buffers import Buffers
from tierline.workspace.folders import walk
from tierline.workspace.listing import readable
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath, Roots
from tierline.workspace.reading import signature


def tree(root: Path) -> None:
    for path in (
        "a.py", "b.log", "src/a.py", "src/b.log", "src/keep.log", "src/deep/c.py", "src/deep/d.tmp",
        "src/deep/.env", "build/out.py", "other/build/in.py", "other/x.py", "inner/a.py",
        "inner/b.log", "inner/c.secret",
    ):  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    (root / ".gitignore").write_text("*.log\n/build/\n")
    (root / "src/.gitignore").write_text("!keep.log\n")
    (root / "src/deep/.tierlineignore").write_text("*.tmp\n")
    (root / "inner/.gitignore").write_text("*.secret\n!b.log\n")
    outside = root.parent / "outside.py"
    outside.write_text("x")
    (root / "leads_out.py").symlink_to(outside)
    (root / "src/leads_in.py").symlink_to(root / "other/x.py")
    (root / "src/to_ignored.py").symlink_to(root / "build/out.py")
    (root / "to_folder").symlink_to(root / "src")
    (root / "loop.py").symlink_to(root / "loop.py")


def keys(loader: Loader) -> list[str]:
    found = readable(loader)
    assert not isinstance(found, Refusal)
    return [place.key for place in found]


@pytest.mark.parametrize("folders", [("",), ("", "inner"), ("src", "other"), ("to_folder",)])
def test_a_look_at_all_finds_what_may_be_shown_of_each(
    tmp_path: Path, folders: tuple[str, ...]
) -> None:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    tree(root)
    loader = Loader(Roots([str(root / folder) for folder in folders]), Buffers(dict, dict))
    wanted: dict[str, None] = {}
    for one in loader.roots:
        for path in walk(one.real, loader.excluded, lambda _refusal: None):
            place = loader.roots.resolve(path)
            if isinstance(place, ResolvedPath) and place.key and loader.refusal(place) is None:
                wanted[place.key] = None
    assert keys(loader) == list(wanted)
    assert any(key.endswith("a.py") for key in wanted)
    assert not any(key.endswith((".tmp", ".env", "out.py")) for key in wanted)


def test_rules_are_looked_at_once_for_a_folder_and_a_path_is_not_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path.resolve()
    for number in range(200):
        path = root / f"part{number // 50}/unit/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    loader = Loader(Roots([str(root)]), Buffers(dict, dict), git_excludes="")
    looked: list[str] = []
    realpath = os.path.realpath

    def signed(path: str) -> Any:
        looked.append(path)
        return signature(path)

    def real(path: Any, **options: Any) -> Any:
        looked.append(path)
        return realpath(path, **options)

    monkeypatch.setattr(ignore, "signature", signed)
    monkeypatch.setattr(os.path, "realpath", real)
    assert len(keys(loader)) == 200
    assert len(looked) < 200


def test_a_rule_that_is_written_counts_in_the_next_look(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text("x")
    (root / "b.py").write_text("x")
    loader = Loader(Roots([str(root)]), Buffers(dict, dict))
    assert keys(loader) == ["a.py", "b.py"]
    (root / ".gitignore").write_text("b.py\n")
    assert keys(loader) == [".gitignore", "a.py"]
