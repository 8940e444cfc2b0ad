"""Seed 004, Testing / FileContext (004:304-307): files as the session lists them, read from a real
folder by the real loader. ``tests/unit/context/test_file_context.py`` goes into every detail.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tierline.context.fences import parse_fenced
from tierline.context.files import FileContext
from tierline.context.refusals import Reason, Refusal
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loaded, Loader
from tierline.workspace.paths import Roots


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "b.py").write_text("BETA = 2\n", encoding="utf-8")
    (tmp_path / "a.py").write_text("ALPHA = 1\n", encoding="utf-8")
    (tmp_path / "picture.dat").write_bytes(b"\x89PNG\0\0\1\2\3" * 20)
    return tmp_path


@pytest.fixture
def files(root: Path) -> FileContext:
    """A context that reads what it is given no content for."""
    loader = Loader(Roots([str(root)]), Buffers({}), git_excludes="")

    def read(key: str) -> object:
        loaded = loader.load(key)
        return loaded.content if isinstance(loaded, Loaded) else loaded

    return FileContext(read)  # type: ignore[arg-type]


def test_add_with_explicit_content(files: FileContext) -> None:
    """004:304, "Add with explicit content": nothing is read then."""
    assert files.add_file("not/on/disk.py", "print(1)\n") is True
    assert files.get_content("not/on/disk.py") == "print(1)\n"


def test_add_from_disk(files: FileContext) -> None:
    """004:304, "add from disk"."""
    assert files.add_file("src/b.py") is True
    assert files.get_content("src/b.py") == "BETA = 2\n"


def test_missing_file_returns_false(files: FileContext) -> None:
    """004:304, "missing file returns false"."""
    assert files.add_file("src/nowhere.py") is False
    assert not files.has_file("src/nowhere.py")
    assert isinstance(refused := files.offer("src/nowhere.py"), Refusal)
    assert refused.reason is Reason.NOT_FOUND


def test_binary_file_rejected(files: FileContext) -> None:
    """004:305, "Binary file rejected"."""
    assert files.add_file("picture.dat") is False
    assert isinstance(refused := files.offer("picture.dat"), Refusal)
    assert refused.reason is Reason.BINARY


@pytest.mark.parametrize("path", ["../a.py", "src/../../a.py", "..\\a.py", "/../a.py"])
def test_path_traversal_blocked(files: FileContext, path: str) -> None:
    """004:305, "path traversal blocked"; also 004:75 and 004:80-82.

    Unlike 004:82 the test is for a path's parts, not for the substring: ``v1..v2.diff`` is a name.
    """
    assert files.add_file(path, "text") is False
    assert isinstance(refused := files.offer(path), Refusal)
    assert refused.reason is Reason.OUTSIDE_WORKSPACE
    assert files.add_file("v1..v2.diff", "text") is True


def test_remove_sorted_clear(files: FileContext) -> None:
    """004:306, "Remove, get_files sorted, clear"."""
    for path in ("src/b.py", "a.py", "z.py"):
        files.add_file(path, None if path != "z.py" else "z\n")
    assert files.get_files() == ["a.py", "src/b.py", "z.py"]
    assert files.remove_file("a.py") is True
    assert files.remove_file("a.py") is False
    assert files.get_files() == ["src/b.py", "z.py"]
    files.clear()
    assert files.get_files() == []
    assert files.format_for_prompt() == ""


def test_format_for_prompt_includes_path_and_fenced_content(files: FileContext) -> None:
    """004:307, "format_for_prompt includes path and fenced content"."""
    files.add_file("src/b.py")
    files.add_file("a.py")
    text = files.format_for_prompt()
    assert [(f.path, f.text) for f in parse_fenced(text)] == [
        ("a.py", "ALPHA = 1\n"),
        ("src/b.py", "BETA = 2\n"),
    ]
    assert "src/b.py\n```python\nBETA = 2\n```" in text
