"""What every request cost and what its cache gave: kept apart from plans, which make room early.

One row per request, for the statistics; with the newest ones also the explanation, the shape
(hashes of what was sent) and the tiers, for the viewer and for the next request's explanation after
a restart. No text of a prompt is in it.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import field, frozen

from tierline.context.tiers.attribution import Attribution
from tierline.context.tiers.request_cost import Bill
from tierline.store.database import WRITE, Database

log = logging.getLogger(__name__)

_VERSION = 1
_DDL = (
    """CREATE TABLE request (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, turn_id TEXT NOT NULL,
      plan_id TEXT NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL, provider TEXT NOT NULL,
      model TEXT NOT NULL, outcome TEXT NOT NULL, cause TEXT NOT NULL, input INTEGER NOT NULL,
      output INTEGER NOT NULL, read INTEGER, written INTEGER, cost REAL, uncached_cost REAL,
      detail BLOB
    )""",
    "CREATE INDEX request_session ON request (session_id, seq)",
    "CREATE INDEX request_turn ON request (turn_id, seq)",
)
KEPT_DETAILS = 40
"""Requests per session whose explanation and tiers are kept."""
_DAMAGED = (ValueError, KeyError, TypeError, zlib.error)
TURN, KEEP_ALIVE, BESIDE = "turn", "keep_alive", "beside"


@frozen
class StoredRequest:
    """One request: tokens, and US dollars; None where the provider or the prices say nothing."""

    session_id: str
    turn_id: str
    at: float
    """Seconds since the epoch."""
    provider: str
    model: str
    outcome: str
    cause: str
    input: int
    output: int
    read: int | None = None
    written: int | None = None
    cost: float | None = None
    uncached_cost: float | None = None
    kind: str = TURN
    """``turn``; ``keep_alive`` to refresh the cache alone; ``beside`` for Tierline's own."""
    plan_id: str = ""
    detail: dict[str, Any] = field(factory=dict)
    """JSON values: explanation, shape, tiers. Empty for old requests."""
    seq: int = 0

    @classmethod
    def of(
        cls,
        found: Attribution,
        paid: Bill,
        session: str,
        turn_id: str,
        at: float,
        provider: str,
        model: str,
    ) -> StoredRequest:
        """The row for a request, without ``detail``."""
        return cls(
            session_id=session,
            turn_id=turn_id,
            at=at,
            provider=provider,
            model=model,
            outcome=str(found.outcome),
            cause=str(found.cause),
            input=found.input,
            output=found.output,
            read=found.read,
            written=found.written,
            cost=paid.cost if paid.priced else None,
            uncached_cost=paid.uncached if paid.priced else None,
        )


@frozen
class SpendingTotals:
    """Sums over requests. Money in US dollars, tokens sent and received."""

    cost: float = 0.0
    tokens: int = 0
    output: int = 0
    requests: int = 0


_COLUMNS = (
    "session_id", "turn_id", "at", "provider", "model", "outcome", "cause", "input", "output",
    "read", "written", "cost", "uncached_cost", "kind", "plan_id",
)  # fmt: skip
_NAMES = ", ".join(_COLUMNS)


