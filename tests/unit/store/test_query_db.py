"""query_db: read-only and bounded by SQLite itself (seed 000, section 5)."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from tierline.store.query_db import Limits, _authorize, query_db, run
from tierline.store.sessions import HistoryStore


@pytest.fixture
def store(tmp_path: Path) -> HistoryStore:
    made = HistoryStore(tmp_path)
    for number in range(5):
        asked = made.append(made.make("user", f"question {number} about the refactor plan"))
        made.append(made.make("assistant", f"answer {number}", group_id=asked.group_id))
    made.search("warm")
    return made


def test_the_seeds_own_example_works(store: HistoryStore) -> None:
    """Seed 000, section 5: "Example query the agent might use"."""
    sql = """SELECT role, content FROM messages
    WHERE status != 'dropped' AND content LIKE '%refactor plan%'
    ORDER BY id DESC LIMIT 5;"""
    answer = query_db(store.index, sql)
    assert answer.error == "" and answer.columns == ("role", "content") and len(answer.rows) == 5
    assert {row[0] for row in answer.rows} == {"user"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM messages",
        "SELECT id, session_id, group_id, role, content, status, tokens, created_at FROM messages",
        "WITH u AS (SELECT * FROM messages WHERE role = 'user') SELECT count(*) FROM u",
        "SELECT group_id, count(*) FROM messages GROUP BY 1 HAVING count(*) > 1 ORDER BY 2",
        "SELECT m.role FROM messages m JOIN sessions s ON s.session_id = m.session_id",
        "SELECT substr(content, 1, 5), length(content), upper(role) FROM messages",
        "SELECT message_count FROM groups UNION SELECT message_count FROM sessions",
        "VALUES (1)",
        "SELECT json_extract('{\"a\": 1}', '$.a')",
        "select 1 -- comment",
    ],
)
def test_ordinary_reading_works(store: HistoryStore, sql: str) -> None:
    answer = query_db(store.index, sql)
    assert answer.error == "" and answer.rows


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM messages",
        "DELETE FROM message",
        "UPDATE message SET dropped = 0",
        "INSERT INTO meta VALUES ('x', 1)",
        "DROP TABLE message",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "SELECT * FROM message",
        "SELECT content FROM main.message",
        "SELECT * FROM session",
        "SELECT * FROM event",
        "SELECT * FROM meta",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM words",
        "SELECT * FROM vocabulary",
        "SELECT * FROM term",
        "SELECT * FROM messages, message",
        # SQLite takes a table expression of a view's name for the view, when it asks for leave.
        "WITH messages AS (SELECT * FROM message) SELECT * FROM messages",
        "WITH messages AS (SELECT content FROM message) SELECT * FROM messages, sessions",
        "SELECT * FROM (SELECT * FROM message) AS messages",
        "SELECT messages.content FROM message AS messages",
        "SELECT count(*) FROM message",
        "SELECT 1 FROM messages WHERE EXISTS (SELECT 1 FROM message)",
        "SELECT rowid FROM message",
        "SELECT 1; DELETE FROM message",
        "ATTACH DATABASE '/tmp/x' AS x",
        "PRAGMA query_only = OFF",
        "PRAGMA table_info(message)",
        "SELECT * FROM pragma_table_info('message')",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('x')",
        "VACUUM",
        "BEGIN",
        "SAVEPOINT a",
        "ANALYZE",
        "REINDEX",
        "SELEC 1",
        "SELECT nothing FROM messages",
        "",
        "   ",
        "-- only a comment",
        "SELECT '\0'",
        "SELECT '\ud83d'",
    ],
)
def test_everything_else_is_refused_with_a_sentence_and_changes_nothing(
    store: HistoryStore, sql: str
) -> None:
    before = store.index.path.read_bytes()
    answer = query_db(store.index, sql)
    assert answer.error and answer.rows == ()
    assert store.index.path.read_bytes() == before
    assert query_db(store.index, "SELECT count(*) FROM messages").rows == ((10,),)


def test_dropped_messages_are_not_there(store: HistoryStore) -> None:
    """Seed 000: "must ignore records where status = 'dropped'": here it cannot but ignore them."""
    group = store.timeline().groups()[1].id
    store.drop(group)
    for sql in ("SELECT count(*) FROM messages", "SELECT sum(message_count) FROM groups"):
        assert query_db(store.index, sql).rows == ((8,),)
    by_name = f"SELECT * FROM messages WHERE group_id = '{group}' OR status = 'dropped'"
    assert query_db(store.index, by_name).rows == ()
    store.restore(group)
    assert query_db(store.index, "SELECT count(*) FROM messages").rows == ((10,),)


def test_endless_query_is_stopped(store: HistoryStore) -> None:
    sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    began = time.monotonic()
    answer = query_db(store.index, sql, Limits(seconds=0.2))
    assert "Stopped after 0.2 seconds" in answer.error
    assert time.monotonic() - began < 2


def test_rows_and_characters_are_limited(store: HistoryStore) -> None:
    answer = query_db(store.index, "SELECT id FROM messages", Limits(rows=3))
    assert len(answer.rows) == 3 and answer.truncated and "left out" in answer.text()
    answer = query_db(store.index, "SELECT content FROM messages", Limits(characters=30))
    assert len("".join(r[0] for r in answer.rows)) <= 30 and answer.truncated


def test_giant_values_cannot_be_made(store: HistoryStore) -> None:
    answer = query_db(store.index, "SELECT length(hex(zeroblob(500000000)))")
    assert "too big" in answer.error


def test_a_query_of_many_thousand_characters_is_refused(store: HistoryStore) -> None:
    assert query_db(store.index, f"SELECT '{'x' * 15_000}'").error == ""
    assert "too large" in query_db(store.index, f"SELECT '{'x' * 25_000}'").error


def test_functions_that_reach_files_are_refused_whatever_sqlite_was_built_with() -> None:
    def verdict(name: str | None) -> int:
        return _authorize("g", set(), sqlite3.SQLITE_FUNCTION, None, name, None, None)

    for name in ("load_extension", "readfile", "WRITEFILE", "Edit", "fts3_tokenizer"):
        assert verdict(name) == sqlite3.SQLITE_DENY
    assert verdict("lower") == sqlite3.SQLITE_OK


def test_query_sees_what_was_written_a_moment_ago(store: HistoryStore) -> None:
    store.append(store.make("user", "just now"))
    answer = query_db(store.index, "SELECT content FROM messages ORDER BY id DESC LIMIT 1")
    assert answer.rows == (("just now",),)


def test_tool_call_returns_text_and_whether_it_failed(store: HistoryStore) -> None:
    assert run(store.index, {"sql": "SELECT 1, 'a\nb'"}) == ("1 | 'a\nb'\n1 | a\\nb", False)
    text, failed = run(store.index, {"sql": 7})
    assert failed and "SELECT" in text
    assert run(store.index, {})[1]


def test_works_in_a_folder_with_an_odd_name(tmp_path: Path) -> None:
    root = tmp_path / "50% of #1? é"
    root.mkdir()
    store = HistoryStore(root)
    store.append(store.make("user", "x"))
    assert query_db(store.index, "SELECT content FROM messages").rows == (("x",),)
