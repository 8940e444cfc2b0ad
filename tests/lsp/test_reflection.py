"""What is kept of each turn, through a real server, in the index and on the command line."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from lsp.conftest import Start
from tierline import protocol as p
from tierline.cli.main import app
from wire.agents import Use, calls, says
from wire.servers import wire_server


async def test_each_turn_leaves_a_reflection(start: Start, workspace: Path) -> None:
    script = [
        calls("anthropic", Use("read_file", {"path": "src/a.py"}), Use("read_file", {"path": "x"})),
        says("anthropic", "It returns one."),
        says("anthropic", "Yes."),
    ]
    with wire_server("anthropic", script) as model:
        editor = await start(model)
        await editor.chat("What does a.py do?")
        await editor.chat("Sure?")
        found = (await editor.ask("stats/turns")).turns
        plans = [plan.plan_id for plan in (await editor.ask("plan/list")).plans]
        other = await editor.ask("stats/turns", p.TurnStatsParams(session_id="sess_0_none"))
    assert other.turns == []
    assert [turn.outcome for turn in found] == ["ok", "ok"]
    second, first = found
    assert [(c.tool, c.status) for c in first.calls] == [
        ("read_file", "ok"),
        ("read_file", "error"),
    ]
    assert [*second.plans, *reversed(first.plans)] == plans, "every request's plan, in order"
    assert first.input_tokens == 20, "what the provider reported"
    assert first.error_percent is not None and first.error_percent > 0
    # The index is rebuilt from the log, the reflections with it.
    for file in (workspace / ".tierline").glob("index.sqlite3*"):
        file.unlink()
    kept = {"TIERLINE_STATE_DIR": str(workspace.parent / ".state")}
    shown = CliRunner().invoke(
        app,
        ["stats", "--turns", "--json", "--root", str(workspace)],
        env=kept,
    )
    assert shown.exit_code == 0, shown.output
    assert [t["turnId"] for t in json.loads(shown.output)] == [second.turn_id, first.turn_id]
    table = CliRunner().invoke(
        app,
        ["stats", "--turns", "--root", str(workspace)],
        env=kept,
    )
    assert "Turns, newest first" in table.output


async def test_failed_and_stopped_turns_are_kept_too(start: Start) -> None:
    from wire.scripts import o_error

    with wire_server("openai", o_error("no", 401)) as model:
        editor = await start(model)
        await editor.chat("Hello?")
        (turn,) = (await editor.ask("stats/turns")).turns
        assert (turn.outcome, turn.calls) == ("error", [])


async def test_traces_are_exported_only_on_demand(start: Start) -> None:
    """The real exporter, to a collector on loopback."""
    received: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    with wire_server("openai", says("openai", "The answer is confidential.")) as model:
        silent = await start(model, env=env)
        await silent.chat("A confidential question.")
        assert received == []
        loud = await start(model, env=env | {"TIERLINE_TELEMETRY_OTEL": "true"})
        await loud.chat("A confidential question.")
        for _ in range(100):
            if received:
                break
            import asyncio

            await asyncio.sleep(0.05)
    server.shutdown()
    assert [path for path, _ in received] == ["/v1/traces"]
    body = received[0][1]
    assert b"gen_ai.operation.name" in body
    assert b"confidential" not in body
