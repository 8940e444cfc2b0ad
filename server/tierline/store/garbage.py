"""How much disk space ``.tierline`` takes, and which of its files can be deleted.

Conversations are never deleted: the log, its damaged copies and drafts stay, and so does every
picture that a record names. What is deleted can be made again, or was left by a killed process.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import field, frozen

from tierline import disk
from tierline.disk import sqlite
from tierline.store.plans import MAX_BYTES, MAX_PLANS
from tierline.store.retrieval import MAX_SETS

DAY = 86_400.0
PICTURE_DAYS = 1.0
"""Days for which an unnamed picture is kept: a message may be about to name it."""
LEFTOVER_SECONDS = 3_600.0
DAMAGED_DAYS = 30.0
FREE_SHARE = 0.2
"""A database is packed if more than this share of it is empty."""
_PIECE = 4 * 1024 * 1024
_DEEPEST = 4
_PICTURE = re.compile(rb"[0-9a-f]{32}\.(?:png|jpg|gif|webp|bin)")
_LEFTOVER = re.compile(r"\..{1,100}\.[0-9a-f]{12}\.new")
_DAMAGED = re.compile(r"(?!history\.jsonl|memos\.jsonl).+\.sqlite3(?:-wal|-shm)?\.damaged-\d+")

_PARTS = {
    "history.jsonl": ("conversations", "kept for good: they are the truth"),
    "memos.jsonl": ("memos", "kept for good"),
    "drafts": ("drafts of replies", "kept until the reply is in the log"),
    "images": ("pictures", "kept while a message names them"),
    "plans.sqlite3": ("plans", f"the newest {MAX_PLANS:,}, at most {MAX_BYTES >> 20} MB"),
    "vectors.sqlite3": ("vectors", "at most 20,000, computed again when needed"),
    "snapshots": ("snapshots of files", "the newest, up to their own limit"),
    "index.sqlite3": ("search index", "as large as the conversations need"),
    "symbols.sqlite3": ("symbol index", "as large as the files need"),
    "usage.sqlite3": ("costs of requests", "kept for the statistics"),
    "retrieval.sqlite3": ("what was retrieved", f"the newest {MAX_SETS:,}"),
    "sent": ("state of the caches", "a few, the newest"),
    "urls": ("web pages", "kept until they are removed"),
}
"""For each name in ``.tierline``: what it holds, and how long it is kept."""


@frozen
class StorageCategory:
    """One kind of stored files. Sizes in bytes."""

    name: str
    policy: str
    files: int
    bytes: int


@frozen
class ReclaimableFile:
    """A file that can be deleted or packed. ``size``: bytes that this frees."""

    path: Path
    size: int
    why: str
    packs: bool = False
    """True for a database that is packed instead of deleted."""


@frozen
class DiskUsage:
    """The kinds of stored files, the largest first, and which files can be deleted."""

    parts: list[StorageCategory] = field(factory=list)
    waste: list[ReclaimableFile] = field(factory=list)

    @property
    def bytes(self) -> int:
        """Bytes of all kinds together."""
        return sum(part.bytes for part in self.parts)

    @property
    def gain(self) -> int:
        """Bytes that ``collect`` would free."""
        return sum(waste.size for waste in self.waste)

    def to_json(self, home: Path) -> dict[str, Any]:
        """For output; paths are relative to Tierline's folder."""
        return {
            "bytes": self.bytes,
            "parts": [
                {"name": p.name, "files": p.files, "bytes": p.bytes, "policy": p.policy}
                for p in self.parts
            ],
            "waste": [
                {"path": str(w.path.relative_to(home)), "bytes": w.size, "why": w.why}
                for w in self.waste
            ],
        }


