"""Compaction through a real server: seed 004, "History Compaction"."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p
from wire.choosing import ChoosingServer, What
from wire.scripts import o_error, o_reply
from wire.servers import Pause, Reply

LOW: dict[str, dict[str, Any]] = {
    "compaction": {"compactionTriggerTokens": 400, "detector": "local"},
    "history": {"stateAnchor": "off"},
}
NOTES = "Finished: the parser reads apples. Open: the writer for pears in src/pears.py."


def long_prompt(number: int) -> str:
    return (
        f"Step {number} of the parser: read apples and pears from src/pears.py, " + "please " * 60
    )


Answer = Callable[[What, int, Any], "Reply | str"]


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], ChoosingServer]]:
    running: list[ChoosingServer] = []

    def begin(answer: Answer) -> ChoosingServer:
        server = ChoosingServer("openai", answer)
        server.__enter__()
        running.append(server)
        return server

    yield begin
    for server in running:
        server.__exit__(None, None, None)


def answers(summary: Reply | str) -> Answer:
    return lambda what, number, _: f"Reply {number}: read." if what == "chat" else summary


async def talk(editor: Editor, turns: int, first: int = 1) -> None:
    for number in range(first, first + turns):
        await editor.chat(long_prompt(number))


async def over(editor: Editor, kind: type, count: int = 1) -> Any:
    return await editor.until(lambda: len(editor.bodies(kind)) >= count and editor.bodies(kind)[-1])


def log_of(workspace: Path) -> bytes:
    return (workspace / ".tierline" / "history.jsonl").read_bytes()


async def test_compacts_after_the_reply_and_the_next_request_has_the_summary(
    start: Start, serve: Any, workspace: Path
) -> None:
    """Seed 004:217: "The compacted history takes effect on the next request"; 004:297: the start is
    announced only if it takes more than half a second.
    """
    server = serve(answers(Reply([Pause(0.9), *o_reply(NOTES).body])))
    editor = await start(server, **LOW)
    await talk(editor, 5)
    before = log_of(workspace)
    done: p.CompactionComplete = await over(editor, p.CompactionComplete)
    assert [type(b) for b in editor.bodies(object) if "Compaction" in type(b).__name__] == [
        p.CompactionStart,
        p.CompactionComplete,
    ]
    assert done.result.case == "summarize"
    assert done.result.summary == NOTES
    assert done.result.tokens_after < done.result.tokens_before
    cards = [m for m in done.messages if m.compaction]
    assert [(c.id, c.text) for c in cards] == [(done.result.compaction_id, NOTES)]
    assert [m.covered == cards[0].id for m in done.messages[:2]] == [True, True]
    assert not done.messages[-1].covered
    assert log_of(workspace).startswith(before)  # appended to, nothing else
    status = await editor.ask("history/status")
    assert (status.compacting, status.compactions) == (False, 1)
    assert "became" in status.compaction_note

    await editor.chat("And now?")
    sent = json.dumps(server.of("chat")[-1])
    assert "[History Summary]" in sent and NOTES in sent
    assert "Step 1 of" not in sent and "Step 5 of" in sent
    again = await start(server, **LOW)
    await again.chat("Still?")
    assert NOTES in json.dumps(server.of("chat")[-1])


async def test_undo_brings_the_originals_back_and_does_not_compact_again_at_once(
    start: Start, serve: Any
) -> None:
    server = serve(answers(NOTES))
    editor = await start(server, **LOW)
    await talk(editor, 5)
    done = await over(editor, p.CompactionComplete)
    assert not editor.bodies(p.CompactionStart)  # it was quick
    state = await editor.ask("compaction/undo", p.CompactionUndoParams(done.result.compaction_id))
    assert not any(m.covered or m.compaction for m in state.messages)
    await editor.chat("short")
    assert "Step 1 of" in json.dumps(server.of("chat")[-1])
    await asyncio.sleep(1.2)
    assert len(server.of("summary")) == 1  # hysteresis: the history has hardly grown
    with pytest.raises(JsonRpcException, match="no compaction to undo"):
        await editor.ask("compaction/undo")


async def test_a_failure_changes_nothing_and_is_told_once(
    start: Start, serve: Any, workspace: Path
) -> None:
    server = serve(answers(o_error("no such model", 400)))
    editor = await start(server, **LOW)
    await talk(editor, 5)
    error = await over(editor, p.CompactionError)
    assert error.message and error.advice
    assert b'"kind":"summary"' not in log_of(workspace).replace(b" ", b"")
    state = await editor.ask("state/get")
    assert not state.compacting and not any(m.covered for m in state.messages)
    await talk(editor, 2, first=6)
    await over(editor, p.CompactionNone)
    assert len(editor.bodies(p.CompactionError)) == 1
    with pytest.raises(JsonRpcException, match="could not be summarised"):
        await editor.ask("compaction/run")  # who asks is told every time
    await editor.chat("short")
    assert "Step 7 of" in json.dumps(server.of("chat")[-1])


@pytest.mark.parametrize("fails", [False, True])
async def test_prompts_sent_meanwhile_wait_and_are_delivered_once_in_order(
    start: Start, serve: Any, fails: bool
) -> None:
    """Bug case BR-089."""
    end = o_error("broken", 400) if fails else o_reply(NOTES)
    slow = Reply(end.body, end.status, end.headers, before=Pause(1.5))
    server = serve(answers(slow))
    editor = await start(server, **LOW)
    await talk(editor, 5)
    await over(editor, p.CompactionStart)
    first = await editor.ask("chat/send", p.ChatSendParams(text="FIRST-MEANWHILE"))
    second = await editor.ask("chat/send", p.ChatSendParams(text="SECOND-MEANWHILE"))
    assert first.queued and second.queued
    for sent in (first, second):
        assert (await editor.finished(sent.turn_id)).outcome == "ok"
    one, two = (json.dumps(body) for body in server.of("chat")[-2:])
    assert one.count("FIRST-MEANWHILE") == 1 and "SECOND-MEANWHILE" not in one
    assert two.count("FIRST-MEANWHILE") == 1 and two.count("SECOND-MEANWHILE") == 1
    assert (NOTES in one) is not fails


async def test_by_hand_below_the_trigger_and_without_a_model(start: Start, serve: Any) -> None:
    """The extract keeps file names, the standing rule stays word for word."""
    server = serve(answers("must not be asked"))
    editor = await start(server, compaction={"summariser": "extractive"})
    await editor.chat("From now on always answer in French.")
    await talk(editor, 4)
    result = await editor.ask("compaction/run")
    assert result.case == "summarize" and "src/pears.py" in result.summary
    assert server.of("summary") == [] and server.of("boundary") == []
    assert (await editor.command("compaction.run"))["case"] == "none"
    await editor.chat("And now?")
    sent = json.dumps(server.of("chat")[-1])
    assert "always answer in French" in sent and sent.count("Step 1 of") <= 1
    assert "from src/pears.py, " + "please " * 60 not in sent.partition("Step 2 of")[0]


async def test_nothing_to_compact_is_said_and_not_an_error(start: Start, serve: Any) -> None:
    editor = await start(serve(answers(NOTES)))
    result = await editor.ask("compaction/run")
    assert (result.case, bool(result.reason)) == ("none", True)


async def test_a_new_topic_truncates(start: Start, serve: Any) -> None:
    """Seed 004:276: boundary in the verbatim window, confidence of 0.5 and more."""

    def answer(what: What, number: int, body: Any) -> str:
        if what == "boundary":
            text = body["messages"][-1]["content"]
            place = text.index("] USER: New topic")
            index = text[text.rindex("[", 0, place) + 1 : place]
            return json.dumps({"boundary_index": int(index), "confidence": 0.9})
        return f"Reply {number}."

    server = serve(answer)
    settings = {"compactionTriggerTokens": 400, "detector": "model"}
    editor = await start(server, compaction=settings, history=LOW["history"])
    await talk(editor, 4)
    await editor.chat("New topic: a logo for the site, " + "blue " * 150)
    done = await over(editor, p.CompactionComplete)
    assert done.result.case == "truncate"
    await editor.chat("Larger")
    sent = json.dumps(server.of("chat")[-1])
    assert "New topic" in sent and "Step 1 of" not in sent


async def test_what_a_prompt_refers_to_comes_back_from_behind_the_summary(
    start: Start, serve: Callable[[Answer], ChoosingServer]
) -> None:
    """The part that is asked for, for this prompt, and nothing for one that refers to nothing."""

    def answer(what: What, number: int, _body: Any) -> str:
        if what != "chat":
            return NOTES
        return "The broker listens on 18083." if number == 1 else f"Reply {number}: read."

    model = serve(answer)
    editor = await start(model, **LOW)
    await editor.chat("Which port does the broker take? " + "please " * 60)
    await talk(editor, 5)
    await editor.ask("compaction/run")
    await editor.chat("Please go on.")
    assert "18083" not in json.dumps(model.bodies[-1])
    await editor.chat("On which port was the broker again?")
    sent = json.dumps(model.bodies[-1])
    assert "Recalled from this conversation, an earlier turn about this" in sent
    assert "The broker listens on 18083." in sent
