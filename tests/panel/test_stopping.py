"""Prompts that are stopped in every state, and clients that answer wrongly or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema
from acp.helpers import embedded_text_resource, resource_block, resource_link_block

from panel.conftest import Open
from panel.panel import EVERYTHING, Panel
from panel.test_chat import EDIT, new, run, sent
from panel.test_fuzz import Line, agent
from wire.agents import calls, results, says
from wire.scripts import o_end, o_reply, o_texts
from wire.servers import Pause, Reply, WireServer, wire_server


def secret_link(workspace: Path) -> Any:
    (workspace / ".env").write_text("COLOUR=blue\n", encoding="utf-8")
    return resource_link_block(".env", (workspace / ".env").as_uri())


async def asked_again(chat: Panel, seen: int) -> None:
    await chat.until(lambda: len(chat.asked) > seen)


async def stopped(chat: Panel, asking: asyncio.Future[schema.PromptResponse]) -> None:
    """The prompt is answered as the protocol wants it, and quickly."""
    async with asyncio.timeout(20):
        assert (await asking).stop_reason == "cancelled"


@pytest.mark.parametrize("answers", [[None], []], ids=["closed", "left open"])
async def test_a_prompt_is_stopped_while_a_question_before_its_turn_is_open(
    panel: Open, model: WireServer, workspace: Path, answers: list[None]
) -> None:
    link = secret_link(workspace)
    chat = await panel(model)
    session = await new(chat, workspace)
    for blocks in (["Which colour is in ", link], ["What is in @.env?"]):
        seen = len(chat.asked)
        asking = asyncio.ensure_future(chat.say(session, *blocks))
        await asked_again(chat, seen)
        await chat.agent.cancel(session_id=session)
        chat.answers.extend(answers)
        await stopped(chat, asking)
        await chat.until(lambda: not chat.answers)  # else the next question would take it
    assert model.bodies == []
    assert (await chat.say(session, "Hello")).stop_reason == "end_turn"


async def test_all_prompts_of_a_session_are_stopped_the_waiting_one_before_it_begins(
    panel: Open, workspace: Path
) -> None:
    slow = Reply([*o_texts("Once upon "), Pause(30), *o_end()])
    with wire_server("openai", [slow, o_reply("Again.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        first = asyncio.ensure_future(chat.say(session, "Tell me."))
        await chat.until(lambda: "Once upon" in chat.text())
        second = asyncio.ensure_future(chat.say(session, "And this?"))
        await chat.agent.list_sessions(cwd=str(workspace))  # the prompt has been read by now
        await chat.agent.cancel(session_id=session)
        await stopped(chat, first)
        await stopped(chat, second)
        assert len(model.bodies) == 1


async def test_a_session_that_is_closed_answers_a_prompt_that_still_asks(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    asking = asyncio.ensure_future(chat.say(session, secret_link(workspace)))
    await chat.until(lambda: chat.asked)
    await chat.agent.close_session(session_id=session)
    await stopped(chat, asking)


class Odd(dict[str, Any]):
    """An answer that is none."""


@pytest.mark.parametrize("outcome", [None, "nonsense", Odd(outcome=5)], ids=str)
async def test_a_question_about_an_edit_that_is_closed_or_answered_oddly_rejects_it(
    panel: Open, workspace: Path, outcome: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wire_server("openai", [calls("openai", EDIT), says("openai", "Well.")]) as model:
        if isinstance(outcome, Odd):

            async def odd(*_: Any, **__: Any) -> Any:
                return outcome

            monkeypatch.setattr(Panel, "request_permission", odd)
        chat = await panel(model)
        session = await new(chat, workspace)
        chat.answers = [outcome]
        assert (await chat.say(session, "Change it.")).stop_reason == "end_turn"
        assert chat.written == {}
        assert "question was closed" in results(model.bodies[1], "openai")["e1"]


async def test_a_client_whose_terminals_fail_says_so_and_the_turn_goes_on(
    panel: Open, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four commands: no terminal, an odd terminal, no output, an end by a signal."""
    made, read, waited = (
        Panel.create_terminal, Panel.terminal_output, Panel.wait_for_terminal_exit
    )  # fmt: skip

    async def create(self: Panel, *arguments: Any, **more: Any) -> Any:
        if len(self.asked) == 1:
            raise RequestError.internal_error({"detail": "no more terminals"})
        odd = {"terminalId": 7}
        return odd if len(self.asked) == 2 else await made(self, *arguments, **more)

    async def output(self: Panel, *arguments: Any, **more: Any) -> Any:
        return {"output": None} if len(self.asked) == 3 else await read(self, *arguments, **more)

    async def wait(self: Panel, *arguments: Any, **more: Any) -> Any:
        found = await waited(self, *arguments, **more)
        killed = schema.WaitForTerminalExitResponse(exit_code=None, signal="SIGKILL")
        return killed if len(self.asked) == 4 else found

    monkeypatch.setattr(Panel, "create_terminal", create)
    monkeypatch.setattr(Panel, "terminal_output", output)
    monkeypatch.setattr(Panel, "wait_for_terminal_exit", wait)
    end = "import os; os.kill(os.getpid(), 9)"
    codes = ["print(1)", "print(1)", "print(1)", f"print('so far', flush=True); {end}"]
    script = [calls("openai", run(code, f"r{n}")) for n, code in enumerate(codes)]
    with wire_server("openai", [*script, says("openai", "So be it.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        chat.answers = ["once"] * 4
        assert (await chat.say(session, "Run it.")).stop_reason == "end_turn"
        said = results(model.bodies[-1], "openai")
        assert "opened no terminal" in said["r0"]
        assert "cannot be understood" in said["r1"]
        assert "Exit code 0." in said["r2"]
        assert "gives no output" in said["r2"]
        assert "so far" in said["r3"]
        assert "Exit code 0." not in said["r3"]


async def test_addresses_that_are_none_are_named_and_odd_requests_answered(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    for uri in ("http://[", "file://[\u202e/a.py"):
        for block in (
            resource_link_block("a.py", uri),
            resource_block(embedded_text_resource(uri, "text")),
        ):
            with pytest.raises(RequestError, match="is not a valid URI") as failed:
                await chat.say(session, "Look at ", block)
            assert "\u202e" not in str(failed.value)
    assert model.bodies == []
    assert (await chat.agent.list_sessions(cursor="²", cwd=str(workspace))).sessions == []
    for asked in (0, 99):
        assert (await chat.agent.initialize(asked, EVERYTHING)).protocol_version == 1


async def test_the_edit_mode_is_told_to_clients_that_know_modes_only(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    await chat.agent.set_config_option(session_id=session, config_id="edits", value="apply")
    await chat.until(lambda: chat.of("current_mode_update"))
    assert chat.of("current_mode_update")[-1].current_mode_id == "apply"


def answered(line: Line, number: Any) -> Any:
    """The answer to a request, if it came."""
    with contextlib.suppress(queue.Empty, TimeoutError):
        return line.answer(number, 0.2)
    return None


def test_answers_that_are_none_do_not_end_the_connection(
    workspace: Path, model: WireServer
) -> None:
    hello = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}}
    with agent(workspace, model) as line:
        line.answer(line.post("initialize", hello))
        made = line.answer(line.post("session/new", {"cwd": str(workspace), "mcpServers": []}))
        link = {"type": "resource_link", "name": "a.py", "uri": (workspace / "src/a.py").as_uri()}
        for odd in ({"error": "no"}, {"error": {"code": "x"}}, {"result": {"content": 7}}, {}):
            asked = len(line.other)
            prompt = {"sessionId": made["result"]["sessionId"], "prompt": [link]}
            number = line.post("session/prompt", prompt)
            line.write(b'{"jsonrpc": "2.0", "id": [1], "result": {}}\n')
            while (found := answered(line, number)) is None:
                for request in line.other[asked:]:
                    asked += 1
                    if "id" in request:
                        answer = {"jsonrpc": "2.0", "id": request["id"], **odd}
                        line.write(json.dumps(answer).encode() + b"\n")
            assert found["result"]["stopReason"] == "end_turn"
        line.works()
    assert "return 1" in sent(model)
