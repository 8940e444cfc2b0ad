"""Bug cases of area L: session files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bugcases.fixtures import ROOT, build, case, expect
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.store import records
from tierline.store.log import HistoryLog
from tierline.store.sessions import HistoryStore, StoreNotice

SESSION = "sess_1700000000000_case01"


def placed(tmp_path: Path, source: Path) -> HistoryStore:
    """A store whose log is the fixture."""
    store = HistoryStore(tmp_path)
    store.folder.mkdir(parents=True)
    shutil.copy(source, store.log.path)
    store.load_session(SESSION)
    return store


def contents(store: HistoryStore) -> list[str]:
    return [b.text for m in store.timeline().visible() for b in m.content if isinstance(b, Text)]


def test_br138_append_after_a_torn_record_stands_on_its_own_line(tmp_path: Path) -> None:
    """BR-138: a record cut off by a crash has no newline; the next append lands on its line."""
    wanted = expect("BR-138")
    store = placed(tmp_path, case("BR-138") / "torn.jsonl")
    report = records.inspect(store.log.path)
    assert (report.messages, report.skipped) == (wanted["loaded"], wanted["skipped"])
    assert len(store.timeline().visible()) == wanted["loaded"]
    store.append(store.make("user", "after the crash"))
    assert len(store.timeline().visible()) == wanted["after_append_loaded"]
    again = HistoryStore(tmp_path)
    assert len(again.load_session(SESSION).visible()) == wanted["after_append_loaded"]
    assert again.search("after the crash").hits and again.search("second question").hits


def test_br140_bad_lines_in_the_middle_are_skipped_counted_and_kept(tmp_path: Path) -> None:
    """BR-140: loading stops at the first bad line."""
    wanted = expect("BR-140")
    source = case("BR-140") / "badmid.jsonl"
    store = placed(tmp_path, source)
    report = records.inspect(store.log.path)
    assert (report.messages, report.skipped) == (wanted["loaded"], wanted["skipped"])
    assert contents(store)[-1] == wanted["last"] and len(contents(store)) == wanted["loaded"]
    assert store.log.path.read_bytes() == source.read_bytes()


def test_br142_record_with_real_line_breaks_costs_at_most_itself(tmp_path: Path) -> None:
    """BR-142: a record was written with real line breaks inside a string."""
    wanted = expect("BR-142")["raw_newline"]
    store = placed(tmp_path, case("BR-142") / "raw_newline.jsonl")
    assert len(contents(store)) >= wanted["loaded_min"]
    assert set(wanted["must_load"]) <= set(contents(store))


def test_br142_only_newline_bytes_end_a_record(tmp_path: Path) -> None:
    wanted = expect("BR-142")["sep_chars"]
    report = records.inspect(case("BR-142") / "sep_chars.jsonl")
    assert (report.messages, report.skipped) == (wanted["loaded"], wanted["skipped"])


def test_br142_every_message_is_written_as_one_physical_line(tmp_path: Path) -> None:
    exact = expect("BR-142")["write_then_read_exact"]
    store = HistoryStore(tmp_path)
    store.append(store.make("user", exact))
    raw = store.log.path.read_bytes()
    assert raw.count(b"\n") == 1 and len(raw.splitlines()) == 1
    assert contents(HistoryStore_loaded(tmp_path, store.session_id)) == [exact]


def HistoryStore_loaded(tmp_path: Path, session: str) -> HistoryStore:  # noqa: N802
    store = HistoryStore(tmp_path)
    store.load_session(session)
    return store


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def test_br144_listing_and_opening_damaged_files_changes_and_hides_nothing(
    tmp_path: Path,
) -> None:
    """BR-144: opening a damaged or foreign session removes it from the list or disk."""
    wanted = expect("BR-144")
    store = HistoryStore(tmp_path)
    shutil.copytree(case("BR-144") / "sessions", store.folder)
    before = hashes(store.folder)
    reports = {r.name: r for r in store.other_files()}
    assert [n for n, r in reports.items() if r.health == "ok"] == wanted["listed"]
    assert sorted(n for n, r in reports.items() if r.health == "damaged") == wanted["damaged"]
    assert reports["empty"].health == "empty"
    for report in reports.values():
        list(records.entries(report.path))
        HistoryLog(report.path).scan()
    assert hashes(store.folder) == before


def test_br144_what_is_good_in_another_file_can_be_recovered(tmp_path: Path) -> None:
    """BR-144: "damaged ones listed as damaged with a recover option"."""
    store = HistoryStore(tmp_path)
    shutil.copytree(case("BR-144") / "sessions", store.folder)
    before = hashes(store.folder)
    assert store.import_file(store.folder / "ok.jsonl") == 3
    assert store.import_file(store.folder / "ok.jsonl") == 0
    assert store.import_file(store.folder / "all_bad.jsonl") == 0
    assert len(store.load_session(SESSION).visible()) == 3
    after = hashes(store.folder)
    assert all(after[name] == digest for name, digest in before.items())


BIG = r"""
import json, re, sys, time
from pathlib import Path
from tierline.store.sessions import HistoryStore
# Not ru_maxrss: that one is inherited from the process that forked us.
def peak_mb():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
mode, root = sys.argv[1], Path(sys.argv[2])
store = HistoryStore(root)
if mode == "build":
    store.index.catch_up()
