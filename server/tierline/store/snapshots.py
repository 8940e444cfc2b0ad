"""What files said before Tierline changed them: contents by hash, and a journal of the changes.

Folder ``snapshots``: ``blobs/ab/cdef…`` holds one content each, compressed, named by the SHA-256 of
its bytes; ``journal.jsonl`` says in which order what was changed. Both are bounded together: the
oldest changes are forgotten first, with the contents that only they need.

Format of the journal: one JSON object per line, appended with one write and synced. Nothing depends
on the last line being whole. ``kind`` is one of

- ``prompt`` [``group``]: a turn begins;
- ``change`` [``id``, ``group``, ``path``, ``before``, ``after``]: a file is about to be changed, or
  was; a later ``after`` [``id``, ``after``] corrects what came of it;
- ``move`` [``id``, ``session``, ``branch``, ``to``, ``of``, ``files``]: the files are about to be
  taken to another moment; ``moved`` [``id``, ``done``, ``files``] says how that ended;
- ``command`` [``id``, ``group``, ``what``]: a program is about to run; ``ended`` [``id``].

A content is ``{"sha": …, "mode": …}``; an empty hash stands for a file that is not there, and
``why`` for one that was left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import filelock

from tierline import disk
from tierline.disk import locks
from tierline.disk.folder import make
from tierline.store.errors import StorageError
from tierline.store.log import HistoryLog, encode_line

FOLDER = "snapshots"
MAX_CONTENT = 5_000_000
"""Bytes of a file whose content is kept; a larger one is left out, which is said."""
_KEPT_SHARE = 0.75
"""Share of the limit that is still used after pruning."""


class SnapshotStore:
    """The folder ``.tierline/snapshots``. All methods block."""

    def __init__(self, home: Path, most_bytes: int) -> None:
        """``most_bytes``: of contents and journal together."""
        self.folder = home / FOLDER
        self._most = most_bytes
        self._journal = HistoryLog(self.folder / "journal.jsonl")
        self._threads = threading.Lock()
        self._checked = False
        self._grown = 0
        """Bytes added since the size was last measured."""

    # --- contents --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock under which contents are stored and named in the journal, so that no other
        process prunes them in between.

        Raises:
            OSError: the folder cannot be written, or another process holds the lock too long.
        """
        make(self.folder)
        with self._threads, locks.lock(self.folder / "lock"):
            yield

    def keep(self, data: bytes) -> str:
        """Store a content once. Returns its hash.

        Raises:
            OSError: it cannot be written.
        """
        sha = hashlib.sha256(data).hexdigest()
        path = self._path(sha)
        if disk.regular(path) is None:
            make(path.parent)
            packed = zlib.compress(data, 6)
            disk.replace(path, packed, mode=0o600)
            self._grown += len(packed)
        return sha

    def load(self, sha: str) -> bytes | None:
        """A content by its hash; None if it was forgotten or is damaged."""
        try:
            packed = disk.read(self._path(sha), 2 * MAX_CONTENT)
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(packed, MAX_CONTENT + 1)
        except (OSError, ValueError, zlib.error):
            return None
        return data if hashlib.sha256(data).hexdigest() == sha else None

    # --- the journal -----------------------------------------------------------------------------

    def begun(self) -> bool:
        """True if the journal exists."""
        return self._journal.size() > 0

    def write(self, *records: Mapping[str, Any]) -> None:
        """Append records durably, with one write.

        Raises:
            OSError: they cannot be written.
        """
        try:
            self._journal.append(records, durable=True)
        except StorageError as error:
            raise OSError(error.message) from error

    def entries(self) -> list[Mapping[str, Any]]:
        """All records, oldest first; what cannot be read is passed over."""
        try:
            found = self._journal.scan().records
        except StorageError:
            return []
        return [record for record in found if isinstance(record.get("kind"), str)]

    # --- size ------------------------------------------------------------------------------------

    def size(self) -> int:
        """Bytes on disk."""
        return sum(size for _, size in self._blobs()) + self._journal.size()

    def prune(self) -> None:
        """Forget the oldest changes if the limit is passed.

        Raises:
            OSError: the journal cannot be written anew.
        """
        if self._checked and self._grown < self._most / 20:
            return
        self._checked, self._grown = True, 0
        if self.size() <= self._most:
            return
        sizes = dict(self._blobs())
        kept: set[str] = set()

        def newest(records: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
            room = _KEPT_SHARE * self._most
            for number in range(len(records) - 1, -1, -1):
                new = shas(records[number]) - kept
                room -= len(encode_line(records[number])) + sum(sizes.get(s, 0) for s in new)
                if room < 0:
                    return records[number + 1 :]
                kept.update(new)
            return records

        try:
            self._journal.rewrite(newest)
        except StorageError as error:
            raise OSError(error.message) from error
        for sha in sizes.keys() - kept:
            with contextlib.suppress(OSError):
                disk.remove(self._path(sha))

    @contextlib.contextmanager
    def moving(self) -> Iterator[bool]:
        """Hold the lock for taking files to another moment; False if another process does."""
        make(self.folder)
        lock = locks.lock(self.folder / "moving.lock", seconds=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _path(self, sha: str) -> Path:
        return self.folder / "blobs" / sha[:2] / (sha[2:] or "_")

    def _blobs(self) -> Iterator[tuple[str, int]]:
        for above in self._names(self.folder / "blobs"):
            for name in self._names(self.folder / "blobs" / above):
                found = disk.regular(self.folder / "blobs" / above / name)
                if found is not None:
                    yield above + name, found.st_size

    def _names(self, folder: Path) -> Sequence[str]:
        try:
            return disk.names(folder)
        except OSError:
            return ()


def shas(record: Mapping[str, Any]) -> set[str]:
    """Hashes of the contents that a record refers to."""
    found = set()
    files = record.get("files")
    for part in (record, *(files if isinstance(files, list) else ())):
        if isinstance(part, dict):
            for side in ("before", "after"):
                content = part.get(side)
                if isinstance(content, dict) and isinstance(content.get("sha"), str):
                    found.add(content["sha"])
    return found - {""}
