"""What sessions cost through the whole server, as a multiple of what they must cost at least.

Starts ``tierline serve`` as an editor does, with default settings but for edits, which are applied
without a question, and lives through generated sessions: files change, prompts bring cards, the
model thinks, reads files, edits, ends with STATE. The service on loopback enforces the documented
rules and accounts for every body with the cache simulator. Pauses are told to both by their clocks.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from benchmarks.cache_bound import Bound
from benchmarks.cache_cost import RECENT, TARGET_MEDIAN, TARGET_WORST
from benchmarks.cache_sessions import KINDS, Session, Step, generated
from benchmarks.cache_simulator import weigh
from lsp.conftest import environment
from lsp.editing import ALL, EditingEditor
from support.bodyreader import Reader, said
from support.clock import Clock
from support.updatereader import read_update
from tierline import protocol as p
from tierline.context.fences import parse_fenced
from tierline.context.tiers.base import PieceKind
from tierline.context.tiers.rewrites import NAMES
from tierline.history.truncation import DEFAULTS
from wire.agents import Use
from wire.enforcing import Answer, EnforcingServer, Taken, enforcing
from wire.rules import opened
from wire.rules_anthropic import Messages

TURNS, FULL_TURNS = 8, 25
SEEDS = 3
"""Sessions of each kind."""
SECONDS = 300.0
"""For a turn, on a machine that is busy."""
_THOUGHTS = ("thinking", "redacted_thinking")


@frozen
class Turn:
    """What happens before a prompt, the prompt, and the answers to its requests."""

    step: Step
    answers: tuple[Answer, ...]


def turns(session: Session, workspace: Path, most: int) -> Iterator[Turn]:
    """The first turns of a session. What its tools give lies in files that the model reads."""
    groups: list[list[Step]] = []
    for step in session.steps:
        if step.prompt:
            groups.append([])
        groups[-1].append(step)
    number = 0
    for steps in groups[:most]:
        answers = []
        for step in steps:
            number += 1
            uses: tuple[Use, ...] = ()
            text = step.reply
            if step.result:
                name = f"lib/part_{number}.txt"
                (workspace / name).parent.mkdir(exist_ok=True)
                (workspace / name).write_text(step.result, encoding="utf-8")
                uses, text = (Use("read_file", {"path": name}),), "I look."
            elif step.edit is not None:
                change = {"search": step.edit.old, "replace": step.edit.new}
                arguments = {"path": step.edit.path, "edits": [change]}
                uses, text = (Use("propose_edit", arguments),), "I change it."
            elif step.state:
                text = f"{text}\n\n[STATE]\n{step.state}[/STATE]"
            answers.append(Answer(text, step.thinking, uses))
        yield Turn(steps[0], tuple(answers))


# --- what a body holds ---------------------------------------------------------------------------


class _Known(Reader):
    """Reads files and updates, and knows which texts were replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.replaced: set[str] = set()

    def _old(self, name: str, named: str) -> str:
        old = super()._old(name, named)
        self.replaced.add(old)
        return old


@define
class Content:
    """What a request has to present: by id the tokens of what was said, and every file."""

    talk: dict[str, float] = field(factory=dict)
    files: dict[str, str] = field(factory=dict)
    own: dict[str, str] = field(factory=dict)


def content(body: dict[str, Any], prompts: set[str]) -> Content:
    """A body without what is dead in it: replaced versions, cards of earlier prompts, the rest of
    long results once their turn is over.
    """
    found, reader = Content(), _Known()
    plain: list[str] = []
    found.talk["tools"] = sum(weigh(tool) for tool in body.get("tools", ()))
    turns = [
        n for n, message in enumerate(body["messages"])
        if message["role"] == "user" and any(_is_prompt(b, prompts) for b in message["content"])
    ]  # fmt: skip
    newest = turns[-1]
    for block in body["system"]:
        if _is_file(block["text"]):
            reader.text(block["text"])
        else:
            plain.append(block["text"])
            reader._remember(block["text"])
    for place, message in enumerate(body["messages"]):
        for block in message["content"]:
            kind = block["type"]
            if kind == "tool_use":
                arguments = block["input"]
                reader.calls[block["id"]] = {**arguments, **_only(arguments.get("edits"))}
                found.talk[f"use {block['id']}"] = weigh(block)
                if block["name"] == "propose_edit":
                    found.own[arguments["path"]] = f"use {block['id']}"
            elif kind == "tool_result":
                found.talk |= _result(block, active=place > newest)
                reader.result(block["tool_use_id"], said(block.get("content", "")))
            elif kind == "text" and message["role"] == "user":
                text = block["text"]
                if update := read_update(text):
                    reader.text(text)
                    if update.kind is not PieceKind.CONFIRMED:
                        found.own.pop(update.name, None)
                elif _is_file(text):
                    reader.text(text)
                elif place < turns[0]:  # the base: the module map
                    plain.append(text)
                    reader._remember(text)
                elif place == newest or _is_prompt(block, prompts):
                    found.talk[f"user {text}"] = weigh(block)
            else:
                found.talk[f"{kind} {block.get('signature') or block.get('text')}"] = weigh(block)
    for text in plain:
        if text not in reader.replaced:
            found.talk |= _lines(text)
    for name, text in reader.files.items():
        if "/" in name:
            found.files[name] = text
        else:
            found.talk |= _lines(text)
    return found


