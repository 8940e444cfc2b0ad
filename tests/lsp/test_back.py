"""Going back to a prompt and forward again, through a real server and an editor."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lsp.conftest import Open
from lsp.editing import ALL, EditingEditor, edit, script
from tierline import protocol as p
from wire.agents import Use, calls, says
from wire.servers import wire_server

AT_ONCE = {"tools": {"edits": "apply", "saveEdits": True}}


def new(path: str, content: str, call: str = "c1") -> Use:
    return Use("propose_edit", {"path": path, "content": content}, call)


async def turn(editor: EditingEditor, text: str) -> str:
    sent = await editor.ask("chat/send", p.ChatSendParams(text))
    assert (await editor.finished(sent.turn_id)).outcome == "ok"
    return str(sent.turn_id)


async def test_files_and_conversation_go_back_and_forward_byte_for_byte(
    open_editor: Open, workspace: Path
) -> None:
    (workspace / "src/b.py").write_bytes(b"BETA = 2\r\nGAMMA = 3\r\n")
    (workspace / "src/b.py").chmod(0o755)
    uses = [
        [edit("src/a.py", ("return 1", "return 2"))],
        [edit("src/b.py", ("BETA = 2", "BETA = 5"), call="c2"), new("made.txt", "new\n", "c3")],
    ]
    replies = [reply for turn in uses for reply in script("openai", *turn)]
    with wire_server("openai", replies) as model:
        editor = await open_editor(model, ALL, **AT_ONCE)
        first = await turn(editor, "Change a.")
        second = await turn(editor, "Change b, and make a file.")
        files = [workspace / name for name in ("src/a.py", "src/b.py", "made.txt")]
        after = [file.read_bytes() for file in files]
        seen = await editor.ask("back/preview", p.BackParams(second))
        assert [(f.path, f.change, f.take, f.yours) for f in seen.files] == [
            ("made.txt", "delete", "old", False),
            ("src/b.py", "restore", "old", False),
        ]
        assert seen.prompt == "Change b, and make a file."
        assert [file.read_bytes() for file in files] == after, "a preview changes nothing"

        done = await editor.ask("back/go", p.BackParams(second))
        assert (done.problems, done.kept) == ([], [])
        assert files[0].read_bytes() == after[0], "what was changed earlier stays"
        assert files[1].read_bytes() == b"BETA = 2\r\nGAMMA = 3\r\n"
        assert files[1].stat().st_mode & 0o777 == 0o755
        assert not files[2].exists()
        state = await editor.ask("state/get")
        assert [m.group_id for m in state.messages if m.role == "user"] == [first]
        assert state.branch == done.branch != "main"

        back = await editor.ask("back/go", p.BackParams(first))
        assert b"return 1" in files[0].read_bytes()
        assert (await editor.ask("state/get")).messages == []

        once = await editor.ask("back/go", p.BackParams(forward=True))
        assert once.branch == done.branch
        again = await editor.ask("back/go", p.BackParams(forward=True))
        assert again.branch == "main"
        assert [file.read_bytes() for file in files] == after
        assert files[1].stat().st_mode & 0o777 == 0o755
        state = await editor.ask("state/get")
        assert [m.group_id for m in state.messages if m.role == "user"] == [first, second]
        with pytest.raises(Exception, match="nothing to go forward to"):
            await editor.ask("back/go", p.BackParams(forward=True))
        assert back.move_id != again.move_id


async def test_what_the_user_changed_since_is_shown_and_never_lost(
    open_editor: Open, workspace: Path
) -> None:
    a, b, note = (workspace / name for name in ("src/a.py", "src/b.py", "note.txt"))
    a.write_text("".join(f"line {n}\n" for n in range(12)))
    note.write_text("one\n")
    uses = (
        edit("src/a.py", ("line 2\n", "line two\n")),
        edit("src/b.py", ("BETA = 2", "BETA = 5"), call="c2"),
        edit("note.txt", ("one", "two"), call="c3"),
    )
    with wire_server("openai", script("openai", *uses)) as model:
        editor = await open_editor(model, ALL, **AT_ONCE)
        group = await turn(editor, "Change them.")
        a.write_text(a.read_text().replace("line 9\n", "line nine, mine\n"))
        editor.documents.clear()
        await _closed(editor, "src/a.py", "src/b.py")
        b.write_text("BETA = 6\n")  # the very line
        editor.type_in("note.txt", "two\n\n\nmine, unsaved\n")
        yours = (a.read_bytes(), b.read_bytes())

        seen = {f.path: f for f in (await editor.ask("back/preview", p.BackParams(group))).files}
        assert {f.path: (f.take, f.yours) for f in seen.values()} == {
            "src/a.py": ("merge", True),
            "src/b.py": ("mine", True),
            "note.txt": ("mine", True),
        }
        assert seen["note.txt"].unsaved
        assert "old" in seen["src/b.py"].choices
        done = await editor.ask(
            "back/go", p.BackParams(group, choices=[p.BackChoice("src/b.py", "old")])
        )
        assert "line 2\n" in a.read_text()
        assert "line nine, mine\n" in a.read_text()
        assert b.read_text() == "BETA = 2\n"
        assert done.kept == ["note.txt"]
        assert editor.documents[editor.uri("note.txt")].text == "two\n\n\nmine, unsaved\n"
        await editor.ask("back/go", p.BackParams(forward=True))
        assert (a.read_bytes(), b.read_bytes()) == yours


async def test_unsaved_changes_are_merged_in_the_editor_and_not_saved(
    open_editor: Open, workspace: Path
) -> None:
    a = workspace / "src/a.py"
    a.write_text("".join(f"line {n}\n" for n in range(12)))
    with wire_server("openai", script("openai", edit("src/a.py", ("line 2", "LINE 2")))) as model:
        editor = await open_editor(model, ALL, **AT_ONCE)
        group = await turn(editor, "Change it.")
        saved = a.read_bytes()
        unsaved = saved.decode() + "typed, not saved\n"
        editor.type_in("src/a.py", unsaved)
        await editor.ask("back/go", p.BackParams(group))
        shown = editor.documents[editor.uri("src/a.py")]
        assert shown.text == unsaved.replace("LINE 2", "line 2")
        assert a.read_bytes() == saved, "the disk has what the user saved"
        await editor.ask("back/go", p.BackParams(forward=True))
        assert shown.text == unsaved
        assert a.read_bytes() == saved


async def test_what_a_command_changed_goes_back_too(open_editor: Open, workspace: Path) -> None:
    code = (
        "import os; open('src/a.py','a').write('# more\\n'); os.remove('src/b.py'); "
        "open('made.bin','wb').write(bytes(9)); open('made.txt','w').write('x')"
    )
    use = Use("run_command", {"argv": [sys.executable, "-c", code]}, "c1")
    with wire_server("openai", [calls("openai", use), says("openai", "Done.")]) as model:
        editor = await open_editor(model, {}, tools={"commands": "ask"})
        editor.answers = lambda _text, actions: actions[0]
        group = await turn(editor, "Run it.")
        assert not (workspace / "src/b.py").exists()
        seen = await editor.ask("back/preview", p.BackParams(group))
        assert [(f.path, f.change, bool(f.why)) for f in seen.files] == [
            ("made.bin", "delete", True),
            ("made.txt", "delete", False),
            ("src/a.py", "restore", False),
            ("src/b.py", "create", False),
        ]
        text = (await editor.ask("chat/command", p.CommandParams("/back 1 now"))).text
        assert "src/b.py" in text
        assert (workspace / "src/b.py").read_text() == "BETA = 2\n"
        assert "# more" not in (workspace / "src/a.py").read_text()
        assert (workspace / "made.bin").exists(), "its content cannot be kept"
        assert not (workspace / "made.txt").exists()
        await editor.command("back.go", {"forward": True})
        assert not (workspace / "src/b.py").exists()


async def _closed(editor: EditingEditor, *names: str) -> None:
    from lsprotocol import types as lsp

    for name in names:
        closed = lsp.TextDocumentIdentifier(editor.uri(name))
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(closed))


# --- applied first, looked at afterwards ----------------------------------------------------------


async def test_what_was_applied_first_is_kept_or_undone_by_part_file_turn_and_all(
    open_editor: Open, workspace: Path
) -> None:
    a, b = workspace / "src/a.py", workspace / "src/b.py"
    a.write_text("".join(f"line {n}\n" for n in range(20)))
    parts = (("line 2\n", "LINE 2\nmore\n"), ("line 9\n", ""), ("line 15\n", "LINE 15\n"))
    turns = [
        [edit("src/a.py", *parts), edit("src/b.py", ("BETA = 2", "BETA = 3"), call="c2")],
        [new("made.txt", "new\n", "c3"), edit("src/b.py", ("BETA = 3", "BETA = 4"), call="c4")],
    ]
    replies = [reply for turn in turns for reply in script("openai", *turn)]
    with wire_server("openai", [*replies, says("openai", "I see.")]) as model:
        editor = await open_editor(model, ALL, **AT_ONCE)
        first = await turn(editor, "One.")
        second = await turn(editor, "Two.")
        edits = (await editor.ask("edit/list")).edits
        assert [e.review for e in edits] == ["open"] * 4
        big = edits[0].id

        kept = await editor.ask("edit/keep", p.EditReviewParams(big, [0]))
        assert kept.edits[0].review == "open", "two parts are still to be looked at"
        undone = await editor.ask("edit/undo", p.EditReviewParams(big, [1]))
        assert (undone.problems, undone.edits[0].state) == ([], "partly")
        assert "line 9\n" in a.read_text()
        assert "LINE 2\nmore\n" in a.read_text()
        editor.type_in("src/a.py", a.read_text().replace("LINE 15", "mine 15"))
        refused = await editor.ask("edit/undo", p.EditReviewParams(big, [2]))
        assert "you have changed the same lines since" in refused.problems[0]
        assert "mine 15" in editor.documents[editor.uri("src/a.py")].text

        done = await editor.ask("edit/undo", p.EditReviewParams(turn_id=second))
        assert done.problems == []
        assert {e.state for e in done.edits} == {"undone"}
        assert not (workspace / "made.txt").exists()
        assert b.read_text() == "BETA = 3\n"
        done = await editor.ask("edit/keep", p.EditReviewParams(path="src/b.py"))
        assert [e.review for e in done.edits] == ["kept"]
        rest = await editor.ask("edit/undo")
        assert [e.id for e in rest.edits] == [big], "what was kept stays"
        assert b.read_text() == "BETA = 3\n"
        await turn(editor, "And now?")
        assert "The user has undone the edit to made.txt" in str(model.bodies[-1])

        await editor.ask("back/go", p.BackParams(first))
        assert b.read_text() == "BETA = 2\n"
        shown = editor.documents[editor.uri("src/a.py")].text
        assert "mine 15" in shown, "never lost"


async def test_a_review_survives_a_restart_and_undoes_what_it_can(
    open_editor: Open, workspace: Path
) -> None:
    uses = (
        edit("src/a.py", ("return 1", "return 2")),
        edit("src/b.py", ("BETA = 2", "BETA = 3"), call="c2"),
    )
    with wire_server("openai", script("openai", *uses)) as model:
        editor = await open_editor(model, ALL, **AT_ONCE)
        await turn(editor, "Change both.")
        await editor.stop()
        again = await open_editor(model, {}, **AT_ONCE)
        again.show("src/a.py")
        place = {"line": 1, "character": 0}
        actions = await again.raw(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": again.uri("src/a.py")},
                "range": {"start": place, "end": place},
                "context": {"diagnostics": []},
            },
        )
        commands = {action["title"]: action["command"] for action in actions}
        assert "Keep Tierline's edit" in commands
        undo = commands["Undo Tierline's edit"]
        await again.command(undo["command"].removeprefix("tierline."), undo["arguments"][0])
        assert "return 1" in again.documents[again.uri("src/a.py")].text
        said = (await again.ask("chat/command", p.CommandParams("/takeback"))).text
        assert said == "1 edit was looked at."
        assert (workspace / "src/b.py").read_text() == "BETA = 2\n"
