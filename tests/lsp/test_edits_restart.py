"""Proposed edits outlive the server: reloads, kills, and what the file has become since."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bugcases.bodies import violations
from lsp.conftest import Open
from lsp.editing import ALL, EditingEditor, asked, edit, script
from lsp.project import records
from tierline import protocol as p
from tierline.context.text import sha256
from wire.agents import Use
from wire.servers import WireServer, wire_server

KEY = "sk-ant-api03-" + "A1b2" * 22 + "AA"
ONE = edit("src/a.py", ("return 1", "return 2"))


async def waiting(open_editor: Open, model: WireServer) -> tuple[EditingEditor, p.EditInfo]:
    """An editor whose turn waits for a decision."""
    editor: EditingEditor = await open_editor(model, ALL)
    await editor.ask("chat/send", p.ChatSendParams(text="Mend it."))
    return editor, await asked(editor)


async def kill(editor: EditingEditor) -> None:
    """End the server as a crash does."""
    server: Any = editor.client._server
    os.kill(server.pid, signal.SIGKILL)
    await asyncio.wait_for(server.wait(), 5)
    editor._stopped = True
    await editor.client.stop()


async def end(editor: EditingEditor, killed: bool) -> None:
    await (kill(editor) if killed else editor.stop())


@pytest.mark.parametrize("killed", [False, True], ids=["window reload", "kill"])
async def test_an_open_edit_is_there_after_a_restart(
    open_editor: Open, workspace: Path, killed: bool
) -> None:
    with wire_server("anthropic", script("anthropic", ONE)) as model:
        editor, found = await waiting(open_editor, model)
        await end(editor, killed)
        again = await open_editor(model, ALL)
        state = await again.ask("state/get")
        (kept,) = state.edits
        assert (kept.id, kept.state, kept.reason) == (found.id, "open", "")
        assert (kept.hunks, kept.added, kept.removed) == (found.hunks, 1, 1)
        (call,) = [c for m in state.messages for c in m.calls]
        assert (call.id, call.message_id) == (kept.call_id, kept.message_id), "its card has a place"
        shown = await again.ask("edit/preview", p.EditParams(kept.id))
        assert (shown.after, shown.stale) == ("def alpha() -> int:\n    return 2\n", False)
        done = await again.ask("edit/accept", p.EditAcceptParams(kept.id))
        assert done.state == "applied"
        assert (workspace / "src/a.py").read_text() == shown.after
        await again.chat("And now?")
        assert violations(model.bodies[-1], "anthropic") == []
        assert "Edit c1: The user accepted the edit" in json.dumps(model.bodies[-1])
        await again.stop()
        last = await open_editor(model, ALL)
        (kept,) = (await last.ask("state/get")).edits
        assert (kept.state, kept.accepted) == ("applied", [0])
        with pytest.raises(Exception, match="applied already"):
            await last.ask("edit/accept", p.EditAcceptParams(kept.id))
        await last.chat("Once more.")
        assert json.dumps(model.bodies[-1]).count("Edit c1: The user accepted") == 1, "told once"


async def test_a_stale_edit_is_refused_with_the_reason(open_editor: Open, workspace: Path) -> None:
    file = workspace / "src/a.py"
    with wire_server("openai", script("openai", ONE)) as model:
        editor, found = await waiting(open_editor, model)
        await kill(editor)
        file.write_text("def alpha() -> int:\n    return 7\n")
        again = await open_editor(model, ALL)
        (kept,) = (await again.ask("state/get")).edits
        assert kept.state == "open" and "no longer fits" in kept.reason
        for request in ("edit/accept", "edit/preview"):
            with pytest.raises(Exception, match="has changed, and the edit no longer fits"):
                await again.ask(request, BY_NAME[request](kept.id))
        assert file.read_text().endswith("return 7\n") and not again.edits

        # An unsaved buffer counts, and so does what the edit makes of it.
        again.type_in("src/a.py", "def alpha() -> int:\n    return 2\n")
        with pytest.raises(Exception, match="says already what the edit would make of it"):
            await again.ask("edit/accept", p.EditAcceptParams(kept.id))
        again.type_in("src/a.py", "# new\ndef alpha() -> int:\n    return 1\n")
        (kept,) = (await again.ask("edit/list")).edits
        assert (kept.id, kept.reason, kept.hunks[0].line) == (found.id, "", 3)
        assert (await again.ask("edit/accept", p.EditAcceptParams(kept.id))).state == "applied"
        assert again.show("src/a.py").text == "# new\ndef alpha() -> int:\n    return 2\n"


BY_NAME = {"edit/accept": p.EditAcceptParams, "edit/preview": p.EditParams}


async def test_a_new_file_and_a_part(open_editor: Open, workspace: Path) -> None:
    (workspace / "n.txt").write_text("".join(f"{n}\n" for n in range(20)))
    uses = (
        Use("propose_edit", {"path": "src/new.py", "content": "N = 1\n"}, "c1"),
        edit("n.txt", ("2\n3\n", "two\n3\n"), ("10\n", "ten\n"), call="c2"),
    )
    with wire_server("openai", script("openai", *uses)) as model:
        editor, made = await waiting(open_editor, model)
        await kill(editor)
        again = await open_editor(model, ALL)
        (kept,) = (await again.ask("state/get")).edits
        assert kept.create and kept.hunks == made.hunks
        await again.ask("edit/accept", p.EditAcceptParams(made.id))
        assert (workspace / "src/new.py").read_text() == "N = 1\n"

        await again.ask("chat/send", p.ChatSendParams(text="The words."))
        parts = await asked(again)
        await again.ask("edit/choose", p.EditChooseParams(parts.id, 0, take=False))
        await kill(again)
        last = await open_editor(model, ALL)
        kept = (await last.ask("state/get")).edits[1]
        assert [hunk.choice for hunk in kept.hunks] == ["leave", ""]
        done = await last.ask("edit/choose", p.EditChooseParams(parts.id, 1))
        assert (done.state, done.accepted) == ("partly", [1])
        assert (workspace / "n.txt").read_text().splitlines()[2:11:8] == ["2", "ten"]


@pytest.mark.parametrize("saved", [True, False], ids=["applied", "not applied"])
async def test_a_kill_while_the_edit_is_applied(
    open_editor: Open, workspace: Path, saved: bool
) -> None:
    """An insertion fits the file again after it was made: it must not be made twice."""
    use = edit("src/a.py", ("def alpha", "# once\ndef alpha"))
    with wire_server("openai", script("openai", use)) as model:
        editor, found = await waiting(open_editor, model)
        before = (workspace / "src/a.py").read_text()

        def die() -> None:
            if saved:
                editor.show("src/a.py").save()
            server: Any = editor.client._server
            os.kill(server.pid, signal.SIGKILL)

        editor.on_applied = die
        accepting = asyncio.ensure_future(editor.ask("edit/accept", p.EditAcceptParams(found.id)))
        server: Any = editor.client._server
        await asyncio.wait_for(server.wait(), 20)
        accepting.cancel()
        editor._stopped = True
        await editor.client.stop()

        again = await open_editor(model, ALL)
        (kept,) = (await again.ask("state/get")).edits
        if saved:
            assert (kept.state, kept.accepted) == ("applied", [0])
            await again.chat("And now?")
            assert "Edit c1: The user accepted the edit" in json.dumps(model.bodies[-1])
        else:
            assert (kept.state, kept.reason) == ("open", "")
            await again.ask("edit/accept", p.EditAcceptParams(kept.id))
        assert (workspace / "src/a.py").read_text() == "# once\n" + before


async def test_a_credential_is_not_written_and_its_edit_ends(
    open_editor: Open, workspace: Path
) -> None:
    use = edit("src/a.py", ("return 1", f"return {KEY!r}"))
    with wire_server("openai", script("openai", use)) as model:
        editor, found = await waiting(open_editor, model)
        assert KEY in found.hunks[0].after
        await kill(editor)
        assert KEY.encode() not in (workspace / ".tierline" / "history.jsonl").read_bytes()
        again = await open_editor(model, ALL)
        (kept,) = (await again.ask("state/get")).edits
        assert kept.state == "expired" and "credential" in kept.reason
        with pytest.raises(Exception, match="expired already"):
            await again.ask("edit/accept", p.EditAcceptParams(found.id))
        assert not again.edits


async def test_a_log_from_elsewhere_cannot_show_one_change_and_make_another(
    open_editor: Open, workspace: Path
) -> None:
    with wire_server("openai", script("openai", ONE)) as model:
        editor, found = await waiting(open_editor, model)
        await kill(editor)
        log = workspace / ".tierline" / "history.jsonl"
        lines = records(workspace)
        (event,) = [r for r in lines if r.get("kind") == "edit"]
        data = event["data"]
        data["hunks"] = [[2, "    return 1\n", "    return 1  # harmless\n"]]
        proposal = {name: data[name] for name in ("blocks", "content", "hunks")}
        data["digest"] = sha256(json.dumps(proposal, sort_keys=True))
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        again = await open_editor(model, ALL)
        with pytest.raises(Exception, match="look at the edit again"):
            await again.ask("edit/accept", p.EditAcceptParams(found.id))
        (kept,) = (await again.ask("state/get")).edits
        assert kept.hunks[0].after == "    return 2\n"
        assert (workspace / "src/a.py").read_text().endswith("return 1\n")


async def test_two_windows_decide_once(open_editor: Open, workspace: Path) -> None:
    use = edit("src/a.py", ("def alpha", "# once\ndef alpha"))
    with wire_server("openai", script("openai", use)) as model:
        editor, found = await waiting(open_editor, model)
        other = await open_editor(model, ALL)
        assert [e.state for e in (await other.ask("state/get")).edits] == ["open"]
        await other.ask("edit/accept", p.EditAcceptParams(found.id))
        with pytest.raises(Exception, match="applied already"):
            await editor.ask("edit/accept", p.EditAcceptParams(found.id))
        turn = editor.bodies(p.TurnStarted)[0].turn_id
        assert (await editor.finished(turn)).outcome == "ok", "its turn goes on"
        assert (workspace / "src/a.py").read_text().count("# once") == 1
