"""Files of ``.tierline`` that are not what they should be when a server starts.

Issue 10, item 2. Whatever lies there in the place of a file, the prompt is answered, and the user
is told what is wrong and what to do where anything of theirs is affected. What is only derived is
made anew without a word, and nothing that could be the user's is overwritten.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bugcases.bodies import violations
from lsp.conftest import environment
from lsp.pipe import SERVE
from lsp.pipe import ForkedPipe as Pipe
from lsp.project import make_project
from support.owning import own
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

DERIVED = ("index", "symbols")
"""Made anew from the log, or from the files."""
KEPT = ("plans", "usage", "retrieval")
"""Made from nothing else."""
SET_ASIDE = (
    "{name}.sqlite3 was damaged. It is set aside as {name}.sqlite3.damaged-1 and begun anew; the "
    "conversation is kept elsewhere and is not affected."
)
NEWER = (
    "{name}.sqlite3 was written by a newer version of Tierline. It is left as it is, and nothing "
    "is kept in it until this version is updated; the conversation is not affected."
)
UNUSABLE = (
    "{name}.sqlite3 cannot be opened: {why}. Nothing is kept in it until that is mended; the "
    "conversation is not affected."
)
MODES = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Root without the right to pass over file modes."""
needs_modes = pytest.mark.skipif(
    os.name != "posix" or (os.geteuid() == 0 and not shutil.which("setpriv")),
    reason="file modes do not hold for root, and there is no setpriv to drop that right",
)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which all files are there. Each test gets a copy."""
    workspace = make_project(tmp_path_factory.mktemp("ready") / "work")
    with (
        wire_server("openai", [o_reply("One ", "two ", "three.")]) as model,
        Pipe(workspace, env=env(model)) as pipe,
    ):
        pipe.initialize()
        turn(pipe, "How does parse_query work?")
        pipe.request("tierline/history/search", {"query": "parse_query"})
        pipe.request("tierline/symbols/reindex")
        pipe.request("tierline/memo/save", {"content": "The build needs make."})
        leave(pipe)
    home = workspace / ".tierline"
    for name in (*DERIVED, *KEPT):
        assert (home / f"{name}.sqlite3").is_file(), name
    return workspace


@pytest.fixture
def home(ready: Path, workspace: Path) -> Path:
    """The ``.tierline`` of a workspace in which all files are there."""
    shutil.copytree(ready, workspace, dirs_exist_ok=True)
    return own(workspace, workspace.parent / ".state")


def env(model: WireServer) -> dict[str, str]:
    return {**environment(model), "TIERLINE_SYMBOLS_ENABLED": "true"}


def turn(pipe: Pipe, text: str) -> list[str]:
    """A turn that has to be answered. Returns what the user has been told since the start."""
    ends = len(pipe.events("turnFinished"))
    sent = pipe.request("tierline/chat/send", {"text": text})
    pipe.until(lambda: len(pipe.events("turnFinished")) > ends)
    end = pipe.events("turnFinished")[-1]
    assert end["outcome"] == "ok", end
    assert end["message"]["text"] == "One two three."
    return [*sent["notices"], *(n["text"] for n in pipe.events("notice"))]


def leave(pipe: Pipe) -> None:
    pipe.request("shutdown")
    pipe.notify("exit")
    pipe.gone(5)
    assert pipe.process.returncode == 0
    assert "Traceback" not in pipe.stderr, pipe.stderr


NO_INDEX = (
    "The history index cannot be read now ({why}). Try again; if it stays so, move index.sqlite3 "
    "away: it is made anew from the log."
)


def everything(pipe: Pipe, no_index: str = "") -> None:
    """Each part that has a file is asked: an answer, if only an empty one. Without an index, SQL
    cannot be answered; ``no_index`` is why.
    """
    for method, params in (
        ("state/get", {}),
        ("plan/list", {}),
        ("stats/get", {}),
        ("retrieval/get", {}),
        ("history/listSessions", {}),
        ("history/search", {"query": "parse_query"}),
        ("history/query", {"sql": "SELECT id FROM messages"}),
        ("memo/list", {}),
        ("symbols/status", {}),
        ("symbols/reindex", {}),
        ("memory/stats", {}),
        ("budget/get", {}),
    ):
        answer = pipe.answer(pipe.post(f"tierline/{method}", params))
        if no_index and method == "history/query":
            assert answer["error"]["message"] == NO_INDEX.format(why=no_index)
        else:
            assert "error" not in answer, (method, answer)


def texts(pipe: Pipe) -> list[str]:
    return [m["text"] for m in pipe.request("tierline/state/get")["messages"]]


def spoil(path: Path, how: str) -> None:
    whole = path.read_bytes() if path.is_file() else b""
    for extra in (*path.parent.glob(f"{path.name}-*"), path):
        extra.unlink(missing_ok=True)
    if how == "empty":
        path.write_bytes(b"")
    elif how == "garbage":
        path.write_bytes(random.Random(1).randbytes(9000))
    elif how == "NULs":
        path.write_bytes(b"\0" * 9000)
    elif how == "truncated":
        path.write_bytes(whole[: len(whole) // 2 + 100])
    elif how == "folder":
        path.mkdir()
    else:
        path.write_bytes(whole)
        if how == "newer":
            with sqlite3.connect(path) as database:
                database.execute("PRAGMA user_version = 999")
            database.close()


@pytest.mark.parametrize("how", ["empty", "garbage", "NULs", "truncated", "newer", "folder"])
def test_databases_that_are_none_at_start(
    workspace: Path, home: Path, model: WireServer, how: str
) -> None:
    for name in (*DERIVED, *KEPT):
        spoil(home / f"{name}.sqlite3", how)
    before = {n: (home / f"{n}.sqlite3").read_bytes() for n in KEPT if how == "newer"}
    closed = "index.sqlite3 cannot be opened: it is a folder" if how == "folder" else ""
    with Pipe(workspace, env=env(model)) as pipe:
        pipe.initialize()
        everything(pipe, closed)
        turn(pipe, "Is search_view damaged?")
        everything(pipe, closed)
        told = turn(pipe, "And then?")
        assert violations(model.bodies[-1], "openai") == []
        assert len(texts(pipe)) == 6
        found = pipe.request("tierline/history/search", {"query": "parse_query"})
        assert found["hits"], "also without an index"
        leave(pipe)
    assert [t for t in told if "inside Tierline" in t] == []
    for name in KEPT:
        path = home / f"{name}.sqlite3"
        if how in ("garbage", "NULs"):
            assert SET_ASIDE.format(name=name) in told
            assert path.with_name(f"{path.name}.damaged-1").exists()
        elif how == "newer":
            assert told.count(NEWER.format(name=name)) == 1, told
            assert path.read_bytes() == before[name], "the newer version finds all as it was"
        elif how == "folder":
            assert told.count(UNUSABLE.format(name=name, why="it is a folder")) == 1, told
            assert path.is_dir()
    if how == "empty":
        assert [t for t in told if "sqlite3" in t] == [], "an empty file is a new one"
    for name in DERIVED:
        assert [t for t in told if name in t] == [], "made anew without a word"


@needs_modes
def test_files_that_may_not_be_read(workspace: Path, home: Path, model: WireServer) -> None:
    for path in home.glob("*.sqlite3*"):
        path.chmod(0)
    command = (*MODES, *SERVE) if os.geteuid() == 0 else SERVE
    with Pipe(workspace, env=env(model), command=command) as pipe:
        pipe.initialize()
        everything(pipe, "index.sqlite3 cannot be opened: Permission denied")
        turn(pipe, "Is search_view damaged?")
        told = turn(pipe, "And then?")
        for name in KEPT:
            why = "its permissions do not allow it"
            assert told.count(UNUSABLE.format(name=name, why=why)) == 1, told
        assert len(texts(pipe)) == 6
        leave(pipe)
    for path in home.glob("*.sqlite3"):
        path.chmod(0o600)
    with Pipe(workspace, env=env(model)) as pipe:
        pipe.initialize()
        assert pipe.request("tierline/plan/list")["plans"], "nothing was lost"
        leave(pipe)


LOST = "The message was not written to history.jsonl: {why}."
UNREADABLE = "history.jsonl cannot be read: Permission denied."
FORBIDDEN = "The message was not written: the permissions of history.jsonl do not allow it."
ALLOW = "Allow yourself to read and write it; until then the chat lives in memory only."
MEMORY = "Check the .tierline folder; until then the chat lives in memory only."


def test_tierlines_folder_is_a_file(workspace: Path, model: WireServer) -> None:
    """The conversation is kept in the user's own folder, and goes on from there."""
    (workspace / ".tierline").write_text("not a folder\n")
    with Pipe(workspace, env=env(model)) as pipe:
        pipe.initialize()
        everything(pipe)
        told = turn(pipe, "First")
        assert len([t for t in told if t.startswith(".tierline is a file, not a folder")]) == 1
        turn(pipe, "Second")
        assert texts(pipe) == ["First", "One two three.", "Second", "One two three."]
        assert (workspace / ".tierline").read_text() == "not a folder\n"
        (workspace / ".tierline").unlink()
        turn(pipe, "Third")
        leave(pipe)
    with Pipe(workspace, env=env(model)) as pipe:
        pipe.initialize()
        assert texts(pipe)[::2] == ["First", "Second", "Third"], "memory was written down"
        leave(pipe)


