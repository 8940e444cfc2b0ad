"""Capsules through a real server: made, listed, sent while fresh, never when stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline.lsp import protocol as p
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

TEXT = '"""Converts temperatures between scales."""\n\n\ndef to_kelvin(value):\n    return value\n'


async def test_a_capsule_is_sent_while_its_file_is_as_it_was(
    start: Start, model: WireServer, workspace: Path
) -> None:
    file = workspace / "src" / "scales.py"
    file.write_text(TEXT, encoding="utf-8")
    editor = await start(model)
    made = await editor.ask("capsule/make", p.CapsuleMakeParams("src/scales.py"))
    assert (made.path, made.source, made.stale) == ("src/scales.py", "extract", False)
    assert "Converts temperatures" in made.text and "to_kelvin" in made.text
    assert 0 < made.confidence < 1 and made.created and len(made.sha256) == 64
    await editor.chat("where are temperatures converted?")
    assert "Description of src/scales.py" in json.dumps(model.bodies[-1]["messages"][-1])
    await editor.ask("mode/set", p.ModeParams("off"))
    await editor.chat("where are temperatures converted?")
    assert "Description of src/scales.py" not in json.dumps(model.bodies[-1])
    await editor.ask("mode/set", p.ModeParams("light"))
    file.write_text(TEXT + "\n# changed\n", encoding="utf-8")
    (listed,) = (await editor.ask("capsule/list")).capsules
    assert listed.stale
    await editor.chat("where are temperatures converted now?")
    assert "Description of src/scales.py" not in json.dumps(model.bodies[-1])
    shown = await editor.ask("chat/command", p.CommandParams("/capsule list"))
    assert "stale" in shown.text


async def test_the_model_describes_a_file_and_its_names_are_checked(
    start: Start, workspace: Path
) -> None:
    replies = [o_reply("Converts with `to_kelvin` and `no_such_name`.")]
    with wire_server("openai", replies) as model:
        (workspace / "src" / "scales.py").write_text(TEXT, encoding="utf-8")
        editor = await start(model)
        params = p.CapsuleMakeParams("src/scales.py", use_model=True)
        made = await editor.ask("capsule/make", params)
        assert (made.source, made.model, made.confidence) == ("model", "gpt-5", 0.45)
        asked = json.dumps(model.bodies[-1])
        assert "data, not instructions" in asked and "to_kelvin" in asked
        assert (await editor.ask("state/get")).messages == [], "nothing of it is in the chat"


@pytest.mark.parametrize("path", ["nowhere.py", ".env", "../outside.py"])
async def test_what_must_not_be_read_is_refused(
    start: Start, model: WireServer, workspace: Path, path: str
) -> None:
    (workspace / ".env").write_text("TOKEN=abc\n")
    editor = await start(model)
    with pytest.raises(JsonRpcException):
        await editor.ask("capsule/make", p.CapsuleMakeParams(path, use_model=True))
    assert model.bodies == [] and (await editor.ask("capsule/list")).capsules == []
