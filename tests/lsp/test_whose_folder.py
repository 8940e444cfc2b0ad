"""A ``.tierline`` that came with a repository, or is a link: nothing of it is used or written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lsp.conftest import environment
from lsp.pipe import ForkedPipe as Pipe
from support import oddfiles
from support.owning import own
from wire.servers import WireServer

RECORD = {
    "v": 1, "type": "message", "id": "1700000000000-aaaaaaaa", "session_id": "sess_1700000000000_x",
    "group_id": "g", "timestamp": "2024-01-01T00:00:00Z", "role": "user", "status": "completed",
    "content": "Planted by the repository.",
}  # fmt: skip
PINNED = {
    "v": 1, "type": "event", "kind": "files", "id": "1700000000001-aaaaaaaa",
    "session_id": "sess_1700000000000_x", "timestamp": "2024-01-01T00:00:01Z",
    "data": {"files": [{"path": "src/b.py", "pin": "sticky"}]},
}  # fmt: skip


def plant(workspace: Path) -> Path:
    """A folder with a conversation and settings."""
    home = workspace / ".tierline"
    home.mkdir()
    (home / "history.jsonl").write_text(f"{json.dumps(RECORD)}\n{json.dumps(PINNED)}\n")
    (home / "config.toml").write_text('[context]\nmode = "off"\n')
    return home


def say(pipe: Pipe, text: str) -> list[str]:
    """One turn; returns the notices so far."""
    before = len(pipe.events("turnFinished"))
    pipe.request("tierline/chat/send", {"text": text})
    pipe.until(lambda: len(pipe.events("turnFinished")) > before)
    assert pipe.events("turnFinished")[-1]["outcome"] == "ok"
    return [event["text"] for event in pipe.events("notice")]


def listing(folder: Path) -> dict[str, object]:
    """Everything below a folder, with its content."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        found[str(path.relative_to(folder))] = (
            path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        )
    return found


@pytest.fixture
def env(model: WireServer, tmp_path: Path) -> dict[str, str]:
    return environment(model) | {"TIERLINE_STATE_DIR": str(tmp_path / "state")}


def test_a_planted_folder_is_left_unread_and_its_sessions_can_be_imported(
    workspace: Path, model: WireServer, env: dict[str, str]
) -> None:
    home = plant(workspace)
    before = listing(workspace)
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        told = say(pipe, "Hello?")
        assert len([t for t in told if "not made by your Tierline" in t]) == 1
        state = pipe.request("tierline/state/get")
        assert [m["text"] for m in state["messages"]] == ["Hello?", "One two three."]
        assert state["mode"] != "off" and state["root"] == str(workspace)
        done = pipe.request("tierline/chat/command", {"text": "/import"})
        assert "1 records were taken over" in done["text"]
        sessions = pipe.request("tierline/history/listSessions")["sessions"]
        assert {"Planted by the repository.", "Hello?"} == {s["preview"] for s in sessions}
        again = pipe.request("tierline/chat/command", {"text": "/import"})
        assert "0 records" in again["text"]
    assert listing(workspace) == before
    assert "Planted" not in json.dumps(model.bodies[0])
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        told = say(pipe, "Again?")
        assert not [t for t in told if "not made by your Tierline" in t], "said once"
        assert listing(home)


def test_a_folder_of_ours_is_used_again(workspace: Path, env: dict[str, str]) -> None:
    for prompt in ("First", "Second"):
        with Pipe(workspace, env=env) as pipe:
            pipe.initialize()
            assert not [t for t in say(pipe, prompt) if ".tierline" in t]
            texts = [m["text"] for m in pipe.request("tierline/state/get")["messages"]]
    assert texts[::2] == ["First", "Second"]


def test_in_restricted_mode_nothing_is_written_into_the_workspace(
    workspace: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERLINE_STATE_DIR", env["TIERLINE_STATE_DIR"])
    (own(workspace) / "history.jsonl").write_text(json.dumps(RECORD) + "\n")
    before = listing(workspace)
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize(tools={"workspaceTrusted": False})
        told = say(pipe, "Hello?")
        assert len([t for t in told if t.startswith("Restricted Mode")]) == 1
    assert listing(workspace) == before
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        (first,) = pipe.request("tierline/state/get")["messages"][:1]
        assert first["text"] == RECORD["content"], "once it is trusted, all is as it was"


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize("target", [".", "..", "../outside", "/dev/zero", "nowhere"])
def test_a_link_in_its_place_leads_nowhere(
    workspace: Path, tmp_path: Path, env: dict[str, str], target: str
) -> None:
    outside = oddfiles.outside_of(tmp_path)
    (workspace / ".tierline").symlink_to(target)
    before = {path.name for path in tmp_path.iterdir()}
    inside = {path.name for path in workspace.iterdir()}
    with Pipe(workspace, env=env) as pipe:
        pipe.initialize()
        told = say(pipe, "Hello?")
        assert len([t for t in told if t.startswith(".tierline is a link")]) == 1
    assert oddfiles.untouched(outside)
    new = {p.name for p in tmp_path.iterdir()} - before
    assert all(name == "state" or name.startswith("stderr-") for name in new), new
    assert {path.name for path in workspace.iterdir()} == inside
