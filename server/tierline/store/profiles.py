"""What servers were found to take, kept for the user across workspaces and restarts.

One JSON file in the user's state folder. Losing it costs one refused request for each learnt fact.
Servers change, so facts are forgotten after a month.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from tierline.disk import files
from tierline.disk.folder import make
from tierline.disk.ownership import state_folder

log = logging.getLogger(__name__)

FILE = "profiles.json"
FORGET_AFTER_SECONDS = 30 * 24 * 3600
_MAX_BYTES = 1_000_000
_MAX_ROWS = 500


@frozen
class LearntProfile:
    """What was learnt of a model at a server."""

    base_url: str
    model: str
    fields: Mapping[str, Any]
    reasons: tuple[str, ...]
    """One sentence for each learnt fact, oldest first."""
    at: float
    """When the newest fact was learnt; seconds since the epoch."""


class ProfileStore:
    """Profiles by base URL and model. Thread-safe; other processes may write at the same time."""

    def __init__(self, file: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._file = file or state_folder() / FILE
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: dict[str, dict[str, Any]] = {}
        self._said: dict[str, dict[str, Any]] = {}
        """What servers reported of themselves; each process asks again."""
        self._seen = (0, 0)

    def known(self, base_url: str, model: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two sets of fields: what the server said of itself, and what refusals taught."""
        with self._lock:
            self._refresh()
            key = _key(base_url, model)
            row = self._rows.get(key)
            learnt = dict(row["fields"]) if row is not None and not self._stale(row) else {}
            return self._said.get(key, {}), learnt

    def learn(self, base_url: str, model: str, changed: Mapping[str, Any], why: str) -> None:
        """Remember fields with their new values; ``why`` is a sentence. A file that cannot be
        written costs the next process a refusal.
        """
        with self._lock:
            self._refresh()
            key = _key(base_url, model)
            row = self._rows.get(key)
            if row is None or self._stale(row):
                row = {"base_url": _plain(base_url), "model": model, "fields": {}, "reasons": []}
            fields = {**row["fields"], **changed}
            if "without" in changed:
                known = (*row["fields"].get("without", ()), *changed["without"])
                fields["without"] = list(dict.fromkeys(known))
            reasons = [*(r for r in row["reasons"] if r != why), why][-20:]
            self._rows[key] = {**row, "fields": fields, "reasons": reasons, "at": self._clock()}
            while len(self._rows) > _MAX_ROWS:
                self._rows.pop(min(self._rows, key=lambda k: float(self._rows[k]["at"])))
            self._write()

    def told(self, base_url: str, model: str, said: Mapping[str, Any]) -> None:
        """Remember, for this process, what a server reports of itself."""
        with self._lock:
            key = _key(base_url, model)
            self._said[key] = {**self._said.get(key, {}), **said}

    def learnt(self) -> list[LearntProfile]:
        """Everything that is remembered, newest first."""
        with self._lock:
            self._refresh()
            rows = [row for row in self._rows.values() if not self._stale(row)]
        found = [
            LearntProfile(
                row["base_url"], row["model"], row["fields"], tuple(row["reasons"]), row["at"]
            )
            for row in rows
        ]
        return sorted(found, key=lambda one: -one.at)

    def forget(self) -> int:
        """Forget everything. Returns the number of models that it concerned."""
        with self._lock:
            self._refresh()
            count = len(self._rows)
            self._rows = {}
            self._write()
            return count

    def _stale(self, row: Mapping[str, Any]) -> bool:
        return self._clock() - float(row["at"]) > FORGET_AFTER_SECONDS

    def _refresh(self) -> None:
        """Read the file again if another process has written it."""
        try:
            status = self._file.stat()
            seen = (status.st_mtime_ns, status.st_size)
            if seen == self._seen:
                return
            value = json.loads(files.read_text(self._file, _MAX_BYTES))
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            log.info("What servers take is not known from before: %s", error)
            return
        self._seen = seen
        rows = value.get("profiles") if isinstance(value, dict) else None
        self._rows = {
            _key(row["base_url"], row["model"]): row
            for row in (rows if isinstance(rows, list) else ())
            if _sound(row)
        }

    def _write(self) -> None:
        data = json.dumps({"profiles": list(self._rows.values())}, indent=1).encode()
        try:
            make(self._file.parent)
            files.replace(self._file, data, mode=0o600, sync=False)
            status = self._file.stat()
            self._seen = (status.st_mtime_ns, status.st_size)
        except OSError as error:
            log.info("What servers take is not kept: %s", error)


def _sound(row: Any) -> bool:
    kinds: dict[str, type] = {"base_url": str, "model": str, "fields": dict, "reasons": list}
    if not isinstance(row, dict) or not isinstance(row.get("at"), int | float):
        return False
    return all(isinstance(row.get(name), kind) for name, kind in kinds.items())


def _plain(base_url: str) -> str:
    return base_url.rstrip("/")


def _key(base_url: str, model: str) -> str:
    return f"{_plain(base_url)} {model}"
