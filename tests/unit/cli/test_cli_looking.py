"""Commands that only show something leave the conversation and the folder as they were."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.terminal import run
from tierline.store.errors import StorageError
from tierline.store.sessions import HistoryStore
from wire.servers import WireServer

SHOWING = [
    ["budget"],
    ["budget", "--json"],
    ["stats"],
    ["stats", "--turns"],
    ["plans"],
    ["sessions"],
    ["query", "SELECT role FROM messages"],
    ["build"],
    ["memory", "stats"],
    ["memo", "list"],
    ["memo", "search", "port"],
    ["url", "list"],
    ["doctor"],
    ["replay", "plan_"],
]
WRITER = """
import sys, time
from pathlib import Path
from tierline.store.plans import PlanStore
from tierline.store.sessions import HistoryStore
from tierline.store.usage import UsageStore

root = Path(sys.argv[1])
home = root / ".tierline"
stores = [PlanStore(home / "plans.sqlite3"), UsageStore(home / "usage.sqlite3")]
for store in stores:
    table = "plan" if store is stores[0] else "request"
    store.run(lambda db: db.execute(f"UPDATE {table} SET session_id = session_id"), lambda: 0)
history = HistoryStore(root)
history.append(history.make("user", "written by a server that lives"))
history.index.catch_up()
print("ready", flush=True)
sys.stdin.read()
"""
"""Stands for a server that has written and not carried its writing over yet."""


@pytest.fixture
def workspace(cli_workspace: Path) -> Path:
    return cli_workspace


def files(root: Path) -> dict[str, tuple[str, int]]:
    """Hash and time of every file, those of SQLite included."""
    return {
        str(path.relative_to(root)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in root.rglob("*")
        if path.is_file()
    }


def test_budget_leaves_the_files_of_the_conversation_alone(
    workspace: Path,
    model: WireServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIERLINE_SYMBOLS_ENABLED", "false")  # its overview would name the file
    file = workspace / "a.py"
    file.write_text("ALPHA = 'only looked at'\n" * 40, encoding="utf-8")
    assert run(workspace, "chat", "hi").exit_code == 0
    before = files(workspace)
    plain = json.loads(run(workspace, "budget", "--json").stdout)
    more = json.loads(run(workspace, "budget", "--json", "-f", str(file)).stdout)
    assert more["used"] > plain["used"] + 200, "the file is in the figures"
    assert files(workspace) == before
    again = run(workspace, "chat", "again", "--continue")
    assert "0 files" in again.stderr
    assert "only looked at" not in model.requests[-1].raw.decode()


@pytest.mark.parametrize("words", SHOWING, ids=" ".join)
def test_showing_writes_nothing(
    workspace: Path,
    model: WireServer,
    words: list[str],
) -> None:
    file = workspace / "a.py"
    file.write_text("ALPHA = 1\n", encoding="utf-8")
    more = ["-f", str(file)] if words[0] == "budget" else []
    untouched = files(workspace)
    run(workspace, *words, *more)
    assert not (workspace / ".tierline").exists()
    assert run(workspace, "chat", "hi", "-f", str(file)).exit_code == 0
    before = files(workspace)
    assert len(before) > len(untouched)
    run(workspace, *words, *more)
    assert files(workspace) == before


@pytest.mark.parametrize("words", SHOWING, ids=" ".join)
def test_showing_leaves_a_living_servers_files_alone_and_sees_what_it_wrote(
    workspace: Path, model: WireServer, words: list[str]
) -> None:
    assert run(workspace, "chat", "hi").exit_code == 0
    command = [sys.executable, "-c", WRITER, str(workspace)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None and server.stdout.readline() == b"ready\n"
        before = files(workspace)
        assert {"-wal", "-shm"} <= {name[-4:] for name in before}, "the server has them open"
        result = run(workspace, *words)
        after = files(workspace)
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(30) == 0
    assert after == before
    assert result.exit_code == 0, result.output
    if words in (["sessions"], ["stats"]):
        assert "written by a server" in result.stdout


def test_a_damaged_database_is_left_to_the_server(workspace: Path, model: WireServer) -> None:
    assert run(workspace, "chat", "hi").exit_code == 0
    for name in ("plans", "usage", "index", "retrieval"):
        (workspace / ".tierline" / f"{name}.sqlite3").write_bytes(b"no database at all" * 99)
    before = files(workspace)
    for words in SHOWING:
        run(workspace, *words)
        assert files(workspace) == before, words


def test_a_store_that_only_looks_refuses_to_write(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path, read_only=True)
    with pytest.raises(StorageError, match="look at it only"):
        store.append(store.make("user", "hello"))
    store.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["chat", "hi"], ["budget"]], ids=lambda words: words[0])
@pytest.mark.parametrize("name", [".env", "ignored.txt"])
def test_what_needs_a_confirmation_can_be_confirmed(
    workspace: Path,
    model: WireServer,
    command: list[str],
    name: str,
) -> None:
    (workspace / ".tierlineignore").write_text("ignored.txt\n", encoding="utf-8")
    file = workspace / name
    file.write_text("GREETING=pineapple\n", encoding="utf-8")
    refused = run(workspace, *command, "-f", str(file))
    assert refused.exit_code == 1
    assert f"--confirm {file}" in refused.stderr
    assert not model.requests
    missing = run(workspace, *command, "-f", str(workspace / "absent.txt"))
    assert missing.exit_code == 1
    assert "--confirm" not in missing.stderr, "there is nothing to confirm"
    assert run(workspace, *command, "--confirm", str(file)).exit_code == 0
    if command[0] == "chat":
        assert "pineapple" in model.requests[-1].raw.decode()