def _lines(text: str) -> dict[str, float]:
    return {f"line {line}": len(line.encode()) / 4 for line in text.splitlines(keepends=True)}


def _only(edits: Any) -> dict[str, str]:
    """The one replacement of a proposal, as the reader of bodies wants it."""
    if not isinstance(edits, list) or len(edits) != 1:
        return {}
    return {"old": edits[0]["search"], "new": edits[0]["replace"]}


def _is_prompt(block: dict[str, Any], prompts: set[str]) -> bool:
    return block["type"] == "text" and block["text"] in prompts


def _is_file(text: str) -> bool:
    found = parse_fenced(text)
    return len(found) == 1 and (found[0].start, found[0].end) == (0, len(text))


def _result(block: dict[str, Any], *, active: bool) -> dict[str, float]:
    text = "".join(part.get("text", "") for part in block["content"])
    name = f"result {block['tool_use_id']}"
    layers = {name: len(text[: DEFAULTS.inactive].encode()) / 4}
    if active and text[DEFAULTS.inactive :]:
        layers[f"{name} rest"] = len(text[DEFAULTS.inactive :].encode()) / 4
    return layers


# --- living through it ---------------------------------------------------------------------------


async def live(session: Session, workspace: Path, most: int) -> dict[str, float]:
    """One session. Returns cost, bound and what rewrites did."""
    clock = Clock(workspace.parent / "clock")
    for path, text in session.files.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(text, encoding="utf-8")
    planned = list(turns(session, workspace, most))
    waiting: list[Answer] = []

    def answer(body: Any, _number: int) -> Answer:
        if not body.get("tools") or not waiting:
            return Answer("A summary of what was said.", thinking="")
        return waiting.pop(0)

    with enforcing("anthropic", answer) as server:
        editor = EditingEditor(workspace)
        editor.experimental = dict(ALL)
        env = environment(server) | clock.env | {"TIERLINE_SYMBOLS_ENABLED": "true"}
        settings = {"tools": {"edits": "apply"}, "cache": {"ttl": "5m"}}
        await editor.start(env=env, settings=settings, capabilities=editor.capabilities_given())
        try:
            for path in session.files:
                await editor.ask("files/add", p.FileParams(path=path))
            ids: list[str] = []
            for turn in planned:
                server.skew += turn.step.gap
                clock.off = server.skew
                await _change(editor, turn.step)
                waiting[:] = turn.answers
                sent = await editor.ask("chat/send", p.ChatSendParams(text=turn.step.prompt))
                end = await editor.finished(sent.turn_id, SECONDS)
                if end.outcome != "ok" or server.refused:
                    raise RuntimeError(f"{end.error or end.outcome}; refused: {server.refused}")
                ids.append(end.turn_id)
            decided = [
                decision.code
                for identifier in ids
                for report in (
                    await editor.ask("cache/explain", p.CacheExplainParams(turn_id=identifier))
                ).requests
                for decision in report.decisions
                if decision.code in NAMES
            ]
        finally:
            await editor.stop()
        return _accounted(server, {turn.step.prompt for turn in planned}, decided)


async def _change(editor: EditingEditor, step: Step) -> None:
    """What others do before a prompt."""
    for change in step.before:
        path = editor.workspace / change.path
        if change.text is None:
            await editor.ask("files/remove", p.FileParams(path=change.path))
            continue
        new = not path.exists()
        document = editor.documents.get(editor.uri(change.path))
        if document is not None:
            editor.type_in(change.path, change.text)
            document.save()
        else:
            path.write_text(change.text, encoding="utf-8")
        if new:
            await editor.ask("files/add", p.FileParams(path=change.path))


