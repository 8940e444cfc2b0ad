"""Prompts that wait are listed, changed, moved, taken back; one can reach the running turn; an
earlier prompt is changed on a branch. Through the real server.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p
from wire.agents import Use, calls, says
from wire.scripts import a_end, a_start, a_texts, o_reply, o_texts
from wire.servers import Hold, Kind, Reply, WireServer, wire_server

READ = Use("read_file", {"path": "src/a.py"}, "c1")


def users(body: Any) -> list[str]:
    """The texts of a request's user messages, results left out."""
    found = []
    for message in body["messages"]:
        if message["role"] != "user":
            continue
        content = message["content"]
        parts = [content] if isinstance(content, str) else [b.get("text", "") for b in content]
        found.append("\n".join(part for part in parts if part))
    return found


async def send(editor: Editor, text: str, **more: Any) -> p.ChatSendResult:
    return await editor.ask("chat/send", p.ChatSendParams(text, **more))  # type: ignore[no-any-return]


async def texts(editor: Editor) -> list[str]:
    return [prompt.text for prompt in (await editor.ask("queue/list")).prompts]


async def last_end(editor: Editor, count: int) -> None:
    await editor.until(lambda: len(editor.bodies(p.TurnFinished)) >= count)


async def test_what_waits_is_listed_changed_moved_and_taken_back(start: Start) -> None:
    replies = [Reply([*o_texts("Half "), Hold()]), *(o_reply(f"Reply {n}.") for n in range(4))]
    with wire_server("openai", replies) as model:
        editor = await start(model)
        await send(editor, "First.")
        await editor.until(lambda: editor.bodies(p.TextDelta))
        waiting = [await send(editor, text) for text in ("Two.", "Three.", "Four.")]
        assert all(sent.queued for sent in waiting)
        assert await texts(editor) == ["Two.", "Three.", "Four."]
        state = await editor.ask("state/get")
        assert [prompt.text for prompt in state.queue] == ["Two.", "Three.", "Four."]

        moved = await editor.ask("queue/move", p.QueueMoveParams(waiting[2].turn_id, 0))
        assert [prompt.text for prompt in moved.prompts] == ["Four.", "Two.", "Three."]
        three = moved.prompts[2]
        two = moved.prompts[1]
        changed = await editor.ask("queue/change", p.QueueChangeParams(two.turn_id, "Two, anew."))
        assert [prompt.text for prompt in changed.prompts] == ["Four.", "Two, anew.", "Three."]
        three = changed.prompts[2]
        left = await editor.ask("queue/remove", p.QueueParams(three.turn_id))
        assert [prompt.text for prompt in left.prompts] == ["Four.", "Two, anew."]
        with pytest.raises(JsonRpcException, match="does not wait"):
            await editor.ask("queue/remove", p.QueueParams(three.turn_id))

        model.release()
        await last_end(editor, 3)
        state = await editor.ask("state/get")
        said = [m.text for m in state.messages if m.role == "user"]
        assert said == ["First.", "Four.", "Two, anew."] and state.queue == []
        assert users(model.bodies[1])[-1].endswith("Four.")
        assert not any("Two" in text for text in users(model.bodies[1]))
        assert "Three." not in json.dumps(model.bodies)
        shown = [[q.text for q in b.prompts] for b in editor.bodies(p.QueueChanged)]
        assert shown[-3:] == [["Four.", "Two, anew."], ["Two, anew."], []]
        await editor.stop()
        again = await start(model)
        state = await again.ask("state/get")
        assert [m.text for m in state.messages if m.role == "user"] == said


def unmarked(value: Any) -> Any:
    """Without cache breakpoints, which move on."""
    if isinstance(value, list):
        return [unmarked(one) for one in value]
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return value


