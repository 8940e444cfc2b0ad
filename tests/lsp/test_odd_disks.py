"""Slow and odd file systems: each call waits 20 ms, locks do not work, nobody watches.

The calls of one server and its children are changed by a library that is compiled here and
preloaded, so that SQLite meets it, too. Needs Linux and a C compiler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lsp.conftest import environment
from lsp.pipe import Pipe
from lsp.project import make_project
from tierline.store.log import HistoryLog
from wire.servers import WireServer

SOURCE = Path(__file__).parents[1] / "support" / "slowdisk.c"
COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or COMPILER is None, reason="needs Linux and a C compiler"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("slow") / "slowdisk.so"
    command = [str(COMPILER), "-shared", "-fPIC", "-O1", "-w", "-o", str(made), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return str(made)


def odd(root: Path, library: str, model: WireServer, **how: str) -> dict[str, str]:
    more = {f"SLOWDISK_{name}": value for name, value in how.items()}
    return environment(model) | more | {"LD_PRELOAD": library, "SLOWDISK_ROOT": str(root)}


def said(pipe: Pipe) -> list[str]:
    return [n["text"] for n in pipe.events("notice")]


def turn(pipe: Pipe, text: str) -> str:
    before = len(pipe.events("turnFinished"))
    pipe.request("tierline/chat/send", {"text": text})
    pipe.until(lambda: len(pipe.events("turnFinished")) > before)
    return str(pipe.events("turnFinished")[-1]["outcome"])


def test_on_a_disk_of_20_ms_a_call_everything_works_and_requests_are_answered_meanwhile(
    tmp_path: Path, library: str, model: WireServer
) -> None:
    workspace = make_project(tmp_path / "work")
    env = odd(workspace, library, model, MS="20")
    with Pipe(workspace, env=env) as pipe:
        began = time.monotonic()
        pipe.initialize()
        started = time.monotonic() - began
        pipe.request("tierline/files/add", {"path": "src/search.py"})
        outcomes, waits = [], []
        for number in range(2):
            before = len(pipe.events("turnFinished"))
            began = time.monotonic()
            pipe.post("tierline/chat/send", {"text": f"Question {number}"})
            asked = time.monotonic()
            pipe.request("tierline/provider/list")  # needs no disk
            waits.append(time.monotonic() - asked)
            pipe.until(lambda before=before: len(pipe.events("turnFinished")) > before)
            outcomes.append(pipe.events("turnFinished")[-1]["outcome"])
        took = time.monotonic() - began
        hits = pipe.request("tierline/history/search", {"query": "Question"})["hits"]
    assert started < 20 and took < 40 and max(waits) < 10, (started, took, waits)
    assert outcomes == ["ok"] * 2 and len(hits) >= 2
    assert "inside Tierline" not in " ".join(said(pipe))


def test_without_working_locks_everything_is_kept_and_found(
    tmp_path: Path, library: str, model: WireServer
) -> None:
    workspace = make_project(tmp_path / "work")
    env = odd(workspace, library, model, LOCKS="none")
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        assert [turn(pipe, f"Question {n}") for n in range(2)] == ["ok", "ok"]
        found = pipe.request("tierline/history/search", {"query": "Question"})
        told = said(pipe)
    assert told == [] and len(found["hits"]) == 2
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        texts = [m["text"] for m in pipe.request("tierline/state/get")["messages"]]
        assert texts[0] == "Question 0" and "Question 1" in texts


def test_without_a_watcher_the_next_prompt_has_the_file_as_it_is(
    workspace: Path, model: WireServer
) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        pipe.request("tierline/files/add", {"path": "src/a.py"})
        assert turn(pipe, "First") == "ok"
        (workspace / "src" / "a.py").write_text("def alpha() -> int:\n    return 4711\n")
        assert turn(pipe, "Second") == "ok"
    assert "4711" in str(model.bodies[-1]) and "4711" not in str(model.bodies[0])
    assert HistoryLog(workspace / ".tierline" / "history.jsonl").scan().skipped == 0