def _accounted(server: EnforcingServer, prompts: set[str], decided: list[str]) -> dict[str, float]:
    assert isinstance(server.rules, Messages)
    asked = [
        (taken, outcome)
        for taken, outcome in zip(server.taken, server.rules.outcomes, strict=True)
        if taken.body.get("tools")
    ]
    bound = Bound()
    for taken, _ in asked:
        found = content(taken.body, prompts)
        bound.request(taken.at, found.talk, found.files, found.own)
    taken_only = [taken for taken, _ in asked]
    lost, newest = _thinking(taken_only, prompts)
    return {
        "requests": len(asked),
        "cost": sum(outcome.cost for _, outcome in asked),
        "bound": bound.cost(("5m",)),
        "rewrites": len(decided),
        "cold": decided.count("cold"),
        "thinking_lost": lost,
        "recent_thinking": newest,
    }


def _thinking(taken: Sequence[Taken], prompts: set[str]) -> tuple[float, float]:
    """The share of all thinking that was sent once and then no more, and the share of the newest
    turns' thinking that a request has, on average.
    """
    made: dict[int, tuple[float, int]] = {}
    lost: set[int] = set()
    shares: list[float] = []
    for request in taken:
        there: set[int] = set()
        turn = 0
        for message in request.body["messages"]:
            turn += any(_is_prompt(block, prompts) for block in message["content"])
            for block in message["content"]:
                facts = opened(block.get("signature")) if block["type"] in _THOUGHTS else None
                if facts is not None:
                    number = int(facts["number"])
                    there.add(number)
                    size = made.get(number, (0.0, 0))[0]
                    made[number] = (max(size, weigh(block)), turn)
        lost |= made.keys() - there
        recent = {n for n, (_, of) in made.items() if of > turn - RECENT}
        if total := sum(made[n][0] for n in recent):
            shares.append(sum(made[n][0] for n in recent & there) / total)
    everything = sum(size for size, _ in made.values())
    gone = sum(made[n][0] for n in lost)
    return gone / max(everything, 1.0), statistics.fmean(shares) if shares else 1.0


# --- results -------------------------------------------------------------------------------------


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Some sessions of each kind. Returns cost over bound and what rewrites did, by kind: one
    session of eight turns tells of itself more than of its kind.
    """
    most = FULL_TURNS if "--full" in arguments else TURNS
    started = time.perf_counter()
    chosen = [(kind, seed) for kind in KINDS for seed in range(SEEDS)]
    with ProcessPoolExecutor() as pool:
        lived = list(pool.map(partial(_lived, most=most), *zip(*chosen, strict=True)))
    rows = {
        kind: _together([one for (of, _), one in zip(chosen, lived, strict=True) if of == kind])
        for kind in KINDS
    }
    ratios = [row["ratio"] for row in rows.values()]
    return {
        "kinds": rows,
        "turns": most,
        "sessions": len(chosen),
        "median": round(statistics.median(ratios), 3),
        "worst": max(ratios),
        "targets": {"median": TARGET_MEDIAN, "worst": TARGET_WORST},
        "seconds": round(time.perf_counter() - started, 1),
    }


def _together(sessions: Sequence[dict[str, float]]) -> dict[str, float]:
    """The sessions of a kind as one row: sums, of shares the mean, and the dearest session."""
    shares = ("thinking_lost", "recent_thinking")
    row = {name: sum(one[name] for one in sessions) for name in sessions[0]}
    row |= {name: statistics.fmean(one[name] for one in sessions) for name in shares}
    row["ratio"] = row["cost"] / row["bound"]
    row["worst"] = max(one["cost"] / one["bound"] for one in sessions)
    return {name: round(value, 3) for name, value in row.items()}


def _lived(kind: str, seed: int, most: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="tierline-bench-") as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        return asyncio.run(live(generated(kind, seed), workspace, most))


def table(result: dict[str, Any]) -> str:
    """The kinds as a Markdown table."""
    names = ("requests", "ratio", "worst", "rewrites", "cold", "thinking_lost", "recent_thinking")
    head = ("requests", "cost over the bound", "the dearest session", "rewrites",
            "of them cold", "thinking lost", "newest five turns' thinking there")  # fmt: skip
    lines = ["| sessions | " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(head)]
    for kind, row in result["kinds"].items():
        lines.append(f"| {kind} | " + " | ".join(f"{row[name]:g}" for name in names) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    outcome = main()
    print(table(outcome))
