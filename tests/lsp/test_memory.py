"""The ``levels`` strategy through a real server: what it sends, its figures, compression."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from support.memories import FILLER
from tierline import protocol as p
from tierline.embeddings.embedder import find_model
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

LEVELS = {"history": {"strategy": "levels"}}


def said(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"], ensure_ascii=False)


async def test_a_new_task_sends_the_old_one_as_a_summary_and_recalls_it(start: Start) -> None:
    """Seed 002:145 and 002:146, in the bodies that the provider received."""
    replies = [
        o_reply(f"The cause was an empty row. I fixed split_row() in parser.py. {FILLER * 8}"),
        o_reply("Added a test to test_parser.py. All tests pass."),
        *[o_reply("Done.")] * 4,
    ]
    with wire_server("openai", replies) as model:
        editor = await start(model, **LEVELS)
        await editor.chat("Fix the crash in parser.py: IndexError in split_row()")
        await editor.chat("and write a test")
        await editor.chat("Now let's write the docs for the web server in server.md")
        await editor.chat("Next task: tidy up the Makefile")
        body = said(model.bodies[-1])
        assert "line by line" not in body, "the old task is no longer there word for word"
        assert "[Finished: Fix the crash in parser.py" in body and "empty row" in body
        assert "Next task: tidy up the Makefile" in body
        await editor.chat("what was wrong in split_row?")
        # A text that was recalled for an earlier prompt stands there, and is not sent twice.
        tail = json.dumps(model.bodies[-1]["messages"])
        assert "Recalled from this conversation" in tail and "The cause was an empty row" in tail
        head = said(model.bodies[-2])[:-400]
        assert said(model.bodies[-1]).startswith(head), "what was recalled is behind the prefix"
        stats = await editor.ask("memory/stats")
        assert stats.active and stats.tasks == 3 and stats.retrieved == ["turn-1"]
        sources = [s.sources for s in stats.summaries]
        state = await editor.ask("state/get")
        ids = [m.id for m in state.messages]
        assert sources == [ids[:4], ids[4:6]], "a summary knows the messages that it is made from"
        line = next(m.context_line for m in reversed(state.messages) if m.role == "user")
        assert "+1 recalled" in line
        await editor.chat("continue")
        assert "Recalled from" not in said(model.bodies[-1])
        # In words of that turn: what it means is looked for only as long as a prompt can wait.
        asked = p.PlanParams(prompt="what was the cause in split_row?")
        assert "Recalled from" in (await editor.ask("plan/show", asked)).text
        assert (await editor.ask("memory/stats")).retrieved == [], "looking retrieves nothing"


async def test_the_log_keeps_everything_and_the_strategy_can_be_changed_back(
    start: Start, model: WireServer
) -> None:
    """Levels are derived: with ``full`` every message is sent again."""
    editor = await start(model)
    await editor.ask("history/strategy", p.StrategyParams("levels"))
    for text in ("first ALPHA", "Now let's do BRAVO", "Next task: CHARLIE", "Next task: DELTA"):
        await editor.chat(text)
    assert '"first ALPHA"' not in said(model.bodies[-1])
    status = await editor.ask("history/strategy", p.StrategyParams("full"))
    assert status.strategy == "full"
    await editor.chat("go on")
    assert all(w in said(model.bodies[-1]) for w in ('"first ALPHA"', "BRAVO", "CHARLIE", "DELTA"))


async def test_compression_by_hand_is_an_event_and_can_be_undone(
    start: Start, model: WireServer
) -> None:
    """Seed 002:234 "Force compression"."""
    editor = await start(model, **LEVELS)
    with pytest.raises(JsonRpcException, match="no turn to compress"):
        await editor.ask("memory/compress")
    for n in range(1, 6):
        await editor.chat(f"explain client.py part {n}: {FILLER * 10}")
    stats = await editor.ask("memory/compress")
    (summary,) = stats.summaries
    assert len(summary.sources) == 6 and stats.last_compression_minutes < 5
    assert any("Compression ratio:" in line for line in stats.lines)
    await editor.chat("continue")
    assert "part 1" not in said(model.bodies[-1]).split("[Earlier in this task]")[0]
    assert "part 5" in said(model.bodies[-1])
    again = await start(model, **LEVELS)
    assert (await again.ask("memory/stats")).summaries[0].sources == summary.sources
    state = await editor.ask("state/get")
    turns = list(dict.fromkeys(m.group_id for m in state.messages))
    await editor.ask("history/undo", p.UndoParams(to=turns[3]))
    assert (await editor.ask("memory/stats")).summaries == []


async def test_stats_are_there_under_every_strategy(start: Start, model: WireServer) -> None:
    editor = await start(model)
    await editor.chat("hello")
    stats = await editor.ask("memory/stats")
    assert not stats.active and stats.messages == 2
    assert [(level.level, level.budget) for level in stats.levels] == [
        ("permanent", 2000), ("session", 4000), ("working", 8000), ("volatile", 2000)
    ]  # fmt: skip
    assert sum(level.tokens for level in stats.levels) == stats.used > 0


async def test_what_was_hidden_is_neither_summarised_nor_recalled(
    start: Start, model: WireServer
) -> None:
    """BR-167: removed from the screen, but still in what is sent."""
    editor = await start(model, **LEVELS)
    first = await editor.chat("The MAROON crash in parser.py is an IndexError")
    for text in ("Now let's do BRAVO", "Next task: CHARLIE", "Next task: DELTA"):
        await editor.chat(text)
    assert "MAROON" in said(model.bodies[-1]), "in a summary"
    await editor.ask("history/drop", p.GroupParams(first.turn_id))
    await editor.chat("what about the maroon crash in the parser?")
    body = said(model.bodies[-1])
    assert "MAROON" not in body and body.count("maroon") == 1
    stats = await editor.ask("memory/stats")
    assert not any("MAROON" in summary.text for summary in stats.summaries)
    await editor.ask("history/restore", p.GroupParams(first.turn_id))
    await editor.chat("what about the maroon crash in the parser?")
    assert "MAROON" in said(model.bodies[-1])


@pytest.mark.model
@pytest.mark.skipif(find_model() is None, reason="no sentence model is installed")
async def test_with_embeddings_a_paraphrase_finds_its_turn(start: Start, model: WireServer) -> None:
    """Ranked selection by meaning, through a real server and the worker's process."""
    editor = await start(model, history={"strategy": "ranked", "window": 2})
    await editor.chat("The integration database listens on port 5544.")
    for word in ("a haiku about rain", "the colours of autumn", "a recipe for bread", "good names"):
        await editor.chat(f"Tell me {word}")
    prompt = "what number do I connect to for the test Postgres?"
    for _ in range(30):  # turns are embedded in the background
        shown = (await editor.ask("plan/show", p.PlanParams(prompt=prompt))).text
        if "port 5544" in shown:
            break
        await asyncio.sleep(1)
    await editor.chat(prompt)
    assert "port 5544" in said(model.bodies[-1]) and "autumn" not in said(model.bodies[-1])
    off = await start(
        model,
        history={"strategy": "ranked", "window": 2},
        memory={"embeddings": "off"},
    )
    await off.chat(prompt + " Really?")
    assert "port 5544" not in said(model.bodies[-1]), "words alone do not find it"


async def test_commands_in_the_chat(start: Start, model: WireServer) -> None:
    editor = await start(model)

    async def run(text: str) -> p.CommandResult:
        return await editor.ask("chat/command", p.CommandParams(text))  # type: ignore[no-any-return]

    await run("/memory on")
    await editor.chat("hello there")
    shown = await run("/memory stats")
    assert "Total tokens used:" in shown.text and shown.document
    assert (await editor.ask("memory/stats")).active
    assert "was compressed" in (await run("/memory compress")).text
    await run("/memory off")
    assert not (await editor.ask("memory/stats")).active
    saved = await run("/memo save Releases are cut on Tuesdays. #release #when")
    (memo,) = (await editor.ask("memo/list")).memos
    assert memo.id in saved.text and memo.tags == ["release", "when"]
    assert memo.content == "Releases are cut on Tuesdays."
    await run("/memo user I like tabs. #style")
    assert "Tuesdays" in (await run("/memo list #release")).text
    assert "Tuesdays" not in (await run("/memo list #style")).text
    await run(f"/memo delete {memo.id}")
    assert [m.scope for m in (await editor.ask("memo/list")).memos] == ["user"]
