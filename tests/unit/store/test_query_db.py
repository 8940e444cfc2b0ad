"""query_db: read-only and bounded by SQLite itself (seed 000, section 5)."""

from __future__ import annotations

import os
import resource
import sqlite3
import time
from pathlib import Path

import pytest

from support.store_actions import drop, restore
from tierline.store.query_db import QueryLimits, query_db, run
from tierline.store.query_worker import authorize
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
    drop(store, group)
    for sql in ("SELECT count(*) FROM messages", "SELECT sum(message_count) FROM groups"):
        assert query_db(store.index, sql).rows == ((8,),)
    by_name = f"SELECT * FROM messages WHERE group_id = '{group}' OR status = 'dropped'"
    assert query_db(store.index, by_name).rows == ()
    restore(store, group)
    assert query_db(store.index, "SELECT count(*) FROM messages").rows == ((10,),)


def test_endless_query_is_stopped(store: HistoryStore) -> None:
    sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    began = time.monotonic()
    answer = query_db(store.index, sql, QueryLimits(seconds=0.2))
    assert "Stopped after 0.2 seconds" in answer.error
    assert time.monotonic() - began < 2


def test_rows_and_characters_are_limited(store: HistoryStore) -> None:
    answer = query_db(store.index, "SELECT id FROM messages", QueryLimits(rows=3))
    assert len(answer.rows) == 3 and answer.truncated and "left out" in answer.text()
    answer = query_db(store.index, "SELECT content FROM messages", QueryLimits(characters=30))
    assert len("".join(r[0] for r in answer.rows)) <= 30 and answer.truncated


def test_giant_values_cannot_be_made(store: HistoryStore) -> None:
    answer = query_db(store.index, "SELECT length(hex(zeroblob(500000000)))")
    assert "too big" in answer.error


def test_a_query_of_many_thousand_characters_is_refused(store: HistoryStore) -> None:
    assert query_db(store.index, f"SELECT '{'x' * 15_000}'").error == ""
    assert "too large" in query_db(store.index, f"SELECT '{'x' * 25_000}'").error


def test_functions_that_reach_files_are_refused_whatever_sqlite_was_built_with() -> None:
    def verdict(name: str | None) -> int:
        return authorize("g", set(), sqlite3.SQLITE_FUNCTION, None, name, None, None)

    for name in ("load_extension", "readfile", "WRITEFILE", "Edit", "fts3_tokenizer"):
        assert verdict(name) == sqlite3.SQLITE_DENY
    assert verdict("some_extension") == sqlite3.SQLITE_DENY
    assert verdict("lower") == sqlite3.SQLITE_OK


SLOW = [
    "SELECT instr(printf('%.*c',19000000,'x'), printf('%.*c',9000000,'x')||'y')",
    "SELECT replace(printf('%.*c',19000000,'x'), printf('%.*c',9000000,'x')||'y', 'z')",
    "SELECT trim(printf('%.*c',9000000,'x'), printf('%.*c',9000000,'y')||'x')",
    "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s||s FROM r WHERE length(s) < 9000000)"
    " SELECT max(instr(s, substr(s, 2)||'y')) FROM r",
    "SELECT printf('%.*c',19000000,'a') LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b'",
    "SELECT printf('%.*c',19000000,'a') GLOB '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b'",
    "SELECT hex(randomblob(9000000)) FROM messages a, messages b, messages c, messages d",
    "SELECT group_concat(printf('%.*c',1900000,'x')) FROM messages a, messages b, messages c",
    "SELECT json_group_array(zeroblob(10)) FROM messages a, messages b, messages c, messages d,"
    " messages e, messages f, messages g",
    "SELECT a.x || b.x FROM (SELECT printf('%.*c',9000000,'x') x FROM messages) a,"
    " (SELECT printf('%.*c',9000000,'y') x FROM messages) b ORDER BY 1",
    "WITH RECURSIVE c(x, y) AS (SELECT 1, printf('%.*c',9000000,'x') UNION ALL"
    " SELECT x + 1, y || x FROM c) SELECT count(*), max(y) FROM c",
    "SELECT json(printf('%.*c', 9000000, '[') || printf('%.*c', 9000000, ']'))",
    "SELECT count(*) FROM json_tree('[' || replace(printf('%.*c', 3000000, ','), ',', '0,')"
    " || '0]') a, messages b, messages c",
    "SELECT strftime(replace(printf('%.*c', 3000000, 'x'), 'x', '%J'), 'now')",
]


@pytest.mark.parametrize("sql", SLOW, ids=range(len(SLOW)))
def test_no_query_goes_beyond_its_time_and_nothing_burns_on(store: HistoryStore, sql: str) -> None:
    query_db(store.index, "SELECT 1")
    began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = query_db(store.index, sql, QueryLimits(seconds=1.0))
    assert time.monotonic() - began < 1.0 + 8, "the time to start counts apart"
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime < 1.0 + 2
    assert now.ru_maxrss < 1_500_000, "kilobytes"
    assert len(answer.text()) < 30_000
    workers = [
        path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _is_my_worker(path)
    ]
    assert workers == []
    assert query_db(store.index, "SELECT count(*) FROM messages").rows == ((10,),)


def _is_my_worker(path: Path) -> bool:
    try:
        words = path.read_bytes()
        parent = (path.parent / "stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return False
    return b"query_worker" in words and parent == str(os.getpid())


def test_the_shape_that_was_reported_is_stopped_with_a_sentence(store: HistoryStore) -> None:
    answer = query_db(store.index, SLOW[0], QueryLimits(seconds=0.5))
    assert answer.error == "Stopped after 0.5 seconds: narrow the query or add LIMIT."


def test_a_value_is_never_cut_inside_a_character(store: HistoryStore) -> None:
    store.append(store.make("user", "aé👍🏽" * 50))
    sql = "SELECT content FROM messages ORDER BY id DESC LIMIT 1"
    for most in range(1, 12):
        text = query_db(store.index, sql, QueryLimits(characters=most)).rows[0][0]
        assert ("aé👍🏽" * 50).startswith(text) and len(text) <= most
        assert not text.endswith("👍")


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
