"""Seed 004, Testing / FileContext (004:304-307): files as the session lists them, read from a real
folder by the real loader. ``tests/unit/context/test_file_context.py`` goes into every detail.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.filelists import sent, take, text_of
from tierline.context.fences import parse_fenced
from tierline.context.files import FileContext
from tierline.context.filetext import file_text
from tierline.context.refusals import Reason, Refusal
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots

pytestmark = pytest.mark.requirement("004:304-307")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "b.py").write_text("BETA = 2\n", encoding="utf-8")
    (tmp_path / "a.py").write_text("ALPHA = 1\n", encoding="utf-8")
    (tmp_path / "picture.dat").write_bytes(b"\x89PNG\0\0\1\2\3" * 20)
    return tmp_path


@pytest.fixture
def loader(root: Path) -> Loader:
    return Loader(Roots([str(root)]), Buffers({}), git_excludes="")


@pytest.fixture
def files() -> FileContext:
    return FileContext()


def refused(files: FileContext, loader: Loader, path: str) -> Reason:
    """Why a file is not listed, and that it is not."""
    found = take(files, loader, path)
    assert isinstance(found, Refusal)
    assert not files.has_file(path)
    return found.reason


def test_add_with_explicit_content(files: FileContext) -> None:
    """004:304, "Add with explicit content": nothing is read then."""
    files.put("not/on/disk.py", file_text("print(1)\n"))
    assert text_of(files, "not/on/disk.py") == "print(1)\n"


def test_add_from_disk(files: FileContext, loader: Loader) -> None:
    """004:304, "add from disk"."""
    take(files, loader, "src/b.py")
    assert text_of(files, "src/b.py") == "BETA = 2\n"


def test_missing_file_returns_false(files: FileContext, loader: Loader) -> None:
    """004:304, "missing file returns false": a refusal that says why."""
    assert refused(files, loader, "src/nowhere.py") is Reason.NOT_FOUND


def test_binary_file_rejected(files: FileContext, loader: Loader) -> None:
    """004:305, "Binary file rejected"."""
    assert refused(files, loader, "picture.dat") is Reason.BINARY


@pytest.mark.parametrize("path", ["../a.py", "src/../../a.py", "/../a.py"])
def test_path_traversal_blocked(files: FileContext, loader: Loader, path: str) -> None:
    """004:305, "path traversal blocked"; also 004:75 and 004:80-82."""
    assert refused(files, loader, path) is Reason.OUTSIDE_WORKSPACE


def test_two_dots_in_a_name_are_no_traversal(
    files: FileContext, loader: Loader, root: Path
) -> None:
    """Unlike 004:82 the test is for a path's parts, not for the substring."""
    (root / "v1..v2.diff").write_text("text\n", encoding="utf-8")
    take(files, loader, "v1..v2.diff")
    assert files.has_file("v1..v2.diff")


def test_remove_sorted_clear(files: FileContext, loader: Loader) -> None:
    """004:306, "Remove, get_files sorted, clear"."""
    for path in ("src/b.py", "a.py"):
        take(files, loader, path)
    files.put("z.py", file_text("z\n"))
    assert files.get_files() == ["a.py", "src/b.py", "z.py"]
    assert files.remove_file("a.py") is True
    assert files.remove_file("a.py") is False
    assert files.get_files() == ["src/b.py", "z.py"]
    files.clear()
    assert files.get_files() == []
    assert sent(files) == ""


def test_format_for_prompt_includes_path_and_fenced_content(
    files: FileContext, loader: Loader
) -> None:
    """004:307, "format_for_prompt includes path and fenced content"."""
    take(files, loader, "src/b.py")
    take(files, loader, "a.py")
    text = sent(files)
    assert [(f.path, f.text) for f in parse_fenced(text)] == [
        ("a.py", "ALPHA = 1\n"),
        ("src/b.py", "BETA = 2\n"),
    ]
    assert "src/b.py\n```python\nBETA = 2\n```" in text
