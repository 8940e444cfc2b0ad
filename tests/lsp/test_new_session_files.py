"""A new session: whether the files stay is asked once, with what they cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsp.conftest import Open
from lsp.editing import EditingEditor
from tierline import protocol as p
from wire.scripts import a_reply
from wire.servers import WireServer, wire_server


async def test_a_new_session_asks_what_stays_and_says_what_it_costs(
    open_editor: Open, workspace: Path
) -> None:
    with wire_server("anthropic", [a_reply("Good.")]) as model:
        editor: EditingEditor = await open_editor(
            model, env={"TIERLINE_PROVIDER_MODEL": "claude-sonnet-4-5"}
        )
        (workspace / "README.md").write_text("Read me first.\n" * 40, encoding="utf-8")
        # With nothing listed there is nothing to ask.
        await editor.ask("history/newSession")
        assert editor.questions == []

        await editor.ask("files/add", p.FileParams(path="src"))
        await editor.ask("files/pin", p.FileParams(path="README.md"))
        offered = await editor.ask("history/newSessionFiles")
        assert [(e.name, e.files, e.pinned) for e in offered.entries] == [
            ("README.md", 1, True),
            ("src/", 2, False),
        ]
        assert offered.ask
        assert offered.tokens == sum(e.tokens for e in offered.entries) > 0
        # Sonnet 4.5: 3 dollars for a million tokens, 1.25 times that to write them to the cache.
        assert offered.cost == pytest.approx(offered.tokens * 3.75 / 1e6, abs=1e-6)

        answers = iter(["Keep them", "", "Begin without them"])
        editor.answers = lambda _text, _actions: next(answers)
        kept = await editor.ask("history/newSession")
        assert "README.md, src/ (2 files)" in editor.questions[-1]
        assert f"{offered.tokens:,} tokens with its first prompt, about $" in editor.questions[-1]
        closed = await editor.ask("history/newSession")
        assert len(kept.files) == len(closed.files) == 3
        await editor.chat("What is this?")
        dropped = await editor.ask("history/newSession")
        assert len(editor.questions) == 3
        assert dropped.files == []
        # What was dropped here is still there in the session before.
        before = await editor.ask("history/loadSession", p.SessionParams(closed.session_id))
        assert len(before.files) == 3


async def test_an_answer_or_a_setting_that_holds_for_good_is_not_asked_again(
    open_editor: Open, model: WireServer
) -> None:
    editor: EditingEditor = await open_editor(model)
    added = p.FileParams(path="src/a.py")
    await editor.ask("files/add", added)
    editor.answers = lambda _text, actions: actions[-1]
    assert (await editor.ask("history/newSession")).files == []
    await editor.until(lambda: any("not asked again" in n.text for n in editor.bodies(p.Notice)))
    await editor.ask("files/add", added)
    assert (await editor.ask("history/newSession")).files == []
    assert len(editor.questions) == 1
    # A client that says what it wants, and a command, are not asked either.
    await editor.ask("files/add", added)
    assert len((await editor.ask("history/newSession", p.NewSessionParams("keep"))).files) == 1
    await editor.ask("chat/command", p.CommandParams("/new drop"))
    assert (await editor.ask("state/get")).files == []
    assert len(editor.questions) == 1
