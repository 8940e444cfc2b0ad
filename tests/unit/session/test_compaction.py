"""Compaction's choices: which model summarises, on which wire, and when nothing is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import wellformed
from support.compacting import Talk, talking
from tierline import protocol as p
from wire.choosing import ChoosingServer, What
from wire.servers import Kind

NOTES = "Open: parse apples and pears in src/pears.py."
LOW: dict[str, Any] = {"compactionTriggerTokens": 400, "detector": "local"}


def answer(what: What, number: int, _body: Any) -> str:
    return NOTES if what == "summary" else f"Reply {number} on apples."


async def fill(talk: Talk, turns: int = 5) -> None:
    for number in range(turns):
        await talk.send(f"Step {number}: parse apples in src/pears.py, " + "please " * 60)


@pytest.mark.parametrize(
    ("kind", "model", "cheap"),
    [("openai", "gpt-5", "gpt-5-mini"), ("anthropic", "claude-sonnet-4-5", "claude-haiku-4-5")],
)
async def test_a_cheaper_model_of_the_same_provider_summarises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, model: str, cheap: str
) -> None:
    with ChoosingServer(kind, answer) as server:
        async with talking(
            tmp_path, server, monkeypatch, model=model, compaction={**LOW, "model": cheap}
        ) as talk:
            await fill(talk)
            assert talk.kinds()[-1:] == ["compactionComplete"]
            assert [body["model"] for body in server.of("summary")] == [cheap]
            await talk.send("And now?")
            last = server.of("chat")[-1]
            assert last["model"] == model and NOTES in json.dumps(last)
            assert wellformed.violations(last, kind) == []
            assert wellformed.violations(server.of("summary")[0], kind) == []


async def test_the_detector_is_asked_only_when_it_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChoosingServer("openai", answer) as server:
        for detector, asked in (("local", 0), ("model", 1)):
            folder = tmp_path / detector
            folder.mkdir()
            compaction = {**LOW, "detector": detector}
            async with talking(folder, server, monkeypatch, compaction=compaction) as talk:
                await fill(talk)
                assert len(server.of("boundary")) == asked


@pytest.mark.parametrize(
    ("section", "values"), [("compaction", {"enabled": False}), ("history", {"strategy": "levels"})]
)
async def test_not_by_itself_when_switched_off_or_with_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: str, values: dict[str, Any]
) -> None:
    settings: dict[str, Any] = {"compaction": dict(LOW)}
    settings[section] = {**settings.get(section, {}), **values}
    with ChoosingServer("openai", answer) as server:
        async with talking(tmp_path, server, monkeypatch, **settings) as talk:
            await fill(talk)
            assert talk.kinds() == [] and server.of("summary") == []
            result = await talk.session.compaction.run(p.CompactionParams())  # by hand it works
            assert result.case == "summarize"


async def test_the_log_keeps_every_message_and_the_working_history_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChoosingServer("openai", answer) as server:
        async with talking(tmp_path, server, monkeypatch, compaction=LOW) as talk:
            await fill(talk)
            context = [m.id for m in talk.session.conversation.context()]
            shown = [(m.id, m.covered, m.compaction) for m in talk.session.conversation.shown()]
        async with talking(tmp_path, server, monkeypatch, compaction=LOW) as again:
            conversation = again.session.conversation
            assert [m.id for m in conversation.context()] == context
            assert [(m.id, m.covered, m.compaction) for m in conversation.shown()] == shown
            assert len(conversation.visible()) == 10
