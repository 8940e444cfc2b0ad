"""The process that runs one query of ``query_db``, so that it can be ended at any moment.

SQLite calls its progress handler between instructions only, and a single one can take hours: a
search for a long text in another, or a pattern of many stars. So the query has a process of its
own, with limits of memory and processor time, which ``query_db`` kills when its time is over.

It reads a JSON object from standard input, says ``ready`` before it begins, and writes one JSON
object. It imports next to nothing: it is started for each query.
"""

from __future__ import annotations

import functools
import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

from tierline.context.text import clip
from tierline.disk.sqlite import connect

VIEWS = ("messages", "groups", "sessions")
READY = "ready"
_TABLES = frozenset({"message", "session"})
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_FUNCTION,
    getattr(sqlite3, "SQLITE_RECURSIVE", 33),
}
_FUNCTIONS = frozenset(
    """-> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce
    concat concat_ws cos cosh count cume_dist current_date current_time current_timestamp
    date datetime degrees dense_rank exp first_value floor format glob group_concat hex
    ifnull iif if instr json json_array json_array_length json_each json_error_position
    json_extract json_group_array json_group_object json_insert json_object json_patch
    json_pretty json_quote json_remove json_replace json_set json_tree json_type json_valid
    julianday lag last_value lead length like ln log log10 log2 lower ltrim max min mod
    ntile nth_value nullif octet_length percent_rank pi pow power printf quote radians
    random randomblob rank replace round row_number rtrim sign sin sinh soundex sqrt
    strftime string_agg substr substring sum tan tanh time timediff total trim trunc typeof
    unhex unicode unistr unixepoch unlikely likely likelihood upper zeroblob""".split()  # noqa: SIM905
)
"""What a query may call: SQLite's own functions that depend on nothing but their arguments."""
_LENGTH = 20_000_000
"""Bytes of a value. Messages that hold whole files must be readable."""
_HEAP = 300_000_000
_ADDRESS_SPACE = 1_500_000_000
_STEPS = 1000
"""Instructions between two looks at the clock."""


def main() -> None:
    """Answer the one query on standard input."""
    asked = json.loads(sys.stdin.buffer.readline())
    _limit(asked["seconds"])
    _say(READY)
    _say(json.dumps(answer(**asked)))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _limit(seconds: float) -> None:
    """Limits that hold even if the server is gone and cannot kill this process."""
    try:
        import resource
    except ImportError:  # Windows
        return
    whole = int(seconds) + 2
    for what, most in (
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_AS, _ADDRESS_SPACE),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # the system has no such limit, or a lower one
            continue


def answer(path: str, sql: str, rows: int, characters: int, seconds: float) -> dict[str, Any]:
    """Columns, rows and whether something was left out; or the ``error`` in SQLite's words."""
    deadline = time.monotonic() + seconds
    try:
        connection = _open(path)
        connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
        guard = connection.execute("SELECT value FROM meta WHERE key = 'guard'").fetchone()[0]
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        connection.set_authorizer(functools.partial(authorize, guard, names))
        return _collect(connection.execute(sql), rows, characters)
    except sqlite3.ProgrammingError as error:
        words = str(error)
        return {"error": "only one statement at a time" if "one statement" in words else words}
    except (
        sqlite3.Error,
        sqlite3.Warning,
        OSError,
        OverflowError,
        UnicodeError,
        MemoryError,
    ) as error:
        return {"error": str(error) or "it needs too much memory"}


def _open(path: str) -> sqlite3.Connection:
    connection = connect(Path(path), read_only=True)
    for setting in (
        "query_only = ON",
        "trusted_schema = OFF",
        "temp_store = MEMORY",
        f"hard_heap_limit = {_HEAP}",
    ):
        connection.execute(f"PRAGMA {setting}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 20_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 200)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    return connection


def authorize(
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
        allowed = (second or "").lower() in _FUNCTIONS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _collect(cursor: sqlite3.Cursor, limit: int, characters: int) -> dict[str, Any]:
    columns = [str(column[0])[:characters] for column in cursor.description or ()]
    if not columns:
        return {"error": "only SELECT is possible"}
    rows: list[list[Any]] = []
    room, truncated = characters, False
    for row in cursor:
        if len(rows) >= limit or room <= 0:
            truncated = True
            break
        cells: list[Any] = []
        for value in row:
            cells.append(_shown(value, room))
            truncated |= isinstance(value, str) and len(value) > room
            room -= len(str(cells[-1])) if value is not None else 0
        rows.append(cells)
    return {"columns": columns, "rows": rows, "truncated": truncated}


def _shown(value: Any, room: int) -> Any:
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    return clip(value, room) if isinstance(value, str) else value


if __name__ == "__main__":
    main()
