"""Slash commands in the user's words: those that stand for a prompt, one's own, turns by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from wire.servers import WireServer

EVERYDAY = (
    "explain", "fix", "tests", "document", "new", "clear", "compact", "model", "cost", "context",
    "undo", "help", "export",
)  # fmt: skip


@pytest.fixture
def workspace(workspace: Path) -> Path:
    folder = workspace / ".github/prompts"
    folder.mkdir(parents=True)
    (folder / "port.prompt.md").write_text(
        "---\ndescription: Port code\n---\nPort ${input:what} to ${input:language}.\n"
    )
    (folder / "undo.prompt.md").write_text("Not this one.\n")
    return workspace


async def typed(editor: Any, line: str) -> p.CommandResult:
    result: p.CommandResult = await editor.ask("chat/command", p.CommandParams(line))
    return result


async def test_commands_that_stand_for_a_prompt_are_listed_and_expanded(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    listed = {c.usage.split()[0][1:]: c for c in (await editor.ask("chat/commands")).commands}
    assert set(EVERYDAY) <= set(listed)
    assert all(listed[name].doc for name in EVERYDAY)
    assert [n for n in EVERYDAY if listed[n].prompt] == ["explain", "fix", "tests", "document"]
    own = listed["port"]
    assert (own.usage, own.doc, own.prompt) == ("/port <what> <language>", "Port code", True)
    assert own.source == ".github/prompts/port.prompt.md"
    assert not listed["undo"].source, "a built-in command keeps its name"
    with pytest.raises(JsonRpcException, match="not complete"):
        await typed(editor, "/export pdf")
    assert (await typed(editor, "/export html")).text.startswith("<!DOCTYPE html>")
    assert "the selected code" in (await typed(editor, "/explain")).prompt
    assert (await typed(editor, "/fix @src/a.py")).prompt == "Fix @src/a.py."
    assert "Write tests for @src/a.py" in (await typed(editor, "/tests @src/a.py")).prompt
    assert (await typed(editor, "/port alpha to Rust")).prompt == "Port alpha to to Rust."
    with pytest.raises(JsonRpcException, match="/port needs language"):
        await typed(editor, "/port alpha")
    text = (await typed(editor, "/help port")).text
    assert "/port <what> <language>" in text and "/undo" not in text
    assert "None fits" in (await typed(editor, "/help nosuchword")).text
    assert model.requests == [], "the client sends the prompt"


async def test_a_restricted_workspace_brings_no_commands(start: Start, model: WireServer) -> None:
    editor = await start(model, tools={"workspaceTrusted": False})
    assert not any(c.source for c in (await editor.ask("chat/commands")).commands)
    with pytest.raises(JsonRpcException, match="There is no command"):
        await typed(editor, "/port a b")


async def test_turns_are_named_by_the_number_that_the_list_shows(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    for text in ("One.", "Two.", "Three."):
        await editor.chat(text)
    listed = (await typed(editor, "/message list 2")).text
    assert "| 2 |" in listed and "| 3 |" in listed and "| 1 |" not in listed
    assert "Two." in (await typed(editor, "/message show 2")).text
    await typed(editor, "/context drop #2")
    prompts = [m.text for m in (await editor.ask("state/get")).messages if m.role == "user"]
    assert prompts == ["One.", "Three."]
    with pytest.raises(JsonRpcException, match="Turn 2 is hidden"):
        await typed(editor, "/context drop 2")
    await typed(editor, "/context restore 2")
    await typed(editor, "/undo 1")
    prompts = [m.text for m in (await editor.ask("state/get")).messages if m.role == "user"]
    assert prompts == ["One."]
    with pytest.raises(JsonRpcException, match="There is no turn nosuch"):
        await typed(editor, "/message show nosuch")
