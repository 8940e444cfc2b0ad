"""The disk fails, fills, is read-only, vanishes or lies: what the user is told, and what is kept.

Issue 10, item 2. Each through a real server; the sentences are those that the editor shows.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bugcases.bodies import violations
from lsp.conftest import environment
from lsp.pipe import ForkedPipe as Pipe
from lsp.pipe import history, hook
from lsp.project import make_project
from tierline.store.log import HistoryLog
from wire.servers import WireServer

FULL = "The disk is full: the message was not written to history.jsonl."
FREE = "Free some space, then send again; earlier messages are intact."
READ_ONLY = "The folder of history.jsonl is read-only: the message was not written."
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJg"
    "gg=="
)
WRITABLE = "Make the .tierline folder writable; until then the chat lives in memory only."


def turn(pipe: Pipe, text: str) -> list[str]:
    """A turn that has to be answered, whatever the disk does. Returns all that the user is told."""
    notices, ends = len(pipe.events("notice")), len(pipe.events("turnFinished"))
    sent = pipe.request("tierline/chat/send", {"text": text})
    pipe.until(lambda: len(pipe.events("turnFinished")) > ends)
    end = pipe.events("turnFinished")[-1]
    assert end["outcome"] == "ok", end
    assert end["message"]["text"] == "One two three."
    said = [*sent["notices"], end["message"]["note"]]
    return [t for t in (*said, *(n["text"] for n in pipe.events("notice")[notices:])) if t]


def prompts(pipe: Pipe) -> list[str]:
    state = pipe.request("tierline/state/get")
    return [m["text"] for m in state["messages"] if m["role"] == "user"]


def figures(pipe: Pipe) -> list[Any]:
    """What the replies took."""
    state = pipe.request("tierline/state/get")
    return [m["usage"] for m in state["messages"] if m["usage"]]


def leave(pipe: Pipe) -> None:
    pipe.request("shutdown")
    pipe.notify("exit")
    pipe.gone(5)
    assert pipe.process.returncode == 0
    assert "Traceback" not in pipe.stderr, pipe.stderr


@pytest.fixture
def small_disk(workspace: Path) -> Iterator[Path]:
    """A file system of 512 KB at ``.tierline``."""
    home = workspace / ".tierline"
    home.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("mounting a small file system needs root; see the test with a limit instead")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(home)], check=False
    )
    if made.returncode:
        pytest.skip("this container may not mount")
    yield home
    subprocess.run(["umount", "-l", str(home)], check=True)


def fill(home: Path) -> Path:
    ballast = home / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        try:
            while stream.write(b"\0" * 4096):
                pass
        except OSError:
            return ballast
    raise AssertionError("the disk does not fill")


def test_a_full_disk_is_said_and_what_was_in_memory_is_written_later(
    workspace: Path, model: WireServer, small_disk: Path
) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        assert turn(pipe, "First") == []
        ballast = fill(small_disk)
        told = turn(pipe, "Second " + "long " * 2000)
        assert f"{FULL} {FREE}" in told
        assert prompts(pipe)[0] == "First" and len(prompts(pipe)) == 2
        assert violations(model.bodies[-1], "openai") == []
        ballast.unlink()
        assert turn(pipe, "Third") == [], "nothing to complain of any more"
        assert [t.split()[0] for t in prompts(pipe)] == ["First", "Second", "Third"]
        leave(pipe)
    log = HistoryLog(small_disk / "history.jsonl").scan()
    roles = [r["role"] for r in log.records if r["type"] == "message"]
    assert log.skipped <= 2, "a torn line for each write that failed, passed over"
    assert roles.count("user") == roles.count("assistant") == 3
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        assert [t.split()[0] for t in prompts(pipe)] == ["First", "Second", "Third"]


def test_a_limit_on_file_sizes_is_a_full_disk(workspace: Path, model: WireServer) -> None:
    """Needs no root: the system refuses what would make a file larger."""
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        turn(pipe, "First")
        size = (workspace / ".tierline" / "history.jsonl").stat().st_size
        pid, what = pipe.process.pid, resource.RLIMIT_FSIZE
        before = resource.prlimit(pid, what)
        resource.prlimit(pid, what, (size + 40, before[1]))
        assert f"{FULL} {FREE}" in turn(pipe, "Second")
        assert [f["cost"] > 0 for f in figures(pipe)] == [True, True], "from memory"
        resource.prlimit(pid, what, before)
        assert turn(pipe, "Third") == []
        assert prompts(pipe) == ["First", "Second", "Third"]
        told = [end["usage"] for end in pipe.events("turnFinished")]
        assert figures(pipe) == told and told[1]["cost"] > 0
        leave(pipe)
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        assert prompts(pipe) == ["First", "Second", "Third"], "a torn line costs nothing"
        assert figures(pipe) == told, "nor do the figures that could not be written at first"


def test_a_read_only_folder(workspace: Path, model: WireServer, small_disk: Path) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        turn(pipe, "First")
        leave(pipe)
    remount(small_disk, "ro")
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        assert prompts(pipe) == ["First"], (pipe.events("notice"), pipe.stderr)
        assert f"{READ_ONLY} {WRITABLE}" in turn(pipe, "Again")
        for method in ("plan/list", "stats/get", "history/listSessions", "memo/list"):
            pipe.request(f"tierline/{method}")
        remount(small_disk, "rw")
        assert turn(pipe, "Third") == []
        assert prompts(pipe) == ["First", "Again", "Third"]
        leave(pipe)


def remount(home: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(home)], check=True)


def delete(folder: Path) -> None:
    """As often as it takes: the server may be writing there."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def test_the_folder_is_deleted_while_the_server_runs(workspace: Path, model: WireServer) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        turn(pipe, "First")
        delete(workspace / ".tierline")
        told = turn(pipe, "Second")
        assert [t for t in told if "history" in t] == [
            "The history file was deleted while Tierline was running. A new one was started; it "
            "holds the current conversation."
        ]
        assert prompts(pipe) == ["First", "Second"]
        delete(workspace / ".tierline")
        for method in ("plan/list", "stats/get", "history/listSessions", "memo/list", "state/get"):
            pipe.request(f"tierline/{method}")
        turn(pipe, "Third")
        turn(pipe, "Fourth")
        plans = pipe.request("tierline/plan/list")["plans"]
        assert plans, "what is not derived begins anew"
        assert pipe.request("tierline/stats/get")["total"]["requests"] >= 1
        leave(pipe)
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        assert prompts(pipe) == ["First", "Second", "Third", "Fourth"]


