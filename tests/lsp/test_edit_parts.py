"""Parts of an edit in editors that have no view of ours: diagnostics, code actions, code lenses."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from lsp.conftest import Open
from lsp.editing import ALL, EditingEditor, asked, edit, script
from tierline import protocol as p
from wire.agents import results
from wire.servers import wire_server

USE = edit("n.txt", ("2\n3\n", "two\n3\n"), ("10\n", "ten\n"), ("17\n", ""))
PARTS = "Choose parts in the file"


@pytest.fixture
def workspace(workspace: Path) -> Path:
    (workspace / "n.txt").write_text("".join(f"{n}\n" for n in range(20)))
    return workspace


async def actions(editor: EditingEditor, line: int, only: str = "") -> dict[str, Any]:
    place = {"line": line, "character": 0}
    found = await editor.raw(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": editor.uri("n.txt")},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": [], **({"only": [only]} if only else {})},
        },
    )
    return {action["title"]: action["command"] for action in found or []}


async def run(editor: EditingEditor, command: dict[str, Any]) -> Any:
    return await editor.client.workspace_execute_command_async(
        lsp.ExecuteCommandParams(command["command"], command["arguments"])
    )


async def marks(editor: EditingEditor, *lines: int) -> list[lsp.Diagnostic]:
    """The diagnostics, once they begin at these lines."""
    found: list[lsp.Diagnostic] = []
    for _ in range(200):
        found = editor.marks.get(editor.uri("n.txt"), [])
        if [d.range.start.line for d in found] == list(lines):
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(found)


async def lenses(editor: EditingEditor) -> list[tuple[int, str]]:
    found = await editor.client.text_document_code_lens_async(
        lsp.CodeLensParams(lsp.TextDocumentIdentifier(editor.uri("n.txt")))
    )
    return [(lens.range.start.line, lens.command.title) for lens in found or () if lens.command]


async def test_parts_are_taken_and_left_where_they_stand(
    open_editor: Open, workspace: Path
) -> None:
    with wire_server("openai", script("openai", USE)) as model:
        editor: EditingEditor = await open_editor(model)
        offered: list[list[str]] = []

        def answer(_text: str, titles: list[str]) -> str:
            offered.append(titles)
            return PARTS

        editor.answers = answer
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Words."))
        found = await asked(editor)
        first, *_ = await marks(editor, 2, 10, 17)
        assert offered == [["Apply", PARTS, "Reject"]]
        assert editor.shown == [("n.txt", 2)], "the file is opened at the first part"
        assert first.message == "Tierline proposes, part 1 of 3:\n- 2\n+ two"
        assert first.range.end == lsp.Position(2, 1)
        assert await lenses(editor) == [
            (line, f"Tierline: {word} part {n} of 3")
            for n, line in ((1, 2), (2, 10), (3, 17))
            for word in ("accept", "reject")
        ]

        # What the user types above moves the parts.
        text = "above\n" + editor.show("n.txt").text
        editor.type_in("n.txt", text)
        await marks(editor, 3, 11, 18)
        assert not any("part" in title for title in await actions(editor, 9, "quickfix"))
        await run(editor, (await actions(editor, 3))["Accept part 1 of 3"])
        await run(editor, (await actions(editor, 11, "quickfix"))["Reject part 2 of 3"])
        assert not editor.edits, "nothing is applied before all is decided"
        assert "Accept 2 of 3 parts that Tierline proposes" in await actions(editor, 0)
        assert [line for line, _ in await lenses(editor)] == [18, 18]
        done = await run(editor, (await actions(editor, 18))["Accept part 3 of 3"])
        assert (done["state"], done["accepted"]) == ("partly", [0, 2])
        await editor.finished(sent.turn_id)
        told = results(model.bodies[1], "openai")["c1"]
        assert told.startswith("The user accepted 2 of 3 parts") and "at line 12: ten" in told
        assert editor.show("n.txt").text == text.replace("\n2\n", "\ntwo\n").replace("17\n", "")
        assert len(editor.edits) == 1, "one step of undo"
        await marks(editor)
        assert await lenses(editor) == []
        assert found.id == done["id"]


async def test_all_at_once_and_none_at_all(open_editor: Open, workspace: Path) -> None:
    again = edit("n.txt", ("4\n5\n", "4\nfive\n"), ("15\n", "fifteen\n"), call="c2")
    with wire_server("openai", script("openai", USE, again)) as model:
        editor: EditingEditor = await open_editor(model)
        editor.answers = lambda _text, _titles: PARTS
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Words."))
        await asked(editor)
        await marks(editor, 2, 10, 17)
        await run(editor, (await actions(editor, 0))["Accept the edit that Tierline proposes"])
        await asked(editor, 2)
        await marks(editor, 5, 15)
        for number, line in ((1, 5), (2, 15)):
            await run(editor, (await actions(editor, line))[f"Reject part {number} of 2"])
        await editor.finished(sent.turn_id)
        told = results(model.bodies[2], "openai")
        assert told["c1"].startswith("Applied as proposed (")
        assert told["c2"].startswith("The user rejected the edit to n.txt")
        assert "five" not in editor.show("n.txt").text


async def test_the_last_part_can_be_decided_again_if_the_file_does_not_fit(
    open_editor: Open,
) -> None:
    with wire_server("openai", script("openai", USE)) as model:
        editor: EditingEditor = await open_editor(model)
        editor.answers = lambda _text, _titles: PARTS
        await editor.ask("chat/send", p.ChatSendParams(text="Words."))
        found = await asked(editor)
        await marks(editor, 2, 10, 17)
        text = editor.show("n.txt").text
        for index in (0, 1):
            await editor.ask("edit/choose", p.EditChooseParams(found.id, index))
        editor.type_in("n.txt", "nothing\n")
        await marks(editor)
        with pytest.raises(Exception, match="no longer fits"):
            await editor.ask("edit/choose", p.EditChooseParams(found.id, 2))
        with pytest.raises(Exception, match="no part 9"):
            await editor.ask("edit/choose", p.EditChooseParams(found.id, 9))
        editor.undo("n.txt")
        done = await editor.ask("edit/choose", p.EditChooseParams(found.id, 2, take=False))
        assert (done.state, done.accepted) == ("partly", [0, 1])
        assert editor.show("n.txt").text == text.replace("\n2\n", "\ntwo\n").replace("10", "ten")


async def test_an_editor_with_a_view_of_its_own_gets_nothing_of_it(open_editor: Open) -> None:
    with wire_server("openai", script("openai", USE)) as model:
        editor: EditingEditor = await open_editor(model, ALL)
        await editor.ask("chat/send", p.ChatSendParams(text="Words."))
        await asked(editor)
        editor.show("n.txt")
        assert await lenses(editor) == []
        assert not any("part" in title or "edit" in title for title in await actions(editor, 2))
        assert not editor.marks and not editor.questions


async def test_choices_in_another_window_are_followed_at_once_and_after_a_reload(
    open_editor: Open, workspace: Path
) -> None:
    """An editor with cards and one without, each with a server of its own, on one conversation."""
    with wire_server("openai", script("openai", USE)) as model:
        cards: EditingEditor = await open_editor(model, ALL)
        await cards.ask("chat/send", p.ChatSendParams(text="Words."))
        found = await asked(cards)
        plain: EditingEditor = await open_editor(model)
        plain.answers = lambda _text, _titles: PARTS
        plain.show("n.txt")
        await marks(plain, 2, 10, 17)
        await run(plain, (await actions(plain, 2))["Reject part 1 of 3"])
        await run(plain, (await actions(plain, 10, "quickfix"))["Accept part 2 of 3"])

        def choices() -> list[str]:
            edits = [event.edit for event in cards.bodies(p.EditChanged)]
            return [hunk.choice for hunk in edits[-1].hunks]

        await cards.until(lambda: choices() == ["leave", "take", ""], 10)
        (known,) = (await cards.ask("state/get")).edits
        assert [hunk.choice for hunk in known.hunks] == ["leave", "take", ""]
        # Its own choice stands, whatever the log said before.
        await cards.ask("edit/choose", p.EditChooseParams(found.id, 0))
        assert choices() == ["take", "take", ""]
        done = await cards.ask("edit/accept", p.EditAcceptParams(found.id, [1]))
        assert (done.state, done.accepted) == ("partly", [1])
        await plain.until(lambda: plain.bodies(p.EditChanged)[-1].edit.state == "partly", 10)
        await marks(plain)
