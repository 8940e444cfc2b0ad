"""A reply that streams while the server is killed: what had come of it is in the conversation.

Issue 10, item 2, "no lost text". Through real servers over stdio.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bugcases.bodies import violations
from lsp.conftest import environment
from lsp.pipe import ForkedPipe as Pipe
from lsp.pipe import history
from tierline.session.turns.drafts import PAUSE_SECONDS
from tierline.store.drafts import read
from wire.agents import Use, calls
from wire.scripts import a_event, a_reply, a_start, a_texts, a_tool, o_end, o_reply, o_texts
from wire.servers import Hold, Reply, WireServer, wire_server

NOTE = "Tierline was ended while this reply came. This is what there was of it; Retry asks again."
WORDS = [f"word{i} " for i in range(40)]
KEY = "ghp_" + "a1B2c3D4e5" * 4


def held(*pieces: str, more: tuple[str, ...] = ()) -> Reply:
    """A reply that stops in the middle until it is released."""
    return Reply([*o_texts(*pieces), Hold(), *o_texts(*more)[1:], *o_end()])


@pytest.fixture
def slow() -> Iterator[WireServer]:
    with wire_server("openai", [held(*WORDS, more=("and ", "the end.")), o_reply("Two.")]) as model:
        yield model


def begin(pipe: Pipe, model: WireServer, text: str = "Tell me") -> str:
    """Send a prompt, wait until the reply stands still and its draft is written. Returns what the
    user has seen of it.
    """
    model.waiting.clear()
    pipe.request("tierline/chat/send", {"text": text})
    assert model.waiting.wait(30)
    until, before = time.monotonic() + 20, ""
    while time.monotonic() < until:  # the second look that shows the same is after the last write
        now = "".join(read(path).text for path in drafts(pipe.workspace))
        if now and now == before:
            break
        before = now
        time.sleep(2 * PAUSE_SECONDS)
    return "".join(e["text"] for e in pipe.events("textDelta"))


def shown(pipe: Pipe) -> list[dict[str, Any]]:
    return pipe.request("tierline/state/get")["messages"]  # type: ignore[no-any-return]


def drafts(workspace: Path) -> list[Path]:
    return sorted((workspace / ".tierline" / "drafts").glob("*.jsonl"))


def killed(workspace: Path, model: WireServer, **settings: Any) -> str:
    """A server that is killed while a reply streams. Returns what its user had seen."""
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize(**settings)
        seen = begin(pipe, model)
        pipe.kill()
    return seen


def test_what_had_streamed_is_there_again_once(workspace: Path, slow: WireServer) -> None:
    seen = killed(workspace, slow)
    assert seen == "".join(WORDS) and len(drafts(workspace)) == 1
    for _ in range(2):
        with Pipe(workspace, env=environment(slow)) as pipe:
            pipe.initialize()
            prompt, reply = shown(pipe)
            assert (prompt["text"], reply["text"]) == ("Tell me", seen)
            assert (reply["status"], reply["note"]) == ("interrupted", NOTE)
            assert reply["groupId"] == prompt["groupId"]
            assert not (workspace / ".tierline" / "drafts").exists()
            assert len(slow.requests) == 1, "nothing is sent unasked"
            found = pipe.request("tierline/history/search", {"query": "word39"})
            assert [h["messageId"] for h in found["hits"]] == [reply["id"]]
            pipe.kill()
    with Pipe(workspace, env=environment(slow)) as pipe:
        pipe.initialize()
        pipe.request("tierline/chat/send", {"text": "Go on"})
        pipe.until(lambda: pipe.events("turnFinished"))
        body = slow.bodies[-1]
        assert violations(body, "openai") == []
        assert [m["content"].strip() for m in body["messages"] if m["role"] == "assistant"] == [
            seen.strip()
        ]
    assert len([r for r in history(workspace) if r.get("role") == "assistant"]) == 2


def test_retry_asks_again_without_it(workspace: Path, slow: WireServer) -> None:
    killed(workspace, slow)
    with Pipe(workspace, env=environment(slow)) as pipe:
        pipe.initialize()
        pipe.request("tierline/chat/retry", {"groupId": ""})
        pipe.until(lambda: pipe.events("turnFinished"))
        assert [m["text"] for m in shown(pipe)] == ["Tell me", "Two."]
        assert "word1" not in json.dumps(slow.bodies[-1])


def test_a_reply_that_got_into_the_log_is_not_written_twice(
    workspace: Path, slow: WireServer
) -> None:
    """The kill falls between the log and the draft's end."""
    with Pipe(workspace, env=environment(slow)) as pipe:
        pipe.initialize()
        begin(pipe, slow)
        (draft,) = drafts(workspace)
        shutil.copy(draft, workspace / "kept")
        slow.release()
        pipe.until(lambda: pipe.events("turnFinished"))
        assert drafts(workspace) == []
        pipe.kill()
    draft.parent.mkdir(exist_ok=True)
    shutil.copy(workspace / "kept", draft)
    with Pipe(workspace, env=environment(slow)) as pipe:
        pipe.initialize()
        assert [m["text"] for m in shown(pipe)] == ["Tell me", "".join(WORDS) + "and the end."]
        assert drafts(workspace) == []
    assert len([r for r in history(workspace) if r.get("role") == "assistant"]) == 1