GONE = (
    "The folder work is gone: the message was not written. It is not made again. Put it back, then "
    "send again: the chat lives in memory only until then."
)


@pytest.mark.parametrize("how", ["deleted", "moved away"])
def test_the_workspace_is_deleted_while_the_server_runs(
    workspace: Path, model: WireServer, how: str
) -> None:
    """It does not come back, the chat goes on, and all of it is written once there is a folder."""
    make_project(workspace)
    env = {**environment(model), "TIERLINE_SYMBOLS_ENABLED": "true"}
    elsewhere = workspace.with_name("elsewhere")
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        name = "src/a.py"
        pipe.request("tierline/files/add", {"path": name})
        turn(pipe, "First")
        if how == "deleted":
            delete(workspace)
        else:
            workspace.rename(elsewhere)
        told = turn(pipe, "Second")
        assert [t for t in told if "written" in t] == [GONE] * len(told) and told
        image = {"data": PICTURE, "mediaType": "image/png"}
        pipe.request("tierline/chat/send", {"text": "Third", "images": [image]})
        pipe.until(lambda: len(pipe.events("turnFinished")) == 3)
        for method in (
            *("plan/list", "stats/get", "history/listSessions", "memo/list", "budget/get"),
            *("symbols/reindex", "files/list"),
        ):
            with contextlib.suppress(AssertionError):  # each may say that it cannot
                pipe.request(f"tierline/{method}")
        pipe.post("tierline/memo/save", {"content": "Remember this.", "scope": "project"})
        pipe.post("tierline/files/remove", {"path": name})
        assert prompts(pipe) == ["First", "Second", "Third"]
        assert not workspace.exists(), "nothing has made it again"
        if how == "deleted":
            workspace.mkdir()
        else:
            elsewhere.rename(workspace)
        turn(pipe, "Fourth")
        leave(pipe)
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        assert prompts(pipe) == ["First", "Second", "Third", "Fourth"]


def test_a_workspace_that_is_deleted_stays_away_at_the_end(
    workspace: Path, model: WireServer
) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        turn(pipe, "First")
        delete(workspace)
        leave(pipe)
        assert not workspace.exists()


NAMES = ("index", "plans", "usage", "symbols", "retrieval")


@pytest.mark.parametrize("when", ["start", "running"])
@pytest.mark.parametrize("damage", ["noise", "empty", "cut", "page"])
def test_damaged_databases(workspace: Path, model: WireServer, when: str, damage: str) -> None:
    """All of them at once: the chat goes on, derived ones are built anew, others set aside."""
    make_project(workspace)
    env = {**environment(model), "TIERLINE_SYMBOLS_ENABLED": "true"}
    home = workspace / ".tierline"
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        turn(pipe, "How does parse_query work?")
        turn(pipe, "And evict_oldest?")
        pipe.request("tierline/history/search", {"query": "parse_query"})
        pipe.request("tierline/symbols/reindex")
        if when == "running":
            spoil(home, damage)
            check_after_damage(pipe, home, noticed=False)
        leave(pipe)
    if when == "start":
        assert spoil(home, damage) >= {"index", "plans", "usage"}
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        assert prompts(pipe)[:2] == ["How does parse_query work?", "And evict_oldest?"]
        if when == "start":
            check_after_damage(pipe, home, noticed=damage in ("noise", "page"))
        leave(pipe)