def survey(home: Path) -> DiskUsage:
    """Measure a ``.tierline`` folder without changing it. Blocking: the log is read whole if there
    are pictures.

    Raises:
        OSError: the folder or the log cannot be read.
    """
    now = time.time()
    sums: dict[str, tuple[str, str, int, int]] = {}
    waste: list[ReclaimableFile] = []
    pictures: dict[str, tuple[Path, int]] = {}
    for path in _files(home):
        found = disk.regular(path)
        if found is None:
            continue
        top = path.relative_to(home).parts[0]
        key = next((name for name in _PARTS if top.startswith(name)), "")
        name, policy = _PARTS.get(key, ("other files", "small"))
        _, _, files, size = sums.get(name, ("", "", 0, 0))
        sums[name] = (name, policy, files + 1, size + found.st_size)
        age = now - found.st_mtime
        if _LEFTOVER.fullmatch(path.name) and age > LEFTOVER_SECONDS:
            waste.append(
                ReclaimableFile(path, found.st_size, "left over from a write that was broken off")
            )
        elif _DAMAGED.fullmatch(path.name) and age > DAMAGED_DAYS * DAY:
            waste.append(ReclaimableFile(path, found.st_size, "a damaged copy, older than 30 days"))
        elif path.parent == home / "images" and age > PICTURE_DAYS * DAY:
            pictures[path.name] = (path, found.st_size)
        elif path.parent == home and path.suffix == ".sqlite3" and (free := _free(path)):
            waste.append(ReclaimableFile(path, free, "empty pages", packs=True))
    if pictures:
        for name in _named(home, set(pictures)):
            pictures.pop(name, None)
    waste += [
        ReclaimableFile(path, size, "a picture of no message") for path, size in pictures.values()
    ]
    parts = [StorageCategory(*each) for each in sorted(sums.values(), key=lambda one: -one[3])]
    return DiskUsage(parts, sorted(waste, key=lambda one: -one.size))


def collect(
    home: Path,
    found: DiskUsage,
    *,
    told: Callable[[ReclaimableFile, str], None] = lambda _waste, _why: None,
) -> int:
    """Delete the files that the survey found, each checked again just before. Returns the bytes
    that were freed. A file that cannot be deleted stays; ``told`` is called with the reason.
    """
    gained = 0
    fresh = {w.path for w in survey(home).waste}  # a message may name a picture by now
    for waste in found.waste:
        if waste.path not in fresh:
            continue
        try:
            if waste.packs:
                gained += _pack(waste.path)
            else:
                disk.remove(waste.path)
                gained += waste.size
        except (OSError, sqlite3.Error) as error:
            told(waste, disk.explain(error) if isinstance(error, OSError) else str(error))
    return gained


def _files(folder: Path, depth: int = 0) -> Iterator[Path]:
    try:
        names = disk.names(folder)
    except (disk.UnfitError, NotADirectoryError):
        return
    except OSError:
        if depth:
            return
        raise
    for name in names:
        path = folder / name
        if disk.regular(path) is not None:
            yield path
        elif depth < _DEEPEST and path.is_dir() and not path.is_symlink():
            yield from _files(path, depth + 1)


def _named(home: Path, wanted: set[str]) -> set[str]:
    """Which of these pictures a record of the log, its copies or drafts names. Searched as bytes,
    so that damaged lines count too.
    """
    found: set[str] = set()
    for path in _files(home):
        if path.parent != home / "drafts" and not path.name.startswith("history.jsonl"):
            continue
        rest = b""
        with disk.open_read(path) as stream:
            while piece := stream.read(_PIECE):
                text = rest + piece
                found |= {name.decode() for name in _PICTURE.findall(text)} & wanted
                rest = text[-64:]
    return found


def _free(path: Path) -> int:
    """Bytes of a database's empty pages, 0 if they are few or it cannot be read now."""
    try:
        db = sqlite.connect(path, seconds=0.1, read_only=True)
    except (OSError, sqlite3.Error):
        return 0
    try:
        size, free = sqlite.page_bytes(db)
    except sqlite3.Error:
        return 0
    finally:
        db.close()
    return free if free > FREE_SHARE * size and free > 1_000_000 else 0


def _pack(path: Path) -> int:
    """Rewrite a database without its empty pages (VACUUM). SQLite refuses while it is in use."""
    before = disk.regular(path)
    db = sqlite.connect(path, seconds=1.0)
    try:
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.close()
    after = disk.regular(path)
    return max(0, before.st_size - after.st_size) if before and after else 0
