"""The server speaks the language of the client, and English to the model."""

from __future__ import annotations

import json

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Open
from lsp.editing import EditingEditor
from tierline import protocol as p
from wire.agents import Use, calls, says
from wire.scripts import a_error
from wire.servers import wire_server


async def test_a_german_client_is_told_everything_in_german_and_the_model_nothing(
    open_editor: Open,
) -> None:
    read = Use("read_file", {"path": "src/none.py"}, "c1")
    script = [
        calls("anthropic", read, text="I look."),
        says("anthropic", "Nothing is there."),
        a_error("authentication_error", "invalid x-api-key", 401),
    ]
    with wire_server("anthropic", script) as model:
        editor: EditingEditor = await open_editor(model, locale="de-DE")
        # An error with its advice, and a refusal.
        with pytest.raises(JsonRpcException, match=r"Es gibt keine Sitzung none\.") as refused:
            await editor.ask("history/loadSession", p.SessionParams("none"))
        assert refused.value.data is not None
        assert refused.value.data["advice"] == "Die Liste der Sitzungen zeigt, was es gibt."
        added = await editor.ask("files/add", p.FileParams(path="src/none.py"))
        assert added.refused[0].reason.startswith("src/none.py gibt es nicht.")
        # Commands and their list.
        said = await editor.ask("chat/command", p.CommandParams("/files"))
        assert said.text == "Im Kontext sind keine Dateien."
        listed = (await editor.ask("chat/commands")).commands
        assert "Die Befehle auflisten, oder die zu Wörtern passenden." in [c.doc for c in listed]
        # A question with its buttons: the answer in German is understood.
        await editor.ask("files/add", p.FileParams(path="src/a.py"))
        editor.answers = lambda _text, actions: actions[1]
        assert (await editor.ask("history/newSession")).files == []
        assert editor.questions[-1].startswith("Bleiben die Dateien für die neue Sitzung? src/a.py")
        # Reasons of a plan, an error of the provider; the tool's result is for the model.
        await editor.chat("What is in src/none.py?")
        why = await editor.ask("plan/explain", p.PlanExplainParams("src/none.py"))
        assert "stand für diese Anfrage nicht zur Wahl" in why.sentence
        sent = await editor.ask("chat/send", p.ChatSendParams("And now?"))
        ended = await editor.finished(sent.turn_id)
        assert "hat den Schlüssel nicht angenommen (HTTP 401)" in ended.error
        assert ended.advice == "Prüfen Sie den Schlüssel, oder setzen Sie einen anderen."
        assert "gibt es nicht" not in json.dumps(model.bodies, ensure_ascii=False)
        assert "does not exist" in json.dumps(model.bodies)