@pytest.mark.parametrize("how", ["empty", "garbage", "NULs", "folder"])
def test_the_log_is_none(workspace: Path, home: Path, model: WireServer, how: str) -> None:
    """What is in its place stays; the new conversation is behind it, or in memory."""
    log = home / "history.jsonl"
    spoil(log, how)
    size = 0 if how in ("empty", "folder") else log.stat().st_size
    with Pipe(workspace, env=env(model)) as pipe:
        pipe.initialize()
        assert texts(pipe) == []
        everything(pipe)
        told = turn(pipe, "First")
        everything(pipe)
        if how == "folder":
            assert f"{LOST.format(why='it is a folder')} {MEMORY}" in told, told
        assert texts(pipe) == ["First", "One two three."]
        leave(pipe)
    if how == "folder":
        return
    assert log.read_bytes()[:size] == (b"\0" * size if how == "NULs" else log.read_bytes()[:size])
    with Pipe(workspace, env=env(model)) as pipe:
        pipe.initialize()
        assert texts(pipe) == ["First", "One two three."]
        leave(pipe)


@pytest.mark.parametrize("how", ["empty", "garbage", "NULs", "folder"])
def test_other_files_are_none(workspace: Path, home: Path, model: WireServer, how: str) -> None:
    for name in ("memos.jsonl", "capsules.jsonl", "calibration.json"):
        spoil(home / name, how)
    with Pipe(workspace, env=env(model)) as pipe:
        pipe.initialize()
        everything(pipe)
        turn(pipe, "What does the build need?")
        saved: Any = pipe.answer(pipe.post("tierline/memo/save", {"content": "It needs cmake."}))
        if how == "folder":
            assert "memos.jsonl" in saved["error"]["message"], saved
        else:
            listed = pipe.request("tierline/memo/list")["memos"]
            assert "It needs cmake." in [m["content"] for m in listed]
        assert len(texts(pipe)) == 4
        leave(pipe)


@needs_modes
def test_the_log_may_not_be_read(workspace: Path, home: Path, model: WireServer) -> None:
    log = home / "history.jsonl"
    whole = log.read_bytes()
    log.chmod(0)
    command = (*MODES, *SERVE) if os.geteuid() == 0 else SERVE
    with Pipe(workspace, env=env(model), command=command) as pipe:
        pipe.initialize()
        told = turn(pipe, "First")
        assert told.count("The last session was not restored: " + UNREADABLE) == 1, told
        assert f"{FORBIDDEN} {ALLOW}" in told, told
        turn(pipe, "Second")
        assert texts(pipe) == ["First", "One two three.", "Second", "One two three."]
        leave(pipe)
    log.chmod(0o600)
    assert log.read_bytes() == whole
