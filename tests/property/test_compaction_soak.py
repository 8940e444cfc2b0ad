"""Soak: a long conversation with a summariser that fails in every way, one time in five.

A real session over real HTTP against a loopback provider. After every turn the body that was sent
is valid and bounded; at the end nothing is missing from the log, every compaction can be taken
back, and the summariser was not asked more often than it may be. 200 turns here;
``TIERLINE_SOAK_TURNS=2000`` for the long version (``make fuzz``).
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from support import wellformed
from support.compacting import talking
from tierline import protocol as p
from tierline.history.actions import unsummarise
from tierline.history.messages import Message
from tierline.history.summarise import MAX_PIECES
from tierline.session.compaction.summariser import SHRINKS
from wire.choosing import ChoosingServer, What
from wire.scripts import o_error, o_reply, o_texts, text_error, then
from wire.servers import Cut, Hold, Kind, Pause, Reply

TURNS = int(os.environ.get("TIERLINE_SOAK_TURNS", "200"))
TRIGGER = 1_200
FAILING = range(60, 100)
"""Turns in which the summariser fails always, so that layer 2 has to step in."""
NOTES = "Open: writer for pears in src/pears.py. Finished: parser, steps so far. Port 6390."

FAILURES: dict[str, Reply | str] = {
    "timeout": Reply(before=Hold()),
    "stalls": then(o_texts("Open: "), Pause(5)),
    "cut": then(o_texts("Open: "), Cut()),
    "empty": "",
    "blank": " \n\n ",
    "no text": o_reply(),
    "skeleton": "## Decisions\nNo prior history.\n\n## Open TODOs\nNone.\n",
    "longer": "parser pears step " * 4_000,
    "huge": "x" * 2_000_000,
    "garbage": "qwzx vbnm plok\n" * 20,
    "repeats": "the the the the the",
    "refuses": "I'm sorry, but I can't help with summarising this.",
    "wrong JSON": '{"notes": ["a"',
    "other JSON": '{"result": "ok"}',
    "list": '["Open: pears"]x',
    "surrogate": "\ud83d",
    "error 500": o_error("broken", 500),
    "error 429": o_error("slow down", 429),
    "error 400": o_error("no such model", 400),
    "overflow": o_error("too many tokens", 400, code="context_length_exceeded"),
    "not JSON at all": text_error("<html>bad gateway</html>", 502),
}
WAYS = list(FAILURES)


class Provider:
    """Answers chats at once, and summaries as the dice say."""

    def __init__(self, kind: Kind) -> None:
        self.rng = random.Random(11)
        self.turn = 0
        self.failed: dict[str, int] = {}
        self.server = ChoosingServer(kind, self.answer)

    def answer(self, what: What, number: int, body: Any) -> Reply | str:
        if what == "chat":
            return f"REPLY-{self.turn:05} The parser reads pears now; step {self.turn} is finished."
        if what == "boundary":
            return self.rng.choice(('{"boundary_index": null}', "", "{", "nonsense"))
        if self.turn in FAILING or self.rng.random() < 0.2:
            way = WAYS[sum(self.failed.values()) % len(WAYS)]  # each in turn
            self.failed[way] = self.failed.get(way, 0) + 1
            return FAILURES[way]
        return NOTES


def prompt(turn: int, rng: random.Random) -> str:
    words = " ".join(rng.choices(("parser", "pears", "writer", "tokens", "port", "cache"), k=40))
    return f"PROMPT-{turn:05} {words} in src/pears.py"


@pytest.mark.slow
async def test_two_thousand_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider("openai")
    rng = random.Random(3)
    with provider.server as server:
        async with talking(
            tmp_path,
            server,
            monkeypatch,
            compaction={"compactionTriggerTokens": TRIGGER, "verbatimWindowTokens": 300},
            provider={"maxRetries": 0, "stallSeconds": 20, "firstByteSeconds": 20},
        ) as talk:
            session = talk.session
            session.compaction.times.longest = 0.6
            counter = session.counters.counter(session.models.facts())
            attempts = longest = truncated = 0
            for turn in range(TURNS):
                provider.turn = turn
                end = await talk.send(prompt(turn, rng))
                assert end.outcome == "ok", end
                body = server.of("chat")[-1]
                assert wellformed.violations(body, server.kind) == []
                said = body["messages"][-1]["content"]
                assert f"PROMPT-{turn:05}" in json.dumps(said)
                size = counter.count(json.dumps(body["messages"], ensure_ascii=False))
                longest = max(longest, size)
                # Twice the trigger, what is pinned to the front, and the form.
                assert size <= 2 * TRIGGER + 1_500, (turn, size)
                tries = _tries(talk.kinds())
                assert tries <= 1  # never twice for one turn
                attempts += tries
                assert not session.compaction.running
                server.requests[:-2] = []  # bodies of long ago
                notices = [n.text for n in talk.bodies(p.Notice)]
                truncated += any("could not be compacted" in text for text in notices)
                talk.events.clear()
                if turn % 200 == 199:
                    print(f"turn {turn + 1}: {attempts} attempts, longest {longest}", flush=True)

            assert truncated  # the budget's second layer had to step in
            summaries = provider.server._counts["summary"]
            assert set(provider.failed) >= set(WAYS) if TURNS >= 2_000 else provider.failed
            assert summaries <= TURNS * (MAX_PIECES + SHRINKS + 1) // 4
            await _nothing_is_lost(session.conversation.timeline().messages, tmp_path)
            await session.compaction.undo(p.CompactionUndoParams())
            while session.conversation.timeline().summaries:  # each brings the one before back
                await session.conversation.act(unsummarise(session.conversation.timeline()))
            assert len(session.conversation.context()) == 2 * TURNS
    print(
        f"{TURNS} turns, {attempts} attempts, {summaries} summaries asked for, "
        f"failed: {provider.failed}; longest body {longest} tokens, layer 2: {truncated} times"
    )


def _tries(kinds: list[str]) -> int:
    ends = ("compactionComplete", "compactionError", "compactionNone")
    return sum(kind in ends for kind in kinds)


async def _nothing_is_lost(messages: tuple[Message, ...], folder: Path) -> None:
    log = (folder / ".tierline" / "history.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.split("\n") if line]
    said = [json.dumps(line) for line in lines if line.get("role") in ("user", "assistant")]
    assert len(said) == len(messages) == 2 * TURNS
    for turn in range(TURNS):
        assert f"PROMPT-{turn:05}" in said[2 * turn]
        assert f"REPLY-{turn:05}" in said[2 * turn + 1]