def held_call(kind: Kind) -> Reply:
    """A reply that calls a tool, and stands still before its end."""
    whole = list(calls(kind, READ).body)
    return Reply([whole[0], Hold(), *whole[1:]])


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
async def test_a_word_reaches_the_running_turn_behind_the_results_of_its_tools(
    start: Start, kind: Kind
) -> None:
    """Nothing that was sent changes: the second request begins with the first one's messages."""
    with wire_server(kind, [held_call(kind), says(kind, "Beta, then."), says(kind, "Last.")]) as m:
        editor = await start(m)
        sent = await send(editor, "What is in a.py?")
        assert await asyncio.to_thread(m.waiting.wait, 20)
        await send(editor, "Later: the tests.")
        await send(editor, "Only b.py, please.", steer=True)
        assert [q.steer for q in (await editor.ask("queue/list")).prompts] == [False, True]
        m.release()
        end = await editor.finished(sent.turn_id)
        assert end.message.text == "Beta, then."
        await last_end(editor, 2)
        assert len(m.bodies) == 3
        first, second = m.bodies[0]["messages"], m.bodies[1]["messages"]
        assert unmarked(second)[: len(first)] == unmarked(first)
        assert users(m.bodies[1])[-1].endswith("Only b.py, please.")
        place = json.dumps(second).index("Only b.py")
        assert place > json.dumps(second).index("def alpha"), "behind the result"
        assert "Later" not in json.dumps(second)
        state = await editor.ask("state/get")
        roles = [(m.role, m.text) for m in state.messages if m.role in ("user", "assistant")]
        assert roles == [
            ("user", "What is in a.py?"),
            ("assistant", ""),
            ("user", "Only b.py, please."),
            ("assistant", "Beta, then."),
            ("user", "Later: the tests."),
            ("assistant", "Last."),
        ]
        assert len({message.group_id for message in state.messages[:4]}) == 1


async def test_a_word_for_a_turn_without_another_step_is_the_next_prompt(start: Start) -> None:
    half = Reply([a_start(), *a_texts(0, "Half")[:-1], Hold(), *a_texts(0, "")[-1:], *a_end()])
    with wire_server("anthropic", [half, says("anthropic", "Yes.")]) as model:
        editor = await start(model)
        await send(editor, "Go.")
        await editor.until(lambda: editor.bodies(p.TextDelta))
        waits = await send(editor, "And b.py.")
        await editor.ask("queue/steer", p.QueueSteerParams(waits.turn_id))
        model.release()
        await last_end(editor, 2)
        assert users(model.bodies[-1])[-1].endswith("And b.py.")
        assert len(model.bodies) == 2


async def test_an_earlier_prompt_is_changed_on_a_branch(start: Start, model: WireServer) -> None:
    """The first one, too; what followed stays; a change that is refused changes nothing."""
    editor = await start(model)
    ends = [await editor.chat(text) for text in ("One?", "Two?", "Three?")]

    async def edit(turn: str, text: str) -> p.ChatSendResult:
        params = p.ChatEditParams(turn, p.ChatSendParams(text))
        sent = await editor.ask("chat/edit", params)
        await editor.finished(sent.turn_id)
        return sent  # type: ignore[no-any-return]

    async def said() -> list[str]:
        state = await editor.ask("state/get")
        return [m.text for m in state.messages if m.role == "user"]

    sent = await edit(ends[1].turn_id, "Two, otherwise?")
    assert "new branch branch-2" in sent.notices[-1] and "main" in sent.notices[-1]
    assert await said() == ["One?", "Two, otherwise?"]
    assert "Three?" not in json.dumps(model.bodies[-1]) and "One?" in json.dumps(model.bodies[-1])
    await editor.ask("branch/switch", p.BranchParams("main"))
    assert await said() == ["One?", "Two?", "Three?"]
    await edit(ends[0].turn_id, "Quite otherwise?")
    assert await said() == ["Quite otherwise?"]
    assert "One?" not in json.dumps(model.bodies[-1])
    with pytest.raises(JsonRpcException, match="no such prompt"):
        await edit(ends[0].turn_id, "It is on another branch.")
    await editor.ask("branch/switch", p.BranchParams("main"))
    with pytest.raises(JsonRpcException, match="nothing to send"):
        await edit(ends[0].turn_id, "  ")
    listed = await editor.ask("branch/list")
    assert [b.branch for b in listed.branches] == ["main", "branch-2", "branch-3"]
    assert listed.current == "main"