def test_a_torn_draft_is_taken_as_far_as_it_goes(workspace: Path, slow: WireServer) -> None:
    seen = killed(workspace, slow)
    (draft,) = drafts(workspace)
    draft.write_bytes(draft.read_bytes() + b'{"at":280,"text":"wor')
    with Pipe(workspace, env=environment(slow)) as pipe:
        pipe.initialize()
        assert [m["text"] for m in shown(pipe)] == ["Tell me", seen]


def test_secrets_are_in_no_draft(workspace: Path) -> None:
    pieces = ["The key: ", *(KEY[i : i + 5] for i in range(0, len(KEY), 5)), " and ", "that."]
    with wire_server("openai", [held(*pieces)]) as model:
        assert KEY in killed(workspace, model)
        (draft,) = drafts(workspace)
        assert KEY not in draft.read_text() and "[redacted:github-token]" in draft.read_text()
        with Pipe(workspace, env=environment(model)) as pipe:
            pipe.initialize()
            assert shown(pipe)[1]["text"] == "The key: [redacted:github-token] and that."
    assert KEY not in (workspace / ".tierline" / "history.jsonl").read_text()


def test_an_unfinished_state_block_stays_out_of_the_text(workspace: Path) -> None:
    pieces = ["Done.\n", "\n### STATE\n", "Goal: half a bl"]
    with wire_server("openai", [held(*pieces)]) as model:
        killed(workspace, model, history={"stateAnchor": "on"})
        with Pipe(workspace, env=environment(model)) as pipe:
            pipe.initialize(history={"stateAnchor": "on"})
            assert shown(pipe)[1]["text"] == "Done."
            assert pipe.request("tierline/history/anchor")["text"] == ""
    (reply,) = (r for r in history(workspace) if r.get("role") == "assistant")
    assert reply["meta"]["unfinished_state"] == "Goal: half a bl"


def test_calls_that_had_come_are_closed_and_half_ones_left_out(workspace: Path) -> None:
    whole = a_tool(1, "c1", "read_file", '{"path": ', '"src/a.py"}')
    half = a_tool(2, "c2", "read_file", '{"path": ', '"src/b.py"}')[:-2]
    first = Reply([a_start(), a_event("ping"), *a_texts(0, "Let me look."), *whole, *half, Hold()])
    with wire_server("anthropic", [first, a_reply("Seen.")]) as model:
        killed(workspace, model)
        with Pipe(workspace, env=environment(model)) as pipe:
            pipe.initialize()
            _, reply, *_ = shown(pipe)
            assert (reply["text"], reply["status"]) == ("Let me look.", "interrupted")
            (row,) = reply["calls"]
            assert (row["id"], row["status"]) == ("c1", "interrupted")
            assert row["result"] == "Not run: Tierline was ended before the reply was complete."
            pipe.request("tierline/chat/send", {"text": "Go on"})
            pipe.until(lambda: pipe.events("turnFinished"))
            assert pipe.events("turnFinished")[-1]["outcome"] == "ok"
            assert violations(model.bodies[-1], "anthropic") == []
            assert json.dumps(model.bodies[-1]).count("src/b.py") == 0


def waits_for_consent(pipe: Pipe) -> dict[str, Any]:
    """A turn whose call waits for the user. Returns the question."""
    pipe.request("tierline/chat/send", {"text": "Run it"})
    pipe.until(lambda: pipe.events("consentAsked"))
    return pipe.events("consentAsked")[0]["consent"]  # type: ignore[no-any-return]


