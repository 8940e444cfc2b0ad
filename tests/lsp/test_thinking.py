"""The model's thinking through a real server: kept, sent back to whom it belongs, never elsewhere.

Every conversation is with a server that enforces what the provider documents.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Start
from tierline import protocol as p
from wire.agents import Use
from wire.enforcing import Answer, Family, enforcing

LOOK = Use("list_files", {"pattern": "*.py"})
READ = Use("read_file", {"path": "src/a.py"})
AGENT = [
    Answer("I look.", "Where is it?", uses=(LOOK,)),
    Answer("", "There it is.", uses=(READ, Use("read_file", {"path": "src/b.py"}))),
    Answer("Found.", "Now I know."),
    Answer("Again.", "One more look.", uses=(LOOK,)),
    Answer("Done.", "That was all."),
]


@pytest.mark.parametrize("family", ["anthropic", "deepseek", "kimi", "glm", "gemini"])
async def test_reasoning_comes_back_within_a_turn_after_it_and_after_a_restart(
    start: Start, family: Family
) -> None:
    with enforcing(family, AGENT) as model:
        editor = await start(model)
        for prompt in ("Find alpha", "Look again"):
            finished = await editor.chat(prompt)
            assert finished.outcome == "ok", finished.error
        again = await start(model)
        finished = await again.chat("And once more")
        assert finished.outcome == "ok", finished.error
        assert model.refused == []
        valid = [report.reasoning for report in model.reports]
        if family == "anthropic":
            # The text beside a call is thinking, too, and so is each reply's.
            assert valid == [0, 2, 3, 4, 6, 7]
        else:
            assert valid == [0, 1, 2, 2, 3, 3]


async def test_thinking_of_one_model_is_never_sent_to_another(start: Start) -> None:
    with enforcing("anthropic", [Answer("One."), Answer("Two.", uses=(LOOK,)), Answer()]) as model:
        editor = await start(model)
        await editor.chat("First")
        other = p.ProviderSelectParams("anthropic", "claude-opus-5-5", model.url)
        await editor.ask("provider/select", other)
        await editor.chat("Second")
        assert '"thinking"' not in json.dumps(model.bodies[1]["messages"])
        back = p.ProviderSelectParams("anthropic", model.model, model.url)
        await editor.ask("provider/select", back)
        await editor.chat("Third")
        assert model.refused == []
        assert [report.foreign for report in model.reports] == [0, 0, 0, 0]
        assert [report.reasoning for report in model.reports] == [0, 0, 2, 1]


async def test_thinking_behind_a_changed_beginning_is_left_out_and_later_thinking_is_kept(
    start: Start, workspace: Path
) -> None:
    with enforcing("anthropic") as model:
        editor = await start(model)
        await editor.chat("One")
        await editor.chat("Two")
        await editor.ask("files/pin", p.FileParams(path="src/a.py"))
        await editor.chat("Three")
        await editor.chat("Four")
        assert model.refused == []
        valid = [report.reasoning for report in model.reports]
        assert valid[:2] == [0, 1]
        assert valid[3] >= 1, "what was thought behind the new beginning"


async def test_thinking_survives_undo_and_branches(start: Start) -> None:
    with enforcing("anthropic") as model:
        editor = await start(model)
        await editor.chat("One")
        await editor.chat("Two")
        await editor.ask("history/undo")
        await editor.chat("Another two")
        assert model.refused == []
        assert [report.reasoning for report in model.reports] == [0, 1, 1]


async def test_sealed_thinking_goes_back_as_it_came(start: Start, workspace: Path) -> None:
    with enforcing("anthropic", [Answer(redacted=True, uses=(LOOK,)), Answer()]) as model:
        editor = await start(model)
        finished = await editor.chat("One")
        assert finished.outcome == "ok", finished.error
        sent: Any = model.bodies[1]["messages"][1]["content"]
        assert sent[0]["type"] == "redacted_thinking"
        assert model.reports[1].reasoning == 2


async def test_thinking_between_text_and_calls_keeps_its_place(start: Start) -> None:
    answers = [Answer("I look.", twice=True, uses=(LOOK,)), Answer("Yes.", twice=True), Answer()]
    with enforcing("anthropic", answers) as model:
        editor = await start(model)
        await editor.chat("One")
        await editor.chat("Two")
        assert model.refused == []