began = time.monotonic()
listed = store.list_sessions()
listing = time.monotonic() - began
rss = peak_mb()
count = last = 0
if mode == "open":
    for message in store.iter_messages("s48"):
        count += 1
    for message in store.iter_messages("s49"):
        last = message.content[0].text[:20]
peak = peak_mb()
print(json.dumps({"seconds": listing, "rss": rss, "peak": peak, "count": count, "last": last,
    "listed": len(listed), "previews": [s.preview for s in listed]}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_br146_giant_sessions_are_listed_at_once_and_opened_as_a_stream(tmp_path: Path) -> None:
    """BR-146: listing or resuming reads whole giant files: freeze or out of memory."""
    wanted = expect("BR-146")
    made = build("BR-146", tmp_path / "made")
    store = HistoryStore(tmp_path)
    store.folder.mkdir()
    with store.log.path.open("wb") as log:
        for number, path in enumerate(sorted((made / "sessions").iterdir())):
            for raw in path.read_bytes().splitlines(keepends=True):
                # The generator numbers ids anew in each file; in one log they must differ.
                log.write(raw.replace(b'"id": "17', f'"id": "{number}-17'.encode(), 1))
            path.unlink()

    def child(mode: str) -> dict[str, object]:
        code = textwrap.dedent(BIG)
        env = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
        done = subprocess.run(
            [sys.executable, "-c", code, mode, str(tmp_path)],
            check=True,
            capture_output=True,
            env=env,
        )
        value: dict[str, object] = json.loads(done.stdout)
        return value

    built, opened = child("build"), child("open")
    assert built["listed"] == opened["listed"] == 50
    for figures in (built, opened):
        assert figures["seconds"] < wanted["list_seconds_max"], figures
        previews = figures["previews"]
        assert isinstance(previews, list) and set(wanted["previews"]) <= set(previews)
    assert opened["rss"] < wanted["list_rss_mb_max"], opened
    assert built["peak"] < wanted["list_rss_mb_max"], built
    assert (opened["count"], opened["last"]) == (1200, "LAST-OF-LONG")
    assert opened["peak"] < wanted["list_rss_mb_max"], opened


def test_br148_records_that_repeat_an_id_count_once(tmp_path: Path) -> None:
    """BR-148: the same record is appended once per tool result plus once at the end."""
    wanted = expect("BR-148")
    store = placed(tmp_path, case("BR-148") / "dup.jsonl")
    assert len(store.timeline().visible()) == wanted["loaded"]
    assert records.inspect(store.log.path).duplicates == wanted["duplicates"]
    assert store.list_sessions()[0].message_count == wanted["loaded"]
    assert len(store.search("first answer").hits) == 1


def test_br148_turn_with_four_results_writes_each_record_once(tmp_path: Path) -> None:
    """BR-148: "a turn with 4 tool results; count lines"."""
    store = HistoryStore(tmp_path)
    asked = store.append(store.make("user", "do it"))
    for step in range(4):
        group = asked.group_id
        store.append(store.make("assistant", (ToolUse(f"c{step}", "run"),), group_id=group))
        result = ToolResult(f"c{step}", (Text("out"),))
        store.append(store.make("user", (result,), group_id=group))
    store.append(store.make("assistant", "done", group_id=asked.group_id))
    lines = store.log.path.read_bytes().splitlines()
    assert len(lines) == len({json.loads(line)["id"] for line in lines}) == 10


@pytest.mark.parametrize("what", ["folder", "log", "index"])
def test_br150_store_deleted_during_a_chat_is_made_again(tmp_path: Path, what: str) -> None:
    """BR-150: store deleted during a chat crashes the next message."""
    notices: list[StoreNotice] = []
    store = HistoryStore(tmp_path, on_notice=notices.append)
    first = store.append(store.make("user", "before"), durable=True)
    assert store.search("before").hits
    if what == "folder":
        shutil.rmtree(store.folder)
    elif what == "log":
        store.log.path.unlink()
    else:
        store.index.path.unlink()
    store.append(store.make("assistant", "after", group_id=first.group_id), durable=True)
    for now in (store, HistoryStore_loaded(tmp_path, store.session_id)):
        assert contents(now) == ["before", "after"]
        assert now.search("after").hits and now.search("before").hits
        assert now.list_sessions()[0].message_count == 2
    assert [n.code for n in notices] == ([] if what == "index" else ["history_recreated"])


APPENDER = """
import sys
from pathlib import Path
from tierline.store.sessions import HistoryStore
store = HistoryStore(Path(sys.argv[1]))
for number in range(100):
    store.append(store.make("user", f"message {number}"))
"""


def test_br152_maintenance_never_loses_what_another_process_appends(tmp_path: Path) -> None:
    """BR-152: maintenance rewrites the session file and drops a record appended meanwhile."""
    store = HistoryStore(tmp_path)
    store.append(store.make("user", "mine"))
    inode = store.log.path.stat().st_ino
    env = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    other = subprocess.Popen([sys.executable, "-c", APPENDER, str(tmp_path)], env=env)
    try:
        while other.poll() is None:
            store.maintain(0.01)
            store.index.rebuild()
        assert other.returncode == 0
    finally:
        other.kill()
        other.wait()
    assert store.log.path.stat().st_ino == inode
    store.maintain()
    assert len(store.log.scan().records) == 101
    assert sorted(s.message_count for s in store.list_sessions()) == [1, 100]