class UsageStore(Database):
    """Requests of all sessions of a workspace. Saving never raises; see ``Database``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, version=_VERSION, ddl=_DDL, tables=("request",))

    def add(self, request: StoredRequest) -> int:
        """Keep a request. Returns its number, 0 if it could not be written."""
        values = [getattr(request, name) for name in _COLUMNS]
        detail = zlib.compress(json.dumps(request.detail).encode(), 6) if request.detail else None

        def write(db: sqlite3.Connection) -> int:
            marks = ", ".join("?" * len(values))
            seq = db.execute(
                f"INSERT INTO request ({_NAMES}, detail) VALUES ({marks}, ?)",  # noqa: S608
                [*values, detail],
            ).lastrowid
            db.execute(
                "UPDATE request SET detail = NULL WHERE session_id = ? AND detail IS NOT NULL"
                " AND seq <= (SELECT seq FROM request WHERE session_id = ? AND detail IS NOT NULL"
                " ORDER BY seq DESC LIMIT 1 OFFSET ?)",
                (request.session_id, request.session_id, KEPT_DETAILS),
            )
            return seq or 0

        return self.run(write, lambda: 0, begin=WRITE)

    def last(self, session_id: str, limit: int = 1) -> list[StoredRequest]:
        """The newest requests of a session that a turn made, newest first."""
        where = "session_id = ? AND kind = 'turn' ORDER BY seq DESC LIMIT ?"
        return self._read(where, [session_id, limit])

    def last_to(self, session_id: str, provider: str, model: str) -> StoredRequest | None:
        """The newest request that a turn of a session made to one model."""
        where = (
            "session_id = ? AND kind = 'turn' AND provider = ? AND model = ?"
            " ORDER BY seq DESC LIMIT 1"
        )
        return next(iter(self._read(where, [session_id, provider, model])), None)

    def count(self, session_id: str) -> int:
        """How many requests the turns of a session made."""
        query = "SELECT COUNT(*) FROM request WHERE session_id = ? AND kind = 'turn'"
        rows = self.rows(query, (session_id,))
        return int(rows[0][0]) if rows else 0

    def last_lost(self, session_id: str) -> StoredRequest | None:
        """The newest request of a session that could not read all that had been cached."""
        where = (
            "session_id = ? AND kind = 'turn' AND outcome IN ('miss', 'partial')"
            " ORDER BY seq DESC LIMIT 1"
        )
        return next(iter(self._read(where, [session_id])), None)

    def of_turn(self, turn_id: str) -> list[StoredRequest]:
        """A turn's requests, in their order."""
        return self._read("turn_id = ? AND kind = 'turn' ORDER BY seq", [turn_id])

    def kept_alive(self, session_id: str) -> float:
        """When a keep-alive request used the session's cache last, if that was after the last turn;
        seconds since the epoch, 0 if it was not.
        """
        where = "session_id = ? AND kind IN ('turn', 'keep_alive') ORDER BY seq DESC LIMIT 1"
        rows = self._read(where, [session_id])
        return rows[0].at if rows and rows[0].kind == KEEP_ALIVE else 0.0

    def spent(self, session_id: str, turn_id: str = "") -> SpendingTotals:
        """What a session has taken, Tierline's own requests included, or one of its turns."""
        rows = self.rows(
            "SELECT TOTAL(cost), TOTAL(input + output), TOTAL(output), COUNT(*) FROM request"
            " WHERE session_id = ? AND (? = '' OR turn_id = ?)",
            (session_id, turn_id, turn_id),
        )
        if not rows:
            return SpendingTotals()
        cost, tokens, output, count = rows[0]
        return SpendingTotals(float(cost), int(tokens), int(output), int(count))

    def all(self, session_id: str = "") -> list[StoredRequest]:
        """Every request, oldest first, without details; of one session if it is given."""
        where = "session_id = ? ORDER BY seq" if session_id else "1 ORDER BY seq"
        return self._read(where, [session_id] if session_id else [], detail=False)

    def _read(self, where: str, values: list[Any], *, detail: bool = True) -> list[StoredRequest]:
        blob = "detail" if detail else "NULL"
        query = f"SELECT {_NAMES}, {blob}, seq FROM request WHERE {where}"  # noqa: S608
        return list(_stored(self.rows(query, values)))


def _stored(rows: Any) -> Iterator[StoredRequest]:
    for *values, blob, seq in rows:
        detail: Any = {}
        try:
            detail = json.loads(zlib.decompress(blob)) if blob else {}
        except _DAMAGED:
            log.warning("The details of request %s are damaged", seq, exc_info=True)
        facts = dict(zip(_COLUMNS, values, strict=True))
        yield StoredRequest(**facts, detail=detail if isinstance(detail, dict) else {}, seq=seq)
