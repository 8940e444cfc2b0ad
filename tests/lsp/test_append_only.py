"""What was sent stays as it was sent: through a real server, to a provider that checks it."""

from __future__ import annotations

import json
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from lsp.conftest import Start
from lsp.editor import Editor
from lsp.project import ON, make_project, ready
from support.services import MARKS, goes_on, parts
from tierline import protocol as p
from wire.agents import Use
from wire.enforcing import Answer, EnforcingServer, Family, Taken, enforcing


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_project(tmp_path / "work")


def blocks(body: Any) -> list[str]:
    """A body's blocks in the order of their bytes, without cache marks."""
    parts = [("tools", block) for block in body.get("tools", ())]
    parts += [("system", block) for block in body.get("system", ())]
    parts += [(m["role"], block) for m in body["messages"] for block in m["content"]]
    return [
        json.dumps([role, {k: v for k, v in block.items() if k != "cache_control"}])
        for role, block in parts
    ]


def conversation(server: EnforcingServer) -> list[Taken]:
    """The requests that answer prompts: a summariser is asked without tools."""
    return [taken for taken in server.taken if taken.body.get("tools")]


def breaks(server: EnforcingServer) -> dict[int, tuple[str, str]]:
    """Requests that are not the one before and an end, with what differs first."""
    bodies = [blocks(taken.body) for taken in conversation(server)]
    found = {}
    for number, (before, now) in enumerate(pairwise(bodies), 1):
        pairs = zip_longest(before, now[: len(before)], fillvalue="")
        different = next(((a, b) for a, b in pairs if a != b), None)
        if different is not None:
            found[number] = different
    return found


CHANGES = {"cold", "consolidate", "history", "window", "form"}
"""Codes of decisions that change bytes which were sent."""


async def explained(editor: Editor, turn: str) -> list[p.CacheReport]:
    """What is said of the requests of a turn."""
    found: p.CacheExplainResult = await editor.ask(
        "cache/explain", p.CacheExplainParams(turn_id=turn)
    )
    return found.requests


async def test_a_card_stays_behind_its_prompt(start: Start) -> None:
    """A prompt that brings a card, then another prompt, against a service that binds thinking."""
    with enforcing("anthropic") as server:
        editor = await start(server, **ON)
        await ready(editor)
        first = await editor.chat("How does tokenize_query split a query into tokens?")
        second = await editor.chat("thanks, that is great!")
        assert (first.outcome, second.outcome) == ("ok", "ok")
        assert server.refused == []
        assert "[Code found for this prompt]" in json.dumps(server.taken[0].body)
        assert breaks(server) == {}
        assert server.reports[-1].reasoning == 1
        (report,) = await explained(editor, second.turn_id)
        assert not CHANGES & {decision.code for decision in report.decisions}


async def test_tool_results_keep_their_length(start: Start, workspace: Path) -> None:
    """Neither a sixth result nor the end of the turn shortens what was sent."""
    (workspace / "long.txt").write_text("line of text\n" * 800, encoding="utf-8")
    look = Answer(uses=(Use("read_file", {"path": "long.txt"}),))
    with enforcing("anthropic", [look] * 8 + [Answer("Done."), Answer("Yes.")]) as server:
        editor = await start(server, **ON)
        await ready(editor)
        await editor.chat("Read it, again and again.")
        await editor.chat("And now?")
        assert server.refused == []
        assert breaks(server) == {}
        assert len(server.taken) == 10
        valid = [report.reasoning for report in server.reports]
        assert valid == sorted(set(valid)), "no thinking was lost"


