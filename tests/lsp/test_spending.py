"""Limits in money and tokens, dear requests, changes that lose the cache, and long turns: asked and
told through the real server.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from lsp.conftest import Open, Start
from lsp.editing import ALL
from lsp.editor import Editor
from tierline import protocol as p
from wire.agents import Use, calls, results, says
from wire.scripts import a_reply, a_start
from wire.servers import Reply, wire_server

READ = Use("read_file", {"path": "src/a.py"}, "c1")
CALL = list(calls("anthropic", READ).body)
DEAR_CALL = Reply([a_start(input_tokens=9000), *CALL[1:]])
ANTHROPIC = [DEAR_CALL, says("anthropic", "It is alpha.")]


async def question(editor: Editor, number: int = 1) -> p.ConsentInfo:
    found = await editor.until(
        lambda: (b := editor.bodies(p.ConsentAsked)) and len(b) >= number and b[number - 1]
    )
    return found.consent  # type: ignore[no-any-return]


async def answer(editor: Editor, number: int, word: Any) -> p.ConsentInfo:
    asked = await question(editor, number)
    await editor.ask("consent/answer", p.ConsentAnswerParams(asked.id, word))
    return asked


async def test_a_turn_asks_before_its_limit_and_stops_between_its_requests(
    open_editor: Open,
) -> None:
    """The second request would pass the limit of the turn; no: what there is stays."""
    with wire_server("anthropic", [*ANTHROPIC, says("anthropic", "It goes on.")]) as model:
        editor = await open_editor(model, ALL, spending={"turnTokens": 9000})
        sent = await editor.ask("chat/send", p.ChatSendParams("What is in a.py?"))
        asked = await answer(editor, 1, "deny")
        end = await editor.finished(sent.turn_id)
        state = await editor.ask("state/get")
        assert (asked.kind, asked.can_remember, asked.turn_id) == ("spending", True, sent.turn_id)
        assert "9,000 tokens for this prompt" in asked.title
        assert (end.outcome, end.code) == ("interrupted", "limit")
        assert "9,000 tokens" in end.error and "continue" in end.advice
        assert len(model.bodies) == 1
        assert [m.role for m in state.messages] == ["user", "assistant", "tool"]
        after = await editor.chat("continue")
        assert after.outcome == "ok" and after.message.text == "It is alpha."
        assert results(model.bodies[-1], "anthropic")["c1"].count("alpha") == 1


async def test_once_allows_as_much_again_and_always_no_limit(open_editor: Open) -> None:
    with wire_server("anthropic", [a_reply("Yes.", input_tokens=20000)] * 6) as model:
        editor = await open_editor(model, ALL, spending={"sessionCost": 0.04})
        assert (await editor.chat("One?")).outcome == "ok"
        sent = await editor.ask("chat/send", p.ChatSendParams("Two?"))
        asked = await answer(editor, 1, "once")
        assert "$0.04 for this session" in asked.title and "$0.0" in asked.text
        assert (await editor.finished(sent.turn_id)).outcome == "ok"
        sent = await editor.ask("chat/send", p.ChatSendParams("Three?"))
        await answer(editor, 2, "always")
        assert (await editor.finished(sent.turn_id)).outcome == "ok"
        assert (await editor.chat("Four?")).outcome == "ok"
        assert len(editor.bodies(p.ConsentAsked)) == 2


async def test_a_dear_request_is_asked_about_once_and_says_why(
    open_editor: Open, workspace: Path
) -> None:
    """Large and cold: the first of the session. What is warm afterwards is not asked about; after
    another model was chosen the question says that.
    """
    (workspace / "big.txt").write_text("one two three four five\n" * 1500, encoding="utf-8")
    cached = a_reply("Fine.", input_tokens=10, cache_read_input_tokens=9000)
    with wire_server("anthropic", cached) as model:
        editor = await open_editor(model, ALL, spending={"warnCost": 0.01})
        await editor.ask("files/add", p.FileParams(path="big.txt"))
        sent = await editor.ask("chat/send", p.ChatSendParams("What is it?"))
        asked = await answer(editor, 1, "deny")
        end = await editor.finished(sent.turn_id)
        assert "Send it?" in asked.title and "first of this session" in asked.text
        assert (end.outcome, end.code, end.usage) == ("interrupted", "limit", None)
        assert model.bodies == []
        sent = await editor.ask("chat/send", p.ChatSendParams("What is it, then?"))
        await answer(editor, 2, "once")
        assert (await editor.finished(sent.turn_id)).outcome == "ok"
        assert (await editor.chat("And?")).outcome == "ok", "warm: no question"

        now = await editor.ask("cache/forecast")
        other = await editor.ask(
            "cache/forecast",
            p.ChangeForecastParams("model", provider="anthropic", model="claude-opus-4-5"),
        )
        same = await editor.ask(
            "cache/forecast",
            p.ChangeForecastParams("model", provider="anthropic", model=model.model),
        )
        tools = await editor.ask("cache/forecast", p.ChangeForecastParams("tools"))
        assert now.readable_tokens > 0.9 * now.tokens and not now.warn
        assert 0 < now.seconds_left <= 3600
        assert (other.readable_then, same.readable_then) == (0, now.readable_tokens)
        assert other.cost_then > 5 * other.cost > 0 and "Another model" in other.sentence
        assert (same.warn, tools.readable_then) == (False, 0)
        assert "loses nothing" in same.sentence and "anew" in tools.sentence

        await editor.ask(
            "provider/select", p.ProviderSelectParams("anthropic", "claude-opus-4-5", model.url)
        )
        sent = await editor.ask("chat/send", p.ChatSendParams("And you?"))
        asked = await answer(editor, 3, "always")
        assert "another model" in asked.text
        assert (await editor.finished(sent.turn_id)).outcome == "ok"


async def test_changes_that_lose_the_cache_are_warned_of_however_they_are_made(
    open_editor: Open, workspace: Path
) -> None:
    """By a command in the chat: asked before. By a setting: told before a request pays for it."""
    (workspace / "big.txt").write_text("one two three four five\n" * 1500, encoding="utf-8")
    cached = a_reply("Fine.", input_tokens=10, cache_read_input_tokens=9000)
    limits = {"warnCost": 0, "warnChangeCost": 0.01}
    with wire_server("anthropic", cached) as model:
        model.model = "claude-opus-4-8"  # it can be told not to think, and to think
        editor = await open_editor(model, ALL, spending=limits)
        await editor.ask("files/add", p.FileParams(path="big.txt"))
        assert (await editor.chat("What is it?")).outcome == "ok"

        async def command(line: str, number: int, word: str) -> str:
            running = asyncio.ensure_future(editor.ask("chat/command", p.CommandParams(line)))
            asked = await answer(editor, number, word)
            assert asked.title == "This change loses what the cache holds. Make it?"
            assert "anew that the cache holds now, for about $0." in asked.text
            return str((await running).text)

        assert "goes on answering" in await command("/model claude-opus-4-5", 1, "deny")
        assert (await editor.ask("state/get")).provider.model == model.model
        assert await command("/effort high", 2, "deny") == "Nothing was changed."
        assert "thinks: high" in await command("/effort high", 3, "once")
        before = len(editor.bodies(p.Notice))
        editor.client.workspace_did_change_configuration(
            lsp.DidChangeConfigurationParams(
                {"tierline": {"spending": limits, "tools": {"enabled": "off"}}}
            )
        )
        told = await editor.until(
            lambda: [n for n in editor.bodies(p.Notice)[before:] if n.code == "cache"]
        )
        assert "Set back before it is sent, they lose nothing." in told[0].text
        assert "instead of $0.0" in told[0].text


async def test_in_a_plain_client_the_question_is_a_message(open_editor: Open) -> None:
    with wire_server("anthropic", ANTHROPIC) as model:
        editor = await open_editor(model, spending={"turnTokens": 9000})
        editor.answers = lambda _text, actions: actions[0]
        assert (await editor.chat("What is in a.py?")).outcome == "ok"
        assert ["9,000 tokens" in question for question in editor.questions] == [True]


async def test_a_workspace_may_not_lift_the_limits(start: Start, workspace: Path) -> None:
    folder = workspace / ".tierline"
    folder.mkdir()
    (folder / "config.toml").write_text("[spending]\nturn_tokens = 0\n", encoding="utf-8")
    from tierline import config

    settings, problems = config.load(
        workspace, {"spending": {"turnTokens": 5}}, {}, user_file=Path("none.toml")
    )
    assert settings.spending.turn_tokens == 5
    assert "may not spend your money" in problems[0].message


@pytest.mark.parametrize(("after", "told"), [(0.05, 1), (0, 0)])
async def test_the_end_of_a_long_turn_is_told(start: Start, after: float, told: int) -> None:
    with wire_server("anthropic", [says("anthropic", "Done.")]) as model:
        editor = await start(model, notify={"afterSeconds": after})
        end = await editor.chat("Do the whole thing.")
        await editor.ask("state/get")  # behind the message
        said = editor.told
    assert end.seconds >= 0.05
    assert [("Do the whole thing." in text, "finished" in text) for text in said] == [
        (True, True)
    ] * told


async def test_compaction_goes_by_the_models_window_and_takes_the_users_words(
    start: Start, workspace: Path
) -> None:
    """The trigger is half of the window, as the model's row has it; the words reach the summariser;
    what left can be seen.
    """

    def reply(body: Any) -> Any:
        return json.dumps(body)

    mine = workspace / ".config" / "tierline" / "models.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text('[[model]]\nmatch = "*"\ncompaction_percent = 50\n', encoding="utf-8")
    notes = "Open: the names of the tests stay. src/pears.py parses apples and pears."
    with wire_server("openai", [says("openai", "Reply on apples in src/pears.py.")] * 5
                     + [says("openai", notes)]) as model:  # fmt: skip
        editor = await start(
            model,
            context={"maxInputTokens": 100_000, "mode": "off"},
            compaction={
                "summariser": "model",
                "verbatimWindowTokens": 100,
                "compactionTriggerPercent": 30,
            },
            history={"stateAnchor": "off"},
        )
        status = await editor.ask("history/status")
        assert status.compaction_trigger_tokens == 50_000, (
            "the model's own share before the setting's"
        )
        for number in range(5):
            await editor.chat(f"Step {number}: parse apples in src/pears.py, " + "please " * 60)
        words = "Keep the names of all tests."
        result = await editor.ask("chat/command", p.CommandParams(f"/compact {words}"))
        assert "messages became a summary" in result.text
        assert words in reply(model.bodies[-1])
        view = await editor.ask("compaction/show")
        assert view.summary.startswith("Open: the names of the tests")
        assert view.messages[0].text.startswith("Step 0") and view.tokens > 100
        shown = await editor.ask("chat/command", p.CommandParams("/compacted"))
        assert shown.document and "Step 0" in shown.text and notes in shown.text
