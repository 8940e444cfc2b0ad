"""Memos through a real server: kept, found, sent with the prompts that they fit, and as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from wire.servers import WireServer


def said(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


async def test_memos_are_saved_edited_searched_and_deleted(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    save = p.MemoSaveParams
    one = await editor.ask("memo/save", save("The port is 5544.", ["Data Base"]))
    two = await editor.ask("memo/save", save("I like short replies.", ["style"], "user"))
    assert (one.scope, one.tags, two.scope) == ("project", ["data-base"], "user")
    listed = await editor.ask("memo/list")
    assert [m.id for m in listed.memos] == [two.id, one.id]
    assert sorted(listed.tags) == ["data-base", "style"]
    edited = await editor.ask("memo/edit", p.MemoEditParams(one.id, content="The port is 6000."))
    assert (edited.content, edited.tags, edited.created) == (
        "The port is 6000.", ["data-base"], one.created
    )  # fmt: skip
    found = await editor.ask("memo/search", p.MemoSearchParams(query="port"))
    assert [m.content for m in found.memos] == ["The port is 6000."]
    moved = await editor.ask("memo/edit", p.MemoEditParams(two.id, scope="project"))
    assert moved.scope == "project" and moved.id != two.id
    assert (await editor.ask("memo/list", p.MemoListParams(scope="user"))).memos == []
    left = await editor.ask("memo/delete", p.MemoParams(moved.id))
    assert [m.id for m in left.memos] == [one.id]
    assert len(editor.bodies(p.MemosChanged)) == 6
    log = (workspace / ".tierline" / "memos.jsonl").read_text(encoding="utf-8")
    assert "5544" in log and "6000" in log, "nothing is rewritten"


async def test_memos_outlive_sessions_and_restarts(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """Seed 000: "independent of any specific session"; user memos in other projects too."""
    editor = await start(model)
    await editor.ask("memo/save", p.MemoSaveParams("Deploy on Tuesdays.", ["deploy"]))
    await editor.ask("memo/save", p.MemoSaveParams("Write tests first.", ["tests"], "user"))
    await editor.ask("history/newSession")
    again = await start(model)
    assert len((await again.ask("memo/list")).memos) == 2
    other = workspace.parent / "elsewhere"
    other.mkdir()
    data = {"TIERLINE_DATA_DIR": str(workspace / ".data")}
    elsewhere = await start(model, root=other, env=data)
    memos = (await elsewhere.ask("memo/list")).memos
    assert [m.content for m in memos] == ["Write tests first."]


@pytest.mark.parametrize("params", [p.MemoSaveParams("  "), p.MemoSaveParams("x" * 9_000)])
async def test_a_bad_memo_is_refused_with_advice(
    start: Start, model: WireServer, params: p.MemoSaveParams
) -> None:
    editor = await start(model)
    with pytest.raises(JsonRpcException, match="Nothing was saved"):
        await editor.ask("memo/save", params)
    with pytest.raises(JsonRpcException, match="no memo nope"):
        await editor.ask("memo/delete", p.MemoParams("nope"))
    assert (await editor.ask("memo/list")).memos == []


async def test_memos_stand_behind_the_cached_prefix(start: Start, model: WireServer) -> None:
    """What was sent stays byte for byte; the memo of one turn is gone from the next."""
    editor = await start(model)
    await editor.ask("memo/save", p.MemoSaveParams("The port of the database is 5544."))
    await editor.chat("which port has the database?")
    await editor.chat("thanks, go on")
    first, second = model.bodies[-2:]
    assert "5544" in said(first) and "5544" not in said(second)
    shared = said(first["messages"][:-1])
    assert said(second["messages"]).startswith(shared[:-1])
    assert "which port has the database?" in said(second)


async def test_mode_off_injects_nothing(start: Start, model: WireServer) -> None:
    editor = await start(model)
    await editor.ask("memo/save", p.MemoSaveParams("The port of the database is 5544."))
    await editor.ask("mode/set", p.ModeParams("off"))
    await editor.chat("which port has the database?")
    assert "5544" not in said(model.bodies[-1])


async def test_secrets_are_not_kept_in_memos(
    start: Start, model: WireServer, workspace: Path
) -> None:
    secret = "sk-ant-" + "api03-" + "Zq8" * 30
    editor = await start(model)
    await editor.ask("memo/save", p.MemoSaveParams(f"Use {secret} for tests."))
    assert secret not in (workspace / ".tierline" / "memos.jsonl").read_text()
