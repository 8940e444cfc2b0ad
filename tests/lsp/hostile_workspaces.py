"""A generator of hostile workspaces: each file that Tierline reads or writes, as something else.

A workspace is a mapping of file names to what lies there (``oddfiles``), and how it comes about:
``planted``, as a repository brings it; ``ours``, in a folder that Tierline made, as a later commit
or a careless tool could do it; ``restricted``, with an editor that does not trust the folder.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from lsp.conftest import environment
from lsp.pipe import ForkedPipe, Pipe
from support import oddfiles
from support.owning import own
from wire.servers import WireServer

HOW = ("planted", "ours", "restricted")
_DATABASES = ("index", "plans", "usage", "symbols", "retrieval", "vectors")
IN_FOLDER = (
    "history.jsonl", "history.jsonl.lock", "memos.jsonl", "memos.jsonl.lock", "capsules.jsonl",
    "capsules.jsonl.lock", "calibration.json", "sent", "config.toml", ".gitignore",
    "said", "images", "drafts", "urls",
    *(f"{name}.sqlite3" for name in _DATABASES),
    *(f"{name}.sqlite3{end}" for name in _DATABASES for end in ("-wal", "-shm", "-journal")),
)  # fmt: skip
IN_WORKSPACE = (
    ".gitignore", ".tierlineignore", "src/.gitignore", "src/.tierlineignore", "src/odd.py",
    "src/odd.png", "src/odd/deeper.py", ".git/HEAD", ".git/index", ".git/info/exclude",
    ".git/config", ".gitattributes", ".mailmap", "AGENTS.md", ".mcp.json", ".github/prompts",
    ".github/copilot-instructions.md", ".cursor/rules", ".claude/commands/odd.md",
)  # fmt: skip
TARGETS = (*(f".tierline/{name}" for name in IN_FOLDER), *IN_WORKSPACE)
TURNS = 2
SECONDS = 60.0
"""For a turn, on a machine that is busy."""
MEMORY_KB = 700_000


def make(workspace: Path, outside: Path, what: Mapping[str, oddfiles.Make], how: str) -> None:
    """Put odd files into a workspace."""
    if how == "ours":
        own(workspace)
    for name, put in what.items():
        path = workspace / name
        if not os.path.lexists(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            put(path, outside)


def listing(folder: Path) -> dict[str, tuple[int, ...]]:
    """What lies below a folder, and when each was written; nothing is followed or opened."""
    found: dict[str, tuple[int, ...]] = {}
    for above, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(above) / name
            status = path.lstat()
            figures = (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)
            folder_like = stat.S_ISDIR(status.st_mode)
            found[str(path.relative_to(folder))] = figures[:2] if folder_like else figures
    return found


def peak_kb(pid: int) -> int:
    """The most memory that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def attack(
    workspace: Path, model: WireServer, what: Mapping[str, oddfiles.Make], how: str
) -> list[str]:
    """Open a hostile workspace, have a conversation, and check that it has cost nothing. Returns
    what the user was told.
    """
    outside = oddfiles.outside_of(workspace.parent)
    state = workspace.parent / "state"
    state.mkdir()
    os.environ["TIERLINE_STATE_DIR"] = str(state)  # restored by the caller's fixture
    make(workspace, outside, what, how)
    before, around = listing(workspace), listing(outside)
    env = environment(model) | {
        "TIERLINE_SYMBOLS_ENABLED": "true",
        "TIERLINE_STATE_DIR": str(state),
        "TIERLINE_DATA_DIR": str(workspace.parent / "data"),
        "XDG_CONFIG_HOME": str(workspace.parent / "config"),
    }
    asked = len(model.bodies)
    # One that is forked begins with a hundred megabytes more, and must keep to the same limit.
    kind = Pipe if oddfiles.huge in what.values() else ForkedPipe
    with kind(workspace, env=env) as pipe:
        pipe.initialize(tools={"workspaceTrusted": how != "restricted"})
        for prompt in ("What is in @src/odd.py and @src/odd.png?", "And @src/a.py, @src/odd/?"):
            ends = len(pipe.events("turnFinished"))
            pipe.request("tierline/chat/send", {"text": prompt, "mentions": "text"}, SECONDS)
            pipe.until(lambda ends=ends: len(pipe.events("turnFinished")) > ends, SECONDS)
            assert pipe.events("turnFinished")[-1]["outcome"] == "ok", pipe.stderr
        for method in ("history/listSessions", "memo/list", "urls/list", "state/get"):
            pipe.request(f"tierline/{method}", seconds=SECONDS)
        pipe.answer(pipe.post("tierline/memo/save", {"content": "The port is 5544."}), SECONDS)
        if Path("/proc").is_dir():
            assert peak_kb(pipe.process.pid) < MEMORY_KB
        assert "Traceback" not in pipe.stderr, pipe.stderr
        told = [event["text"] for event in pipe.events("notice")]
    assert oddfiles.untouched(outside)
    assert listing(outside) == around, "nothing outside was so much as touched"
    bodies = json.dumps(model.bodies[asked:])
    assert len(model.bodies) > asked
    # A second name of a file, which no clone can bring, is a file of the workspace like any other.
    named = any(put is oddfiles.hard_link for name, put in what.items() if name.startswith("src/"))
    assert named or oddfiles.CANARY.strip() not in bodies, "what lies outside is sent to nobody"
    if how != "ours":
        assert listing(workspace) == before, "nothing was written into the workspace"
    unwritten = [text for text in told if text.startswith("The message was not written")]
    assert len(unwritten) <= TURNS, "once for each prompt that is lost with the window"
    once = [text for text in told if text not in unwritten]
    assert len(once) == len(set(once)), told
    return told
