"""Replies that are still streaming, on disk: so that a killed process loses none of them.

While a reply streams, its text is appended a few times a second to a file of its own in the folder
``drafts``. Once the reply is in the log, its draft is deleted. A draft whose process has ended was
cut off in the middle; the next server makes an interrupted reply of it.

Each process holds one lock for all its drafts, which the system releases when the process dies,
however it dies: the draft of a living process is never touched by another one. A draft knows the id
that its reply has in the log, so a reply that was logged before its draft was deleted is not
written twice.

Format: JSON lines like the log's. The first says whose reply it is; ``{"at": 17, "text": "…"}`` is
text from that character on; ``{"block": {…}}`` is a call or thinking. Nothing depends on the last
line being whole.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import filelock
from attrs import asdict, fields, frozen

from tierline import disk
from tierline.context.blocks import Block
from tierline.disk import locks
from tierline.disk.folder import make
from tierline.history.codec import encode_content
from tierline.history.parser import MessageParser
from tierline.store.errors import StorageError
from tierline.store.log import HistoryLog, encode_line
from tierline.store.redaction import IncrementalRedaction, Redact, redact_blocks

log = logging.getLogger(__name__)

FOLDER = "drafts"
SYNC_SECONDS = 2.0
"""A draft is forced onto the disk at most this often; that only guards against power cuts."""
MAX_BYTES = 64 * 1024 * 1024
MAX_GAP = 1_000_000
"""Longest gap, in characters, that damaged lines may leave. A position beyond it is damage itself.
"""
_OWNER = re.compile(r"(\d+-[0-9a-f]{8})\.")
_HOLE = "\udc00"
"""Stands for a missing character; no written text contains it."""


@frozen
class DraftOrigin:
    """Whose reply a draft is: where it belongs in the log."""

    message_id: str
    session_id: str
    group_id: str
    branch_id: str
    timestamp: str
    """When it began; ISO 8601 UTC."""
    strategy: str
    """How the provider's calls are shaped (``Message.parsing_strategy``)."""
    plan_id: str
    keeps_state: bool
    """Whether the model was asked to end with a STATE block."""


@frozen
class OrphanedDraft:
    """A draft of a process that has ended. ``origin`` is None if its first line is damaged."""

    path: Path
    origin: DraftOrigin | None
    text: str
    blocks: tuple[Block, ...]

    def discard(self) -> None:
        """Delete it: the log has the reply."""
        with contextlib.suppress(OSError):
            disk.remove(self.path)

    def set_aside(self) -> None:
        """Keep it under another name, so that it is not read again: its session is unknown."""
        with contextlib.suppress(OSError):
            disk.rename(self.path, self.path.with_suffix(".damaged").name)


class Draft:
    """One reply's file, made with the first text. No method raises when the disk fails."""

    def __init__(self, path: Path, origin: DraftOrigin, redact: Redact | None) -> None:
        self._path = path
        self._origin = origin
        self._redact = redact
        self._text = IncrementalRedaction(redact)
        self._lock = threading.Lock()
        self._begun = False
        self._over = False
        self._torn = False
        self._blocks = 0
        self._synced = 0.0

    def write(self, text: str, blocks: Sequence[Block], now: float) -> None:
        """Append what the reply has gained since the last call; ``text`` and ``blocks`` only grow.

        ``now`` is in seconds of a monotonic clock.
        """
        with self._lock:
            if self._over:
                return
            try:
                self._write(text, blocks, now)
            except OSError as error:
                # A full disk or a deleted folder: appending to the log will report it.
                log.info("The draft of a reply cannot be written: %s", error)
                self._over = not self._there()

    def ours(self) -> bool:
        """False if the file was begun and is gone: then the reply's id may have been used."""
        with self._lock:
            return not self._begun or self._there()

    def discard(self) -> None:
        """Delete the file, for good: the log has the reply, or there is none."""
        with self._lock:
            self._over = True
            if self._begun:
                with contextlib.suppress(OSError):
                    disk.remove(self._path)

    def _there(self) -> bool:
        return disk.regular(self._path) is not None

    def _write(self, text: str, blocks: Sequence[Block], now: float) -> None:
        at, piece = self._text.written, self._text.grow(text)
        rows: list[dict[str, Any]] = [{"at": at, "text": piece}] if piece else []
        rows += _rows(redact_blocks(blocks[self._blocks :], self._redact))
        if piece is None or not self._begun:
            # The first write, or a secret whose beginning was written is now complete: it must not
            # stay in the file.
            self._begin(blocks)
        elif rows:
            self._append(rows, now)
        self._text.keep()
        self._blocks = len(blocks)

    def _begin(self, blocks: Sequence[Block]) -> None:
        head = {"v": 1, "type": "draft", **asdict(self._origin)}
        rows = _rows(redact_blocks(blocks, self._redact))
        data = b"".join(map(encode_line, [head, {"at": 0, "text": self._text.whole}, *rows]))
        disk.replace(self._path, data, mode=0o600, sync=False, fresh=not self._begun)
        self._begun, self._torn = True, False

    def _append(self, rows: Sequence[Mapping[str, Any]], now: float) -> None:
        data = b"\n" * self._torn + b"".join(map(encode_line, rows))
        fd, _ = disk.open_append(self._path, create=False)
        try:
            self._torn = os.write(fd, data) != len(data)
            if self._torn:
                raise OSError("only a part of it fits on the disk")
            if now - self._synced >= SYNC_SECONDS:
                disk.sync(fd)
                self._synced = now
        finally:
            os.close(fd)


