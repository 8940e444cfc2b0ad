"""The door to the disk: only regular files, no links, no waiting, no more than was asked for."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from support import oddfiles
from tierline.disk import files, locks, sqlite, walk
from tierline.disk.folder import make
from tierline.disk.walk import UnfitError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="makes devices, pipes and sockets")


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


READERS: tuple[Callable[[Path], object], ...] = (
    lambda path: files.read(path, 1000),
    lambda path: files.open_read(path).close(),
    lambda path: sqlite.connect(path, read_only=True).close(),
)
WRITERS: tuple[Callable[[Path], object], ...] = (
    files.open_append,
    lambda path: files.append(path, b"more"),
    lambda path: files.replace(path, b"new"),
    lambda path: files.create(path, b"new"),
    lambda path: sqlite.connect(path).close(),
    locks.check,
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return oddfiles.outside_of(tmp_path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "work" / ".tierline"
    place.mkdir(parents=True)
    return place


@pytest.mark.parametrize("put", oddfiles.NO_FILES, ids=lambda put: put.__name__)
@pytest.mark.parametrize("use", [*READERS, *WRITERS])
@pytest.mark.parametrize("relative", [True, False], ids=["held", "paths"])
def test_nothing_but_a_regular_file_is_opened(
    put: oddfiles.Make,
    use: Callable[[Path], object],
    relative: bool,
    home: Path,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walk, "RELATIVE", relative)
    path = home / "history.jsonl"
    put(path, outside)
    with pytest.raises(OSError):
        use(path)
    assert oddfiles.untouched(outside)
    assert [p.name for p in home.iterdir()] == ["history.jsonl"]


@pytest.mark.parametrize("use", [*READERS, *WRITERS])
@pytest.mark.parametrize("relative", [True, False], ids=["held", "paths"])
@pytest.mark.parametrize("which", ["the folder", "a folder in it"])
def test_no_link_on_the_way_is_followed(
    use: Callable[[Path], object],
    relative: bool,
    which: str,
    home: Path,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walk, "RELATIVE", relative)
    sqlite3.connect(outside / "canary.sqlite3").close()
    (outside / "canary.sqlite3").unlink()
    if which == "the folder":
        home.rmdir()
        home.symlink_to(outside, target_is_directory=True)
        path = home / "canary.txt"
    else:
        (home / "images").symlink_to(outside, target_is_directory=True)
        path = home / "images" / "canary.txt"
    with pytest.raises(UnfitError, match="is a link, not a folder"):
        use(path)
    with pytest.raises(UnfitError):
        make(path.parent)
    with pytest.raises(UnfitError):
        files.names(path.parent)
    assert oddfiles.untouched(outside)


def test_a_link_above_the_folder_is_the_users_own_choice(home: Path, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(home.parent, target_is_directory=True)
    files.replace(tmp_path / "short" / ".tierline" / "a", b"text")
    assert files.read(home / "a", 100) == b"text"


@pytest.mark.parametrize("use", [WRITERS[0], WRITERS[1], WRITERS[4]])
def test_nothing_is_appended_to_a_file_with_a_second_name(
    use: Callable[[Path], object], home: Path, outside: Path
) -> None:
    oddfiles.hard_link(home / "history.jsonl", outside)
    with pytest.raises(UnfitError, match="hard link"):
        use(home / "history.jsonl")
    assert oddfiles.untouched(outside)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_nothing_is_appended_to_a_file_of_another_user(home: Path) -> None:
    (home / "history.jsonl").write_bytes(b"")
    os.chown(home / "history.jsonl", 12345, -1)
    with pytest.raises(UnfitError, match="another user"):
        files.open_append(home / "history.jsonl")
    os.chown(home, 12345, -1)  # as on a drive that gives every file one owner
    os.close(files.open_append(home / "history.jsonl")[0])


def test_a_file_is_replaced_whole_and_keeps_its_permissions(home: Path) -> None:
    path = home / "a"
    files.replace(path, b"first")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    files.replace(path, b"second")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"second", 0o640)
    assert [p.name for p in home.iterdir()] == ["a"]
    with pytest.raises(FileNotFoundError):
        files.replace(home / "b", b"", fresh=False)


def test_what_was_there_stays_when_writing_fails(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.replace(home / "a", b"first")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.replace(home / "a", b"second")
    assert [p.name for p in home.iterdir()] == ["a"]
    assert (home / "a").read_bytes() == b"first"


def test_a_file_is_read_up_to_its_limit_only(home: Path) -> None:
    (home / "a").write_bytes(b"x" * 1000)
    assert files.read(home / "a", 1000) == b"x" * 1000
    with pytest.raises(UnfitError, match="larger than 999 bytes"):
        files.read(home / "a", 999)
    with (home / "sparse").open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(UnfitError, match="larger than 1 MB"):
        files.read(home / "sparse", 1_000_000)


def test_no_descriptor_stays_open(home: Path, outside: Path) -> None:
    before = _descriptors()
    (home / "link").symlink_to(outside / "canary.txt")
    for use in (*READERS, *WRITERS):
        with pytest.raises(OSError):
            use(home / "link")
        with pytest.raises(OSError):
            use(home / "link" / "below")
    files.replace(home / "a", b"text")
    files.read(home / "a", 100)
    files.names(home)
    files.sync_folder(home)
    assert _descriptors() == before


@pytest.mark.parametrize("suffix", sqlite.SIBLINGS)
def test_sqlite_follows_no_link_beside_a_database(suffix: str, home: Path, outside: Path) -> None:
    path = home / "usage.sqlite3"
    sqlite.connect(path).close()
    (home / f"usage.sqlite3{suffix}").symlink_to(outside / "canary.txt")
    with pytest.raises(UnfitError, match=f"usage.sqlite3{suffix} is a link"):
        sqlite.connect(path)
    assert oddfiles.untouched(outside)
    sqlite.remove(path)
    assert not list(home.iterdir())
    assert oddfiles.untouched(outside)


def test_a_database_is_made_for_its_owner_alone_and_read_only_makes_none(home: Path) -> None:
    path = home / "a b#?%.sqlite3"
    with pytest.raises(FileNotFoundError):
        sqlite.connect(path, read_only=True)
    assert not path.exists()
    db = sqlite.connect(path)
    db.execute("CREATE TABLE t (a)")
    db.close()
    assert path.stat().st_mode & 0o777 == 0o600
    reader = sqlite.connect(path, read_only=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("INSERT INTO t VALUES (1)")
    reader.close()


def test_two_threads_that_make_a_file_at_once_both_append_to_it(home: Path) -> None:
    line, path = b"x" * 100 + b"\n", home / "log"

    def work() -> None:
        for _ in range(200):
            descriptor, _made = files.open_append(path)
            os.write(descriptor, line)
            os.close(descriptor)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == line * 800
