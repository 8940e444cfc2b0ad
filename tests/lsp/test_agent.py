"""The agent that mends ``examples/temperature``, through a real server, over both wire formats. The
same in a real VS Code: tests/e2e/test_agent.py.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bugcases.bodies import violations
from lsp.conftest import Open
from lsp.editing import ALL, asked
from lsp.test_commands_and_consent import question
from tierline import protocol as p
from wire import temperature
from wire.agents import results
from wire.servers import Kind, wire_server

SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "temperature"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "temperature"))


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
async def test_finds_edits_and_tests_with_one_edit_rejected(
    open_editor: Open, workspace: Path, kind: Kind
) -> None:
    with wire_server(kind, temperature.script(kind)) as model:
        editor = await open_editor(model, ALL, env=temperature.PATH)
        sent = await editor.ask("chat/send", p.ChatSendParams(text=temperature.PROMPT))
        asks = await question(editor)
        await editor.ask("consent/answer", p.ConsentAnswerParams(asks.id, "always"))
        first = await asked(editor, 1)
        await editor.ask("edit/reject", p.EditRejectParams(first.id, temperature.REASON))
        second = await asked(editor, 2)
        await editor.ask("edit/accept", p.EditAcceptParams(second.id))
        end = await editor.finished(sent.turn_id)
        assert end.outcome == "ok"
        assert end.message and end.message.text == temperature.DONE
        told = results(model.bodies[-1], kind)
        assert all(violations(body, kind) == [] for body in model.bodies)
    assert "1 failed" in told["test1"]
    assert told["edit1"].endswith(f"Reason: {temperature.REASON}")
    assert told["edit2"].startswith("Applied as proposed (")
    assert told["edit2"].endswith("): convert.py.")
    assert "2 passed" in told["test2"], "always: the second run was not asked about"
    assert "9 / 5 + 32" in (workspace / "convert.py").read_text()
    plans = (await editor.ask("plan/list", p.PlanListParams())).plans
    assert len(plans) == 7, "every request was planned"
