"""Reading from disk within bounds."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tierline.context.refusals import Reason, Refusal
from tierline.workspace.reading import FileBytes, read_file, signature


def reason(answer: FileBytes | Refusal) -> Reason:
    assert isinstance(answer, Refusal)
    return answer.reason


@pytest.mark.parametrize(("size", "fits"), [(0, True), (99, True), (100, True), (101, False)])
def test_the_cap_is_exact(tmp_path: Path, size: int, fits: bool) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * size)
    answer = read_file("a", str(path), cap=100)
    if fits:
        assert isinstance(answer, FileBytes)
        assert answer.data == b"x" * size
        assert answer.signature == signature(str(path))
    else:
        assert reason(answer) is Reason.TOO_LARGE


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_a_file_that_hides_its_size_is_read_up_to_the_cap() -> None:
    """Files under /proc claim 0 bytes."""
    whole = read_file("status", f"/proc/{os.getpid()}/status")
    assert isinstance(whole, FileBytes)
    assert len(whole.data) > 100
    assert reason(read_file("status", f"/proc/{os.getpid()}/status", cap=100)) is Reason.TOO_LARGE


@pytest.mark.skipif(os.name == "nt", reason="POSIX kinds of files")
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        for name in ("fifo", "s", "."):
            assert reason(read_file(name, str(tmp_path / name))) is Reason.NOT_A_FILE
    assert reason(read_file("null", os.devnull)) is Reason.NOT_A_FILE


@pytest.mark.parametrize("name", ["none", "none/deeper", "file/deeper"])
def test_what_is_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    assert reason(read_file(name, str(tmp_path / name))) is Reason.NOT_FOUND
    assert signature(str(tmp_path / name)) is None


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_in_the_place_of_a_resolved_path_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert reason(read_file("link", str(tmp_path / "link"))) is Reason.CHANGED_WHILE_READING


def test_the_boundary_is_asked_about_the_open_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    asked: list[str] = []

    def inside(real: str) -> bool:
        asked.append(real)
        return False

    answer = read_file("a", str(tmp_path / "a"), inside=inside)
    assert reason(answer) is Reason.OUTSIDE_WORKSPACE
    assert asked == [os.path.realpath(tmp_path / "a")]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 50)
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("no /proc")
    before = len(list(folder.iterdir()))
    for _ in range(50):
        read_file("a", str(tmp_path / "a"))
        read_file("a", str(tmp_path / "a"), cap=10)
        read_file("a", str(tmp_path / "a"), inside=lambda _real: False)
    assert len(list(folder.iterdir())) == before
