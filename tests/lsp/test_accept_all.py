"""One edit is accepted with all that follow in this session: the next ones are not asked about."""

from __future__ import annotations

from pathlib import Path

from lsp.conftest import Open
from lsp.editing import ALL, asked, edit, script
from tierline import protocol as p
from wire.servers import wire_server


async def test_all_edits_of_this_session_are_accepted_with_one_answer(
    open_editor: Open, workspace: Path
) -> None:
    uses = [
        edit("src/a.py", ("return 1", "return 2"), call="c1"),
        edit("src/b.py", ("BETA = 2", "BETA = 3"), call="c2"),
        edit("src/b.py", ("BETA = 3", "BETA = 4"), call="c3"),
    ]
    with wire_server("openai", [*script("openai", *uses[:2]), *script("openai", uses[2])]) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams("Change both."))
        first = await asked(editor)
        await editor.ask("edit/accept", p.EditAcceptParams(first.id, session=True))
        assert (await editor.finished(sent.turn_id)).outcome == "ok"
        assert "return 2" in (workspace / "src" / "a.py").read_text()
        assert (workspace / "src" / "b.py").read_text() == "BETA = 3\n"
        await editor.ask("history/newSession")
        sent = await editor.ask("chat/send", p.ChatSendParams("Once more."))
        again = await asked(editor, 2)
        assert again.state == "open", "another session asks again"
        await editor.ask("edit/reject", p.EditRejectParams(again.id))
        await editor.finished(sent.turn_id)
        assert (workspace / "src" / "b.py").read_text() == "BETA = 3\n"
