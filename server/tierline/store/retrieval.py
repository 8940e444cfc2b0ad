"""What was retrieved for each turn, and what each session holds: one SQLite file of its own.

It links the model's decisions to the code that it was shown. Losing the file loses old breakdowns,
leases and suggestions, and nothing else.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from tierline.store.database import WRITE, Database

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


class RetrievalStore(Database):
    """Retrieval sets by turn, holdings by session and branch. Saving never raises."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, version=_VERSION, ddl=_DDL, tables=("retrieval", "held"))

    def keep(self, session_id: str, turn_id: str, value: dict[str, Any]) -> None:
        """Store what was retrieved for a turn; replaces what was stored for it before."""
        text = json.dumps(value, ensure_ascii=True)

        def write(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT OR REPLACE INTO retrieval (set_id, turn_id, session_id, value)"
                " VALUES (?, ?, ?, ?)",
                (value["set"]["set_id"], turn_id, session_id, text),
            )
            db.execute(
                "DELETE FROM retrieval WHERE seq <= (SELECT max(seq) FROM retrieval) - ?",
                (MAX_SETS,),
            )

        self.run(write, lambda: None, begin=WRITE)

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
        text = json.dumps(value, ensure_ascii=True)

        def write(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO held VALUES (?, ?, ?)", (session_id, branch, text))

        self.run(write, lambda: None, begin=WRITE)

    def held(self, session_id: str, branch: str) -> dict[str, Any] | None:
        """What a branch of a session holds; None if nothing is known."""
        query = "SELECT value FROM held WHERE session_id = ? AND branch = ?"
        return self._one(query, (session_id, branch))

    def _one(self, query: str, values: tuple[str, ...]) -> dict[str, Any] | None:
        rows = self.rows(query, values)
        try:
            found = json.loads(rows[0][0]) if rows else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None
