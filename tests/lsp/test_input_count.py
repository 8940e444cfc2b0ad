"""A reply without figures: the service is asked in the background what the request counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsp.conftest import Start
from wire.scripts import a_reply
from wire.servers import Reply, Request, WireServer, wire_server

SILENT = a_reply("Yes.", input_tokens=0)


async def eventually(true: Callable[[], Any]) -> None:
    """Wait for what no event of the editor's tells."""
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def counts(model: WireServer) -> list[Request]:
    return [request for request in model.others if request.path == model.count_path]


def learnt(workspace: Path) -> list[float]:
    file = workspace / ".tierline" / "calibration.json"
    values = json.loads(file.read_text()).values() if file.exists() else ()
    return [ratio for value in values for ratio in value["log_ratios"]]


async def test_the_request_that_was_just_sent_is_counted_and_learnt_from(start: Start) -> None:
    with wire_server("anthropic", SILENT) as model:
        editor = await start(model)
        model.input_tokens = int((await editor.ask("budget/get")).used * 1.15)
        end = await editor.chat("Is it?")
        assert end.usage is not None and end.usage.estimated
        await eventually(lambda: learnt(editor.workspace))
        (asked,), (sent,) = counts(model), model.bodies
        assert asked.body.items() <= sent.items(), "nothing that was not just sent"
        assert asked.body["messages"] == sent["messages"]


class Refusing(WireServer):
    """A gateway that does not count."""

    def _count(self, request: Request) -> Reply:
        self.others.append(request)
        return Reply([b"not found"], 404)


async def test_a_service_that_does_not_count_is_asked_once(start: Start) -> None:
    with Refusing("anthropic", [SILENT]) as model:
        editor = await start(model)
        await editor.chat("Is it?")
        await eventually(lambda: counts(model))
        for _ in range(3):
            assert (await editor.chat("And now?")).usage is not None
        await editor.stop()
        editor = await start(model)
        await editor.chat("Again?")
        await editor.stop()
    assert len(counts(model)) == 1


async def test_nobody_counts_what_a_reply_told_or_where_the_setting_is_off(start: Start) -> None:
    with wire_server("anthropic", [a_reply("Yes.", input_tokens=900), SILENT]) as model:
        editor = await start(model, provider={"count_tokens": False})
        await editor.chat("Is it?")
        for _ in range(2):
            await editor.chat("And now?")
        await editor.stop()
    assert counts(model) == []
