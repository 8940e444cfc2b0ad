"""Finished tasks of the memory levels in a paid model's words, through a real session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.compacting import talking
from support.memories import FILLER
from tierline import protocol as p
from wire.choosing import ChoosingServer, What
from wire.scripts import o_error

WORDS = "split_row() in parser.py now skips an empty row; a test in test_parser.py holds it."
LEVELS = {"strategy": "levels", "stateAnchor": "off"}


def answer(what: What, _number: int, _body: Any) -> str:
    if what == "summary":
        return WORDS
    return f"I fixed split_row() in parser.py for an empty row, see test_parser.py. {FILLER * 60}"


async def first_task(talk: Any) -> None:
    await talk.send("Fix the crash in parser.py: IndexError in split_row()")
    await talk.send("Now let's write the docs for the web server in server.md")


async def test_the_words_take_the_extracts_place_at_the_next_compression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChoosingServer("openai", answer) as server:
        async with talking(tmp_path, server, monkeypatch, history=LEVELS) as talk:
            await first_task(talk)
            assert len(server.of("summary")) == 1, "asked beside the turns, once"
            assert "split_row" in json.dumps(server.of("summary")[0])
            await talk.send("and a table of contents")
            before = server.of("chat")[-2]["messages"]
            now = server.of("chat")[-1]["messages"]
            assert now[: len(before)] == before, "nothing that was sent changes for its sake"
            assert WORDS not in json.dumps(now)
            await talk.send("Next task: tidy up the Makefile")
            assert WORDS in json.dumps(server.of("chat")[-1])
            session = talk.session.conversation.session_id
        async with talking(tmp_path, server, monkeypatch, history=LEVELS) as talk:
            assert talk.session.conversation.session_id == session
            asked = len(server.of("summary"))
            await talk.send("go on")
            assert WORDS in json.dumps(server.of("chat")[-1]), "after a restart too"
            first = json.dumps(server.of("summary")[0]["messages"])
            again = [json.dumps(body["messages"]) for body in server.of("summary")[asked:]]
            assert first not in again, "what is known is not asked for again"


async def test_after_an_undo_of_the_turns_the_words_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChoosingServer("openai", answer) as server:
        async with talking(tmp_path, server, monkeypatch, history=LEVELS) as talk:
            await first_task(talk)
            assert talk.session.conversation.timeline().told
            await talk.session.history.undo(p.UndoParams())
            assert not talk.session.conversation.timeline().told


@pytest.mark.parametrize(
    "settings",
    [
        {"compaction": {"summariser": "extractive"}},
        {"compaction": {"enabled": False}},
        {"history": {"strategy": "full", "stateAnchor": "off"}},
    ],
)
async def test_no_model_is_asked_where_extracts_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    with ChoosingServer("openai", answer) as server:
        async with talking(
            tmp_path, server, monkeypatch, **{"history": LEVELS, **settings}
        ) as talk:
            await first_task(talk)
            assert server.of("summary") == []


async def test_a_refusal_leaves_the_extract_and_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(what: What, number: int, body: Any) -> Any:
        return o_error("no", 500) if what == "summary" else answer(what, number, body)

    with ChoosingServer("openai", refusing) as server:
        async with talking(tmp_path, server, monkeypatch, history=LEVELS) as talk:
            await first_task(talk)
            await talk.send("and a table of contents")
            assert len(server.of("summary")) == 1
            await talk.send("Next task: tidy up the Makefile")
            body = json.dumps(server.of("chat")[-1])
            assert "[Finished: Fix the crash in parser.py" in body and "empty row" in body
