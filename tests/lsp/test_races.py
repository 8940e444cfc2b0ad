"""Requests that arrive together: nothing is sent twice, lost, or put into another conversation."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import environment
from lsp.pipe import ForkedPipe as Pipe
from lsp.pipe import history
from wire.agents import Use, calls, results
from wire.scripts import O_DONE, a_reply, o_reply, o_texts
from wire.servers import Hold, Reply, WireServer, wire_server

HELD = Reply([*o_texts("Half "), Hold()])


@pytest.fixture
def held() -> Iterator[WireServer]:
    """A model whose first reply stands still in its middle; the others are whole."""
    with wire_server("openai", [HELD, o_reply("Two."), o_reply("Three."), o_reply("Four.")]) as one:
        yield one


def ended(pipe: Pipe, turn: str) -> dict[str, Any]:
    def found() -> Any:
        return [b for b in pipe.events("turnFinished") if b["turnId"] == turn]

    return pipe.until(found, 10)[0]  # type: ignore[no-any-return]


def quiet(pipe: Pipe) -> None:
    """Wait until no turn runs any more: a moment after clients were told of its end."""
    while pipe.request("tierline/state/get")["busyTurn"]:
        time.sleep(0.01)


def prompts(workspace: Path) -> list[str]:
    return [r["content"] for r in history(workspace) if r.get("role") == "user"]


def test_stop_pressed_often_lets_the_next_prompt_go_on(workspace: Path, held: WireServer) -> None:
    with Pipe(workspace, env=environment(held)) as pipe:
        pipe.initialize()
        pipe.request("tierline/chat/send", {"text": "First."})
        pipe.until(lambda: pipe.events("textDelta"))
        second = pipe.request("tierline/chat/send", {"text": "Second."})
        assert second["queued"]
        for _ in range(5):
            pipe.post("tierline/chat/cancel")
        assert ended(pipe, second["turnId"])["outcome"] == "ok"
        ends = pipe.events("turnFinished")
        assert [e["outcome"] for e in ends] == ["interrupted", "ok"]
        assert len(held.bodies) == 2
        assert "Traceback" not in pipe.stderr


def test_retry_twice_at_once_asks_once(workspace: Path, model: WireServer) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        for method in ("drop", "remove", "show"):
            error = pipe.answer(pipe.post(f"tierline/history/{method}"))["error"]
            assert error["message"] == "There is no turn yet."
        ended(pipe, pipe.request("tierline/chat/send", {"text": "Only once."})["turnId"])
        quiet(pipe)
        answers = [pipe.answer(n) for n in [pipe.post("tierline/chat/retry") for _ in range(3)]]
        again = [a["result"]["turnId"] for a in answers if "result" in a]
        assert len(again) == 1, answers
        ended(pipe, again[0])
        last = pipe.request("tierline/chat/send", {"text": "Next."})
        ended(pipe, last["turnId"])
        assert len(model.bodies) == 3
        assert json.dumps(model.bodies[-1]).count("Only once.") == 1
        refused = [a["error"] for a in answers if "error" in a]
        assert all(e["data"]["advice"] for e in refused)


def test_prompts_with_and_without_files_stay_in_their_order(
    workspace: Path, model: WireServer
) -> None:
    """The first names a file that takes long to read, the others name none."""
    (workspace / "src" / "big.py").write_text("x = 1\n" * 700_000, encoding="utf-8")
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        texts = ["A, see @src/big.py", "B", "C, see @src/a.py", "D"]
        numbers = [pipe.post("tierline/chat/send", {"text": text}) for text in texts]
        turns = [pipe.answer(n)["result"]["turnId"] for n in numbers]
        for turn in turns:
            ended(pipe, turn)
        assert prompts(workspace) == texts
        starts = [e["turnId"] for e in pipe.events("turnStarted")]
        assert starts == turns


def test_a_prompt_and_a_switch_at_once(workspace: Path, model: WireServer) -> None:
    """Whatever comes first, the prompt and its reply are in one conversation, and it is sent."""
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        first = pipe.request("tierline/state/get")["sessionId"]
        ended(pipe, pipe.request("tierline/chat/send", {"text": "Before."})["turnId"])
        pipe.request("tierline/history/newSession")
        ended(pipe, pipe.request("tierline/chat/send", {"text": "Other."})["turnId"])
        quiet(pipe)
        others = ("history/newSession", "history/loadSession", "history/undo", "branch/fork")
        for number, other in enumerate((*others, "history/deleteSession") * 2):
            method = f"tierline/{other}"
            params = {"sessionId": first} if other == "history/loadSession" else {}
            text = f"Prompt {number} here."
            pair = [("tierline/chat/send", {"text": text}), (method, params)]
            if number % 2:
                pair.reverse()
            numbers = [pipe.post(*one) for one in pair]
            answers = dict(zip([m for m, _ in pair], map(pipe.answer, numbers), strict=True))
            result = answers["tierline/chat/send"]["result"]
            refused = answers[method].get("error")
            assert refused is None or refused["data"]["advice"]
            end = ended(pipe, result["turnId"])
            quiet(pipe)
            mine = [r for r in history(workspace) if r.get("group_id") == result["turnId"]]
            assert len({r["session_id"] for r in mine}) == 1, (number, mine)
            if end["outcome"] == "ok":
                assert any(text in json.dumps(body) for body in model.bodies), number
                assert [r["role"] for r in mine] == ["user", "assistant"]
        assert "Traceback" not in pipe.stderr, pipe.stderr


def test_a_change_of_the_list_stays_in_the_session_that_it_was_asked_for_in(
    workspace: Path, model: WireServer
) -> None:
    """Adding a large file takes long; behind it other sessions are opened, their lists changed."""
    (workspace / "src" / "big.py").write_text("x = 1\n" * 700_000, encoding="utf-8")
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()

        def listed(session: str) -> list[str]:
            pipe.request("tierline/history/loadSession", {"sessionId": session})
            return [f["path"] for f in pipe.request("tierline/files/list")["files"]]

        def begun(*files: str) -> str:
            state = pipe.request("tierline/history/newSession")
            pipe.request("tierline/files/clear")
            for path in files:
                pipe.request("tierline/files/add", {"path": path})
            ended(pipe, pipe.request("tierline/chat/send", {"text": "Yes?"})["turnId"])
            quiet(pipe)
            return str(state["sessionId"])

        first, second, third = begun("src/b.py"), begun("src/a.py"), begun("src/a.py")
        pipe.request("tierline/history/loadSession", {"sessionId": first})
        asked = [
            pipe.post(f"tierline/{method}", params)
            for method, params in (
                ("files/add", {"path": "src/big.py"}),
                ("history/loadSession", {"sessionId": second}),
                ("files/add", {"path": "src/b.py"}),
                ("history/loadSession", {"sessionId": third}),
                ("files/clear", {}),
            )
        ]
        assert ["result" in pipe.answer(number) for number in asked] == [True] * 5
        expected = {first: ["src/b.py", "src/big.py"], second: ["src/a.py", "src/b.py"], third: []}
        assert {one: sorted(listed(one)) for one in expected} == expected
        pipe.request("shutdown")
        pipe.notify("exit")
        pipe.gone(20)


def test_a_prompt_that_waits_for_a_compaction(workspace: Path, held: WireServer) -> None:
    """Meanwhile nothing else becomes of it: no second request, no other session; Stop stops it."""
    held.script = [o_reply("One."), o_reply("Two."), o_reply("Three."), HELD, o_reply("Last.")]
    with Pipe(workspace, env=environment(held)) as pipe:
        pipe.initialize(compaction={"summariser": "model", "detector": "local"})
        for text in ("Alpha. ", "Beta. ", "Gamma. "):
            ended(pipe, pipe.request("tierline/chat/send", {"text": text * 200})["turnId"])
        quiet(pipe)
        compaction = pipe.post("tierline/compaction/run")
        assert held.waiting.wait(30)
        waiting = pipe.request("tierline/chat/send", {"text": "Delta."})
        assert waiting["queued"]
        for method in ("chat/retry", "history/newSession", "history/drop", "branch/fork"):
            error = pipe.answer(pipe.post(f"tierline/{method}"))["error"]
            assert error["message"] == "A prompt waits to be sent."
            assert error["data"]["advice"]
        assert pipe.request("tierline/chat/cancel")["turnId"] == waiting["turnId"]
        assert ended(pipe, waiting["turnId"])["outcome"] == "interrupted"
        again = pipe.request("tierline/chat/send", {"text": "Epsilon."})
        held.release()
        pipe.answer(compaction)
        assert ended(pipe, again["turnId"])["outcome"] == "ok"
        assert json.dumps(held.bodies[-1]).count("Epsilon.") == 1
        assert len(held.bodies) == 5


def test_a_turn_answers_its_own_prompt(workspace: Path, held: WireServer) -> None:
    """Another window's turn ends between two requests of ours: ours ends with our prompt, also
    where only the newest turn is sent.
    """
    held.script = [
        Reply([*calls("openai", Use("list_files")).body[:-1], Hold(), O_DONE]),
        o_reply("Theirs."),
        o_reply("Ours."),
    ]
    chosen = {"strategy": "window", "window": 1}
    env = environment(held)
    with Pipe(workspace, env=env) as ours, Pipe(workspace, env=env) as theirs:
        ours.initialize(history=chosen)
        theirs.initialize(history=chosen)
        mine = ours.request("tierline/chat/send", {"text": "My own question."})
        assert held.waiting.wait(30)
        ended(theirs, theirs.request("tierline/chat/send", {"text": "Another question."})["turnId"])
        held.release()
        assert ended(ours, mine["turnId"])["outcome"] == "ok"
        roles = [m["role"] for m in held.bodies[-1]["messages"]]
        assert roles[-3:] == ["user", "assistant", "tool"]
        assert "My own question." in json.dumps(held.bodies[-1]["messages"])
        assert "Another question." not in json.dumps(held.bodies[-1])


def test_settings_that_change_in_the_middle_of_a_turn_wait_for_the_next(
    workspace: Path, held: WireServer
) -> None:
    """Another provider, model and key between two requests: the turn ends where it began."""
    held.script = [
        Reply([*calls("openai", Use("list_files")).body[:-1], Hold(), O_DONE]),
        o_reply("Done."),
    ]
    first = {"name": "openai", "base_url": held.url, "model": "gpt-5"}
    keys = {"OPENAI_API_KEY": "key-of-nobody", "ANTHROPIC_API_KEY": "key-of-no-one"}
    with wire_server("anthropic", [a_reply("Yes.")]) as other, Pipe(workspace, keys) as pipe:
        pipe.initialize(provider=first)
        mine = pipe.request("tierline/chat/send", {"text": "List them."})
        assert held.waiting.wait(10)
        then = {"name": "anthropic", "base_url": other.url, "model": "claude-sonnet-4-5"}
        settings = {"tierline": {"provider": then}}
        pipe.notify("workspace/didChangeConfiguration", {"settings": settings})
        pipe.request("tierline/provider/setKey", {"provider": "openai", "key": "another-key"})
        assert pipe.events("providerChanged")[-1]["provider"]["name"] == "anthropic"
        pipe.request("tierline/plan/show")
        held.release()
        assert ended(pipe, mine["turnId"])["outcome"] == "ok"
        assert held.bodies[-1]["model"] == "gpt-5"
        assert "src/a.py" in results(held.bodies[-1], "openai")["call_list_files_0"]
        assert (len(held.bodies), other.bodies) == (2, [])
        ended(pipe, pipe.request("tierline/chat/send", {"text": "Next."})["turnId"])
        assert (len(held.bodies), len(other.bodies)) == (2, 1)
        assert other.bodies[0]["model"] == "claude-sonnet-4-5"
