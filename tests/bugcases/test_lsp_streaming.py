"""Bug cases through a real server: streamed replies and what breaks them, pictures.

What reached the provider is checked on the bodies that a loopback server received.
"""

from __future__ import annotations

import base64
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from bugcases.fixtures import build, case, expect
from bugcases.through_lsp import KINDS, last, reply, sent
from lsp.conftest import Start
from lsp.project import messages, records
from tierline import protocol as p
from wire.scripts import a_error, a_reply, o_reply, o_texts, raw, then
from wire.servers import Hold, Kind, Reply, wire_server

# --- P: streaming ---------------------------------------------------------------------------------


def events_of(path: Path) -> list[bytes]:
    """A fixture's stream, event by event."""
    return [part + b"\n\n" for part in path.read_bytes().split(b"\n\n") if part]


async def test_br_173_stopping_keeps_what_was_shown(start: Start, workspace: Path) -> None:
    """BR-173: stopping a reply wipes it, or shows an error."""
    wanted = expect("BR-173")
    events = events_of(case("BR-173") / "long_reply.sse")
    head = 2 + wanted["cancel_after_delta"]
    held = then(events[:head], Hold(), *events[head:])
    with wire_server("anthropic", [held, a_reply("Next.")]) as model:
        editor = await start(model)
        turn = await editor.ask("chat/send", p.ChatSendParams(text="Tell me"))
        await editor.until(lambda: len(editor.bodies(p.TextDelta)) >= wanted["cancel_after_delta"])
        await editor.ask("chat/cancel", p.ChatCancelParams(turn_id=turn.turn_id))
        end = await editor.finished(turn.turn_id, 2)
        assert (end.outcome, end.error, end.message.status) == ("interrupted", "", wanted["flag"])
        assert end.message.text == wanted["stored_text"]
        assert model.hung_up.wait(1)
        assert not [n for n in editor.bodies(p.Notice) if n.level == "error"]
        budget = await editor.ask("budget/get")
        assert budget.history_tokens > 10, "it is counted"
        assert (await editor.chat("next")).outcome == "ok"
        assert wanted["stored_text"].strip() in sent(model)


async def test_br_175_overload_is_waited_for_with_words(start: Start) -> None:
    """BR-175, 529 twice and then a reply."""
    busy = a_error("overloaded_error", "Overloaded", 529)
    with wire_server("anthropic", [busy, busy, a_reply("Here.")]) as model:
        editor = await start(model)
        end = await editor.chat("Well?")
        assert (end.outcome, end.message.text) == ("ok", "Here.")
        at = [request.at for request in model.requests]
        gaps = [b - a for a, b in pairwise(at)]
        assert len(gaps) == 2
        assert min(gaps) >= 0.5, "never at once"
        said = [w for w in editor.bodies(p.Waiting) if w.seconds]
        assert len(said) == 2
        assert all("Trying again" in w.text for w in said)


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication_error"), (400, "invalid")])
async def test_br_175_refusals_are_not_tried_again(start: Start, status: int, kind: str) -> None:
    with wire_server("anthropic", [a_error(kind, "No.", status), a_reply("Fine.")]) as model:
        editor = await start(model)
        end = await editor.chat("Well?")
        assert (end.outcome, bool(end.error), bool(end.advice)) == ("error", True, True)
        assert len(model.requests) == 1
        assert (await editor.chat("And now?")).outcome == "ok"


async def test_br_175_overload_for_ever_ends_and_a_wait_can_be_stopped(start: Start) -> None:
    busy = a_error("overloaded_error", "Overloaded", 529)
    with wire_server("anthropic", [busy]) as model:
        editor = await start(model, env={"TIERLINE_PROVIDER_MAX_RETRIES": "1"})
        end = await editor.chat("Well?")
        assert (end.outcome, end.code) == ("error", "overloaded")
        assert len(model.requests) == 2
        turn = await editor.ask("chat/send", p.ChatSendParams(text="Again?"))
        await editor.until(lambda: len([w for w in editor.bodies(p.Waiting) if w.seconds]) == 2)
        before = time.monotonic()
        await editor.ask("chat/cancel")
        assert (await editor.finished(turn.turn_id, 2)).outcome == "interrupted"
        assert time.monotonic() - before < 0.3
        assert len(model.requests) == 3


async def test_br_177_an_overload_after_some_text_keeps_it_once(start: Start) -> None:
    """BR-177: an error event in the middle of a reply."""
    wanted = expect("BR-177")
    stream = raw(case("BR-177") / "overload_mid.sse")
    with wire_server("anthropic", [stream, a_reply("Whole.")]) as model:
        editor = await start(model)
        end = await editor.chat("Well?")
        assert (end.outcome, end.code) == ("error", wanted["error_type"])
        assert (end.message.text, end.message.status) == (wanted["stored_text"], "interrupted")
        assert len(model.requests) == 1
        assert (await editor.chat("Go on")).outcome == "ok"
        assert sent(model).count(wanted["stored_text"]) == 1


