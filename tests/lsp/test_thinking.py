"""The model's thinking through a real server: kept, sent back to whom it belongs, never elsewhere.

Every conversation is with a server that enforces what the provider documents.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from wire.agents import Use
from wire.enforcing import Answer, Family, enforcing
from wire.rules_anthropic import Messages
from wire.scripts import a_end, a_error, a_reply, a_start, a_texts, a_thinking, o_error
from wire.servers import Act, Pause, Reply, wire_server

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


# --- refusals -------------------------------------------------------------------------------------


async def test_thinking_that_the_service_refuses_all_the_same_is_dropped_once_and_for_all(
    start: Start,
) -> None:
    with enforcing("anthropic") as model:
        editor = await start(model)
        await editor.chat("One")
        await editor.chat("Two")
        assert isinstance(model.rules, Messages)
        model.rules.epoch += 1
        finished = await editor.chat("Three")
        assert finished.outcome == "ok", finished.error
        assert len(model.refused) == 1
        notices = [n.text for n in editor.bodies(p.Notice) if n.code == "thinking_invalid"]
        assert len(notices) == 1
        assert "left out" in notices[0]
        await editor.chat("Four")
        await editor.chat("Five")
        assert len(model.refused) == 1, "what was refused is not sent again"
        assert [r.reasoning for r in model.reports] == [0, 1, 0, 1, 2]


async def test_a_service_that_does_not_know_how_it_is_asked_to_think_is_asked_without(
    start: Start,
) -> None:
    said = "thinking: Extra inputs are not permitted"
    refusal = a_error("invalid_request_error", said, 400)
    with wire_server("anthropic", [refusal, a_reply("Yes.")]) as model:
        model.model = "claude-sonnet-5"
        editor = await start(model)
        finished = await editor.chat("One")
        assert finished.outcome == "ok", finished.error
        await editor.chat("Two")
        assert ["thinking" in body for body in model.bodies] == [True, False, False]


async def test_calls_of_other_models_leave_where_each_call_needs_its_own_reasoning(
    start: Start,
) -> None:
    with (
        enforcing("plain", [Answer("", uses=(LOOK,)), Answer("Found.")]) as plain,
        enforcing("deepseek", [Answer("", uses=(READ,)), Answer("Done.")]) as deepseek,
    ):
        editor = await start(plain)
        await editor.chat("Find it")
        other = p.ProviderSelectParams("openai", deepseek.model, deepseek.url)
        await editor.ask("provider/select", other)
        for prompt in ("Look again", "And again"):
            finished = await editor.chat(prompt)
            assert finished.outcome == "ok", finished.error
        assert len(deepseek.refused) == 1, "learnt from the first refusal"
        back = p.ProviderSelectParams("openai", plain.model, plain.url)
        await editor.ask("provider/select", back)
        finished = await editor.chat("Once more")
        assert finished.outcome == "ok", finished.error
        assert "reasoning_content" not in json.dumps(plain.bodies)
        assert plain.refused == []


async def test_thinking_is_refused_by_name_where_nothing_can_be_done(start: Start) -> None:
    with wire_server("openai", o_error("Invalid value for reasoning_effort: 'x'", 400)) as model:
        editor = await start(model)
        finished = await editor.chat("One")
        assert finished.outcome == "error"
        assert "thinking" in finished.error
        assert len(model.requests) == 1, "nothing was said about thinking; nothing can be left out"


# --- how much -------------------------------------------------------------------------------------


async def test_the_effort_is_a_setting_and_makes_room_in_the_reply(start: Start) -> None:
    with enforcing("anthropic") as model:
        editor = await start(model, env={"TIERLINE_PROVIDER_EFFORT": "low"})
        await editor.chat("One")
        body = model.bodies[0]
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["output_config"] == {"effort": "low"}
        assert body["max_tokens"] == 8_192 + 8_000
        assert "anthropic-beta" not in model.requests[0].headers, "only Anthropic itself knows it"


@pytest.mark.parametrize(
    ("name", "effort", "thinking"),
    [
        ("claude-opus-5-5", "none", {"type": "adaptive", "display": "summarized"}),
        ("claude-sonnet-5-5", "none", {"type": "between_tools"}),
        ("claude-haiku-5-5", "none", {"type": "disabled"}),
        ("claude-opus-4-8", "none", None),
        ("claude-opus-4-8", "auto", None),
        ("claude-opus-4-6", "xhigh", {"type": "adaptive", "display": "summarized"}),
        ("claude-haiku-4-5", "max", None),
        ("claude-sonnet-5", "auto", {"type": "adaptive", "display": "summarized"}),
    ],
)
async def test_each_model_is_told_in_its_own_way(
    start: Start, name: str, effort: str, thinking: Any
) -> None:
    with enforcing("anthropic") as model:
        model.model = name
        editor = await start(model, env={"TIERLINE_PROVIDER_EFFORT": effort})
        finished = await editor.chat("One")
        assert finished.outcome == "ok", finished.error
        assert model.bodies[0].get("thinking") == thinking
        assert model.refused == []


async def test_the_effort_can_be_chosen_in_the_chat_and_by_any_client(start: Start) -> None:
    with enforcing("anthropic") as model:
        editor = await start(model)
        shown = await editor.ask("chat/command", p.CommandParams("/effort"))
        assert "is not told how much" in shown.text
        shown = await editor.ask("chat/command", p.CommandParams("/effort max"))
        assert "thinks: max" in shown.text
        await editor.chat("One")
        assert model.bodies[0]["output_config"] == {"effort": "max"}
        found = await editor.ask("model/effort", p.EffortParams("low"))
        assert (found.effort, found.in_force) == ("low", "low")
        assert found.choices == ["auto", "none", "low", "medium", "high", "xhigh", "max"]
        await editor.chat("Two")
        assert model.bodies[1]["output_config"] == {"effort": "low"}
        with pytest.raises(JsonRpcException, match="cannot be told"):
            await editor.ask("model/effort", p.EffortParams("minimal"))
        with pytest.raises(JsonRpcException, match="not complete"):
            await editor.ask("chat/command", p.CommandParams("/effort plenty"))
        await editor.ask("model/effort", p.EffortParams("auto"))
        await editor.chat("Three")
        assert "output_config" not in model.bodies[2]
        assert model.refused == []
        assert [r.reasoning for r in model.reports] == [0, 1, 2], "effort is no part of the prefix"


# --- shown ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["anthropic", "deepseek"])
async def test_thinking_is_shown_while_it_comes_and_kept_after_a_reload(
    start: Start, family: Family
) -> None:
    with enforcing(family, [Answer("Yes.", "Let me think about that for a while.")]) as model:
        editor = await start(model)
        finished = await editor.chat("One")
        streamed = "".join(b.text for b in editor.bodies(p.ReasoningDelta))
        assert streamed == "Let me think about that for a while."
        assert finished.message is not None
        assert finished.message.thinking == streamed
        assert finished.message.text == "Yes."
        again = await start(model)
        state = await again.ask("state/get")
        assert [m.thinking for m in state.messages] == ["", streamed]


async def test_how_long_the_model_thought_is_kept(start: Start) -> None:
    parts: list[bytes | Act] = [*a_thinking(0, "Hm.")[:-1], Pause(1.2), *a_texts(1, "Yes.")]
    with wire_server("anthropic", Reply([a_start(), *parts, *a_end()])) as model:
        editor = await start(model)
        finished = await editor.chat("One")
        assert finished.message is not None
        assert 1.0 <= finished.message.thinking_seconds <= 10
        again = await start(model)
        state = await again.ask("state/get")
        assert state.messages[1].thinking_seconds == finished.message.thinking_seconds
