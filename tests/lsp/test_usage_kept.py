"""What a reply took is shown with it for good: after a restart, on branches, in an old session.

The conversation as the live events built it is compared with what a new server reads from the log.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Start
from lsp.editor import Editor
from lsp.test_turn_cost import SCRIPT, ask_and_cut, cut_short
from tierline import protocol as p
from wire.scripts import a_reply, a_start, o_reply
from wire.servers import Reply, wire_server

BUSY = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n'


async def messages(editor: Editor) -> list[p.ChatMessage]:
    return (await editor.ask("state/get")).messages  # type: ignore[no-any-return]


def figures(found: list[p.ChatMessage]) -> list[tuple[str, Any, Any, Any]]:
    """What is shown of costs, where there is anything."""
    return [(m.id, m.usage, m.last, m.cache_outcome) for m in found if m.usage is not None]


def live(end: p.TurnFinished) -> list[tuple[str, Any, Any, Any]]:
    """What the end of a turn told the clients of them."""
    assert end.message is not None
    outcome = end.cache.outcome if end.cache is not None else None
    return [(end.message.id, end.usage, end.last, outcome)]


async def test_a_restart_shows_what_the_live_event_gave(start: Start) -> None:
    """A turn of three requests and one of one, to the last digit."""
    second = a_reply("Two.", input_tokens=50, cache_read_input_tokens=4000)
    with wire_server("anthropic", [*SCRIPT, second]) as model:
        editor = await start(model)
        ends = [await editor.chat(text) for text in ("What does a.py do?", "Sure?")]
        before = await messages(editor)
        await editor.stop()
        again = await messages(await start(model))
    assert [end.message.usage for end in ends] == [end.usage for end in ends], "in the event too"
    assert figures(before) == [line for end in ends for line in live(end)]
    assert figures(again) == figures(before)
    assert [m.usage.requests for m in again if m.usage] == [3, 1]
    assert ends[0].usage.cost > 0 < ends[0].last.cost
    assert again[-1].cache_outcome == ends[1].cache.outcome == "hit"
    assert {m.role for m in again if m.usage} == {"assistant"}


async def test_branches_and_sessions_bring_their_figures_along(start: Start) -> None:
    script = [a_reply(text, input_tokens=100 * n) for n, text in enumerate("abcd", 1)]
    with wire_server("anthropic", script) as model:
        editor = await start(model)
        first, second = [await editor.chat(text) for text in ("One?", "Two?")]
        session = (await editor.ask("state/get")).session_id
        fork = await editor.ask("branch/fork", p.ForkParams(message_id=first.message.id, name="b"))
        assert figures(fork.messages) == live(first)
        third = await editor.chat("Three?")
        back = await editor.ask("branch/switch", p.BranchParams(branch="main"))
        assert figures(back.messages) == [*live(first), *live(second)]
        there = await editor.ask("branch/switch", p.BranchParams(branch="b"))
        assert figures(there.messages) == [*live(first), *live(third)]
        compared = await editor.ask("branch/compare", p.BranchCompareParams(a="main", b="b"))
        assert (figures(compared.only_a), figures(compared.only_b)) == (live(second), live(third))
        fresh = await editor.ask("history/newSession")
        assert fresh.messages == []
        fourth = await editor.chat("Four?")
        read = await editor.ask("history/getSession", p.SessionParams(session_id=session))
        assert figures(read.messages) == [*live(first), *live(third)]
        opened = await editor.ask("history/loadSession", p.SessionParams(session_id=session))
        assert figures(opened.messages) == figures(read.messages)
        assert figures(await messages(editor)) == figures(read.messages)
        undone = await editor.ask("history/undo")
        assert figures(undone.messages) == live(first)
    assert fourth.usage.input_tokens == 400


@pytest.mark.parametrize("how", ["stopped", "cut", "failed"])
async def test_an_interrupted_reply_keeps_what_it_cost(start: Start, how: str) -> None:
    with wire_server("anthropic", [SCRIPT[0], cut_short(how)]) as model:
        editor = await start(model)
        end = await ask_and_cut(editor, how)
        before = await messages(editor)
        await editor.stop()
        again = await messages(await start(model))
    assert end.usage is not None and end.usage.requests == 2
    assert figures(before) == figures(again) == live(end)
    assert again[-1].status == "interrupted"


async def test_what_brought_no_reply_stands_at_the_prompt(start: Start) -> None:
    """The provider answered and was paid, but nothing came of it. The next attempt has its own."""
    nothing = Reply([a_start(input_tokens=700), BUSY])
    with wire_server("anthropic", [nothing, nothing, a_reply("One.", input_tokens=90)]) as model:
        editor = await start(model, env={"TIERLINE_PROVIDER_MAX_RETRIES": "0"})
        failed = await editor.chat("Go.")
        assert (failed.outcome, failed.message) == ("error", None)
        (only,) = await messages(editor)
        assert (only.role, only.usage) == ("user", failed.usage)
        assert only.usage is not None and only.usage.input_tokens == 700
        for count in (2, 3):
            await editor.ask("chat/retry", p.ChatRetryParams())
            await editor.until(lambda count=count: len(editor.bodies(p.TurnFinished)) == count)
        end = editor.bodies(p.TurnFinished)[-1]
        before = await messages(editor)
        await editor.stop()
        again = await messages(await start(model))
    assert (end.outcome, end.usage.input_tokens) == ("ok", 90)
    assert figures(again) == figures(before)
    prompt, reply = again
    assert prompt.usage is not None and prompt.usage.input_tokens == 1400
    assert (reply.usage, reply.last) == (end.usage, None)


async def test_older_logs_are_read_as_they_are(start: Start, workspace: Path) -> None:
    """Without the reflections' newer fields, without reflections, and without any figures."""
    log = workspace / ".tierline" / "history.jsonl"
    with wire_server("anthropic", SCRIPT) as model:
        editor = await start(model)
        end = await editor.chat("What does a.py do?")
        await editor.stop()
        records = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        reflections = [r for r in records if r.get("kind") == "reflection"]
        assert len(reflections) == 1
        del reflections[0]["data"]["message"]
        for request in reflections[0]["data"]["requests"]:
            del request["cache"]
        older = "".join(json.dumps(r) + "\n" for r in records)
        log.write_text(older, encoding="utf-8")
        editor = await start(model)
        assert figures(await messages(editor)) == [(end.message.id, end.usage, end.last, None)]
        await editor.stop()
        assert log.read_text("utf-8") == older, "looking writes nothing"

        log.write_text(
            "".join(json.dumps(r) + "\n" for r in records if r not in reflections), "utf-8"
        )
        editor = await start(model)
        ((identifier, usage, last, outcome),) = figures(await messages(editor))
        await editor.stop()
        assert (identifier, usage.cost, outcome) == (end.message.id, 0, None)
        assert (usage.input_tokens, usage.requests) == (end.usage.input_tokens, 3)
        assert last.output_tokens == end.last.output_tokens

        for record in records:
            record.pop("usage", None)
        log.write_text(
            "".join(json.dumps(r) + "\n" for r in records if r not in reflections), "utf-8"
        )
        found = await messages(await start(model))
    assert found and figures(found) == []


async def test_the_provider_is_sent_the_same_with_and_without_figures(
    start: Start, workspace: Path
) -> None:
    """They are for the user's eyes: what a restarted server sends does not depend on them."""
    log = workspace / ".tierline" / "history.jsonl"
    sent = []
    with wire_server("openai", [o_reply("One."), o_reply("Two."), o_reply("Two.")]) as model:
        editor = await start(model)
        await editor.chat("One?")
        await editor.stop()
        whole = log.read_text("utf-8")
        bare = "".join(
            line for line in whole.splitlines(keepends=True) if '"reflection"' not in line
        )
        assert bare != whole
        for text in (whole, bare):
            log.write_text(text, encoding="utf-8")
            editor = await start(model)
            await editor.chat("Two?")
            await editor.stop()
            sent.append(model.requests[-1].raw)
    assert b"One." in sent[0] and sent[0] == sent[1]
