"""Conversations are taken along: exported with what they cost, imported from other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from lsp.conftest import Start
from tierline import protocol as p
from wire.agents import says
from wire.servers import wire_server

AIDER = "# aider chat started at 2026-01-02 10:00:00\n\n#### What is it?\n\nA <b>test</b>.\n"


async def test_what_is_exported_says_what_was_sent_and_comes_back(
    start: Start, workspace: Path
) -> None:
    reply = "It is **small**. <script>alert(1)</script> ![p](https://evil.example/p.png)"
    replies = [says("openai", reply), says("openai", "Still.")]
    with wire_server("openai", replies) as model:
        editor = await start(model)
        await editor.chat("What is @src/a.py?")

        async def text(kind: Literal["markdown", "html", "json"]) -> str:
            return str((await editor.ask("history/export", p.ExportParams(kind))).text)

        markdown, html, exported = await text("markdown"), await text("html"), await text("json")
        assert "What is @src/a.py?" in markdown and "It is **small**." in markdown
        assert "> Took: " in markdown and "src/a.py" in markdown
        assert "<strong>small</strong>" in html
        assert "<script" not in html and "<img" not in html and "default-src 'none'" in html
        value = json.loads(exported)
        assert value["format"] == "tierline-conversation"
        assert value["messages"][1]["usage"]["input_tokens"] > 0

        before = (await editor.ask("state/get", p.NoParams())).session_id
        taken = await editor.ask("history/import", p.ImportParams(exported, "x.json"))
        assert (taken.source, taken.sessions, taken.messages) == ("Tierline", 1, 2)
        taken = await editor.ask("history/import", p.ImportParams(AIDER, "history.md"))
        assert (taken.source, taken.messages) == ("aider", 2)
        now = await editor.ask("state/get", p.NoParams())
        assert now.session_id != before
        assert [(m.role, m.text) for m in now.messages] == [
            ("user", "What is it?"),
            ("assistant", "A <b>test</b>."),
        ]
        listed = await editor.ask("history/listSessions", p.SessionListParams())
        assert "aider, 2026-01-02 10:00:00" in [one.title for one in listed.sessions]
        await editor.chat("Still?")
        assert "What is it?" in json.dumps(model.bodies[-1]), "the conversation goes on"
        with pytest.raises(Exception, match="No conversation was found in notes"):
            await editor.ask("history/import", p.ImportParams("hello", "notes.txt"))
