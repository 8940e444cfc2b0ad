"""Seed 004's session methods and seed 000's commands, through a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server


def texts(state: p.State) -> list[str]:
    return [message.text for message in state.messages]


async def test_sessions_are_listed_newest_first_and_loaded_again(
    start: Start, model: WireServer
) -> None:
    """Seed 004, Testing / History Store: "list_sessions returns all sessions"."""
    editor = await start(model)
    await editor.ask("files/pin", p.FileParams(path="src/a.py"))
    await editor.chat("About apples")
    first = (await editor.ask("state/get")).session_id
    fresh = await editor.ask("history/newSession")
    assert texts(fresh) == []
    await editor.ask("files/clear")
    await editor.chat("About pears")
    listed = (await editor.ask("history/listSessions")).sessions
    assert [s.preview for s in listed] == ["About pears", "About apples"]
    assert [s.current for s in listed] == [True, False]
    assert [s.message_count for s in listed] == [2, 2]
    limited = await editor.ask("history/listSessions", p.SessionListParams(limit=1))
    assert len(limited.sessions) == 1
    back = await editor.ask("history/loadSession", p.SessionParams(session_id=first))
    assert texts(back)[0] == "About apples"
    assert [(f.path, f.pin) for f in back.files] == [("src/a.py", "sticky")]
    await editor.chat("More")
    assert "About apples" in json.dumps(model.bodies[-1])
    assert "About pears" not in json.dumps(model.bodies[-1])
    with pytest.raises(JsonRpcException):
        await editor.ask("history/loadSession", p.SessionParams(session_id="sess_0_none"))


async def test_a_restart_restores_the_session_with_its_files_and_pins(
    start: Start, model: WireServer
) -> None:
    """Seed 004, "Auto-Restore on Startup"; beyond the seed, the selection comes back too."""
    editor = await start(model)
    await editor.ask("files/pin", p.FileParams(path="src/b.py"))
    await editor.chat("Remember me")
    again = await start(model)
    state = await again.ask("state/get")
    assert texts(state) == ["Remember me", "One two three."]
    assert [(f.path, f.pin, f.state) for f in state.files] == [("src/b.py", "sticky", "ok")]
    await again.chat("And now?")
    first, second = (json.dumps(b["messages"][:3]) for b in model.bodies[-2:])
    assert second.startswith(first[: len(first) // 2]), "the prefix survives the restart"


async def test_search_finds_words_in_all_sessions(start: Start, model: WireServer) -> None:
    """Seed 004, Testing / History Store: "case-insensitive substring, role filter"."""
    editor = await start(model)
    await editor.chat("The MARMALADE question")
    await editor.ask("history/newSession")
    hits = (await editor.ask("history/search", p.SearchParams(query="marmalade"))).hits
    assert [hit.role for hit in hits] == ["user"]
    none = await editor.ask("history/search", p.SearchParams(query="marmalade", role="assistant"))
    assert none.hits == []
    assert (await editor.ask("history/search", p.SearchParams(query=""))).hits == []


async def test_undo_drop_restore_and_remove(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """Seed 000, "Manual Context Intervention"; BR-167: what is hidden reaches no body."""
    editor = await start(model)
    for word in ("ALPHA", "BRAVO", "MAROON"):
        await editor.chat(word)
    log = workspace / ".tierline" / "history.jsonl"
    before = log.read_bytes()
    state = await editor.ask("history/undo")
    assert texts(state)[::2] == ["ALPHA", "BRAVO"]
    assert log.read_bytes().startswith(before), "the log only grows"
    turns = (await editor.ask("history/list")).groups
    assert [turn.prompt for turn in turns] == ["ALPHA", "BRAVO"]
    dropped = await editor.ask("history/drop", p.GroupParams(group_id=turns[0].group_id))
    assert texts(dropped)[::2] == ["BRAVO"]
    await editor.chat("Next")
    body = json.dumps(model.bodies[-1])
    assert "BRAVO" in body
    assert "ALPHA" not in body
    assert "MAROON" not in body
    assert (await editor.ask("history/search", p.SearchParams(query="MAROON"))).hits == []
    restored = await editor.ask("history/restore", p.GroupParams(group_id=turns[0].group_id))
    assert texts(restored)[::2] == ["ALPHA", "BRAVO", "Next"]
    removed = await editor.ask("history/remove", p.GroupParams(group_id=turns[1].group_id))
    assert texts(removed)[::2] == ["ALPHA", "Next"]
    again = await start(model)
    assert texts(await again.ask("state/get"))[::2] == ["ALPHA", "Next"]


async def test_the_window_limits_what_is_sent(start: Start, model: WireServer) -> None:
    """Seed 000, "Sequential Rolling Window": the last N groups; 0 is the full history."""
    editor = await start(model)
    for word in ("ONE-1", "TWO-2", "THREE-3"):
        await editor.chat(word)
    status = await editor.ask("history/window", p.WindowParams(size=2))
    assert (status.window, status.groups) == (2, 3)
    await editor.chat("FOUR-4")
    body = json.dumps(model.bodies[-1])
    assert "THREE-3" in body
    assert "FOUR-4" in body
    assert "TWO-2" not in body
    await editor.ask("history/window", p.WindowParams(size=0))
    await editor.chat("FIVE-5")
    assert "ONE-1" in json.dumps(model.bodies[-1])


async def test_branches_share_what_was_before_the_fork(start: Start) -> None:
    """Seed 003, "Branch": a named timeline with a parent and a fork point."""
    replies = [o_reply(f"Reply {n}.") for n in range(5)]
    with wire_server("openai", replies) as model:
        editor = await start(model)
        await editor.chat("Root")
        root = (await editor.ask("state/get")).messages[-1].id
        await editor.chat("Main only")
        forked = await editor.ask("branch/fork", p.ForkParams(message_id=root, name="try"))
        assert texts(forked) == ["Root", "Reply 0."]
        await editor.chat("Branch only")
        assert "Main only" not in json.dumps(model.bodies[-1])
        listed = await editor.ask("branch/list")
        assert len(listed.branches) == 2
        main = next(b.branch for b in listed.branches if not b.current)
        back = await editor.ask("branch/switch", p.BranchParams(branch=main))
        assert texts(back) == ["Root", "Reply 0.", "Main only", "Reply 1."]


async def test_titles_status_reading_and_deleting(start: Start, model: WireServer) -> None:
    editor = await start(model)
    await editor.chat("Something")
    current = (await editor.ask("state/get")).session_id
    await editor.ask("history/renameSession", p.RenameParams(title="  My   work "))
    status = await editor.ask("history/status")
    assert (status.session_title, status.needs_summary) == ("My work", False)
    assert 0 < status.history_tokens < status.compaction_trigger_tokens
    strategy = await editor.ask("history/strategy", p.StrategyParams(name="ranked"))
    assert strategy.strategy == "ranked"
    read = await editor.ask("history/getSession")
    assert [m.text for m in read.messages] == ["Something", "One two three."]
    left = await editor.ask("history/archiveSession", p.ArchiveParams())
    assert left.sessions == [] and (await editor.ask("state/get")).messages == []
    kept = await editor.ask("history/listSessions", p.SessionListParams(archived=True))
    assert [(s.session_id, s.archived) for s in kept.sessions] == [(current, True)]
    assert (await editor.ask("history/search", p.SearchParams("something"))).hits == []
    found = await editor.ask("history/search", p.SearchParams("something", archived=True))
    assert [hit.session_id for hit in found.hits] == [current]
    back = await editor.ask("history/archiveSession", p.ArchiveParams(current, away=False))
    assert [(s.session_id, s.archived) for s in back.sessions] == [(current, False)]
    await editor.ask("history/loadSession", p.SessionParams(session_id=current))
    left = await editor.ask("history/deleteSession", p.SessionParams(session_id=current))
    assert left.sessions == []
    assert (await editor.ask("state/get")).messages == []


async def test_a_damaged_log_is_listed_and_taken_over(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """BR-144: listed as damaged, with a way to recover what is good; nothing is changed."""
    editor = await start(model)
    await editor.chat("Present")
    folder = workspace / ".tierline"
    line = {"id": "m1", "session_id": "s-old", "role": "user", "content": "From the old log"}
    old = folder / "old.jsonl"
    old.write_text(json.dumps(line) + "\n{torn", encoding="utf-8")
    before = old.read_bytes()
    # Our own other files of records are no damaged histories.
    await editor.ask("memo/save", p.MemoSaveParams("The port is 5544."))
    assert (folder / "memos.jsonl").exists()
    assert (await editor.ask("history/listSessions")).damaged == ["old.jsonl"]
    done = await editor.ask("history/recover", p.RecoverParams("old.jsonl"))
    assert done.added == 1 and old.read_bytes() == before
    assert "From the old log" in [s.preview for s in done.sessions]
    assert (await editor.ask("history/search", p.SearchParams(query="old log"))).hits
    with pytest.raises(JsonRpcException):
        await editor.ask("history/recover", p.RecoverParams("../elsewhere.jsonl"))


@pytest.mark.requirement("004:47-55", "004:310-312", "004:315")
async def test_the_working_copy_of_the_history(start: Start) -> None:
    """An exchange is added, replaced by loading a session, emptied by a new one; tokens and
    compaction are reported.
    """
    with wire_server("openai", [o_reply("Noted.")]) as model:
        editor = await start(model, compaction={"compactionTriggerTokens": 24_000})
        empty = await editor.ask("history/status")
        assert empty.history_tokens == 0
        await editor.chat("Remember the word heron, please")
        status = await editor.ask("history/status")
        assert status.history_tokens > 0
        assert status.compaction_enabled is True
        assert status.compaction_trigger_tokens == 24_000
        assert 0 < status.compaction_percent < 1
        assert status.needs_summary is False
        first = (await editor.ask("state/get")).session_id
        cleared = await editor.ask("history/newSession")
        assert cleared.messages == []
        assert (await editor.ask("history/status")).history_tokens == 0
        await editor.chat("Something else")
        assert "heron" not in json.dumps(model.bodies[-1])
        loaded = await editor.ask("history/loadSession", p.SessionParams(session_id=first))
        assert [m.text for m in loaded.messages] == ["Remember the word heron, please", "Noted."]
        await editor.chat("Which word?")
        assert "heron" in json.dumps(model.bodies[-1])
        off = await start(model, compaction={"enabled": False, "compactionTriggerTokens": 1})
        assert (await off.ask("history/status")).needs_summary is False
