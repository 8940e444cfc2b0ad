"""The tool loop through a real server, over both providers' real wire formats."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from bugcases.bodies import violations
from lsp.conftest import Start
from lsp.project import messages
from support.owning import own
from tierline import protocol as p
from tierline.providers.base import ProviderError
from tierline.providers.gguf import find_model
from wire.agents import Use, calls, results, says, tool_names
from wire.scripts import a_start, a_texts, a_tool, o_call, o_reply, o_texts
from wire.servers import Hold, Kind, Reply, wire_server

KINDS: list[Kind] = ["anthropic", "openai"]
both = pytest.mark.parametrize("kind", KINDS)


def sound(bodies: list[Any], kind: Kind) -> None:
    for body in bodies:
        assert violations(body, kind) == []


@both
async def test_several_rounds_with_calls_side_by_side(
    start: Start, workspace: Path, kind: Kind
) -> None:
    script = [
        calls(
            kind,
            Use("list_files", {"pattern": "*.py"}, "c1"),
            Use("read_file", {"path": "src/a.py"}, "c2"),
            Use("read_file", {"path": "../outside"}, "c3"),
            text="Looking.",
        ),
        calls(kind, Use("search_code", {"query": "BETA"}, "c4")),
        says(kind, "There are two files."),
    ]
    with wire_server(kind, script) as model:
        editor = await start(model)
        end = await editor.chat("Which files are there?")
        assert end.outcome == "ok"
        assert end.message and end.message.text == "There are two files."
        first, second, third = model.bodies
        sound(model.bodies, kind)
        assert tool_names(first, kind) == sorted(tool_names(first, kind))
        assert {"read_file", "list_files", "search_code"} <= set(tool_names(first, kind))
        assert first["tools"] == second["tools"] == third["tools"], "the prefix stays"
        told = results(third, kind)
        assert told["c1"] == "src/a.py\nsrc/b.py"
        assert "def alpha() -> int:" in told["c2"]
        assert told["c3"].startswith("Error: ../outside")
        assert told["c4"] == "src/b.py:1: BETA = 2"
        state = await editor.ask("state/get")
    shown = [m for m in state.messages if m.role == "assistant"]
    assert [[(c.name, c.status) for c in m.calls] for m in shown] == [
        [("list_files", "ok"), ("read_file", "ok"), ("read_file", "error")],
        [("search_code", "ok")],
        [],
    ]
    assert shown[0].calls[1].title == "src/a.py"
    kept = messages(workspace)
    assert [r["role"] for r in kept] == [
        "user",
        "assistant",
        *["tool"] * 3,
        "assistant",
        "tool",
        "assistant",
    ]
    assert len({r["group_id"] for r in kept}) == 1
    assert [r["status"] for r in kept if r["role"] == "assistant"] == [
        "tool_call",
        "tool_call",
        "ok",
    ]


@both
async def test_rounds_are_bounded_and_the_history_stays_whole(start: Start, kind: Kind) -> None:
    with wire_server(kind, calls(kind, Use("list_files", {}, "again"))) as model:
        editor = await start(model, tools={"maxRounds": 3})
        end = await editor.chat("Go on for ever.")
        assert end.outcome == "ok"
        assert len(model.bodies) == 3
        assert "max_rounds" in [n.code for n in editor.bodies(p.Notice)]
        model.script[:] = [says(kind, "Done.")]
        end = await editor.chat("continue")
        assert end.message and end.message.text == "Done."
        sound(model.bodies, kind)
        assert any("limit of 3" in text for text in results(model.bodies[-1], kind).values())


@both
async def test_calls_that_cannot_be_run_are_answered(start: Start, kind: Kind) -> None:
    script = [
        calls(
            kind,
            Use("no_such_tool", {}, "c1"),
            Use("read_file", {}, "c2"),
            Use("read_file", {"path": 7}, "c3"),
            Use("read_file", raw='{"path": "src/a', id="c4"),
            Use("read_file", raw='["src/a.py"]', id="c5"),
        ),
        says(kind, "I see."),
    ]
    with wire_server(kind, script) as model:
        editor = await start(model)
        assert (await editor.chat("Try.")).outcome == "ok"
        sound(model.bodies, kind)
        told = results(model.bodies[1], kind)
    assert "There is no tool 'no_such_tool'" in told["c1"]
    assert "path is missing" in told["c2"]
    assert "path must be a string" in told["c3"]
    assert "not JSON" in told["c4"]
    assert "not a JSON object" in told["c5"]
    assert all(text.startswith("Error: ") for text in told.values())


@both
async def test_a_stop_while_the_reply_streams_completes_the_calls(
    start: Start, workspace: Path, kind: Kind
) -> None:
    if kind == "anthropic":
        parts = [a_start(), *a_texts(0, "Well"), *a_tool(1, "c1", "list_files", "{}")]
    else:
        parts = [*o_texts("Well"), *o_call(0, "c1", "list_files", "{}")]
    with wire_server(kind, [Reply([*parts, Hold()]), says(kind, "Yes.")]) as model:
        editor = await start(model)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Begin."))
        await editor.until(lambda: model.waiting.is_set() and editor.bodies(p.TextDelta))
        await editor.ask("chat/cancel", p.ChatCancelParams(sent.turn_id))
        end = await editor.finished(sent.turn_id)
        assert end.outcome == "interrupted"
        assert end.message and end.message.text == "Well"
        assert (await editor.chat("And now?")).outcome == "ok"
        sound(model.bodies, kind)
        if kind == "anthropic":  # OpenAI's calls are whole only at the end of the reply
            assert "stopped" in results(model.bodies[-1], kind)["c1"]
            assert [r["role"] for r in messages(workspace)][:3] == ["user", "assistant", "tool"]


async def test_no_tools_where_they_are_switched_off(start: Start) -> None:
    with wire_server("anthropic", says("anthropic", "Hello.")) as model:
        editor = await start(model, tools={"enabled": "off"})
        await editor.chat("Hi.")
        assert "tools" not in model.bodies[0]
        budget = await editor.ask("budget/get")
        assert "tools" not in [s.name for s in budget.sections if s.tokens]


async def test_tools_are_part_of_the_budget(start: Start) -> None:
    with wire_server("openai", says("openai", "Hello.")) as model:
        editor = await start(model)
        budget = await editor.ask("budget/get")
        section = next(s for s in budget.sections if s.name == "tools")
        assert section.tokens > 200
        assert sum(s.tokens for s in budget.sections) == budget.used


@both
async def test_notes_memos_and_history_are_tools(start: Start, tmp_path: Path, kind: Kind) -> None:
    script = [
        calls(
            kind,
            Use("manage_scratchpad", {"action": "update", "content": "1. look\n2. mend"}, "c1"),
            Use("save_memo", {"content": "The parser is hand-made on purpose."}, "c2"),
            Use("query_db", {"sql": "SELECT role FROM messages ORDER BY id"}, "c3"),
            Use("retrieve_memos", {"query": "parser"}, "c4"),
            Use("query_db", {"sql": "DELETE FROM messages"}, "c5"),
        ),
        says(kind, "Noted."),
    ]
    with wire_server(kind, script) as model:
        editor = await start(model, env={"XDG_DATA_HOME": str(tmp_path / "data")})
        assert (await editor.chat("Plan it.")).outcome == "ok"
        told = results(model.bodies[1], kind)
        assert told["c1"] == "Saved."
        assert told["c2"].startswith("Saved as memo")
        assert told["c3"].startswith("user")
        assert "hand-made" in told["c4"]
        assert told["c5"].startswith("Error: Not run")
        pad = await editor.ask("scratchpad/get")
    assert pad.text == "1. look\n2. mend"


@both
async def test_the_budget_holds_for_every_request_of_a_turn(
    start: Start, workspace: Path, kind: Kind
) -> None:
    """A long turn in a small window: each request fits, and the newest results are always in it."""
    for number in range(8):
        lines = (f"page {number} line {n}: some words of text\n" for n in range(120))
        (workspace / f"page{number}.txt").write_text("".join(lines))
    script = [
        *(
            calls(kind, Use("read_file", {"path": f"page{n}.txt"}, f"c{n}"), text=f"Step {n}.")
            for n in range(8)
        ),
        says(kind, "Read."),
    ]
    with wire_server(kind, script) as model:
        editor = await start(
            model, context={"maxInputTokens": 12_000, "maxOutputTokens": 1000, "mode": "off"}
        )
        assert (await editor.chat("Read all pages.")).outcome == "ok"
        plans = (await editor.ask("plan/list")).plans
        assert len(plans) == 9
        assert all(plan.total_tokens <= 12_000 for plan in plans)
        sound(model.bodies, kind)
        for number, body in enumerate(model.bodies[1:]):
            told = results(body, kind)
            assert f"page {number} line 0" in told[f"c{number}"], "the newest result is there"
            assert "Read all pages." in json.dumps(body)


async def test_calls_that_only_read_run_side_by_side(start: Start, workspace: Path) -> None:
    """Eight queries that run into their limit of two seconds: together they take longer than the
    time that passes, which one after the other they could not.
    """
    slow = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    uses = [Use("query_db", {"sql": slow}, f"c{n}") for n in range(8)]
    with wire_server("openai", [calls("openai", *uses), says("openai", "Done.")]) as model:
        editor = await start(model)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Ask."))
        await editor.until(lambda: editor.bodies(p.ToolChanged))
        began = time.monotonic()
        await editor.until(
            lambda: [b for b in editor.bodies(p.ToolChanged) if b.call.status == "error"]
        )
        passed = time.monotonic() - began
        await editor.finished(sent.turn_id)
        spent = {b.call.id: b.call.milliseconds for b in editor.bodies(p.ToolChanged)}
        assert sum(spent.values()) > 1000 * passed
        told = results(model.bodies[1], "openai")
        assert list(told) == [f"c{n}" for n in range(8)], "in the order of the calls"
        assert all("Stopped after" in text for text in told.values())


@both
async def test_a_crash_in_the_middle_of_a_call_is_completed_later(
    start: Start, workspace: Path, kind: Kind
) -> None:
    """The log of a server that was killed while a tool ran: a call without a result."""
    home = own(workspace, workspace.parent / ".state")
    base = {"v": 1, "type": "message", "session_id": "sess_1700000000000_abc123", "group_id": "g"}
    log: list[dict[str, Any]] = [
        {"id": "1700000000000-aaaaaaaa", "role": "user", "content": "Run it."},
        {
            "id": "1700000000001-aaaaaaaa",
            "role": "assistant",
            "status": "tool_call",
            "parsing_strategy": kind,
            "content": [
                {"type": "tool_use", "id": "c1", "name": "run_command", "input": {"argv": ["x"]}}
            ],
        },
    ]
    stamp = "2024-01-01T00:00:00Z"
    lines = [json.dumps({**base, "timestamp": stamp, **record}) + "\n" for record in log]
    (home / "history.jsonl").write_text("".join(lines))
    with wire_server(kind, says(kind, "I see.")) as model:
        editor = await start(model)
        await editor.chat("What happened?")
        sound(model.bodies, kind)
        assert "Tierline was closed" in results(model.bodies[0], kind)["c1"]
        state = await editor.ask("state/get")
    call = next(m for m in state.messages if m.calls).calls[0]
    assert (call.status, "Tierline was closed" in call.result) == ("interrupted", True)
    kept = [r for r in messages(workspace) if r["role"] == "tool"]
    assert [r["group_id"] for r in kept] == ["g"]


@pytest.mark.parametrize(
    ("env", "tools", "words"),
    [
        ({"TIERLINE_PROVIDER_NAME": "local"}, {}, "The embedded model is offered no tools"),
        ({"TIERLINE_PROVIDER_NAME": "local"}, {"enabled": "on"}, "takes no tools"),
        ({}, {"enabled": "off"}, "Tools are switched off"),
        ({}, {}, ""),
    ],
    ids=["embedded", "template", "off", "offered"],
)
async def test_the_user_is_told_why_a_model_has_no_tools(
    start: Start, env: dict[str, str], tools: dict[str, str], words: str
) -> None:
    with wire_server("openai", [says("openai", "Yes.")]) as model:
        editor = await start(model, env=env, tools=tools)
        why = (await editor.ask("state/get")).provider.why
        assert words in why
        assert ("tools" in why.lower()) == bool(words)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("enabled", ["auto", "on"])
async def test_a_turn_of_the_embedded_model_goes_without_tools(
    start: Start, workspace: Path, enabled: str
) -> None:
    """It takes up a conversation that has calls in it, and whatever it writes is text."""
    try:
        find_model()
    except ProviderError as error:
        pytest.skip(f"{error.message} {error.advice}")
    use = Use("read_file", {"path": "src/a.py"}, "c1")
    with wire_server("openai", [calls("openai", use), says("openai", "It is small.")]) as model:
        editor = await start(model)
        await editor.chat("Read it.")
        await editor.stop()
    env = {"TIERLINE_PROVIDER_NAME": "local", "TIERLINE_CONTEXT_MAX_OUTPUT_TOKENS": "32"}
    embedded = await start(env=env, tools={"enabled": enabled})
    ended = await embedded.chat("Say yes.")
    assert (ended.outcome, ended.error) == ("ok", "")
    assert ended.message is not None and ended.message.text.strip() and not ended.message.calls
    plan = await embedded.ask("plan/get", p.PlanParams())
    assert not [e for e in plan.entries if e.section == "tools"]
    assert [m["role"] for m in messages(workspace)][-2:] == ["user", "assistant"]
    # Its answer carries who wrote it, live and read anew; the other model's does not.
    assert ended.message.embedded
    shown = (await embedded.ask("state/get", p.NoParams())).messages
    assert [m.embedded for m in shown if m.role == "assistant"] == [False, False, True]


BLOCK = "\n".join(
    ["Like this:", "", "src/a.py", "<" * 7 + " SEARCH", "    return 1", "=" * 7, "    return 2",
     ">" * 7 + " REPLACE"]
)  # fmt: skip


@pytest.mark.parametrize(
    "text", [BLOCK, f"```\n{BLOCK}\n```", BLOCK[:50]], ids=["plain", "fenced", "cut"]
)
async def test_a_block_in_plain_text_is_text(start: Start, workspace: Path, text: str) -> None:
    """docs/tools.md, "Edits in plain text": without tools nothing is guessed from a reply."""
    before = (workspace / "src" / "a.py").read_text()
    with wire_server("openai", [o_reply(text)]) as model:
        editor = await start(model, tools={"enabled": "off"})
        await editor.ask("files/add", p.FileParams(path="src/a.py"))
        end = await editor.chat("Return 2 instead.")
        assert "tools" not in model.bodies[-1]
        assert "SEARCH" not in json.dumps(model.bodies[-1]), "the model is told of no such format"
        assert end.message is not None and end.message.text.strip() == text.strip()
        assert (await editor.ask("edit/list")).edits == []
        assert not editor.bodies(p.EditChanged)
    assert (workspace / "src" / "a.py").read_text() == before
