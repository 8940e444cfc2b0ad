"""What was retrieved for each turn, and what each session holds: one SQLite file of its own.

It ties decisions of the model to the code that it was shown (seed 003, "RetrievalSet" and
"Feedback + Reflection"). Losing it loses old breakdowns, leases and suggestions, and nothing else.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any

log = logging.getLogger(__name__)

_VERSION = 1
_DDL = (
    """CREATE TABLE retrieval (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, set_id TEXT NOT NULL, turn_id TEXT UNIQUE NOT NULL,
      session_id TEXT NOT NULL, value TEXT NOT NULL
    )""",
    "CREATE INDEX retrieval_set ON retrieval (set_id)",
    "CREATE INDEX retrieval_session ON retrieval (session_id, seq)",
    """CREATE TABLE held (
      session_id TEXT NOT NULL, branch TEXT NOT NULL, value TEXT NOT NULL,
      PRIMARY KEY (session_id, branch)
    ) WITHOUT ROWID""",
)
MAX_SETS = 500


class RetrievalStore:
    """Retrieval sets by turn, and holdings by session and branch. Safe to call from threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None

    def keep(self, session_id: str, turn_id: str, value: dict[str, Any]) -> None:
        """Store what was retrieved for a turn; replaces what was stored for it before."""
        text = json.dumps(value, ensure_ascii=True)
        with self._lock, suppress(sqlite3.Error, OSError):
            db = self._open()
            db.execute(
                "INSERT OR REPLACE INTO retrieval (set_id, turn_id, session_id, value)"
                " VALUES (?, ?, ?, ?)",
                (value["set"]["set_id"], turn_id, session_id, text),
            )
            db.execute(
                "DELETE FROM retrieval WHERE seq <= (SELECT max(seq) FROM retrieval) - ?",
                (MAX_SETS,),
            )

    def find(
        self, *, set_id: str = "", turn_id: str = "", session_id: str = ""
    ) -> dict[str, Any] | None:
        """A stored set by its id, by its turn, or a session's newest."""
        where, value = "session_id = ?", session_id
        if set_id or turn_id:
            where, value = ("set_id = ?", set_id) if set_id else ("turn_id = ?", turn_id)
        return self._one(
            f"SELECT value FROM retrieval WHERE {where} ORDER BY seq DESC LIMIT 1",  # noqa: S608
            (value,),
        )

    def hold(self, session_id: str, branch: str, value: dict[str, Any]) -> None:
        """Store what a branch of a session holds."""
        with self._lock, suppress(sqlite3.Error, OSError):
            self._open().execute(
                "INSERT OR REPLACE INTO held VALUES (?, ?, ?)",
                (session_id, branch, json.dumps(value, ensure_ascii=True)),
            )

    def held(self, session_id: str, branch: str) -> dict[str, Any] | None:
        """What a branch of a session holds; None if nothing is known."""
        query = "SELECT value FROM held WHERE session_id = ? AND branch = ?"
        return self._one(query, (session_id, branch))

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _one(self, query: str, values: tuple[str, ...]) -> dict[str, Any] | None:
        with self._lock:
            try:
                if self._connection is None and not self._path.exists():
                    return None
                row = self._open().execute(query, values).fetchone()
                found = json.loads(row[0]) if row else None
            except (sqlite3.Error, OSError, ValueError):
                return None
        return found if isinstance(found, dict) else None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = self._opened()
            except (sqlite3.DatabaseError, ValueError) as error:
                log.info("Retrieval sets of earlier turns are set aside: %s", error)
                aside = f"{self._path}.damaged"
                with suppress(OSError):
                    os.replace(self._path, aside)  # noqa: PTH105
                self._connection = self._opened()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        db = sqlite3.connect(self._path, isolation_level=None, timeout=2.0, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise ValueError(f"version {version}")
            if version == 0:
                db.execute("BEGIN IMMEDIATE")
                if db.execute("PRAGMA user_version").fetchone() == (0,):
                    for statement in _DDL:
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {_VERSION}")
                db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db