def test_calls_that_were_running_are_closed_at_the_next_start(workspace: Path) -> None:
    use = Use("run_command", {"argv": ["true"]}, "c1")
    with wire_server("openai", [calls("openai", use), o_reply("Done.")]) as model:
        with Pipe(workspace, env=environment(model)) as pipe:
            pipe.initialize()
            waits_for_consent(pipe)
            pipe.kill()
        for _ in range(2):
            with Pipe(workspace, env=environment(model)) as pipe:
                pipe.initialize()
                (row,) = (c for m in shown(pipe) for c in m["calls"])
                assert row["status"] == "interrupted"
                assert row["result"].startswith("Interrupted: Tierline was closed before")
                pipe.kill()
    assert len([r for r in history(workspace) if r.get("role") == "tool"]) == 1


def test_calls_of_a_living_server_get_their_own_results(workspace: Path) -> None:
    use = Use("run_command", {"argv": ["echo", "ran"]}, "c1")
    script = [calls("openai", use), o_reply("Two."), o_reply("Done.")]
    with wire_server("openai", script) as model, Pipe(workspace, env=environment(model)) as one:
        one.initialize()
        question = waits_for_consent(one)
        with Pipe(workspace, env=environment(model)) as two:
            two.initialize()
            two.request("tierline/chat/send", {"text": "Beside"})
            two.until(lambda: two.events("turnFinished"))
            assert violations(model.bodies[-1], "openai") == []
        one.request("tierline/consent/answer", {"id": question["id"], "answer": "once"})
        one.until(lambda: one.events("turnFinished"))
        assert one.events("turnFinished")[-1]["outcome"] == "ok"
        assert violations(model.bodies[-1], "openai") == []
    (result,) = (r for r in history(workspace) if r.get("role") == "tool")
    assert "ran" in json.dumps(result["content"])


def test_a_living_server_keeps_its_reply(workspace: Path, slow: WireServer) -> None:
    """Two windows on one folder; what the first one streams is not taken over by the second."""
    with Pipe(workspace, env=environment(slow)) as one:
        one.initialize()
        begin(one, slow)
        with Pipe(workspace, env=environment(slow)) as two:
            two.initialize()
            assert [m["text"] for m in shown(two)] == ["Tell me"]
            assert len(drafts(workspace)) == 1
            slow.release()
            one.until(lambda: one.events("turnFinished"))
            expected = ["Tell me", "".join(WORDS) + "and the end."]
            assert [m["text"] for m in shown(one)] == [m["text"] for m in shown(two)] == expected


def test_a_living_server_takes_up_what_a_killed_one_left(workspace: Path, slow: WireServer) -> None:
    """The other window is still there: with its next prompt it takes up the reply."""
    with Pipe(workspace, env=environment(slow)) as two:
        two.initialize()
        seen = killed(workspace, slow)
        session = history(workspace)[0]["session_id"]
        two.request("tierline/history/loadSession", {"sessionId": session})
        assert [m["text"] for m in shown(two)] == ["Tell me"]
        two.request("tierline/chat/send", {"text": "Tell me"})
        two.until(lambda: two.events("turnFinished"))
        assert [m["text"] for m in shown(two)] == ["Tell me", seen, "Tell me", "Two."]
        assert "recovered" in [e["reason"] for e in two.events("stateChanged")]


def test_deleted_sessions_stay_deleted(workspace: Path, slow: WireServer) -> None:
    killed(workspace, slow)
    (draft,) = drafts(workspace)
    kept = draft.read_bytes()
    with Pipe(workspace, env=environment(slow)) as pipe:
        pipe.initialize()
        session = pipe.request("tierline/state/get")["sessionId"]
        pipe.request("tierline/history/deleteSession", {"sessionId": session})
        pipe.kill()
    draft.parent.mkdir(exist_ok=True)
    draft.write_bytes(kept.replace(b'"message_id":"', b'"message_id":"9'))
    with Pipe(workspace, env=environment(slow)) as pipe:
        pipe.initialize()
        assert shown(pipe) == []
        assert pipe.request("tierline/history/listSessions")["sessions"] == []
        assert drafts(workspace) == []
