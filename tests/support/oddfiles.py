"""What a repository can put in the place of a file."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

CANARY = "canary-4f1d: what lies outside and is nobody's business\n"


def link_to_file(path: Path, outside: Path) -> None:
    """A link to a file outside."""
    path.symlink_to(outside / "canary.txt")


def link_to_nothing(path: Path, outside: Path) -> None:
    """A link to a file outside that is not there: writing through it would make one."""
    path.symlink_to(outside / "made-by-a-link")


def link_to_folder(path: Path, outside: Path) -> None:
    """A link to a folder outside."""
    path.symlink_to(outside, target_is_directory=True)


def link_to_device(path: Path, outside: Path) -> None:
    """A link to a device that never ends."""
    path.symlink_to("/dev/zero")


def hard_link(path: Path, outside: Path) -> None:
    """A second name of a file outside."""
    os.link(outside / "canary.txt", path)


def fifo(path: Path, outside: Path) -> None:
    """A pipe that nobody writes to."""
    os.mkfifo(path)


def unix_socket(path: Path, outside: Path) -> None:
    """A socket that nobody listens at."""
    here = os.open(path.parent, os.O_RDONLY)
    try:  # a socket's address is short: /proc makes it so
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)


def folder(path: Path, outside: Path) -> None:
    """A folder with something in it."""
    path.mkdir()
    (path / "inside.txt").write_text("in the way\n", encoding="utf-8")


Make = Callable[[Path, Path], None]
NO_FILES: tuple[Make, ...] = (
    link_to_file, link_to_nothing, link_to_folder, link_to_device, fifo, unix_socket, folder,
)  # fmt: skip
"""What no file of ours is, whether it is read or written."""


def outside_of(root: Path) -> Path:
    """A folder beside a workspace with the canary in it."""
    place = root / "outside"
    place.mkdir()
    (place / "canary.txt").write_text(CANARY, encoding="utf-8")
    return place


def untouched(outside: Path) -> bool:
    """True if nothing there was changed or made."""
    there = [p.name for p in outside.iterdir()]
    return there == ["canary.txt"] and (outside / "canary.txt").read_text("utf-8") == CANARY


def huge(path: Path, outside: Path) -> None:
    """A file of 300 MB that takes no room."""
    with path.open("wb") as stream:
        stream.truncate(300_000_000)


def torn(path: Path, outside: Path) -> None:
    """What a power cut leaves."""
    path.write_bytes(b'{"v":1,"type":"message","id":"17000\0\0\xff\xfe' + b"\0" * 5000)


def of_another_user(path: Path, outside: Path) -> None:
    """A file that belongs to somebody else; only root can make one."""
    path.write_bytes(b"")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.chown(path, 12345, 12345)


def without_permission(path: Path, outside: Path) -> None:
    """A file that nobody may read; it does not stop root."""
    path.write_bytes(b"")
    path.chmod(0)


KINDS: tuple[Make, ...] = (
    *NO_FILES, hard_link, huge, torn, of_another_user, without_permission,
)  # fmt: skip
"""Everything that a file of ours can turn out to be."""
