"""OpenAI's Responses API through a real server that enforces what its reference says."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Start
from tierline import protocol as p
from tierline.providers.choice import rerender
from tierline.store.plans import PlanStore
from wire.agents import Use
from wire.enforcing import Answer, enforcing
from wire.servers import Reply

LOOK = Use("list_files", {"pattern": "*.py"})
READ = Use("read_file", {"path": "src/a.py"})
AGENT = [
    Answer("I look.", "Where is it?", uses=(LOOK,)),
    Answer("", "There it is.", uses=(READ, Use("read_file", {"path": "src/b.py"}))),
    Answer("Found.", "Now I know."),
    Answer("Again.", "One more look.", uses=(LOOK,)),
    Answer("Done.", "That was all."),
]


@pytest.fixture(autouse=True)
def api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERLINE_PROVIDER_API", "responses")


def parts(body: Any) -> list[dict[str, Any]]:
    """All content parts, in order; what is no list of parts is one."""
    found: list[dict[str, Any]] = []
    for item in body["input"]:
        content = item.get("output", item.get("content"))
        found += content if isinstance(content, list) else [item]
    return found


def plain(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "prompt_cache_breakpoint"}


async def test_encrypted_reasoning_comes_back_within_a_turn_after_it_and_after_a_restart(
    start: Start,
) -> None:
    with enforcing("responses", AGENT) as model:
        editor = await start(model)
        for prompt in ("Find alpha", "Look again"):
            finished = await editor.chat(prompt)
            assert finished.outcome == "ok", finished.error
        again = await start(model)
        finished = await again.chat("And once more")
        assert finished.outcome == "ok", finished.error
        assert model.refused == []
        assert [report.reasoning for report in model.reports][:3] == [0, 1, 2]
        for body in model.bodies:
            assert body["store"] is False
            assert body["include"] == ["reasoning.encrypted_content"]
            assert body["prompt_cache_key"]
            assert "previous_response_id" not in body


async def test_tiers_end_in_breakpoints_and_nothing_else_is_written(
    start: Start, workspace: Path
) -> None:
    long = "\n".join(f"def f{number}() -> int: return {number}" for number in range(900))
    (workspace / "src" / "long.py").write_text(long)
    with enforcing("responses", [Answer("Yes.", "")]) as model:
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(str(workspace / "src" / "long.py")))
        for prompt in ("One?", "Two?", "Three?"):
            assert (await editor.chat(prompt)).outcome == "ok"
        for body, later in pairwise(model.bodies):
            ends = [n for n, part in enumerate(parts(body)) if "prompt_cache_breakpoint" in part]
            assert 1 <= len(ends) <= 4
            assert body["prompt_cache_options"] == {"mode": "explicit"}
            assert "prompt_cache_retention" not in body
            before = [plain(part) for part in parts(body)[: ends[-1] + 1]]
            assert [plain(part) for part in parts(later)[: len(before)]] == before
        budget = await editor.ask("budget/get")
        assert budget.accuracy in ("exact", "calibrated")


async def test_the_plan_renders_to_the_same_bytes_again(start: Start, workspace: Path) -> None:
    with enforcing("responses", AGENT) as model:
        editor = await start(model)
        await editor.chat("Find alpha")
        await editor.stop()
        sent = model.bodies
        store = PlanStore(workspace / ".tierline" / "plans.sqlite3")
        again = []
        for stored in store.list(10):
            prompt = store.load_prompt(stored.plan.plan_id)
            request = rerender(prompt, stored.provider, stored.request_sha256)
            assert request.sha256 == stored.request_sha256
            again.append(json.loads(request.payload))
        assert all(body in again for body in sent)


async def test_a_reply_that_is_cut_at_its_limit_and_an_error_in_the_stream_are_told(
    start: Start,
) -> None:
    def cut(_body: Any, number: int) -> Any:
        response: dict[str, Any] = {
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "usage": {"input_tokens": 40, "output_tokens": 9},
        }
        said = {"type": "response.output_text.delta", "item_id": "m", "delta": "Half a"}
        error = {"code": "server_error", "message": "It broke."}
        failed = {"type": "response.failed", "response": {"status": "failed", "error": error}}
        events: list[dict[str, Any]] = [said, {"type": "response.incomplete", "response": response}]
        if number == 2:
            events = [failed]
        return Reply([f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events])

    with enforcing("responses", cut) as model:
        editor = await start(model, provider={"maxRetries": 0})
        first = await editor.chat("Go on")
        assert "Half a" in str((await editor.ask("state/get")).messages)
        assert first.outcome == "ok"
        second = await editor.chat("Again")
        assert second.outcome == "error"
        assert "It broke." in second.error
