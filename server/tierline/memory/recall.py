"""Retrieval from the memory: summaries of old tasks, repeated errors, past topics.

What is retrieved goes to the end of one request, so that the cached prefix stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from attrs import frozen

from tierline.context.fences import fence
from tierline.context.text import clip
from tierline.history.extract import LineKind, digest
from tierline.history.failures import signature
from tierline.history.groups import is_prompt
from tierline.history.parser import full_text, text_of
from tierline.history.selection import Search, fuse, search_words
from tierline.memory import tasks
from tierline.memory.levels import LevelSummary
from tierline.memory.situations import MemoryAction, SituationFacts, decide
from tierline.memory.state import Memory, VerbatimTurn
from tierline.memory.turns import MemoryTurn, is_summary
from tierline.memory.words import Weights, lexical, terms

COVERAGE = 0.3
"""A turn is about a prompt's topic if it has this share of the prompt's terms, by weight."""
SAME_ERROR = 0.6
"""Similarity of two error messages, without their numbers, that makes them the same."""
MAX_TURNS = 4
_COMPARED = 16
"""Number of turns about a topic that are also compared line by line."""
MAX_SUMMARIES = 2
_CLOSE = 0.15
TURN_CHARACTERS = 1_600
"""Characters of one retrieved turn."""
_AROUND = 2
"""Lines shown on either side of one that the prompt asks for."""
_MIN_ROOM = 40
"""Characters; with less room left, no further line is added."""
_SEARCHED_CHARACTERS = 60_000
"""Characters of one turn that are searched for lines that the prompt asks for."""

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)
_QUOTED = re.compile(r"(['\"`]).{0,80}?\1")
_PLACE = re.compile(r"(?:[\w.@~-]*[/\\])+([\w.@-]+)")
"""A path; only the file's name distinguishes errors."""


@frozen
class RecalledPiece:
    """One retrieved piece. ``name`` is what statistics call it (``task-2``, ``error-1``)."""

    name: str
    kind: str
    """``summary``, ``error`` or ``topic``."""
    text: str
    sources: tuple[str, ...]
    """Ids of the messages that it comes from."""
    why: str


def recall(
    memory: Memory,
    prompt: str,
    *,
    search: Search | None = None,
    semantic: Sequence[str] = (),
    result: str = "",
) -> tuple[RecalledPiece, ...]:
    """Retrieve pieces of the past for a prompt. ``search`` ranks turns by BM25; ``semantic``, if
    given, by similarity of embeddings; ``result`` is the newest tool output, whose errors count as
    well.
    """
    away = {g: t for g, t in memory.turns.items() if g not in memory.in_full}
    if not away:
        return ()
    words = search_words(prompt)
    errors = _repeated(memory, prompt, result)
    found = _about(memory, prompt, away, search, semantic) if words else []
    summaries = _summaries(memory, prompt, found) if tasks.refers_back(prompt) and words else []
    facts = SituationFacts(
        refers_to_old_task=bool(summaries), error_repeats=bool(errors), names_past_topic=bool(found)
    )
    pieces: list[RecalledPiece] = []
    for action in decide(facts):
        if action is MemoryAction.RETRIEVE_SUMMARY:
            pieces += [_summary(s) for s in summaries]
        elif action is MemoryAction.RETRIEVE_ERRORS:
            pieces += errors
        elif action is MemoryAction.EXPAND_TOPIC:
            asked = _weighed(memory, prompt)
            pieces += [_topic(memory, turn, why, asked) for turn, why in found[:MAX_TURNS]]
    return tuple(pieces)


def of_summarised(
    turns: Sequence[MemoryTurn],
    shown: Collection[str],
    prompt: str,
    memory: Memory,
    *,
    search: Search | None = None,
    semantic: Sequence[str] = (),
    result: str = "",
) -> tuple[RecalledPiece, ...]:
    """Like ``recall``, for a conversation whose older part is a summary. ``turns`` are all its
    turns, ``shown`` the ids of those that are sent word for word, ``memory`` an empty one.
    """
    for place, turn in enumerate(turns):
        memory.turns[turn.id] = turn
        memory.places[turn.id] = place
        if turn.id in shown:
            memory.held.append(VerbatimTurn(turn, 0))
    return recall(memory, prompt, search=search, semantic=semantic, result=result)


