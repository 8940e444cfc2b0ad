"""The budget through a real server: calibration that outlives a restart, shedding with a notice,
and a fixed part that cannot fit.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from lsp.conftest import Start
from tierline import protocol as p
from wire.scripts import a_reply, o_reply
from wire.servers import wire_server

LONG = "".join(f"def function_{n}() -> int:\n    return {n}\n\n\n" for n in range(300))


async def test_calibration_is_learnt_from_usage_and_survives_a_restart(
    start: Start, workspace: Path
) -> None:
    """The provider reports half as much again as we counted: after three replies the figures are
    called calibrated and are about what it reports, also in the next process.
    """
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        before = await editor.ask("budget/get")
        assert before.accuracy == "estimated"
        reported = int(before.used * 1.5)
        model.script = [a_reply("Yes.", input_tokens=reported)] * 4
        for number in range(3):
            await editor.chat(f"Question {number}?")
        after = await editor.ask("budget/get")
        assert after.accuracy == "calibrated"
        assert 0.9 * reported < after.used < 1.1 * reported
        assert after.margin_percent < before.margin_percent
        stored = json.loads((workspace / ".tierline" / "calibration.json").read_text())
        assert stored[after.model]["log_ratios"]
        await editor.stop()
        again = await start(model)
        restarted = await again.ask("budget/get")
        assert (restarted.accuracy, restarted.used) == ("calibrated", after.used)


async def test_files_are_shed_with_a_notice_and_come_back(start: Start, workspace: Path) -> None:
    """004:121: largest first, with a warning in the chat; with room again it is sent again."""
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model, context={"maxInputTokens": 4_000})
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.ask("files/add", p.FileParams(path="src/a.py"))
        await editor.chat("What is alpha?")
        body = json.dumps(model.bodies[-1])
        assert "def alpha" in body and "function_299" not in body
        notices = [n.text for n in editor.bodies(p.Notice)]
        assert any("src/big.py" in text and "tokens" in text for text in notices)
        for _ in range(5):  # also while a plan is made
            _, listed = await asyncio.gather(editor.ask("budget/get"), editor.ask("files/list"))
            assert {f.path: f.state for f in listed.files} == {
                "src/a.py": "ok",
                "src/big.py": "shed",
            }
        await editor.stop()
        roomy = await start(model)
        await roomy.chat("And now?")
        assert "function_299" in json.dumps(model.bodies[-1])


async def test_a_fixed_part_that_cannot_fit_is_an_error_that_names_it(
    start: Start, workspace: Path
) -> None:
    """No loop, no cut prompt, nothing sent; the prompt is in the history and can be shortened."""
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model, context={"maxInputTokens": 2_000})
        ended = await editor.chat("Please read this. " + "word " * 9_000)
        assert (ended.outcome, ended.code) == ("error", "fixed_part_too_large")
        assert ": your prompt (" in ended.error and "history:" not in ended.error
        assert "prompt" in ended.advice
        assert model.bodies == []
        shown = (await editor.ask("state/get")).messages
        assert [m.role for m in shown] == ["user"]


async def test_a_file_that_is_cut_says_so_wherever_it_is_shown(
    start: Start, workspace: Path
) -> None:
    """Not only the model: the answer, the list, the line under the prompt and the explanation."""
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")] * 2) as model:
        editor = await start(model, context={"maxFileTokens": 500})
        pinned = await editor.ask("files/pin", p.FileParams(path="src/big.py"))
        await editor.ask("files/add", p.FileParams(path="src/a.py"))
        assert len(pinned.notices) == 1
        assert pinned.notices[0].startswith("src/big.py: Only the first ")
        await editor.chat("What is alpha?")
        assert "function_299" not in json.dumps(model.bodies[-1])
        small, big = (await editor.ask("files/list")).files
        assert (small.state, small.reason, small.code) == ("ok", "", "")
        assert (big.state, big.code) == ("ok", "cut")
        assert 350 <= big.tokens <= 500
        whole = int(big.reason.split(" of its ")[1].split(" tokens")[0].replace(",", ""))
        assert whole > 3_000
        explained = await editor.ask("plan/explain", p.PlanExplainParams(key="src/big.py"))
        assert explained.included
        cut = f"Only the first {big.tokens:,} of its {whole:,} tokens are sent"
        assert cut in explained.sentence and cut in big.reason
        lines = [started.context_line for started in editor.bodies(p.TurnStarted)]
        assert "2 files (1 cut)" in lines[-1]
        await editor.ask("files/remove", p.FileParams(path="src/big.py"))
        sent = await editor.ask("chat/send", p.ChatSendParams(text="What is in @src/big.py ?"))
        await editor.finished(sent.turn_id)
        assert [n for n in sent.notices if n.startswith("src/big.py: Only the first")]


@pytest.mark.parametrize("how", ["pin", "mention", "restart"])
async def test_the_first_notice_of_a_cut_has_the_figures_of_the_plan(
    start: Start, workspace: Path, how: str
) -> None:
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("openai", [o_reply("Yes.")] * 3) as model:
        editor = await start(model, context={"maxFileTokens": 500})
        if how == "mention":
            asked = p.ChatSendParams(text="What is in @src/big.py ?")
            sent = await editor.ask("chat/send", asked)
            (said,) = sent.notices
            await editor.finished(sent.turn_id)
        else:
            (said,) = (await editor.ask("files/pin", p.FileParams(path="src/big.py"))).notices
        if how == "restart":
            await editor.chat("What is it?")
            await editor.stop()
            editor = await start(model, context={"maxFileTokens": 500})
            (listed,) = (await editor.ask("files/list")).files
            said = f"src/big.py: {listed.reason}"
        plan = await editor.ask("plan/get", p.PlanParams())
        (entry,) = [entry for entry in plan.entries if entry.key == "file:src/big.py"]
        assert said.startswith(f"src/big.py: Only the first {entry.tokens:,} of its ")
        assert entry.tokens < 500, "a cut ends with a line, so the limit is not the figure"


async def test_a_file_that_cannot_fit_even_cut_is_listed_with_its_true_size(
    start: Start, workspace: Path
) -> None:
    (workspace / "src" / "big.py").write_text(LONG * 4, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model, context={"maxInputTokens": 4_000, "maxFileTokens": 5_000})
        await editor.ask("files/pin", p.FileParams(path="src/big.py"))
        await editor.chat("What is alpha?")
        (big,) = (await editor.ask("files/list")).files
        assert (big.state, big.tokens > 12_000) == ("shed", True)
        assert big.reason.startswith(f"src/big.py alone has {big.tokens:,} tokens;")
        explained = await editor.ask("plan/explain", p.PlanExplainParams(key="src/big.py"))
        assert f"({big.tokens:,} tokens) is not in: {big.reason}" in explained.sentence
        assert big.reason in [notice.text for notice in editor.bodies(p.Notice)]