class Drafts:
    """The drafts of one workspace: this process's own, and those of dead processes."""

    def __init__(self, home: Path, redact: Redact | None) -> None:
        """``home`` is the workspace's ``.tierline``; ``redact`` is the log's."""
        self.folder = home / FOLDER
        self._redact = redact
        self._owner = ""
        self._held: locks.Lock | None = None
        self._lock = threading.Lock()

    def begin(self, origin: DraftOrigin) -> Draft | None:
        """A draft for a reply that is about to come; None where none can be kept."""
        with self._lock:
            if not self._locked() and not self._claim():
                return None
            name = f"{self._owner}.{origin.message_id}.jsonl"
            return Draft(self.folder / name, origin, self._redact)

    @contextlib.contextmanager
    def orphaned(self) -> Iterator[list[OrphanedDraft]]:
        """Drafts of dead processes, oldest first, locked against other processes meanwhile."""
        with contextlib.ExitStack() as held:
            found: list[OrphanedDraft] = []
            for owner in self._others():
                lock = self._take(owner)
                if lock is None:
                    continue
                held.callback(_release, lock)
                for name in self._names():
                    path = self.folder / name
                    if name.startswith(f"{owner}.") and path.suffix == ".jsonl" and _plain(path):
                        with contextlib.suppress(StorageError):
                            found.append(read(path))
            yield sorted(found, key=lambda left: left.origin.message_id if left.origin else "")

    def others_running(self) -> bool:
        """Another living process has drafts here: an open turn may still be running there."""
        for owner in self._others():
            lock = self._take(owner)
            if lock is None:
                return True
            with contextlib.suppress(OSError):
                lock.release()
        return False

    def _others(self) -> list[str]:
        owners = {m[1] for name in self._names() if (m := _OWNER.match(name))}
        return sorted(owners - {self._owner})

    def close(self) -> None:
        """Release the lock. A draft that still exists is left for the next server."""
        with self._lock:
            held, self._held, self._owner = self._held, None, ""
            if held is not None:
                _release(held)

    def _names(self) -> list[str]:
        try:
            return disk.names(self.folder)
        except OSError:
            return []

    def _locked(self) -> bool:
        """Whether we hold the lock; false if its file was deleted, as others could lock it."""
        return self._held is not None and disk.regular(self._held.file) is not None

    def _claim(self) -> bool:
        for _ in range(3):
            self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
            self._held = self._take(self._owner)
            if self._locked():
                return True
        return False

    def _take(self, owner: str) -> locks.Lock | None:
        """Take the lock of a process; None while that process lives."""
        try:
            make(self.folder)
            path = self.folder / f"{owner}.lock"
            locks.check(path)
            lock = locks.lock(path, seconds=0)
            lock.acquire()
        except filelock.Timeout:
            return None
        except (OSError, NotImplementedError) as error:
            log.info("Drafts of replies cannot be kept: %s", error)
            return None
        return lock


def read(path: Path) -> OrphanedDraft:
    """A draft as far as it can be read; a mark in the text stands for damaged lines.

    Raises:
        StorageError: the file cannot be read at all.
    """
    origin: DraftOrigin | None = None
    text = ""
    blocks: list[Block] = []
    for line in HistoryLog(path).read():
        record = line.record or {}
        if origin is None and record.get("type") == "draft":
            origin = _origin(record)
        at, piece, block = record.get("at"), record.get("text"), record.get("block")
        if isinstance(piece, str) and isinstance(at, int) and 0 <= at <= len(text) + MAX_GAP:
            text = text[:at].ljust(at, _HOLE) + piece
        if isinstance(block, Mapping):
            blocks += MessageParser("text").blocks({"content": [block]})
    return OrphanedDraft(path, origin, re.sub(f"{_HOLE}+", "[…]", text), tuple(blocks))


def _origin(record: Mapping[str, Any]) -> DraftOrigin | None:
    values: dict[str, Any] = {a.name: record.get(a.name) for a in fields(DraftOrigin)}
    keeps = values.pop("keeps_state") is True
    if not all(isinstance(value, str) for value in values.values()):
        return None
    origin = DraftOrigin(**values, keeps_state=keeps)
    return origin if origin.message_id and origin.session_id and origin.group_id else None


def _plain(path: Path) -> bool:
    """True for a regular file no larger than a reply can be."""
    found = disk.regular(path)
    return found is not None and found.st_size <= MAX_BYTES


def _rows(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    return [{"block": d} for b in blocks for d in encode_content((b,)) if isinstance(d, dict)]


def _release(lock: locks.Lock) -> None:
    """Release a process's lock, and delete the lock's file if no draft of it is left."""
    path = Path(lock.file)
    with contextlib.suppress(OSError):
        names = disk.names(path.parent)
        for name in names:
            if name.startswith(f".{path.stem}.") and name.endswith(".new"):
                disk.remove(path.with_name(name))
        if not any(n.startswith(f"{path.stem}.") and n.endswith(".jsonl") for n in names):
            disk.remove(path)  # while locked, so that waiting processes notice
    with contextlib.suppress(OSError):
        lock.release()
    with contextlib.suppress(OSError):
        path.parent.rmdir()  # succeeds only if it is empty
