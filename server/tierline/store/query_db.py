"""``query_db``: one read-only SELECT over the history, held in bounds by SQLite itself.

Seed 000, section 5. The connection is opened read-only, an authorizer admits reading of the public
views and nothing else, a progress handler stops what takes too long, and rows and characters are
limited. Dropped messages are not in the views, so no query can bring them back.
"""

from __future__ import annotations

import functools
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import frozen

from tierline.context.prompt import ToolSpec
from tierline.context.text import clip
from tierline.store.index import Index

VIEWS = ("messages", "groups", "sessions")

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

_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_FUNCTION,
    getattr(sqlite3, "SQLITE_RECURSIVE", 33),
}
_FORBIDDEN_FUNCTIONS = frozenset(
    {"load_extension", "fts3_tokenizer", "writefile", "readfile", "edit"}
)
_TABLES = frozenset({"message", "session"})


@frozen
class Limits:
    """Bounds of one query."""

    rows: int = 200
    characters: int = 20_000
    """Of the whole answer."""
    seconds: float = 2.0


@frozen
class Answer:
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


def query_db(index: Index, sql: str, limits: Limits | None = None) -> Answer:
    """Run one SELECT. Never raises: what is wrong with the query is the answer's ``error``."""
    index.catch_up()
    bounds = limits or Limits()
    if not isinstance(sql, str) or not sql.strip() or "\0" in sql:
        return Answer(error="Give one SELECT statement as `sql`.")
    try:
        with index.connection():
            pass  # made, if it was not there
        connection = _open(index.path)
    except sqlite3.Error as error:
        return Answer(
            error=f"The history index cannot be read now ({error}). Try again; if it stays so, "
            f"move {index.path.name} away: it is made anew from the log."
        )
    deadline = time.monotonic() + bounds.seconds
    try:
        connection.set_progress_handler(lambda: int(time.monotonic() > deadline), 10_000)
        guard = connection.execute("SELECT value FROM meta WHERE key = 'guard'").fetchone()[0]
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        connection.set_authorizer(functools.partial(_authorize, guard, names))
        return _collect(connection.execute(sql), bounds)
    except sqlite3.ProgrammingError as error:
        words = str(error)
        if "one statement" in words:
            words = "only one statement at a time"
        return Answer(error=f"Not run: {words}.")
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        return Answer(error=_explain(error, bounds))
    finally:
        connection.close()


def run(index: Index, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """The tool call: the text for the model, and whether it failed."""
    answer = query_db(index, arguments.get("sql", ""))
    return answer.text(), bool(answer.error)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute().as_posix()))}?mode=ro", uri=True, timeout=2.0
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    if hasattr(connection, "setlimit"):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 20_000_000)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 20_000)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    return connection


def _authorize(
    guard: str,
    names: set[str],
    action: int,
    first: str | None,
    second: str | None,
    database: str | None,
    view: str | None,
) -> int:
    """Admit SELECT, harmless functions, and reading: of the views, and of tables by the views that
    only the schema can name (``guard``).
    """
    allowed = action in _ALLOWED
    if action == sqlite3.SQLITE_READ:
        name = first or ""
        by_view = name in _TABLES and (view or "").startswith(guard)
        # Counting the rows of the query's own table expression is reported without a database.
        own = database is None and name not in names and not name.startswith(("sqlite_", "pragma_"))
        allowed = name in VIEWS or name.startswith(guard) or by_view or own
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in _FORBIDDEN_FUNCTIONS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _collect(cursor: sqlite3.Cursor, bounds: Limits) -> Answer:
    columns = tuple(d[0] for d in cursor.description or ())
    if not columns:
        return Answer(error="Not run: only SELECT is possible.")
    rows: list[tuple[Any, ...]] = []
    room = bounds.characters
    truncated = False
    for row in cursor:
        if len(rows) >= bounds.rows or room <= 0:
            truncated = True
            break
        cells: list[Any] = []
        for value in row:
            long = isinstance(value, str) and len(value) > room
            cells.append(clip(value, max(room, 0)) if long else value)
            truncated = truncated or long
            room -= len(cell(cells[-1]))
        rows.append(tuple(cells))
    return Answer(columns, tuple(rows), truncated)


def cell(value: Any) -> str:
    """A value as text: nothing for NULL, the size of binary data."""
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    return "" if value is None else str(value)


def _explain(error: Exception, bounds: Limits) -> str:
    words = str(error)
    if "interrupt" in words:
        return f"Stopped after {bounds.seconds:g} seconds: narrow the query or add LIMIT."
    if "not authorized" in words or "prohibited" in words or "readonly" in words:
        return f"Not run: only SELECT over the views {', '.join(VIEWS)} is allowed ({words})."
    return f"Not run: {words}."
