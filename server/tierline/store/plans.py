"""Stored plans: what was sent, kept so that it renders to the same bytes again.

A database rather than a file per plan: consecutive requests share nearly all of their blocks, and
SQLite gives content-addressed blocks, atomic saves beside other editor windows and bounded disk use
in one file. It is apart from the index, because plans cannot be derived from anything else: the
index may be deleted at any time, while this file is set aside when it is damaged.

Blocks are stored once, compressed. Each block remembers the newest plan that uses it; plans are
dropped oldest first, so a block whose newest plan is gone is used by none.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from tierline.context.blocks import Block
from tierline.context.plan import ContextPlan, SentItem
from tierline.context.plan_json import plan_from_json, plan_to_json
from tierline.context.prompt import Prompt
from tierline.context.prompt_json import (
    block_from_json,
    block_to_json,
    decode,
    encode,
    put_together,
    take_apart,
)
from tierline.disk import sqlite
from tierline.errors import TierlineError
from tierline.store.database import WRITE, Database

log = logging.getLogger(__name__)

_VERSION = 1
_DDL = (
    """CREATE TABLE plan (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, plan_id TEXT UNIQUE NOT NULL, session_id TEXT NOT NULL,
      turn_id TEXT NOT NULL, created TEXT NOT NULL, provider TEXT NOT NULL,
      request_sha256 TEXT NOT NULL, plan BLOB NOT NULL, frame BLOB NOT NULL
    )""",
    "CREATE INDEX plan_session ON plan (session_id, seq)",
    """CREATE TABLE block (
      id INTEGER PRIMARY KEY, sha256 BLOB UNIQUE NOT NULL, seq INTEGER NOT NULL, data BLOB NOT NULL
    )""",
    "CREATE INDEX block_seq ON block (seq)",
)
_BATCH = 500


@frozen
class StoredPlan:
    """A plan with what is known of its request. ``created`` is ISO 8601, UTC."""

    plan: ContextPlan
    session_id: str
    turn_id: str
    created: str
    request_sha256: str
    """Hash of the rendered body (``RenderedRequest.sha256``)."""
    provider: str = ""
    """The adapter that rendered it (``RenderedRequest.provider``), which can do so again."""


@frozen
class PlanSummary:
    """What a list shows of a stored plan."""

    plan_id: str
    model: str
    mode: str
    total_tokens: int
    session_id: str
    turn_id: str
    created: str
    request_sha256: str


MAX_PLANS = 1_000
MAX_BYTES = 64 * 1024 * 1024


class PlanStore(Database):
    """Plans with their prompts, in one SQLite file, readable by the user alone (mode 0600).

    At most ``max_plans`` and about ``max_bytes`` on disk; the oldest make room. Safe to call from
    several threads and beside other processes. A file that is damaged is set aside
    (``.damaged-1``, …) and begun anew; saving never raises.
    """

    def __init__(
        self, path: Path, *, max_plans: int = MAX_PLANS, max_bytes: int = MAX_BYTES
    ) -> None:
        super().__init__(path, version=_VERSION, ddl=_DDL, tables=("plan", "block"))
        self._max_plans = max(1, max_plans)
        self._max_bytes = max_bytes
        self._summaries: dict[int, PlanSummary] = {}
        """By number, of the connection below; plans do not change."""
        self._summarised: sqlite3.Connection | None = None

    def save(
        self,
        plan: ContextPlan,
        prompt: Prompt,
        request_sha256: str,
        created: str,
        *,
        provider: str = "",
        session_id: str = "",
        turn_id: str = "",
    ) -> bool:
        """Keep a plan with the prompt that was sent. A plan with the same id is replaced.

        Returns False if it could not be written, with a warning in the log: a request is never lost
        over its record.
        """

        def write(db: sqlite3.Connection) -> bool:
            db.execute("DELETE FROM plan WHERE plan_id = ?", (plan.plan_id,))
            seq = db.execute(
                "INSERT INTO plan (plan_id, session_id, turn_id, created, provider,"
                " request_sha256, plan, frame) VALUES (?, ?, ?, ?, ?, ?, ?, '')",
                (
                    plan.plan_id,
                    session_id,
                    turn_id or plan.group_id,
                    created,
                    provider,
                    request_sha256,
                    _pack(plan_to_json(evolve(plan, sent=()))),
                ),
            ).lastrowid
            assert seq is not None
            frame = take_apart(prompt, lambda block: _block_id(db, block, seq))
            db.execute("UPDATE plan SET frame = ? WHERE seq = ?", (_pack(frame), seq))
            self._prune(db)
            return True

        return self.run(write, lambda: False, begin=WRITE)

    def get(self, plan_id: str) -> StoredPlan | None:
        """A stored plan, its ``sent`` blocks filled in; None if it is not (or no longer) there."""

        def read(db: sqlite3.Connection) -> StoredPlan | None:
            row = db.execute(_SELECT + " WHERE plan_id = ?", (plan_id,)).fetchone()
            stored = _stored(row) if row else None
            if stored is None:
                return None
            frame = self._frame(db, plan_id)
            return stored if frame is None else evolve(stored, plan=_with_sent(db, stored, frame))

        return self.run(read, lambda: None)

    def matching(self, part: str, session: str = "") -> Sequence[str]:
        """The ids of the plans whose id holds ``part``, the newest first; all of them without a
        part. With ``session``, those of that session.
        """
        rows = self.rows(
            "SELECT plan_id FROM plan WHERE instr(plan_id, ?) > 0 AND ? IN ('', session_id)"
            " ORDER BY seq DESC",
            (part, session),
        )
        ids = [str(row[0]) for row in rows]
        return [part] if part in ids else ids

    def of_turn(self, turn_id: str) -> Sequence[str]:
        """The ids of the plans of a turn, in their order."""
        rows = self.rows("SELECT plan_id FROM plan WHERE turn_id = ? ORDER BY seq", (turn_id,))
        return [str(row[0]) for row in rows]

    def list(self, limit: int = 20, session: str = "") -> list[StoredPlan]:
        """The newest plans first, at most ``limit``; of one session if it is given."""
        where, values = ("WHERE session_id = ?", [session]) if session else ("", [])
        rows = self.rows(f"{_SELECT} {where} ORDER BY seq DESC LIMIT ?", [*values, max(0, limit)])
        return [stored for row in rows if (stored := _stored(row)) is not None]

    def summaries(self, limit: int) -> Sequence[PlanSummary]:
        """At most ``limit`` plans, the newest first, without items. Each is read once."""

        def read(db: sqlite3.Connection) -> Sequence[PlanSummary]:
            # SQLite begins again with small numbers in a file that was begun anew.
            known = {} if db is not self._summarised else self._summaries
            wanted = [
                number
                for (number,) in db.execute(
                    "SELECT seq FROM plan ORDER BY seq DESC LIMIT ?", (max(0, limit),)
                )
            ]
            for number in wanted:
                if number not in known:
                    row = db.execute(_SELECT + " WHERE seq = ?", (number,)).fetchone()
                    if (stored := _stored(row)) is not None:
                        known[number] = _summary(stored)
            self._summaries = {n: known[n] for n in wanted if n in known}
            self._summarised = db
            return list(self._summaries.values())

        return self.run(read, lambda: [])

    def load_prompt(self, plan_id: str) -> Prompt:
        """The prompt of a plan, equal to the one that was saved.

        Raises:
            TierlineError: ``not_found`` if there is no such plan or a part of it is damaged.
        """

        def read(db: sqlite3.Connection) -> Prompt | None:
            frame = self._frame(db, plan_id)
            if frame is None:
                return None
            return put_together(frame, lambda reference: _load_block(db, reference))

        try:
            prompt = self.run(read, lambda: None)
        except _DAMAGED_ROW:
            log.warning("The stored prompt of plan %s is damaged", plan_id, exc_info=True)
            prompt = None
        if prompt is None:
            raise TierlineError(
                "not_found",
                f"There is no stored prompt for plan {plan_id}.",
                "List the plans; old ones are dropped to save space.",
            )
        return prompt

    def _full(self, db: sqlite3.Connection) -> bool:
        size, free = sqlite.page_bytes(db)
        return size - free > self._max_bytes

    def _frame(self, db: sqlite3.Connection, plan_id: str) -> dict[str, Any] | None:
        row = db.execute("SELECT frame FROM plan WHERE plan_id = ?", (plan_id,)).fetchone()
        try:
            frame = _unpack(row[0]) if row else None
        except _DAMAGED_ROW:
            return None
        return frame if isinstance(frame, dict) else None

    def _prune(self, db: sqlite3.Connection) -> None:
        """Drop the oldest plans beyond the bounds, with the blocks that only they used."""
        (count,) = db.execute("SELECT count(*) FROM plan").fetchone()
        excess = count - self._max_plans
        while excess > 0 or (count > 1 and self._full(db)):
            # A tenth is freed at once, so that a full store does not prune at every save.
            step = min(excess if excess > 0 else max(1, count // 10), count - 1)
            oldest = db.execute(
                "SELECT seq FROM plan ORDER BY seq LIMIT 1 OFFSET ?", (step - 1,)
            ).fetchone()[0]
            db.execute("DELETE FROM plan WHERE seq <= ?", (oldest,))
            db.execute("DELETE FROM block WHERE seq <= ?", (oldest,))
            count -= step
            excess = count - self._max_plans


_SELECT = "SELECT plan, session_id, turn_id, created, request_sha256, provider FROM plan"
_DAMAGED_ROW = (ValueError, KeyError, TypeError, zlib.error)


def _summary(stored: StoredPlan) -> PlanSummary:
    plan = stored.plan
    return PlanSummary(
        plan_id=plan.plan_id,
        model=plan.model,
        mode=str(plan.mode),
        total_tokens=sum(entry.tokens for entry in plan.included),
        session_id=stored.session_id,
        turn_id=stored.turn_id,
        created=stored.created,
        request_sha256=stored.request_sha256,
    )


def _pack(value: Any) -> bytes:
    return zlib.compress(encode(value), 6)


def _unpack(data: bytes) -> Any:
    return decode(zlib.decompress(data))


def _block_id(db: sqlite3.Connection, block: Block, seq: int) -> int:
    content = encode(block_to_json(block))
    digest = hashlib.sha256(content).digest()
    found = db.execute(
        "UPDATE block SET seq = ? WHERE sha256 = ? RETURNING id", (seq, digest)
    ).fetchone()
    if found:
        return int(found[0])
    cursor = db.execute(
        "INSERT INTO block (sha256, seq, data) VALUES (?, ?, ?)",
        (digest, seq, zlib.compress(content, 6)),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _load_block(db: sqlite3.Connection, reference: Any) -> Block:
    row = db.execute("SELECT data FROM block WHERE id = ?", (reference,)).fetchone()
    if row is None:
        raise ValueError(f"block {reference} is missing")
    return block_from_json(_unpack(row[0]))


def _stored(row: tuple[Any, ...]) -> StoredPlan | None:
    data, session_id, turn_id, created, request_sha256, provider = row
    try:
        plan = plan_from_json(_unpack(data))
    except _DAMAGED_ROW:
        log.warning("A stored plan of %s is damaged", created, exc_info=True)
        return None
    return StoredPlan(plan, session_id, turn_id, created, request_sha256, provider)


def _with_sent(db: sqlite3.Connection, stored: StoredPlan, frame: dict[str, Any]) -> ContextPlan:
    """The plan with the blocks of its request in their order: tools, system, messages."""
    blocks = [*frame["system"], *(entry for _, part in frame["messages"] for entry in part)]
    hashes = _hashes(db, [reference for reference, _, _ in blocks])
    tools = frame["tools"]
    digest = hashlib.sha256(encode(tools)).hexdigest()
    head = [SentItem("tools", digest, bool(frame["tools_mark"]))] if tools else []
    rest = [SentItem(key, hashes.get(reference, ""), bool(mark)) for reference, key, mark in blocks]
    return evolve(stored.plan, sent=(*head, *rest))


def _hashes(db: sqlite3.Connection, references: list[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for start in range(0, len(references), _BATCH):
        batch = references[start : start + _BATCH]
        marks = ",".join("?" * len(batch))
        rows = db.execute(f"SELECT id, sha256 FROM block WHERE id IN ({marks})", batch)  # noqa: S608
        found.update((row_id, digest.hex()) for row_id, digest in rows)
    return found
