"""``query_db``: one read-only SELECT over the history, in bounds whatever it asks for.

The connection is opened read-only, an authorizer admits reading of the public views and nothing
else, and rows and characters are limited. The query runs in a process of its own
(``query_worker``), which is killed when its time is over. Dropped messages are not in the views, so
no query can bring them back.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from attrs import asdict, frozen

from tierline.context.prompt import ToolSpec
from tierline.disk import resolved
from tierline.folder import FOLDER
from tierline.store.index import Index
from tierline.store.query_worker import READY, VIEWS

_LATE = "interrupted"
START_SECONDS = 20.0
"""Longest start of the worker process, on a busy machine."""

TOOL = ToolSpec(
    name="query_db",
    description=(
        "Read the conversation's history with one SQL SELECT (SQLite). Views: "
        "messages(id, session_id, group_id, branch_id, role, content, status, tokens, created_at, "
        "parsing_strategy), groups(group_id, session_id, created_at, message_count, tokens), "
        "sessions(session_id, title, created_at, updated_at, message_count, preview, first_role). "
        "Newest first: ORDER BY id DESC. Use LIMIT. Dropped messages are not there."
    ),
    input_schema={
        "type": "object",
        "properties": {"sql": {"type": "string", "description": "One SELECT statement."}},
        "required": ["sql"],
    },
)


@frozen
class QueryLimits:
    """Bounds of one query."""

    rows: int = 200
    characters: int = 20_000
    """Characters of the whole answer."""
    seconds: float = 2.0


@frozen
class QueryAnswer:
    """Column names, rows, and whether the limits cut something off; ``error`` is for the model."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    truncated: bool = False
    error: str = ""

    def text(self) -> str:
        """The answer as the model reads it: one row per line, or one value as it is."""
        if self.error:
            return self.error
        if not self.rows:
            return "(no rows)"
        if len(self.columns) == 1:
            body = "\n".join(cell(r[0]) for r in self.rows)
        else:
            head = " | ".join(self.columns)
            lines = (" | ".join(cell(v).replace("\n", "\\n") for v in row) for row in self.rows)
            body = "\n".join((head, *lines))
        return body + (
            "\n(more was left out: use LIMIT/OFFSET, or substr(content, 20001, 20000))"
            if self.truncated
            else ""
        )


def query_db(index: Index, sql: str, limits: QueryLimits | None = None) -> QueryAnswer:
    """Run one SELECT. Never raises: what is wrong with the query is the answer's ``error``.
    Blocking; the worker process has ended when this returns.
    """
    index.catch_up()
    bounds = limits or QueryLimits()
    if not isinstance(sql, str) or not sql.strip() or "\0" in sql:
        return QueryAnswer(error="Give one SELECT statement as `sql`.")
    try:
        with index.connection():
            pass  # only made, if it was missing
    except sqlite3.Error as error:
        return QueryAnswer(
            error=f"The history index cannot be read now ({error}). Try again; if it stays so, "
            f"move {index.path.name} away: it is made anew from the log."
        )
    # Elsewhere it is our own copy, in a temporary folder whose path may contain a link.
    path = index.path.absolute() if FOLDER in index.path.parts else resolved(index.path)
    asked = json.dumps({"path": str(path), "sql": sql, **asdict(bounds)})
    try:
        told = _in_process(asked, bounds.seconds)
    except OSError as error:
        return QueryAnswer(
            error=f"Not run: the process for it could not be started ({error.strerror})."
        )
    if words := told.get("error", ""):
        return QueryAnswer(error=_explain(str(words), bounds))
    rows = tuple(map(tuple, told["rows"]))
    return QueryAnswer(tuple(told["columns"]), rows, bool(told["truncated"]))


def run(index: Index, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """The tool call: the text for the model, and whether it failed."""
    answer = query_db(index, arguments.get("sql", ""))
    return answer.text(), bool(answer.error)


def _in_process(asked: str, seconds: float) -> Mapping[str, Any]:
    """The worker's answer; an ``error`` if it was killed or failed."""
    process = subprocess.Popen(
        # -P: the working directory is the user's project, none of its modules may be imported.
        [sys.executable, "-P", "-m", "tierline.store.query_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None and process.stdout is not None
    late = threading.Timer(START_SECONDS, process.kill)
    late.start()
    try:
        process.stdin.write(asked + "\n")
        process.stdin.flush()
        began = process.stdout.readline().strip() == READY
        late.cancel()
        if not began:
            return {"error": "the process for it did not start"}
        late = threading.Timer(seconds, process.kill)
        late.start()
        line = process.stdout.readline()
    except BrokenPipeError:
        return {"error": "the process for it ended early"}
    finally:
        late.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
    answer: Mapping[str, Any] = json.loads(line) if line.endswith("\n") else {"error": _LATE}
    return answer


def cell(value: Any) -> str:
    """A value as text; empty for NULL."""
    return "" if value is None else str(value)


def _explain(words: str, bounds: QueryLimits) -> str:
    if "interrupt" in words:
        return f"Stopped after {bounds.seconds:g} seconds: narrow the query or add LIMIT."
    if "not authorized" in words or "prohibited" in words or "readonly" in words:
        return f"Not run: only SELECT over the views {', '.join(VIEWS)} is allowed ({words})."
    return f"Not run: {words}."
