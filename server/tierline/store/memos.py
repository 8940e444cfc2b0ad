"""Where memos are kept: an append-only log per project and one per user.

``.tierline/memos.jsonl`` in the project, ``memos.jsonl`` in the platform's data folder for the
user. Edits and deletions are records too, so nothing that was written is ever overwritten.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tierline.disk import resolved
from tierline.memory.memos import Memo, Scope, fold
from tierline.store.log import HistoryLog

FILE = "memos.jsonl"


def user_folder() -> Path:
    """The user's own data folder on this platform; ``TIERLINE_DATA_DIR`` moves it."""
    import os

    import platformdirs

    chosen = os.environ.get("TIERLINE_DATA_DIR", "")
    # Links on the way are the user's own: on some systems /home is one.
    return resolved(chosen or platformdirs.user_data_dir("tierline", appauthor=False))


class MemoStore:
    """The memos of one scope. Thread-safe; other processes may append at the same time."""

    def __init__(self, path: Path, scope: Scope) -> None:
        self.scope: Scope = scope
        self._log = HistoryLog(path)
        self._lock = threading.Lock()
        self._records: list[Mapping[str, Any]] = []
        self._offset = 0
        self._identity = 0
        self._memos: tuple[Memo, ...] = ()

    def all(self) -> tuple[Memo, ...]:
        """The memos, oldest first. Damaged lines are passed over.

        Raises:
            StorageError: the file is there but cannot be read.
        """
        with self._lock:
            self._refresh()
            return self._memos

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a record of :func:`tierline.memory.memos.fold` durably.

        Raises:
            StorageError: it was not written; what was written before is intact.
        """
        with self._lock:
            self._log.append(record, durable=True)

    def _refresh(self) -> None:
        size, identity = self._log.state() or (0, 0)
        if identity != self._identity or size < self._offset:
            self._records, self._offset, self._identity = [], 0, identity
            self._memos = ()
        if size == self._offset:
            return
        for line in self._log.read(self._offset):
            if not line.complete:
                break
            self._offset = line.end
            if line.record is not None:
                self._records.append(line.record)
        self._memos = fold(self._records, self.scope)
