"""The index database: its tables, and connections to it. Everything in it is derived."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from tierline import disk
from tierline.disk import sqlite
from tierline.disk.folder import make

VERSION = 4
"""Raised whenever the meaning of a table changes; an index of another version is built anew."""

# ``message.content`` holds the searchable text of a message. FTS tables are contentless: candidates
# are always checked against the text. ``query_db`` shows the views and not the tables. SQLite tells
# an authorizer which view reads a table, but takes a common table expression of the same name for
# the view; so the views that do read tables have a name that no query can know.
DDL = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE session (
  session_id TEXT PRIMARY KEY, started TEXT, updated TEXT, message_count INTEGER, preview TEXT,
  first_role TEXT, title TEXT, deleted INTEGER, archived INTEGER, last_seq INTEGER, last_group TEXT,
  branch TEXT
) WITHOUT ROWID;
CREATE INDEX session_newest ON session (deleted, archived, last_seq);
CREATE TABLE entry (
  seq INTEGER PRIMARY KEY, session_id TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL
);
CREATE INDEX entry_session ON entry (session_id, seq);
CREATE TABLE message (
  seq INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, session_id TEXT NOT NULL, group_id TEXT,
  branch_id TEXT, role TEXT, status TEXT, created_at TEXT, tokens INTEGER, strategy TEXT,
  dropped INTEGER NOT NULL, content TEXT
);
CREATE INDEX message_session ON message (session_id, seq);
CREATE TABLE event (
  seq INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, session_id TEXT NOT NULL, branch_id TEXT,
  kind TEXT, timestamp TEXT, data TEXT
);
CREATE INDEX event_session ON event (session_id, seq);
CREATE VIRTUAL TABLE words USING fts5 (
  content, content='', detail=none, tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
CREATE TABLE term (term TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE terms USING fts5 (term, detail=none, tokenize='trigram');
CREATE VIEW {guard}_messages AS
  SELECT m.id, m.session_id, m.group_id, m.branch_id, m.role, m.content, m.status, m.tokens,
         m.created_at, m.strategy AS parsing_strategy
  FROM message m JOIN session s ON s.session_id = m.session_id
  WHERE m.dropped = 0 AND s.deleted = 0 AND s.archived = 0;
CREATE VIEW {guard}_sessions AS
  SELECT session_id, title, started AS created_at, updated AS updated_at, message_count, preview,
         first_role
  FROM session WHERE deleted = 0 AND archived = 0 AND message_count > 0;
CREATE VIEW messages AS SELECT * FROM {guard}_messages;
CREATE VIEW sessions AS SELECT * FROM {guard}_sessions;
CREATE VIEW groups AS
  SELECT group_id, session_id, min(created_at) AS created_at, count(*) AS message_count,
         max(tokens) AS tokens
  FROM {guard}_messages GROUP BY session_id, group_id;
"""
_HASH_BYTES = 32 * 1024 * 1024


def connect(path: Path, *, busy_ms: int = 200) -> sqlite3.Connection:
    """Open (and create) the index; ``busy_ms`` is how long a locked database is waited for.

    Raises:
        sqlite3.DatabaseError: the file is not a database, or is locked, or cannot be made.
    """
    try:
        make(path.parent)
        connection = sqlite.connect(path, seconds=busy_ms / 1000, threads=True)
    except OSError as error:  # a read-only folder, a link: callers can do without the index
        why = disk.explain(error)
        raise sqlite3.OperationalError(f"{path.name} cannot be opened: {why}") from error
    try:
        connection.execute("PRAGMA page_size = 16384")  # of a new file; texts are long
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -16384")
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            with sqlite.transaction(connection):
                recreate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def recreate(connection: sqlite3.Connection) -> None:
    """Drop all tables and make them anew, within the caller's transaction."""
    for kind, name in connection.execute(
        "SELECT type, name FROM sqlite_master WHERE sql LIKE 'CREATE V%' OR name IN"
        " ('meta', 'session', 'entry', 'message', 'event', 'term')"
        " ORDER BY sql LIKE '%fts5vocab%' DESC"
    ).fetchall():
        connection.execute(f'DROP {kind} "{name}"')
    guard = f"view_{secrets.token_hex(16)}"
    for statement in DDL.format(guard=guard).split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('guard', ?)", (guard,))
    # Size at which the in-memory part of the word index is written.
    connection.execute("INSERT INTO words (words, rank) VALUES ('hashsize', ?)", (_HASH_BYTES,))
    connection.execute(f"PRAGMA user_version = {VERSION}")
