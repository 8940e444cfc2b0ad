"""What compaction loses of sessions that people had: questions about the part that was compacted,
answered by looking into the request that is sent. The summaries measured here are extracts. What a
model's words lose is measured only where one can be asked: ``-- --ask MODEL`` adds a row for
summaries of the levels that this model of Anthropic's writes (the key is ANTHROPIC_API_KEY).

Recorded sessions (``--sessions DIR``, see tests/benchmarks/recorded/README.md) are joined, person
by person, until the history is long enough to be compacted, and lived through with the whole
server, whose trigger is set low enough for that. Then names, decisions, values and errors of what
was compacted are asked about, each as a prompt that is taken back afterwards. Once with what
Tierline recalls for the prompt, once without it. Line numbers of listings are not asked about (they
were until 2026-11-29, of one person's sessions: figures from then cannot be compared).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anthropic
from attrs import define, evolve, field

from benchmarks.recorded.folder import DEFAULT, everything, needed
from benchmarks.recorded.questions import Question, answered, questions
from benchmarks.recorded.recording import Recording, Turn
from benchmarks.recorded.replay import Player, play
from lsp.editing import EditingEditor
from tierline import protocol as p

LONG = 150_000
"""Characters that are said in a joined session: above the trigger of compaction, and then some."""
ASKED = 120
JOINED = 3
REST = 1.0
"""Seconds between the turns: a compaction looks half a second after a reply whether it is due."""
MODEL = "claude-opus-4-6"
"""One that gives what it says beside its calls."""
TRIGGER = 16_000
"""Tokens at which these sessions are compacted: below what a joined one has at its end. By default
it is half of the model's window, which no recorded session here reaches."""
WAYS: Mapping[str, Mapping[str, Any]] = {
    "extract": {"compaction": {"summariser": "extractive", "compaction_trigger_tokens": TRIGGER}},
    "levels": {
        "history": {"strategy": "levels"},
        "compaction": {"enabled": False, "summariser": "extractive"},
    },
    "levels, written": {
        "history": {"strategy": "levels"},
        "compaction": {"enabled": False, "summariser": "model"},
    },
}
"""Settings of each summariser. The last one asks a model."""
WRITTEN = "levels, written"
RECALLED = ("Recalled from this conversation", "[Recalled", "[Code found for this prompt]")


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Ask. Raises NothingToMeasure where there are no sessions."""
    parser = argparse.ArgumentParser(prog="compaction_loss")
    parser.add_argument("--sessions", type=Path, default=DEFAULT)
    parser.add_argument("--joined", type=int, default=JOINED)
    parser.add_argument("--full", action="store_true", help="twice as many joined sessions")
    parser.add_argument("--ask", metavar="MODEL", help="who writes summaries of the levels, too")
    told = parser.parse_args([*arguments])
    found = needed(told.sessions, joined, told.joined * (1 + told.full))
    began = time.perf_counter()
    result: dict[str, Any] = {"sessions": len(found)}
    for way, settings in WAYS.items():
        if way == WRITTEN and not told.ask:
            continue
        writer = service(told.ask) if way == WRITTEN else None
        result[way] = summed([asyncio.run(_asked(one, settings, writer)) for one in found])
    result["seconds"] = round(time.perf_counter() - began)
    return result


def joined(folder: Path, most: int) -> list[Recording]:
    """Sessions in a row, person by person, as one that never ended."""
    found: list[Recording] = []
    turns: list[Turn] = []
    files: dict[str, str] = {}
    for person in sorted(one for one in folder.iterdir() if one.is_dir()):
        for one in everything(person):
            known = {path: text for path, text in one.files.items() if path not in files}
            files |= known
            # What the files say at the beginning of a session is what others made of them since.
            first = evolve(one.turns[0], at=None, changes={**one.files, **one.turns[0].changes})
            turns += [first, *(evolve(turn, at=None) for turn in one.turns[1:])]
            if sum(map(_said, turns)) > LONG:
                name = f"{one.name} joined"
                found.append(Recording(name, one.person, one.format, tuple(turns), files))
                turns, files = [], {}
                if len(found) == most:
                    return found
    return found


def _said(turn: Turn) -> int:
    return len(turn.prompt) + sum(
        len(done.text) + sum(len(edit.search or "") + len(edit.replace) for edit in done.edits)
        for done in turn.rounds
    )


@define
class Asking:
    """Asks at the end of a session, and looks into what is sent."""

    found: list[tuple[Question, bool, bool]] = field(factory=list)
    """With whether the request answers it, with and without what was recalled."""
    compacted: int = 0
    turns: int = 0
    written: int = 0
    """Requests for summaries."""

    async def __call__(self, player: Player, editor: EditingEditor) -> None:
        """Ask what the compacted turns say."""
        body = await self._sent(player, editor, "Please go on.")
        whole = "\n".join(text for text, _ in _texts(body))
        turns = player.recording.turns
        gone = [turn for turn in turns if turn.prompt not in whole]
        self.turns, self.compacted = len(turns), len(gone)
        asked = questions(
            text for turn in gone for text in (turn.prompt, *(done.text for done in turn.rounds))
        )
        random.Random(7).shuffle(asked)
        for question in asked[:ASKED]:
            body = await self._sent(player, editor, question.text)
            told = [
                (text, recalled) for text, recalled in _texts(body) if question.text not in text
            ]
            without = [text for text, recalled in told if not recalled]
            self.found.append(
                (question, answered(question, [t for t, _ in told]), answered(question, without))
            )

    async def _sent(self, player: Player, editor: EditingEditor, prompt: str) -> Any:
        player.answers[:] = []
        sent = await editor.ask("chat/send", p.ChatSendParams(text=prompt, mentions="text"))
        await editor.finished(sent.turn_id, 120)
        body = player.played.sent[-1].body
        await editor.ask("history/undo", p.UndoParams())
        return body


def _texts(body: Any) -> Iterator[tuple[str, bool]]:
    """Every text of a request, and whether it was recalled or found for the prompt."""
    for block in body.get("system", ()):
        yield block["text"], False
    for message in body["messages"]:
        for block in message["content"]:
            if block["type"] == "text":
                yield block["text"], block["text"].startswith(RECALLED)
            elif block["type"] == "tool_use":
                yield json.dumps(block["input"], ensure_ascii=False), False
            elif block["type"] == "tool_result":
                yield "".join(part.get("text", "") for part in block.get("content", ())), False


def service(model: str, **options: Any) -> Callable[[Any], str]:
    """Answers requests for summaries by asking a model of Anthropic's. ``options`` are the
    client's; without them the environment says key and address.
    """
    client = anthropic.Anthropic(**options)

    def ask(body: Any) -> str:
        kept = {name: body[name] for name in ("system", "messages", "max_tokens") if name in body}
        with client.messages.stream(model=model, **kept) as stream:
            return stream.get_final_text()

    return ask


async def _asked(
    recording: Recording, settings: Mapping[str, Any], writer: Callable[[Any], str] | None
) -> Asking:
    asking = Asking()
    played = await play(
        recording, settings=settings, model=MODEL, after=asking, summarise=writer, rest=REST
    )
    asking.written = len(played.summaries)
    print(f"{recording.name}: {summed([asking])}", file=sys.stderr)
    return asking


def summed(asked: Sequence[Asking]) -> dict[str, Any]:
    """Shares of questions whose answers are still there."""
    found = [one for asking in asked for one in asking.found]
    by_kind = {}
    for kind in sorted({question.kind for question, _, _ in found}):
        rows = [(yes, without) for question, yes, without in found if question.kind == kind]
        by_kind[kind] = {
            "asked": len(rows),
            "with": round(statistics.fmean(yes for yes, _ in rows), 3),
            "without": round(statistics.fmean(without for _, without in rows), 3),
        }
    return {
        "asked": len(found),
        "compacted_turns": sum(asking.compacted for asking in asked),
        "turns": sum(asking.turns for asking in asked),
        "summaries_asked_for": sum(asking.written for asking in asked),
        "with": round(statistics.fmean([yes for _, yes, _ in found] or [0]), 3),
        "without": round(statistics.fmean([without for *_, without in found] or [0]), 3),
        "by_kind": by_kind,
    }


def table(result: dict[str, Any]) -> str:
    """Shares by summariser and kind."""
    lines = [
        "| summariser | questions about | asked | with what is recalled | without |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for way in filter(result.__contains__, WAYS):
        rows = {"all": result[way], **result[way]["by_kind"]}
        for kind, row in rows.items():
            lines.append(
                f"| {way} | {kind} | {row['asked']} | {row['with']:.0%} | {row['without']:.0%} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    outcome = main(sys.argv[1:])
    print(table(outcome))
    print(json.dumps(outcome, indent=1))