def render(piece: RecalledPiece) -> str:
    """A piece as it stands in the prompt: labelled, and in a fence that it cannot close."""
    body = piece.text.rstrip("\n") + "\n"
    return f"{_LABELS[piece.kind]} ({piece.name}):\n{fence(body)}"


_LABELS = {
    "summary": "Recalled from this conversation, the summary of an earlier task",
    "error": "Recalled from this conversation, this error has occurred before",
    "topic": "Recalled from this conversation, an earlier turn about this",
}


def _about(
    memory: Memory,
    prompt: str,
    away: dict[str, MemoryTurn],
    search: Search | None,
    semantic: Sequence[str],
) -> list[tuple[MemoryTurn, str]]:
    """Turns about the prompt's topic that are not in the context, the best first."""
    asked = _weighed(memory, prompt)
    total = sum(asked.values())
    if not total:
        return []
    shares = {
        g: sum(weight for term, weight in asked.items() if term in turn.terms) / total
        for g, turn in away.items()
    }
    if search is not None:
        ranking = [g for g in search(search_words(prompt)) if g in away]
    else:
        ranking = sorted((g for g in shares if shares[g]), key=lambda g: -shares[g])
    known = set(ranking) | set(semantic)
    recent = [g for g in reversed(memory.turns) if g in known and g in away]
    order = fuse(ranking, recent, [g for g in semantic if g in away])
    close = set(semantic[:MAX_TURNS])
    chosen: list[tuple[MemoryTurn, str]] = []
    for group in order:
        if shares[group] >= COVERAGE or group in close:
            shared = [t for t in asked if t in away[group].terms][:4]
            chosen.append((away[group], f"shares {', '.join(shared)}" if shared else "similar"))
    near = {turn.id: _nearness(turn, asked) for turn, _ in chosen[:_COMPARED]}
    # Many turns may be about a topic; the best one has the prompt's terms close together.
    return sorted(chosen, key=lambda pair: -near.get(pair[0].id, 0.0))


def _weighed(memory: Memory, prompt: str) -> dict[str, float]:
    """The terms of a prompt, with how much each tells in this conversation. A word that was never
    said here speaks against every turn, but tells nothing of which is meant: it weighs what a word
    of the prompt that was said weighs on average.
    """
    weights = Weights.over([turn.terms for turn in memory.turns.values()])
    asked = terms(prompt)
    said = [weights.of[term] for term in asked if term in weights.of]
    unsaid = sum(said) / len(said) if said else 0.0
    return {term: weights.of.get(term, unsaid) for term in asked}


def _nearness(turn: MemoryTurn, asked: Mapping[str, float]) -> float:
    """The share of the prompt's terms, by weight, that occurs within a few lines; in twentieths."""
    lines = [found.intersection(asked) for found in turn.line_terms]
    windows = (
        frozenset().union(*lines[place : place + _AROUND + 1])
        for place, line in enumerate(lines)
        if line
    )
    best = max((sum(asked[term] for term in window) for window in windows), default=0.0)
    return round(20 * best / max(sum(asked.values()), 1e-9))


def _summaries(
    memory: Memory, prompt: str, found: Sequence[tuple[MemoryTurn, str]]
) -> list[LevelSummary]:
    """Summaries of old tasks that the prompt refers to and that are not in the context."""
    rank = {turn.id: place for place, (turn, _) in enumerate(found)}
    scored: list[tuple[int, float, LevelSummary]] = []
    for summary in memory.archived:
        place = min((rank[g] for g in summary.groups if g in rank), default=MAX_TURNS)
        close = lexical(prompt, f"{summary.title}\n{summary.text}")
        if not summary.id.startswith("tasks-") and (place < MAX_TURNS or close > _CLOSE):
            scored.append((place, -close, summary))
    scored.sort(key=lambda entry: entry[:2])
    about = [summary for place, _, summary in scored if place < MAX_TURNS]
    return (about or [summary for *_, summary in scored])[:MAX_SUMMARIES]


