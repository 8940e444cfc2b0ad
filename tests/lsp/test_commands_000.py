"""Every command of seed 000's "Commands Reference" (000:193 to 000:200), typed into the chat and as
the request that an editor's own command sends.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

STATE = "### STATE\nGoal: the goal\nContext: a.py\nResolved: -\nTechnical Anchors: port 4711"


async def say(editor: Editor, line: str) -> p.CommandResult:
    result: p.CommandResult = await editor.ask("chat/command", p.CommandParams(line))
    return result


async def turn_ids(editor: Editor) -> list[str]:
    return [g.group_id for g in (await editor.ask("history/list")).groups]


async def prompts(editor: Editor) -> list[str]:
    return [m.text for m in (await editor.ask("state/get")).messages if m.role == "user"]


async def test_context_window_n(start: Start, model: WireServer) -> None:
    """Seed 000:193: the number of interaction groups; 0 for full history."""
    editor = await start(model)
    for word in ("ONE-1", "TWO-2", "THREE-3"):
        await editor.chat(word)
    assert "1 turn" in (await say(editor, "/context window 1")).text
    assert (await editor.ask("history/status")).window == 1
    await editor.chat("FOUR-4")
    assert "THREE-3" not in json.dumps(model.bodies[-1])
    assert "full" in (await say(editor, "/context window 0")).text.lower()
    await editor.chat("FIVE-5")
    assert "ONE-1" in json.dumps(model.bodies[-1])
    for wrong in ("/context window", "/context window many", "/context window -1"):
        with pytest.raises(JsonRpcException):
            await say(editor, wrong)
    assert (await editor.ask("history/status")).window == 0


async def test_context_window_n_holds_whatever_was_selected_before(
    start: Start, model: WireServer
) -> None:
    editor = await start(model, history={"strategy": "levels"})
    for word in ("ONE-1", "TWO-2"):
        await editor.chat(word)
    assert "1 turn" in (await say(editor, "/context window 1")).text
    await editor.chat("THREE-3")
    sent = json.dumps(model.bodies[-1])
    assert "TWO-2" not in sent and "THREE-3" in sent
    assert "leave 2 at a time" in (await say(editor, "/context window 8")).text
    await say(editor, "/context window 0")
    await editor.chat("FOUR-4")
    assert "ONE-1" in json.dumps(model.bodies[-1])


async def test_context_show(start: Start, model: WireServer) -> None:
    """Seed 000:194: the exact assembled context, human-readable."""
    editor = await start(model)
    await editor.ask("files/pin", p.FileParams(path="src/a.py"))
    await editor.chat("Look at this")
    shown = await say(editor, "/context show")
    assert shown.document
    for part in ("## system", "def alpha()", "Look at this", "One two three."):
        assert part in shown.text
    assert shown.text == (await editor.ask("plan/show")).text


async def test_context_rebuild(start: Start) -> None:
    """Seed 000:195: STATE from the current context window history."""
    with wire_server("openai", [o_reply("Yes."), o_reply(STATE), o_reply("ok")]) as model:
        editor = await start(model)
        await editor.chat("Use port 4711")
        assert (await say(editor, "/context rebuild")).text == STATE
        assert "Use port 4711" in json.dumps(model.bodies[1])
        assert (await say(editor, "/context state")).text == STATE
        await editor.chat("Next")
        assert "the goal" in json.dumps(model.bodies[2])


async def test_undo(start: Start) -> None:
    """Seed 000:196: remove the last interaction and rebuild state."""
    with wire_server("openai", [o_reply(f"A\n\n{STATE}"), o_reply("B\n\n### STATE\nGoal: b")]) as m:
        editor = await start(m)
        await editor.chat("first")
        await editor.chat("second")
        assert "Goal: b" in (await say(editor, "/context state")).text
        answer = await say(editor, "/undo")
        assert "taken back" in answer.text and "STATE" in answer.text
        assert await prompts(editor) == ["first"]
        assert (await say(editor, "/context state")).text == STATE
        await say(editor, "/context restore")
        assert await prompts(editor) == ["first", "second"]
        await say(editor, "/undo")
        await say(editor, "/undo")
        assert await prompts(editor) == []
        with pytest.raises(JsonRpcException, match="nothing to undo"):
            await say(editor, "/undo")


async def test_message_list_n(start: Start, model: WireServer) -> None:
    """Seed 000:197: the last N interaction groups with token usage information."""
    editor = await start(model)
    for word in ("alpha", "bravo", "charlie"):
        await editor.chat(word)
    ids = await turn_ids(editor)
    every = await say(editor, "/message list")
    assert [i in every.text for i in ids] == [True, True, True]
    two = await say(editor, "/message list 2")
    assert "alpha" not in two.text and "bravo" in two.text and "charlie" in two.text
    weight = (await editor.ask("history/list")).groups[-1].tokens
    assert weight > 0 and f"{weight:,}" in two.text


@pytest.mark.parametrize("word", ["/message", "/messages"])
async def test_message_show_and_its_alias(start: Start, model: WireServer, word: str) -> None:
    """Seed 000:198 and 000:200: the full content of a group."""
    editor = await start(model)
    long = "word " * 3000 + "THE-END"
    await editor.chat(long)
    await editor.chat("other")
    first = (await turn_ids(editor))[0]
    shown = await say(editor, f"{word} show {first}")
    assert shown.document and "THE-END" in shown.text and "One two three." in shown.text
    assert "other" not in shown.text
    details = await editor.ask("history/show", p.GroupParams(first))
    assert details.text == shown.text and len(details.messages) == 2 and details.plan_ids
    with pytest.raises(JsonRpcException, match="no turn 999"):
        await say(editor, f"{word} show 999-none")


@pytest.mark.parametrize("word", ["/message", "/messages"])
async def test_message_remove_and_its_alias(
    start: Start, model: WireServer, workspace: Path, word: str
) -> None:
    """Seed 000:199 and 000:200. "Permanently": no command, request or query brings it back; the log
    keeps its bytes, as it keeps all.
    """
    editor = await start(model)
    await editor.chat("SECRET-1")
    await editor.chat("kept")
    gid = (await turn_ids(editor))[0]
    await say(editor, f"{word} remove {gid}")
    assert await prompts(editor) == ["kept"]
    with pytest.raises(JsonRpcException):
        await say(editor, f"/context restore {gid}")
    await editor.chat("next")
    assert "SECRET-1" not in json.dumps(model.bodies[-1])
    rows = await editor.ask("history/query", p.QueryParams("SELECT content FROM messages"))
    assert "SECRET-1" not in json.dumps(rows.rows)
    assert "SECRET-1" in (workspace / ".tierline" / "history.jsonl").read_text(encoding="utf-8")


async def test_messages_alone_lists(start: Start, model: WireServer) -> None:
    """Seed 000:200."""
    editor = await start(model)
    await editor.chat("alpha")
    listed = await say(editor, "/message list")
    assert (await say(editor, "/messages")).text == listed.text
    assert "alpha" in (await say(editor, "/messages list 1")).text


async def test_context_drop(start: Start, model: WireServer) -> None:
    """Seed 000:161: drop a group without deleting it; a part of the id is enough."""
    editor = await start(model)
    await editor.chat("noise")
    await editor.chat("signal")
    gid = (await turn_ids(editor))[0]
    await say(editor, f"/context drop {gid[-8:]}")
    assert await prompts(editor) == ["signal"]
    listed = await say(editor, "/message list")
    assert "drop" in listed.text
    await say(editor, f"/context restore {gid}")
    assert await prompts(editor) == ["noise", "signal"]
    with pytest.raises(JsonRpcException):
        await say(editor, "/context drop")


async def test_session_scratchpad(start: Start, model: WireServer) -> None:
    """Seed 000:102: "interact with it via ``/session scratchpad``"."""
    editor = await start(model)
    assert "empty" in (await say(editor, "/session scratchpad")).text
    await say(editor, "/session scratchpad set - [ ] one\n  - [ ] deeper")
    text = (await say(editor, "/session scratchpad append - [ ] two")).text
    assert text == "- [ ] one\n  - [ ] deeper\n- [ ] two"
    await editor.chat("Go")
    assert "deeper" in json.dumps(model.bodies[-1])
    with pytest.raises(JsonRpcException, match="not complete"):
        await say(editor, "/session scratchpad remove")


async def test_query_db_for_a_person(start: Start, model: WireServer) -> None:
    """Seed 000:137, the example query of "Guidelines for the Agent", as it stands there."""
    editor = await start(model)
    await editor.chat("Make the refactor plan")
    await editor.chat("Something else")
    sql = (
        "SELECT role, content FROM messages\nWHERE status != 'dropped' AND content LIKE "
        "'%refactor plan%'\nORDER BY id DESC LIMIT 5;"
    )
    rows = await editor.ask("history/query", p.QueryParams(sql))
    assert rows.columns == ["role", "content"]
    assert rows.rows == [["user", "Make the refactor plan"]]
    assert "Make the refactor plan" in (await say(editor, f"/query {sql}")).text
    for wrong in ("DELETE FROM messages", "SELECT * FROM secret", ""):
        with pytest.raises(JsonRpcException):
            await editor.ask("history/query", p.QueryParams(wrong))


async def test_branches_are_forked_switched_and_compared(start: Start) -> None:
    """Seed 003, "Branch": "can be reproduced and compared"."""
    replies = [o_reply(f"Reply {n}.") for n in range(5)]
    with wire_server("openai", replies) as model:
        editor = await start(model)
        await editor.chat("Root")
        await say(editor, "/branch fork try it")
        await editor.chat("Only here")
        await say(editor, "/branch switch main")
        await editor.chat("Only main")
        compared = await editor.ask("branch/compare", p.BranchCompareParams("main", "try it"))
        assert [m.text for m in compared.only_a] == ["Only main", "Reply 2."]
        assert [m.text for m in compared.only_b] == ["Only here", "Reply 1."]
        assert compared.plan_a and compared.plan_b and compared.plan_lines
        diff = await editor.ask("plan/diff", p.PlanDiffParams(compared.plan_a, compared.plan_b))
        assert diff.lines == compared.plan_lines
        shown = await say(editor, "/branch compare 'try it'")
        assert "Only on main" in shown.text and "Only here" in shown.text
        assert "try it" in (await say(editor, "/branch list")).text
        with pytest.raises(JsonRpcException, match="no branch"):
            await say(editor, "/branch compare nowhere")


async def test_unknown_commands_say_what_there_is(start: Start, model: WireServer) -> None:
    editor = await start(model)
    listed = (await editor.ask("chat/commands")).commands
    text = (await say(editor, "/help")).text
    assert all(c.usage in text for c in listed)
    for line, advice in (("/contxt show", "/help"), ("/context shw", "/context show"), ("/", "")):
        with pytest.raises(JsonRpcException) as caught:
            await say(editor, line)
        data: Any = caught.value.data
        assert data["code"] == "invalid_params" and advice in data["advice"]
    assert not model.requests, "no command is sent to the model"


async def test_all_parts_of_a_turn_show_one_weight(start: Start, model: WireServer) -> None:
    """Seed 000:180 to 000:189: prompt plus completion of the request; it grows turn by turn."""
    editor = await start(model)
    for word in ("one", "two", "three"):
        await editor.chat(word)
    shown = [m for m in (await editor.ask("state/get")).messages if m.role == "assistant"]
    usage = [b.usage for b in editor.bodies(p.TurnFinished)]
    assert [m.tokens for m in shown] == [u.input_tokens + u.output_tokens for u in usage if u]