async def test_br_183_an_early_close_is_not_an_end(start: Start, workspace: Path) -> None:
    """BR-183: the connection closes without an end event."""
    wanted = expect("BR-183")
    stream = raw(case("BR-183") / "premature.sse")
    with wire_server("anthropic", [stream, a_reply("Whole.")]) as model:
        editor = await start(model)
        end = await editor.chat("Well?")
        assert (end.outcome, end.message.status) == ("interrupted", "interrupted")
        assert end.message.text == wanted["stored_text"]
        assert end.message.note
        again = await editor.ask("chat/retry")
        assert (await editor.finished(again.turn_id)).message.text == "Whole."
        assert wanted["stored_text"] not in sent(model)
    stored = [r for r in records(workspace) if r.get("role") == "assistant"]
    assert [r["status"] for r in stored] == ["interrupted", "ok"]


# --- Q: pictures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_br_186_an_oversized_picture_spoils_nothing(
    start: Start, workspace: Path, tmp_path: Path, kind: Kind
) -> None:
    """BR-186: one large picture makes every later prompt fail."""
    picture = (build("BR-186", tmp_path / "case") / "six_mb.png").read_bytes()
    image = p.ImageInput("image/png", base64.b64encode(picture).decode())
    with wire_server(kind, [reply(kind)]) as model:
        editor = await start(model)
        with pytest.raises(JsonRpcException, match=r"Nothing was sent.*MB"):
            await editor.ask("chat/send", p.ChatSendParams(text="Look", images=[image]))
        assert model.requests == []
        assert (await editor.chat("Never mind")).outcome == "ok"
        assert len(model.requests[-1].raw) < 10_000
        last(model)
    assert (workspace / ".tierline" / "history.jsonl").stat().st_size < 10_000
    stored: Any = [r for r in records(workspace) if "image" in json.dumps(r.get("content", ""))]
    assert bool(stored) == expect("BR-186")["stored_image"]


@pytest.mark.parametrize("kind", KINDS)
async def test_br_067_a_prompt_without_reply_is_kept_and_sent_once(
    start: Start, workspace: Path, kind: Kind
) -> None:
    """BR-067, the report's own steps; and P1 again at once, which is said and written down once."""
    script = json.loads((case("BR-067") / "script.json").read_text(encoding="utf-8"))
    first, second, again = (step["prompt"] for step in script if "prompt" in step)
    failed = Reply([b"{}"], 500)
    once = {"TIERLINE_PROVIDER_MAX_RETRIES": "0"}
    with wire_server(kind, [failed, failed, reply(kind, "R2"), reply(kind, "R3")]) as model:
        editor = await start(model, env=once)
        assert (await editor.chat(first)).outcome == "error"
        resent = await editor.ask("chat/send", p.ChatSendParams(text=first))
        assert any("sent again as it stands" in notice for notice in resent.notices)
        await editor.until(lambda: len(editor.bodies(p.TurnFinished)) == 2)
        assert {end.turn_id for end in editor.bodies(p.TurnFinished)} == {resent.turn_id}
        await editor.stop()
        editor = await start(model, env=once)
        assert (await editor.chat(second)).outcome == "ok"
        assert all(
            sent(model).count(text) == 1 for text in expect("BR-067")["second_body_contains"]
        )
        assert (await editor.chat(again)).outcome == "ok"
        assert sent(model).count(first) == 2, "asked anew after another turn, so it is there anew"
    asked = [m["content"] for m in messages(workspace) if m["role"] == "user"]
    assert asked == [first, second, again]


async def test_br_165_a_queued_prompt_is_undone_first(start: Start, workspace: Path) -> None:
    """BR-165: P1 streams, P2 waits, undo: P2 goes and is never sent; P1 ends whole."""
    script = [Reply([*o_texts("Half, "), Hold(), *o_reply("whole.").body[1:]]), o_reply("No.")]
    with wire_server("openai", script) as model:
        editor = await start(model)
        one = await editor.ask("chat/send", p.ChatSendParams(text="P1"))
        await editor.until(lambda: editor.bodies(p.TextDelta))
        two = await editor.ask("chat/send", p.ChatSendParams(text="P2"))
        state = await editor.ask("history/undo")
        assert [m.text for m in state.messages] == ["P1"]
        assert (await editor.finished(two.turn_id)).outcome == "interrupted"
        model.release()
        assert (await editor.finished(one.turn_id)).outcome == "ok"
        assert [m.text for m in (await editor.ask("state/get")).messages] == ["P1", "Half, whole."]
        state = await editor.ask("history/undo")
        assert state.messages == []
        with pytest.raises(JsonRpcException, match="nothing to undo"):
            await editor.ask("history/undo")
        assert len(model.bodies) == 1
