"""Files that the model created are not sent again when they come into the chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lsp.conftest import Open
from lsp.editing import edit
from support.bodyreader import read, version
from tierline import protocol as p
from wire.agents import Use, calls, results, says
from wire.servers import Kind, wire_server

NEW = "".join(f"value_{n} = {n}\n" for n in range(80))
PATH = "src/new.py"


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
async def test_a_file_that_the_model_created_is_confirmed_and_followed(
    open_editor: Open, workspace: Path, kind: Kind
) -> None:
    """Added to the chat, changed by the user, by the model, and deleted."""
    create = Use("propose_edit", {"path": PATH, "content": NEW}, "c1")
    done = says(kind, "Done.")
    replies = [calls(kind, create), done, done, done]
    replies += [calls(kind, edit(PATH, ("value_3 = 3\n", "value_3 = 4\n"), call="c2")), done, done]
    with wire_server(kind, replies) as model:
        editor = await open_editor(model, {"save": True}, tools={"edits": "apply"})
        await editor.chat("Create it.")
        told = results(model.bodies[1], kind)["c1"]
        assert told == f"Created as proposed ({version(NEW)}): {PATH}."
        await editor.ask("files/add", p.FileParams(path=PATH))
        await editor.chat("And now?")
        body = model.bodies[-1]
        assert f"Update: {PATH} is {version(NEW)} as you made it." in json.dumps(body)
        assert json.dumps(body).count("value_79 = 79") == 1, "in its call alone"
        assert read(body).files[PATH] == NEW
        plan = await editor.ask("plan/get", p.PlanParams())
        (planned,) = [e.tokens for e in plan.entries if e.key == f"file:{PATH}" and e.included]
        assert planned < 40, "what is said of it, not what stands in the call"
        editor.type_in(PATH, NEW + "more = 1\n")
        editor.documents[editor.uri(PATH)].save()
        await editor.chat("I changed it.")
        assert json.dumps(model.bodies[-1]).count("value_79 = 79") == 2, "a difference's context"
        assert read(model.bodies[-1]).files[PATH] == NEW + "more = 1\n"
        await editor.chat("Change it.")
        assert read(model.bodies[-1]).files[PATH] == editor.documents[editor.uri(PATH)].text
        assert "in full" not in json.dumps(model.bodies[-1]["messages"])
        await editor.ask("files/remove", p.FileParams(path=PATH))
        await editor.chat("Forget it.")
        assert PATH not in read(model.bodies[-1]).files


async def test_a_file_that_was_changed_before_it_came_is_sent(
    open_editor: Open, workspace: Path
) -> None:
    create = Use("propose_edit", {"path": PATH, "content": NEW}, "c1")
    done = says("anthropic", "Done.")
    with wire_server("anthropic", [calls("anthropic", create), done, done]) as model:
        editor = await open_editor(model, {"save": True}, tools={"edits": "apply"})
        await editor.chat("Create it.")
        editor.type_in(PATH, NEW + "more = 1\n")
        editor.documents[editor.uri(PATH)].save()
        await editor.ask("files/add", p.FileParams(path=PATH))
        await editor.chat("And now?")
        assert "as you made it" not in json.dumps(model.bodies[-1])
        assert read(model.bodies[-1]).files[PATH] == NEW + "more = 1\n"