def _repeated(memory: Memory, prompt: str, result: str) -> list[RecalledPiece]:
    """Lines about the errors in a prompt or a tool's output, from turns that were compressed.

    An error also counts as repeated if it was seen in a turn that is still in the context, but only
    lines of turns that are not are retrieved.
    """
    seen = _errors_of(prompt) + _errors_of(result)
    if not seen:
        return []
    pieces: list[RecalledPiece] = []
    for number, turn in enumerate(memory.turns.values(), start=1):
        if turn.id in memory.in_full:
            continue
        lines = [line for line in turn.errors if any(_same(line, error) for error in seen)]
        if lines:
            text = "\n".join([*lines, *_after(turn, lines)])
            pieces.append(
                RecalledPiece(
                    f"error-{number}", "error", text, turn.message_ids, "the error repeats"
                )
            )
    fixed = [p for p in pieces if "→" in p.text]
    return (fixed or pieces)[-2:]


def _errors_of(text: str) -> list[str]:
    if not text.strip():
        return []
    from tierline.context.blocks import Text
    from tierline.history.messages import Message

    message = Message("", "", "", "", "user", (Text(text),))
    return list(digest([message]).of(LineKind.ERROR))


def _after(turn: MemoryTurn, lines: Sequence[str]) -> list[str]:
    """The outcome of the turn, if the error's line does not name it."""
    if any("→" in line for line in lines):
        return []
    reply = next((text_of(m.content) for m in reversed(turn.messages) if m.role == "assistant"), "")
    return [clip(" ".join(reply.split()), 400)] if reply.strip() else []


def _same(known: str, new: str) -> bool:
    a, b = _bare(known.split("→", maxsplit=1)[0]), _bare(new)
    one, other = signature(known.split("→", maxsplit=1)[0]), signature(new)
    if one and other and one != other:
        return False
    close = lexical(a, b)
    return close >= SAME_ERROR or bool(one and one == other and close >= SAME_ERROR / 2)


def _bare(error: str) -> str:
    return _NUMBER.sub("0", _QUOTED.sub("''", _PLACE.sub(r"\1", error)))


def _summary(summary: LevelSummary) -> RecalledPiece:
    return RecalledPiece(
        summary.id.rsplit("-", 1)[0], "summary", summary.text, summary.sources, "an old task"
    )


def _topic(memory: Memory, turn: MemoryTurn, why: str, asked: Mapping[str, float]) -> RecalledPiece:
    number = memory.places[turn.id] + 1
    parts: list[str] = []
    if is_summary(turn.messages):
        parts.append(turn.text)
    else:
        parts.append(f"User: {_said(turn.prompt, asked)}")
        done = "\n".join(full_text(m.content) for m in turn.messages if not is_prompt(m))
        if done.strip():
            parts.append(f"Assistant: {excerpt(done, asked, TURN_CHARACTERS)}")
    return RecalledPiece(f"turn-{number}", "topic", "\n".join(parts), turn.message_ids, why)


def _said(prompt: str, asked: Mapping[str, float]) -> str:
    """A prompt; of a long one its beginning and the lines that are asked for."""
    whole, most = prompt.strip(), TURN_CHARACTERS // 2
    if len(whole) <= most:
        return whole
    first = clip(whole.split("\n", 1)[0], most // 4)
    return f"{first}\n{excerpt(whole[len(first) :], asked, most - len(first))}"


def excerpt(text: str, asked: Mapping[str, float], most: int) -> str:
    """The lines of a text with most of the terms in ``asked``, by weight, each with its neighbours,
    in order; a short text whole. ``most`` is in characters; "…" stands for what is left out.
    """
    whole = text.strip()
    if len(whole) <= most:
        return whole
    lines = clip(whole, _SEARCHED_CHARACTERS).split("\n")
    hits = [sum(asked.get(term, 0.0) for term in terms(line)) for line in lines]
    chosen: set[int] = set()
    room = most
    for place in sorted(range(len(lines)), key=lambda place: (-hits[place], place)):
        if not hits[place] or room < _MIN_ROOM:
            break
        around = range(max(0, place - _AROUND), min(len(lines), place + _AROUND + 1))
        new = [near for near in around if near not in chosen]
        cost = sum(len(lines[near]) + 1 for near in new)
        if cost > room:
            new, cost = [place] if place not in chosen else [], len(lines[place]) + 1
        if new and cost <= room:
            chosen.update(new)
            room -= cost
    if not chosen:
        return f"{clip(whole, most)} …"
    parts: list[str] = []
    before = -1
    for place in sorted(chosen):
        parts += ["…"] if place > before + 1 else []
        parts.append(lines[place])
        before = place
    return "\n".join([*parts, "…"] if before < len(lines) - 1 else parts)
