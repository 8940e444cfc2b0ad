"""How the libraries of a platform package are put together; building one is an end-to-end test."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import platform_package as tool


def distribution(tree: Path, name: str, files: dict[str, str], installer: str = "uv") -> None:
    """What an installer leaves in ``tree``."""
    info = f"{name}-1.0.dist-info"
    own = {f"{info}/METADATA": f"Name: {name}", f"{info}/INSTALLER": installer}
    for path, text in {**files, **own}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, encoding="utf-8")
    rows = [f"{path},sha256={text},{len(text)}" for path, text in files.items()]
    rows += [f"{path},," for path in own] + [f"{info}/RECORD,,", "../../bin/tool,,"]
    (tree / info / "RECORD").write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def trees(tmp_path: Path) -> dict[str, Path]:
    made = {version: tmp_path / version for version in ("3.11", "3.12")}
    for version, tree in made.items():
        distribution(tree, "pure", {"pure/__init__.py": "same", "pure/data.txt": "d"}, version)
        distribution(tree, "built", {"built/__init__.py": "same", f"built/c{version}.so": version})
        distribution(tree, "single", {"single.py": "same"})
        (tree / "pure" / "__init__.pyc").write_text("compiled")
    distribution(made["3.11"], "backport", {"backport.py": "old"})
    return made


def test_what_serves_every_python_is_kept_once(trees: dict[str, Path], tmp_path: Path) -> None:
    libs = tmp_path / "libs"
    tool.merge(trees, libs)
    found = {f.relative_to(libs).as_posix() for f in libs.rglob("*") if f.is_file()}
    modules = {name for name in found if ".dist-info/" not in name}
    assert modules == {
        "common/pure/__init__.py",
        "common/pure/data.txt",
        "common/single.py",
        "cp311/built/__init__.py",
        "cp311/built/c3.11.so",
        "cp311/backport.py",
        "cp312/built/__init__.py",
        "cp312/built/c3.12.so",
    }
    # The versions are read from the metadata, by the server and by pip.
    for place in ("common/pure", "cp311/built", "cp312/built", "cp311/backport"):
        assert f"{place}-1.0.dist-info/METADATA" in found


def test_the_digest_changes_with_any_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.py").write_text("1")
    first = tool.digest(tmp_path)
    assert tool.digest(tmp_path) == first
    (tmp_path / "a" / "x.py").write_text("2")
    second = tool.digest(tmp_path)
    (tmp_path / "a" / "x.py").rename(tmp_path / "a" / "y.py")
    assert len({first, second, tool.digest(tmp_path)}) == 3


def test_the_client_is_told_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(_wheel: Path, target: str, version: str, tree: Path) -> None:
        assert target == "linux-arm64"
        distribution(tree, "built", {f"built{version}.so": version})

    monkeypatch.setattr(tool, "install", install)
    libs = tmp_path / "libs"
    tool.collect(Path("x.whl"), "linux-arm64", libs)
    facts = json.loads((libs / "libs.json").read_text(encoding="utf-8"))
    project = tomllib.loads((tool.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert facts["target"] == "linux-arm64"
    assert facts["pythons"] == list(tool.PYTHONS)
    assert facts["model"][0] == project["optional-dependencies"]["local"][0]
    assert len(facts["digest"]) == 64
    assert {f.name for f in libs.iterdir()} == {"libs.json", "cp311", "cp312", "cp313", "cp314"}


def test_client_and_tool_agree_on_the_weights_and_the_pythons() -> None:
    folder = tool.CLIENT / "src" / "extension" / "server"
    assert f"'{tool.MODEL_WEIGHTS}'" in (folder / "environment.ts").read_text(encoding="utf-8")
    minors = ", ".join(version.split(".")[1] for version in reversed(tool.PYTHONS))
    assert f"[{minors}]" in (folder / "python.ts").read_text(encoding="utf-8")
