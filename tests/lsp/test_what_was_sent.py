"""What went along with a prompt is listed, and each entry's very text comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from wire.servers import WireServer


@pytest.fixture
def workspace(workspace: Path) -> Path:
    (workspace / "AGENTS.md").write_text("Answer in rhyme.\n", encoding="utf-8")
    return workspace


async def test_what_went_along_is_listed_and_read_again_after_changes_forks_and_restarts(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    await editor.ask("memo/save", p.MemoSaveParams("The port of the database is 5544."))
    await editor.ask("files/add", p.FileParams(path="src/a.py"))
    turn = (await editor.chat("which port has the database?")).turn_id
    (started,) = editor.bodies(p.TurnStarted)
    groups = {one.kind: (one.count, one.label) for one in started.message.sent}
    assert groups["instructions"] == (1, "AGENTS.md")
    assert groups["memo"] == (1, ""), "its id says nothing"
    assert groups["file"] == (1, "src/a.py")
    before = (workspace / "src/a.py").read_text(encoding="utf-8")
    (workspace / "src/a.py").write_text("changed = True\n", encoding="utf-8")
    (workspace / "AGENTS.md").write_text("Answer in prose.\n", encoding="utf-8")
    await editor.ask("branch/fork", p.ForkParams())
    await editor.chat("And now?")
    await editor.stop()
    editor = await start(model)
    sessions = (await editor.ask("history/listSessions", p.SessionListParams())).sessions
    await editor.ask("history/loadSession", p.SessionParams(sessions[0].session_id))
    state = await editor.ask("state/get", p.NoParams())
    asked = next(m for m in state.messages if m.group_id == turn and m.role == "user")
    assert asked.sent == started.message.sent, "on the branch, after a restart"
    assert asked.context_line == started.context_line
    found: p.PlanSentResult = await editor.ask("plan/sent", p.PlanSentParams(turn))
    kinds: dict[str, p.SentEntry] = {one.kind: one for one in found.entries}
    assert set(kinds) >= {"instructions", "memo", "file"}
    assert kinds["file"].label == "src/a.py"
    assert kinds["memo"].label == "The port of the database is 5544."
    assert all(one.tokens > 0 and one.label for one in found.entries)
    expected = {"instructions": "Answer in rhyme.", "memo": "5544", "file": before}
    first = model.bodies[0]
    texts = [
        part if isinstance(part, str) else part.get("text", "")
        for message in first["messages"]
        for part in (
            [message["content"]] if isinstance(message["content"], str) else message["content"]
        )
    ]
    for kind, words in expected.items():
        text = (await editor.ask("plan/sent", p.PlanSentParams(turn, kinds[kind].key))).text
        assert words in text
        assert any(text in one for one in texts), (kind, json.dumps(first))
    with pytest.raises(JsonRpcException, match="was not sent with it"):
        await editor.ask("plan/sent", p.PlanSentParams(turn, "file:src/none.py"))
    with pytest.raises(JsonRpcException, match="is not kept"):
        await editor.ask("plan/sent", p.PlanSentParams("no-such-turn"))
    exported = (await editor.ask("history/export", p.ExportParams("markdown"))).text
    assert "AGENTS.md" in exported and "memo" in exported
