"""STATE and scratchpad through a real server: kept, sent, rebuilt, restored (seed 000, 3 and 4)."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from tierline.history.state import STATE_GUIDELINES
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

ONE = "Goal: mend the lexer\nContext: src/a.py\nResolved: nothing\nTechnical Anchors: port 8080"
TWO = "Goal: write tests\nContext: src/b.py\nResolved: the lexer\nTechnical Anchors: port 9090"


def with_state(text: str, state: str) -> Any:
    """A reply in pieces that end in the middle of the heading and of the block."""
    return o_reply(text, "\n\n##", "# STA", "TE\n", state[:9], state[9:])


async def test_state_is_taken_from_each_reply_and_injected_into_the_next_request(
    start: Start, workspace: Path
) -> None:
    """Seed 000:86 and 000:87, extraction and injection; the shown text is without the block."""
    replies = [with_state("Mended.", ONE), with_state("Tested.", TWO), o_reply("Fine.")]
    (workspace / "big.py").write_text("".join(f"value_{n} = {n}\n" for n in range(2000)))
    with wire_server("openai", replies) as model:
        editor = await start(model)
        await editor.ask("files/pin", p.FileParams(path="big.py"))  # enough to be cached
        first = await editor.chat("Mend it")
        assert first.message is not None
        assert (first.message.text, first.message.state) == ("Mended.", ONE)
        streamed = "".join(b.text for b in editor.bodies(p.TextDelta))
        assert streamed.strip() == "Mended."
        assert "Global Anchor" in json.dumps(model.bodies[0]["messages"][0])
        await editor.chat("Test it")
        second = json.dumps(model.bodies[1])
        assert second.count("port 8080") == 1, "the anchor is there once"
        assert "### STATE" in second
        await editor.chat("And now?")
        assert json.dumps(model.bodies[2]).count("port 9090") == 1
        for before, now in itertools.pairwise(b["messages"] for b in model.bodies):
            assert now[: len(before)] == before, "what was sent, and cached, stays as it was"
        again = await start(model)
        anchor = await again.ask("history/anchor")
        assert anchor.text == f"### STATE\n{TWO}"
        assert anchor.fields["Technical Anchors"] == "port 9090"
        state = await again.ask("state/get")
        assert [m.state for m in state.messages if m.role == "assistant"] == [ONE, TWO, ""]
    log = (workspace / ".tierline" / "history.jsonl").read_text(encoding="utf-8")
    assert log.count("port 8080") == 1, "the block is in the log, as an event"


@pytest.mark.parametrize("end", ["\n```", "\n#", "\n### STAT"])
async def test_a_reply_that_ends_like_a_block_is_streamed_whole(start: Start, end: str) -> None:
    with wire_server("openai", o_reply("Look:\n\n```\nx = 1", end)) as model:
        editor = await start(model)
        done = await editor.chat("one")
        streamed = "".join(b.text for b in editor.bodies(p.TextDelta))
        assert (
            done.message is not None
            and streamed == done.message.text == f"Look:\n\n```\nx = 1{end}"
        )


async def test_undo_puts_the_state_of_the_turn_before_in_force(start: Start) -> None:
    """Seed 000:196: "remove the last interaction and rebuild state"."""
    with wire_server("openai", [with_state("A", ONE), with_state("B", TWO), o_reply("C")]) as model:
        editor = await start(model)
        await editor.chat("one")
        await editor.chat("two")
        await editor.ask("history/undo")
        assert ONE in (await editor.ask("history/anchor")).text
        await editor.chat("three")
        assert "port 8080" in json.dumps(model.bodies[-1])
        assert "port 9090" not in json.dumps(model.bodies[-1])


async def test_a_reply_that_was_cut_leaves_the_state_alone(start: Start) -> None:
    cut = o_reply("B", "\n\n### STATE\nGoal: wri", finish="length")
    with wire_server("openai", [with_state("A", ONE), cut]) as model:
        editor = await start(model)
        await editor.chat("one")
        done = await editor.chat("two")
        assert ONE in (await editor.ask("history/anchor")).text
        assert done.message is not None and done.message.text == "B"
        await editor.chat("three")
        assert "Goal: wri" not in json.dumps(model.bodies[-1])


async def test_a_reply_of_nothing_but_state_stays_a_message(start: Start) -> None:
    replies = [o_reply(f"### STATE\n{ONE}"), o_reply("ok")]
    with wire_server("openai", replies) as model:
        editor = await start(model)
        done = await editor.chat("one")
        assert done.outcome == "ok" and done.message is not None
        assert (done.message.text, done.message.state) == ("", ONE)
        await editor.chat("two")
        roles = [m["role"] for m in model.bodies[-1]["messages"]]
        assert "assistant" in roles


async def test_state_off_asks_for_none_and_takes_none(start: Start) -> None:
    replies = [with_state("A", ONE), o_reply("B")]
    with wire_server("openai", replies) as model:
        editor = await start(model, history={"stateAnchor": "off"})
        done = await editor.chat("one")
        assert done.message is not None and "### STATE" in done.message.text
        assert STATE_GUIDELINES[:40] not in json.dumps(model.bodies[0])
        assert (await editor.ask("history/anchor")).enabled is False


async def test_rebuild_derives_state_from_the_window(start: Start) -> None:
    """Seed 000:164 and 000:195, ``/context rebuild``."""
    rebuilt = f"Here it is.\n\n### STATE\n{TWO}"
    replies = [with_state("First.", ONE), o_reply("Second."), o_reply(rebuilt), o_reply("Third.")]
    with wire_server("openai", replies) as model:
        editor = await start(model)
        with pytest.raises(JsonRpcException, match="no conversation"):
            await editor.ask("history/rebuild")
        await editor.chat("About apples")
        await editor.chat("About pears")
        await editor.ask("history/window", p.WindowParams(size=1))
        result = await editor.ask("history/rebuild")
        assert result.text == f"### STATE\n{TWO}"
        asked = json.dumps(model.bodies[2])
        assert "About pears" in asked and "Second." in asked
        assert "About apples" not in asked, "only the window is read"
        assert "### STATE" in asked
        assert [b.which for b in editor.bodies(p.NotesChanged)] == ["anchor"]
        await editor.chat("More")
        assert "port 9090" in json.dumps(model.bodies[3])
        shown = (await editor.ask("state/get")).messages
        assert not [m for m in shown if "equals signs" in m.text], "the question is not kept"


async def test_a_rebuild_without_a_block_changes_nothing(start: Start) -> None:
    with wire_server("openai", [with_state("A", ONE), o_reply("I cannot.")]) as model:
        editor = await start(model)
        await editor.chat("one")
        with pytest.raises(JsonRpcException) as caught:
            await editor.ask("history/rebuild")
        assert (caught.value.data or {})["code"] == "no_state"
        assert ONE in (await editor.ask("history/anchor")).text


async def test_scratchpad_is_kept_sent_and_restored(start: Start, model: WireServer) -> None:
    """Seed 000:112 to 000:114: per session, across restarts and changes of model."""
    editor = await start(model)
    empty = await editor.ask("scratchpad/get")
    assert empty.text == ""
    saved = await editor.ask("scratchpad/set", p.ScratchpadSetParams("- [ ] PLAN-ONE"))
    await editor.chat("Go on")
    assert "PLAN-ONE" in json.dumps(model.bodies[-1])
    more = await editor.ask("scratchpad/append", p.ScratchpadAppendParams("- [ ] PLAN-TWO"))
    assert more.text == "- [ ] PLAN-ONE\n- [ ] PLAN-TWO"
    with pytest.raises(JsonRpcException) as caught:
        await editor.ask("scratchpad/set", p.ScratchpadSetParams("x", saved.version))
    assert (caught.value.data or {})["code"] == "conflict", "an older version overwrites nothing"
    with pytest.raises(JsonRpcException):
        await editor.ask("scratchpad/set", p.ScratchpadSetParams("x" * 20_001))
    assert (await editor.ask("scratchpad/get")).text == more.text
    assert {b.which for b in editor.bodies(p.NotesChanged)} == {"scratchpad"}
    again = await start(model)
    assert (await again.ask("scratchpad/get")).text == more.text
    await again.ask("provider/select", p.ProviderSelectParams(name="openai", model="gpt-4o"))
    await again.chat("With another model")
    assert "PLAN-TWO" in json.dumps(model.bodies[-1])
    await again.ask("history/newSession")
    assert (await again.ask("scratchpad/get")).text == ""
    await again.chat("Fresh")
    assert "PLAN-TWO" not in json.dumps(model.bodies[-1])
