"""Commands that only show something leave the conversation and the folder as they were."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from terminal import run
from tierline.store.errors import StorageError
from tierline.store.sessions import HistoryStore
from wire.servers import WireServer

DERIVED = ("index.sqlite3", "plans.sqlite3-", "usage.sqlite3-", "symbols.sqlite3")
"""SQLite's own files beside these come and go; the index follows the log."""
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
    ["doctor", "--quick"],
]


@pytest.fixture
def workspace(cli_workspace: Path) -> Path:
    return cli_workspace


def files(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(DERIVED)
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


def test_a_store_that_only_looks_refuses_to_write(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    store.read_only = True
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