def spoil(home: Path, damage: str) -> set[str]:
    dice = random.Random(1)
    spoilt = set()
    for path in sorted(home.glob("*.sqlite3")):
        whole = path.read_bytes()
        if damage == "noise":
            data = dice.randbytes(max(4096, len(whole)))
        elif damage == "empty":
            data = b""
        elif damage == "cut":
            data = whole[: len(whole) // 2 + 100]
        else:
            data = whole[:100] + dice.randbytes(len(whole) - 100)
        with path.open("r+b") as stream:  # the same file, as a failing disk does it
            stream.truncate(0)
            stream.write(data)
        spoilt.add(path.stem)
    return spoilt


def check_after_damage(pipe: Pipe, home: Path, noticed: bool) -> None:
    told = turn(pipe, "Is search_view damaged?")
    assert not [t for t in told if "inside Tierline" in t], told
    found = pipe.request("tierline/history/search", {"query": "parse_query"})
    assert found["hits"], "the index of the history is derived and built anew"
    pipe.request("tierline/plan/list")
    pipe.request("tierline/stats/get")
    pipe.request("tierline/symbols/reindex")
    turn(pipe, "And then?")
    assert pipe.request("tierline/plan/list")["plans"], "plans are kept again"
    assert pipe.request("tierline/stats/get")["total"]["requests"] >= 1
    if noticed:  # while it is open, SQLite may still know what it needs
        said = " ".join(n["text"] for n in pipe.events("notice"))
        for name in ("plans", "usage"):
            assert (home / f"{name}.sqlite3.damaged-1").exists(), "set aside, not thrown away"
            assert f"{name}.sqlite3 was damaged" in said


def test_two_servers_append_and_read_one_conversation(workspace: Path, model: WireServer) -> None:
    """Both hold the same session; each sees what the other wrote, in one order, once."""
    env = environment(model)
    with Pipe(workspace, env=env) as one:
        one.initialize()
        turn(one, "Zero")
        with Pipe(workspace, env=env) as two:
            two.initialize()
            assert prompts(two) == ["Zero"]
            for number in range(3):
                turn(one, f"one-{number}")
                turn(two, f"two-{number}")
            expected = ["Zero", *(f"{who}-{n}" for n in range(3) for who in ("one", "two"))]
            assert prompts(one) == prompts(two) == expected
            counts = len(one.events("turnFinished")), len(two.events("turnFinished"))
            for number in range(4):  # at the same time
                one.post("tierline/chat/send", {"text": f"both-one-{number}"})
                two.post("tierline/chat/send", {"text": f"both-two-{number}"})
            one.until(lambda: len(one.events("turnFinished")) == counts[0] + 4)
            two.until(lambda: len(two.events("turnFinished")) == counts[1] + 4)
            assert sorted(prompts(one)[7:]) == sorted(
                f"both-{who}-{n}" for n in range(4) for who in ("one", "two")
            )
            assert prompts(one) == prompts(two)
            for body in model.bodies:
                assert violations(body, "openai") == []
            leave(two)
        leave(one)
    records = [r for r in history(workspace) if r.get("type") == "message"]
    assert len({r["id"] for r in records}) == len(records) == 30


BACKWARDS = """
    import time
    if "serve" in open("/proc/self/cmdline").read():
        real, began, falls = time.time, time.time(), []
        def backwards():
            falls.append(None)
            return began - 60.0 * len(falls)
        time.time = backwards
"""


def test_a_clock_that_goes_backwards(workspace: Path, tmp_path: Path, model: WireServer) -> None:
    """Every look shows a minute earlier than the last. The order is the log's, not the clock's."""
    env = environment(model) | hook(tmp_path / "hook", BACKWARDS)
    env["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    texts = [f"Prompt {n}" for n in range(4)]
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        for text in texts:
            assert turn(pipe, text) == []
        assert prompts(pipe) == texts
        leave(pipe)
    stamps = [r["timestamp"] for r in history(workspace) if r.get("role") == "user"]
    assert stamps == sorted(stamps, reverse=True) and len(set(stamps)) == 4, "it did go backwards"
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        assert prompts(pipe) == texts
        turn(pipe, "Last")
        last: Any = model.bodies[-1]
        users = [m["content"] for m in last["messages"] if m["role"] == "user"]
        assert [t for t in (*texts, "Last") if not any(t in u for u in users)] == []
        assert violations(last, "openai") == []
        leave(pipe)