@pytest.mark.parametrize("family", ["responses", "gateway"])
async def test_a_breakpoint_that_moves_on_changes_nothing_else(
    start: Start, workspace: Path, family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of tools, too, stay as they were when a breakpoint comes to them or leaves them."""
    monkeypatch.setenv("TIERLINE_PROVIDER_API", "responses" if family == "responses" else "chat")
    (workspace / "long.txt").write_text("line of text\n" * 800, encoding="utf-8")
    look = Answer(uses=(Use("read_file", {"path": "long.txt"}), Use("list_files", {})))
    with enforcing(family, [look, look, look, Answer("Done.")]) as server:
        editor = await start(server, **ON)
        await ready(editor)
        await editor.ask("files/add", p.FileParams(path="src/web/views.py"))
        end = await editor.chat("How does tokenize_query split it? Read it.")
        assert end.outcome == "ok", end.error
        assert server.refused == []
        bodies = [taken.body for taken in server.taken]
        marked = [any(mark in json.dumps(body) for mark in MARKS) for body in bodies]
        assert marked == [True] * 4
        for before, now in pairwise(bodies):
            assert goes_on(parts(before), parts(now))


@pytest.mark.slow
async def test_two_hundred_turns_are_never_refused(start: Start, workspace: Path) -> None:
    """With defaults: cards, tools, edits of files, STATE, compaction. Every change of bytes that
    were sent has a name, and thinking is lost by nothing else.
    """
    long = "line of text\n" * 500
    (workspace / "long.txt").write_text(long, encoding="utf-8")
    views = workspace / "src" / "web" / "views.py"

    def answer(body: Any, number: int) -> Answer:
        results = [b for b in body["messages"][-1]["content"] if b["type"] == "tool_result"]
        if number % 7 == 3 and not results:
            return Answer("I look.", uses=(Use("read_file", {"path": "long.txt"}),))
        state = f"\n\n[STATE]\nGOAL: it works\nNEXT: step {number}\n[/STATE]" if number % 4 else ""
        return Answer(f"Answer {number}. " + "So it is. " * 40 + state)

    with enforcing("anthropic", answer) as server:
        editor = await start(server, **ON)
        await ready(editor)
        await editor.ask("files/add", p.FileParams(path="src/web/views.py"))
        named: set[int] = set()
        for turn in range(200):
            if turn % 9 == 5:
                views.write_text(views.read_text() + f"\n# note {turn}\n", encoding="utf-8")
            words = "How does tokenize_query split it?" if turn % 5 == 0 else "Go on, please."
            before = len(conversation(server))
            end = await editor.chat(f"{words} ({turn})")
            assert end.outcome == "ok", end.error
            for number, found in enumerate(await explained(editor, end.turn_id), before):
                if CHANGES & {decision.code for decision in found.decisions}:
                    named.add(number)
        assert server.refused == []
        assert set(breaks(server)) <= named
        valid = [taken.report.reasoning for taken in conversation(server)]
        lost = {n for n in range(1, len(valid)) if valid[n] <= valid[n - 1]}
        assert lost <= named, "thinking is lost by nothing but a rewrite with a name"


async def test_a_branch_a_model_and_a_session_that_one_returns_to_go_on_where_they_ended(
    start: Start,
) -> None:
    """Each has a record of what was sent, in the same run and after a restart."""
    with enforcing("anthropic") as server:
        editor = await start(server, **ON)
        await ready(editor)
        await editor.ask("files/add", p.FileParams(path="src/web/views.py"))

        async def says(text: str) -> dict[str, Any]:
            end = await editor.chat(text)
            assert end.outcome == "ok", end.error
            body: dict[str, Any] = conversation(server)[-1].body
            return body

        def goes_on(earlier: dict[str, Any], now: dict[str, Any], thoughts: int) -> None:
            assert blocks(now)[: len(blocks(earlier))] == blocks(earlier)
            assert conversation(server)[-1].report.reasoning == thoughts, "no thinking is lost"

        first = (await editor.ask("state/get")).session_id
        branch = (await editor.ask("history/status")).branch
        await says("Begin here.")
        main = await says("Go on, please.")
        await editor.ask("branch/fork", p.ForkParams())
        aside = await says("Another way, please.")
        goes_on(main, aside, 2)
        await says("Further this way.")
        await editor.ask("branch/switch", p.BranchParams(branch=branch))
        main, before = await says("Back here."), main
        goes_on(before, main, 2)

        other = p.ProviderSelectParams(name="anthropic", model="claude-opus-5-5")
        await editor.ask("provider/select", other)
        assert (await says("And you?"))["model"] == "claude-opus-5-5"
        await editor.ask("provider/select", evolve(other, model=server.model))
        main, before = await says("Back to you."), main
        goes_on(before, main, 3)

        await editor.ask("history/newSession")
        await says("Something else.")
        await editor.stop()
        editor = await start(server, **ON)
        await ready(editor)
        await editor.ask("history/loadSession", p.SessionParams(session_id=first))
        goes_on(main, await says("Here again."), 4)
        assert server.refused == []
