"""What a turn of several requests took: the sum, over the wire.

Figures are those that the scripted provider reports; prices are the model table's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p
from tierline.cli.main import app
from wire.agents import Use, calls
from wire.scripts import a_end, a_reply, a_start, a_texts, o_reply, then
from wire.servers import Hold, Kind, Reply, wire_server

READ = Use("read_file", {"path": "src/a.py"})


def asks(tokens: int, out: int, **cache: int) -> Reply:
    """A reply that calls a tool, with figures."""
    body = list(calls("anthropic", READ).body)
    return Reply([a_start(input_tokens=tokens, **cache), *body[1:-2], *a_end("tool_use", out)])


SCRIPT = [
    asks(1000, 20, cache_creation_input_tokens=4000),
    asks(300, 30, cache_read_input_tokens=4000),
    a_reply("One.", input_tokens=200, cache_read_input_tokens=4100),
]


def cut_short(how: str) -> Reply:
    """A reply that does not come to its end: the user stops it, its connection ends, it fails."""
    half = [a_start(input_tokens=300, cache_read_input_tokens=4000), *a_texts(0, "Half")[:-1]]
    busy = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n'
    return {"stopped": then(half, Hold()), "cut": then(half), "failed": then(half, busy)}[how]


async def ask_and_cut(editor: Editor, how: str) -> p.TurnFinished:
    """The end of a turn whose model replies with ``cut_short``."""
    sent = await editor.ask("chat/send", p.ChatSendParams(text="Go."))
    if how == "stopped":
        await editor.until(lambda: editor.bodies(p.TextDelta))
        await editor.ask("chat/cancel")
    return await editor.finished(sent.turn_id)


async def test_a_turn_of_three_requests_shows_their_sum(start: Start, workspace: Path) -> None:
    with wire_server("anthropic", SCRIPT) as model:
        editor = await start(model)
        end = await editor.chat("What does a.py do?")
        rows = (await editor.ask("stats/requests")).requests
        (turn,) = (await editor.ask("stats/turns")).turns
        (session,) = (await editor.ask("stats/get")).sessions
        await editor.stop()
    usage, last = end.usage, end.last
    assert usage is not None and last is not None
    assert (usage.requests, last.requests) == (3, 1)
    assert usage.input_tokens == 5000 + 4300 + 4300
    assert usage.output_tokens == 20 + 30 + 5
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (8100, 4000)
    assert (last.input_tokens, last.output_tokens, last.cache_read_tokens) == (4300, 5, 4100)
    assert not usage.estimated
    assert 0 < last.cost < usage.cost
    assert usage.cost == pytest.approx(sum(row.cost for row in rows)), "what the charts add up"
    assert usage.cost == pytest.approx(session.cost), "what tierline stats adds up"
    assert usage.saved == pytest.approx(sum(row.saved for row in rows))
    assert turn.cost == pytest.approx(usage.cost)
    assert (turn.input_tokens, turn.read_tokens) == (usage.input_tokens, 8100)
    run: Any = CliRunner().invoke
    kept = {"TIERLINE_STATE_DIR": str(workspace.parent / ".state")}
    shown = run(app, ["stats", "--turns", "--json", "--root", str(workspace)], env=kept)
    assert json.loads(shown.output)[0]["cost"] == pytest.approx(usage.cost)
    table = run(app, ["stats", "--turns", "--root", str(workspace)], env=kept | {"COLUMNS": "200"})
    assert f"${usage.cost:.4f}" in table.output


async def test_a_turn_of_one_request_is_its_own_sum(start: Start) -> None:
    with wire_server("openai", o_reply("One.")) as model:
        editor = await start(model)
        end = await editor.chat("Hello?")
    assert (end.usage.requests, end.usage.input_tokens, end.last) == (1, 100, None)


@pytest.mark.parametrize("how", ["stopped", "cut", "failed"])
async def test_what_was_cut_off_is_paid_for_too(start: Start, how: str) -> None:
    """The second request does not come to its end; the first one, and its input, were paid."""
    with wire_server("anthropic", [SCRIPT[0], cut_short(how)]) as model:
        editor = await start(model)
        end = await ask_and_cut(editor, how)
        rows = (await editor.ask("stats/requests")).requests
        (turn,) = (await editor.ask("stats/turns")).turns
    assert end.outcome == ("error" if how == "failed" else "interrupted")
    assert end.usage is not None and end.last is not None
    assert (end.usage.requests, end.usage.input_tokens) == (2, 9300)
    assert end.last.input_tokens == 4300
    assert (
        end.usage.cost == pytest.approx(sum(row.cost for row in rows)) == pytest.approx(turn.cost)
    )


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
async def test_a_turn_that_nobody_answered_took_nothing(start: Start, kind: Kind) -> None:
    with wire_server(kind, Reply([b"{}"], 401)) as model:
        editor = await start(model)
        end = await editor.chat("Hello?")
    assert (end.outcome, end.usage, end.last) == ("error", None, None)
