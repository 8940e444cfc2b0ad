"""Proposed edits through a real server and an editor that applies them as VS Code does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bugcases.bodies import violations
from lsp.conftest import Open
from lsp.editing import ALL, asked, edit, script
from lsp.project import records
from support.bodyreader import read, version
from tierline import protocol as p
from wire.agents import Use, calls, results, says
from wire.servers import Kind, wire_server

# --- what the user decides ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
async def test_accept_saves_and_tells_the_model(
    open_editor: Open, workspace: Path, kind: Kind
) -> None:
    with wire_server(kind, script(kind, edit("src/a.py", ("return 1", "return 2")))) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Mend it."))
        found = await asked(editor)
        assert (found.path, found.state, found.added, found.removed) == ("src/a.py", "open", 1, 1)
        shown = await editor.ask("edit/preview", p.EditParams(found.id))
        assert (shown.before, shown.after) == (
            "def alpha() -> int:\n    return 1\n",
            "def alpha() -> int:\n    return 2\n",
        )
        state = await editor.ask("state/get")
        assert [e.state for e in state.edits] == ["open"]
        assert (workspace / "src/a.py").read_text() == shown.before, "nothing happens before"
        done = await editor.ask("edit/accept", p.EditAcceptParams(found.id))
        assert done.state == "applied"
        assert (await editor.finished(sent.turn_id)).outcome == "ok"
        told = results(model.bodies[1], kind)["c1"]
        names = [version(text) for text in (shown.before, shown.after)]
        assert told == f"Applied as proposed ({names[0]} to {names[1]}): src/a.py."
        assert (workspace / "src/a.py").read_text() == shown.after
        assert violations(model.bodies[1], kind) == []
    (change,) = editor.edits
    assert change.change_annotations is not None
    assert [a.needs_confirmation for a in change.change_annotations.values()] == [False]
    (record,) = [r for r in records(workspace) if r.get("role") == "tool"]
    assert record["files_modified"] == ["src/a.py"]
    assert record["edit_results"][0]["outcome"] == "applied"


async def test_reject_is_told_with_its_reason(open_editor: Open, workspace: Path) -> None:
    kind: Kind = "anthropic"
    with wire_server(kind, script(kind, edit("src/a.py", ("return 1", "return 2")))) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Mend it."))
        found = await asked(editor)
        await editor.ask("edit/reject", p.EditRejectParams(found.id, "Use a constant."))
        await editor.finished(sent.turn_id)
        told = results(model.bodies[1], kind)["c1"]
        assert told == (
            "The user rejected the edit to src/a.py; nothing was changed. Reason: Use a constant."
        )
        assert not editor.edits
        for late in (
            ("edit/accept", p.EditAcceptParams(found.id)),
            ("edit/reject", p.EditRejectParams(found.id)),
        ):
            with pytest.raises(Exception, match="rejected already"):
                await editor.ask(*late)
    (record,) = [r for r in records(workspace) if r.get("role") == "tool"]
    assert record["edit_results"][0]["outcome"] == "rejected"
    assert "files_modified" not in record


async def test_parts_can_be_accepted(open_editor: Open, workspace: Path) -> None:
    (workspace / "n.txt").write_text("".join(f"{n}\n" for n in range(20)))
    use = edit("n.txt", ("2\n3\n", "two\n3\n"), ("10\n", "ten\n"), ("17\n", ""))
    with wire_server("openai", script("openai", use)) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Words."))
        found = await asked(editor)
        assert len(found.hunks) == 3
        with pytest.raises(Exception, match="no part 7"):
            await editor.ask("edit/accept", p.EditAcceptParams(found.id, [7]))
        done = await editor.ask("edit/accept", p.EditAcceptParams(found.id, [0, 2]))
        assert (done.state, done.accepted) == ("partly", [0, 2])
        await editor.finished(sent.turn_id)
        told = results(model.bodies[1], "openai")["c1"]
        assert told.startswith("The user accepted 2 of 3 parts")
        assert "at line 11: ten" in told
    expected = "".join(f"{n}\n" for n in range(20) if n != 17).replace("\n2\n", "\ntwo\n")
    assert (workspace / "n.txt").read_text() == expected


async def test_plain_lsp_is_asked_with_a_message(open_editor: Open, workspace: Path) -> None:
    uses = (
        edit("src/a.py", ("return 1", "return 2")),
        edit("src/b.py", ("BETA = 2", "BETA = 3"), call="c2"),
    )
    with wire_server("openai", script("openai", *uses)) as model:
        editor = await open_editor(model)
        editor.answers = lambda text, actions: actions[0] if "src/a.py" in text else ""
        await editor.chat("Mend both.")
        assert "-    return 1\n+    return 2" in editor.questions[0]
        told = results(model.bodies[2], "openai")
        assert told["c1"].startswith("Applied as proposed (")
        assert ": src/a.py. It is not saved yet" in told["c1"]
        assert told["c2"].startswith("The user rejected the edit to src/b.py")
    assert editor.show("src/a.py").text.endswith("return 2\n")
    assert (workspace / "src/b.py").read_text() == "BETA = 2\n"


async def test_a_stopped_turn_leaves_the_edit_open_and_the_model_hears_of_it(
    open_editor: Open, workspace: Path
) -> None:
    uses = script("anthropic", edit("src/a.py", ("return 1", "return 2")))
    with wire_server("anthropic", uses) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Mend it."))
        found = await asked(editor)
        await editor.ask("chat/cancel", p.ChatCancelParams(sent.turn_id))
        assert (await editor.finished(sent.turn_id)).outcome == "interrupted"
        await editor.ask("edit/accept", p.EditAcceptParams(found.id))
        assert (workspace / "src/a.py").read_text().endswith("return 2\n")
        await editor.chat("And now?")
        body = model.bodies[-1]
        assert violations(body, "anthropic") == []
        assert "Interrupted" in results(body, "anthropic")["c1"]
        said = json.dumps(body["messages"][-1])
        assert "Edit c1: The user accepted the edit" in said
        await editor.chat("Once more?")
        assert json.dumps(model.bodies[-1]).count("Edit c1:") == 1, "told only once"


@pytest.mark.parametrize("pause", [0, 0.5], ids=["at once", "later"])
async def test_undo_is_the_editors_and_the_model_is_told(
    open_editor: Open, workspace: Path, pause: float
) -> None:
    uses = script("openai", edit("src/a.py", ("return 1", "return 2")))
    with wire_server("openai", uses) as model:
        editor = await open_editor(model, {"save": True}, tools={"edits": "apply"})
        await editor.chat("Mend it.")
        assert not editor.questions
        assert editor.show("src/a.py").text.endswith("return 2\n")
        editor.undo("src/a.py")
        await asyncio.sleep(pause)  # diagnostics are published meanwhile
        await editor.chat("Well?")
        assert "The user has undone the edit to src/a.py" in json.dumps(model.bodies[-1])


async def test_an_applied_edit_needs_no_more_than_its_result(
    open_editor: Open, workspace: Path
) -> None:
    """The tiers know that the model has the new text already. One that is decided about only after
    its call has been answered is said in a line.
    """
    text = "".join(f"value_{n} = {n}\n" for n in range(400)) + (workspace / "src/a.py").read_text()
    (workspace / "src/a.py").write_text(text)
    uses = script("anthropic", edit("src/a.py", ("return 1", "return 2")))
    with wire_server("anthropic", uses) as model:
        editor = await open_editor(model, ALL, tools={"edits": "apply"})
        await editor.ask("files/add", p.FileParams(path="src/a.py"))
        await editor.chat("Mend it.")
        body = model.bodies[1]
        assert "Update: src/a.py" not in json.dumps(body)
        assert json.dumps(body).count("def alpha") == 1, "the text is not sent again"
        assert read(body).files["src/a.py"] == text.replace("return 1", "return 2")


# --- what the file is like ------------------------------------------------------------------------

FILES: dict[str, tuple[bytes, tuple[str, str], bytes]] = {
    "crlf": (b"a\r\nb\r\nc\r\n", ("b\n", "b\nnew\n"), b"a\r\nb\r\nnew\r\nc\r\n"),
    "bom": (b"\xef\xbb\xbfa\nb\n", ("a\n", "A\n"), b"\xef\xbb\xbfA\nb\n"),
    "bom and crlf": (b"\xef\xbb\xbfa\r\nb\r\n", ("b", "B"), b"\xef\xbb\xbfa\r\nB\r\n"),
    "tabs": (b"if x:\n\t\ty()\n", ("\t\ty()", "\t\tz()"), b"if x:\n\t\tz()\n"),
    "trailing blanks": (b"a  \nb\t\n", ("b\t", "c\t"), b"a  \nc\t\n"),
    "no final newline": (b"a\nb", ("b", "c"), b"a\nc"),
    "unicode": ("x = '👍é'\nb\n".encode(), ("b\n", "ß\n"), "x = '👍é'\nß\n".encode()),
    "empty": (b"", ("", "a\n"), b"a\n"),
    "two megabytes": (
        b"".join(b"value_%d = %d\n" % (n, n) for n in range(120_000)),
        ("value_77777 = 77777\n", "value_77777 = 0\n"),
        b"".join(b"value_%d = %d\n" % (n, n if n != 77777 else 0) for n in range(120_000)),
    ),
}


@pytest.mark.parametrize("opened", [False, True], ids=["on disk", "open"])
async def test_bytes_that_are_not_edited_stay(
    open_editor: Open, workspace: Path, opened: bool
) -> None:
    uses = []
    for number, (name, (before, pair, _)) in enumerate(FILES.items()):
        (workspace / f"{name}.txt").write_bytes(before)
        uses.append(edit(f"{name}.txt", pair, call=f"c{number}"))
    with wire_server("openai", [calls("openai", *uses), says("openai", "Done.")]) as model:
        editor = await open_editor(model, {"save": True}, tools={"edits": "apply"})
        if opened:
            for name in FILES:
                editor.show(f"{name}.txt")
        await editor.chat("Edit all of them.")
        told = results(model.bodies[1], "openai")
    for number, (name, (_, _, after)) in enumerate(FILES.items()):
        assert "as proposed" in told[f"c{number}"], (name, told[f"c{number}"])
        assert (workspace / f"{name}.txt").read_bytes() == after, name


async def test_the_buffer_counts_and_stays_unsaved(open_editor: Open, workspace: Path) -> None:
    uses = script(
        "openai",
        edit("src/a.py", ("return 1", "return 2")),
        edit("src/a.py", ("return 7", "return 8"), call="c2"),
    )
    with wire_server("openai", uses) as model:
        editor = await open_editor(model, {"save": True}, tools={"edits": "apply"})
        editor.type_in("src/a.py", "def alpha() -> int:\n    return 7\n")
        await editor.chat("Edit.")
        told = results(model.bodies[2], "openai")
        assert "is not in the file as it is now" in told["c1"]
        assert "    return 7" in told["c1"]
        assert "It is not saved yet" in told["c2"]
    assert editor.show("src/a.py").text.endswith("return 8\n")
    assert (workspace / "src/a.py").read_text().endswith("return 1\n"), "the user saves, not we"


async def test_a_file_that_changes_while_the_user_thinks(open_editor: Open) -> None:
    uses = script("openai", edit("src/a.py", ("return 1", "return 2")))
    with wire_server("openai", uses) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Edit."))
        found = await asked(editor)
        editor.type_in("src/a.py", "# a new line\ndef alpha() -> int:\n    return 9\n")
        with pytest.raises(Exception, match="no longer fits"):
            await editor.ask("edit/accept", p.EditAcceptParams(found.id))
        editor.type_in("src/a.py", "# a new line\ndef alpha() -> int:\n    return 1\n")
        preview = await editor.ask("edit/preview", p.EditParams(found.id))
        assert preview.stale and preview.after.startswith("# a new line")
        done = await editor.ask("edit/accept", p.EditAcceptParams(found.id))
        assert done.state == "applied"
        await editor.finished(sent.turn_id)
        expected = "# a new line\ndef alpha() -> int:\n    return 2\n"
        assert editor.show("src/a.py").text == expected


async def test_new_files_and_their_limits(open_editor: Open, workspace: Path) -> None:
    (workspace / ".gitignore").write_text("ignored.py\n")
    wanted = {
        "c1": {"path": "src/new/c.py", "content": "C = 1\n"},
        "c2": {"path": "src/a.py", "content": "overwritten"},
        "c3": {"path": "../outside.py", "content": "x"},
        "c4": {"path": ".env", "content": "KEY=1"},
        "c5": {"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"},
        "c6": {"path": "ignored.py", "content": "x"},
        "c7": {"path": "src", "content": "x"},
        "c8": {"path": "both.py", "content": "x", "edits": [{"search": "a", "replace": "b"}]},
        "c9": {"path": ".tierline/config.toml", "content": "[tools]\n"},
        "c10": {"path": "long.py", "edits": [{"search": "A = 1\nB = 2\n", "replace": "# ...\n"}]},
    }
    (workspace / "long.py").write_text("A = 1\nB = 2\n")
    uses = [Use("propose_edit", arguments, call) for call, arguments in wanted.items()]
    with wire_server("openai", [calls("openai", *uses), says("openai", "Done.")]) as model:
        editor = await open_editor(model, {"save": True}, tools={"edits": "apply"})
        await editor.chat("Create.")
        told = results(model.bodies[1], "openai")
    assert "as proposed" in told["c1"]
    assert (workspace / "src/new/c.py").read_text() == "C = 1\n"
    for call, words in {
        "c2": "exists already",
        "c3": "outside the workspace",
        "c4": "secrets",
        "c5": "belongs to git",
        "c6": "ignore rule",
        "c7": "exists already",
        "c8": "either `edits` or `content`",
        "c9": "belongs to git or to Tierline",
        "c10": "would stand in the place of code",
    }.items():
        assert told[call].startswith("Error: Not proposed:"), told[call]
        assert words in told[call], told[call]
    assert len(editor.edits) == 1
    assert not (workspace.parent / "outside.py").exists()


async def test_credentials_are_neither_shown_nor_overwritten(
    open_editor: Open, workspace: Path
) -> None:
    key = "sk-ant-api03-" + "A1b2" * 22 + "AA"
    (workspace / "c.py").write_text(f'KEY = "{key}"\nDEBUG = False\n')
    uses = [
        Use("read_file", {"path": "c.py"}, "c1"),
        edit("c.py", ('KEY = "[redacted:anthropic-key]"', 'KEY = ""'), call="c2"),
        edit("c.py", ("DEBUG = False", "DEBUG = True"), call="c3"),
        Use("search_code", {"query": "KEY"}, "c4"),
    ]
    with wire_server("openai", [calls("openai", *uses), says("openai", "Done.")]) as model:
        editor = await open_editor(model, {"save": True}, tools={"edits": "apply"})
        await editor.chat("Look and edit.")
        told = results(model.bodies[1], "openai")
        assert key not in json.dumps(model.bodies)
    assert "[redacted:" in told["c1"]
    assert "you are not shown" in told["c2"]
    assert "as proposed" in told["c3"]
    assert "[redacted:" in told["c4"]
    assert (workspace / "c.py").read_text() == f'KEY = "{key}"\nDEBUG = True\n'


async def test_an_encoding_that_lacks_a_character(open_editor: Open, workspace: Path) -> None:
    (workspace / "l.txt").write_bytes("Größe: 1 €\nmore: 2\n".encode("cp1252"))
    uses = [edit("l.txt", ("more: 2", "mehr: 2 →")), edit("l.txt", ("more", "übrig"), call="c2")]
    with wire_server("openai", [calls("openai", *uses), says("openai", "Done.")]) as model:
        editor = await open_editor(model, {"save": True}, tools={"edits": "apply"})
        editor.show("l.txt", "cp1252")
        await editor.chat("Edit.")
        told = results(model.bodies[1], "openai")
    assert "cp1252, which has no '→'" in told["c1"]
    assert (workspace / "l.txt").read_bytes() == "Größe: 1 €\nübrig: 2\n".encode("cp1252")


async def test_an_editor_that_refuses_is_quoted(open_editor: Open) -> None:
    uses = script("openai", edit("src/a.py", ("return 1", "return 2")))
    with wire_server("openai", uses) as model:
        editor = await open_editor(model, tools={"edits": "apply"})
        editor.refuse_edits = "the file is read-only"
        await editor.chat("Edit.")
        told = results(model.bodies[1], "openai")["c1"]
        assert told.startswith("Error: The edit to src/a.py was not applied.")
        assert "the file is read-only" in told


async def test_files_that_make_programs_run_are_always_shown_first(
    open_editor: Open, workspace: Path
) -> None:
    use = Use("propose_edit", {"path": ".vscode/tasks.json", "content": "{}\n"}, "c1")
    with wire_server("openai", script("openai", use)) as model:
        editor = await open_editor(model, tools={"edits": "apply"})
        editor.answers = lambda _text, _actions: ""
        await editor.chat("Edit.")
        assert len(editor.questions) == 1
        assert "rejected" in results(model.bodies[1], "openai")["c1"]
    assert not (workspace / ".vscode").exists()


async def test_nothing_is_changed_in_an_untrusted_workspace(open_editor: Open) -> None:
    use = edit("src/a.py", ("return 1", "return 2"))
    with wire_server("openai", script("openai", use)) as model:
        editor = await open_editor(model, tools={"edits": "apply", "workspaceTrusted": False})
        await editor.chat("Edit.")
        names = [t["function"]["name"] for t in model.bodies[0]["tools"]]
        assert "propose_edit" not in names
        assert "run_command" not in names
        assert "switched off" in results(model.bodies[1], "openai")["c1"]
        assert not editor.edits
        await asyncio.sleep(0)


async def test_an_open_edit_waits_for_its_conversation(open_editor: Open) -> None:
    uses = script("openai", edit("src/a.py", ("return 1", "return 2")))
    with wire_server("openai", uses) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Mend it."))
        found = await asked(editor)
        await editor.ask("chat/cancel", p.ChatCancelParams(sent.turn_id))
        await editor.finished(sent.turn_id)
        first = editor.bodies(p.TurnStarted)[0]
        here = (await editor.ask("state/get")).session_id
        state = await editor.ask("history/newSession")
        assert state.edits == []
        with pytest.raises(Exception, match="no edit"):
            await editor.ask("edit/accept", p.EditAcceptParams(found.id))
        await editor.chat("Hello.")
        assert "Edit c1" not in json.dumps(model.bodies[-1])
        state = await editor.ask("history/loadSession", p.SessionParams(here))
        assert [(e.id, e.state) for e in state.edits] == [(found.id, "open")]
        undone = await editor.ask("history/undo", p.UndoParams())
        assert undone.edits == [], "with its turn the edit is gone"
        back = await editor.ask("history/restore", p.GroupParams(first.turn_id))
        assert [e.id for e in back.edits] == [found.id]
        done = await editor.ask("edit/accept", p.EditAcceptParams(found.id))
        assert done.state == "applied"


async def test_code_of_a_reply_becomes_an_edit_that_the_user_decides(
    open_editor: Open, workspace: Path
) -> None:
    """Taken out of the reply by the user: no call, no question; the model hears of it later."""
    (workspace / "m.py").write_text("def a():\n    return 1\n\n\ndef b():\n    return 2\n")
    code = "def b():\n    return 3\n"
    replies = [says("openai", "Look."), says("openai", "Good.")]
    with wire_server("openai", replies) as model:
        editor = await open_editor(model, ALL)
        ended = await editor.chat("Show me.")
        assert ended.message is not None
        said = ended.message.id
        made = await editor.ask("edit/propose", p.EditProposeParams(code, said, path="m.py"))
        assert (made.state, made.call_id, made.path, made.create) == ("open", "", "m.py", False)
        assert [hunk.after for hunk in made.hunks] == ["    return 3\n"]
        taken = await editor.ask("edit/accept", p.EditAcceptParams(made.id))
        assert taken.state == "applied"
        assert "return 3" in editor.documents[made.uri].text
        new = await editor.ask("edit/propose", p.EditProposeParams(code, said, path="new/n.py"))
        assert new.create and new.hunks[0].after == code
        await editor.ask("edit/reject", p.EditRejectParams(new.id))
        for path, text, why in (
            ("m.py", "x = 1\n", "nothing in the file is called"),
            ("../out.py", code, "out.py"),
            (".env", code, ".env"),
        ):
            with pytest.raises(Exception, match=why):
                await editor.ask("edit/propose", p.EditProposeParams(text, said, path=path))
        assert [edit.id for edit in (await editor.ask("edit/list", p.NoParams())).edits] == [
            made.id,
            new.id,
        ]
        await editor.chat("And now?")
    assert "m.py" in json.dumps(model.bodies[-1]["messages"][1:]), "what became of it is told"
    assert not (workspace / "new").exists()
