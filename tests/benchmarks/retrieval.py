"""Long-conversation retrieval: which earlier turn answers a prompt, and is it in 4,000 tokens.

    python tests/benchmarks/retrieval.py            # 4 conversations
    python tests/benchmarks/retrieval.py --full     # 12

The conversations are generated (``planted.py`` says how): no public set with gold evidence is to be
had as a registry package. Plain BM25 is what the older system did that seed 000 tells of: all words
of the prompt search. Constants were chosen on other seeds than those measured. Recall@k is the
share of questions whose evidence is among the k best turns. A context counts if the word that
answers the question is in it, in the original words or in a summary.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.planted import Dialogue, Question, dialogues
from support.histories import msg
from tierline.config import MemoryConfig
from tierline.history.extract import extractive_summary
from tierline.history.groups import Group, groups, to_prompt
from tierline.history.messages import Message
from tierline.history.parser import full_text
from tierline.history.selection import ranking, search_words
from tierline.memory.levels import Budgets
from tierline.memory.recall import recall, render
from tierline.memory.view import MemoryBuilder, messages
from tierline.session.counting import make_counters
from tierline.session.retrieval.semantic import SemanticRanking
from tierline.store.group_search import GroupSearch

CONTEXT = 4_000
"""Tokens of the context that the evidence must be in."""
VERBATIM = 2_000
"""Of them, what compaction keeps word for word; the summary takes up to 500, recall the rest."""
RECALLED = 1_000

Rank = Callable[[Question], list[str]]


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure and return the figures."""
    parser = argparse.ArgumentParser(description="long-conversation retrieval")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args(list(arguments or []))
    os.environ["TIERLINE_EMBEDDINGS_NICE"] = "0"
    meaning = SemanticRanking(MemoryConfig(), None)
    hits: dict[str, dict[str, list[tuple[bool, bool]]]] = {}
    present: dict[str, list[bool]] = {}
    times: list[float] = []
    turns = 0
    try:
        for dialogue in dialogues(12 if options.full else 4):
            turns += len(groups(dialogue.messages))
            _measure(dialogue, meaning, hits, present, times)
    finally:
        meaning.close()
    overall = {
        name: _recall([h for kind in by.values() for h in kind]) for name, by in hits.items()
    }
    kinds = sorted({kind for by in hits.values() for kind in by})
    questions = sum(len(v) for v in next(iter(hits.values())).values())
    return {
        "conversations": 12 if options.full else 4,
        "turns": turns,
        "questions": questions,
        "embeddings": meaning.embedder.model is not None,
        "recall": [{"method": n, "recall@5": r[0], "recall@10": r[1]} for n, r in overall.items()],
        "recall_at_5_by_kind": [
            {"kind": kind, **{name: _recall(by[kind])[0] for name, by in hits.items()}}
            for kind in kinds
        ],
        "evidence_in_4000_tokens": [
            {"context": name, "share": round(statistics.mean(seen), 3)}
            for name, seen in present.items()
        ],
        "ranked_minus_bm25_at_5": round(overall["ranked"][0] - overall["BM25"][0], 3),
        "ranked_minus_bm25_at_10": round(overall["ranked"][1] - overall["BM25"][1], 3),
        "ranking_ms_median": round(1000 * statistics.median(times), 2),
    }


def _measure(
    dialogue: Dialogue,
    meaning: SemanticRanking,
    hits: dict[str, dict[str, list[tuple[bool, bool]]]],
    present: dict[str, list[bool]],
    times: list[float],
) -> None:
    history = list(dialogue.messages)
    turns = groups(history)
    order = [g.id for g in turns]
    tables = GroupSearch()
    search = tables.over(history)
    everything = GroupSearch(share_of_best=0)
    bm25 = everything.over(history)
    with_prompt = [*history, *msg_of("(prompt)")]
    if meaning.available:
        _embed(meaning, with_prompt)

    def by_meaning(query: str) -> list[str]:
        return meaning.rank(query, with_prompt, seconds=30)

    def plain(question: Question) -> list[str]:
        return list(bm25(re.findall(r"\w+", question.prompt)))

    def ranked(question: Question) -> list[str]:
        began = time.perf_counter()
        found = ranking(order, question.prompt, search)
        times.append(time.perf_counter() - began)
        return found

    methods: dict[str, Rank] = {
        "recency": lambda _question: list(reversed(order)),
        "BM25": plain,
        "BM25 without fillers": lambda q: list(bm25(search_words(q.prompt))),
        "ranked": ranked,
    }
    if meaning.available:
        methods["ranked with embeddings"] = lambda q: ranking(order, q.prompt, search, by_meaning)
    contexts = _contexts(history, turns, tables, meaning)
    for question in dialogue.questions:
        for name, rank in methods.items():
            best = rank(question)
            found = (bool(question.gold & set(best[:5])), bool(question.gold & set(best[:10])))
            hits.setdefault(name, {}).setdefault(question.kind, []).append(found)
        for name, context in contexts.items():
            text = context(question)
            present.setdefault(name, []).append(question.answer in text)
    tables.close()
    everything.close()


def _contexts(
    history: list[Message], turns: Sequence[Group], tables: GroupSearch, meaning: SemanticRanking
) -> Mapping[str, Callable[[Question], str]]:
    count = _counter()
    sizes = {g.id: count([to_prompt(m) for m in g.messages]) for g in turns}
    by_id = {g.id: "\n".join(full_text(m.content) for m in g.messages) for g in turns}
    order = [g.id for g in turns]
    search = tables.over(history)

    def fitting(wanted: Sequence[str], room: int) -> list[str]:
        chosen: list[str] = []
        for group in wanted:
            if sizes[group] > room:
                break
            room -= sizes[group]
            chosen.append(group)
        return chosen

    def join(wanted: Sequence[str]) -> str:
        return "\n".join(by_id[g] for g in wanted)

    newest = fitting(list(reversed(order)), CONTEXT)
    window = join(newest)
    keeper = MemoryBuilder(Budgets().within(CONTEXT), count)
    memory = keeper.memory(history)
    leveled = "\n".join(full_text(m.content) for m in messages(memory))
    verbatim = set(fitting(list(reversed(order)), VERBATIM))
    older = [m for g in turns if g.id not in verbatim for m in g.messages]
    summary = extractive_summary(older, budget_tokens=500, count=count)
    compacted = f"{summary}\n{join([g for g in order if g in verbatim])}"
    with_prompt = [*history, *msg_of("(prompt)")]

    def by_meaning(query: str) -> list[str]:
        return meaning.rank(query, with_prompt, seconds=30)

    def levels(question: Question, *, semantic: Sequence[str] = ()) -> str:
        room, parts = RECALLED, [leveled]
        for piece in recall(memory, question.prompt, search=search, semantic=semantic):
            text = render(piece)
            if count(text) <= room:
                room -= count(text)
                parts.append(text)
        return "\n".join(parts)

    def ranked(question: Question) -> str:
        return join(fitting(ranking(order, question.prompt, search), CONTEXT))

    def compaction(question: Question) -> str:
        best = ranking(order, question.prompt, search)
        rest = [g for g in best if g not in verbatim]
        return f"{compacted}\n{join(fitting(rest, CONTEXT - VERBATIM - 500))}"

    found: dict[str, Callable[[Question], str]] = {
        "window": lambda _question: window,
        "levels": levels,
        "ranked": ranked,
        "compaction alone": lambda _question: compacted,
        "compaction plus retrieval": compaction,
    }
    if meaning.available:
        found["levels with embeddings"] = lambda q: levels(q, semantic=by_meaning(q.prompt))
        found["ranked with embeddings"] = lambda q: join(
            fitting(ranking(order, q.prompt, search, by_meaning), CONTEXT)
        )
    return found


def _embed(meaning: SemanticRanking, history: Sequence[Message]) -> None:
    """All turns at once, before anything is asked; the product does it turn by turn."""
    from tierline.context.text import sha256
    from tierline.session.retrieval.semantic import group_text

    meaning.preload(history)
    meaning.embedder.ready([sha256(group_text(g)) for g in groups(history)[:-1]], 600)


def msg_of(prompt: str) -> tuple[Message, ...]:
    """The prompt as the newest turn: rankings leave it out."""
    return (msg(999_999, "user", prompt, group="prompt"),)


def _counter() -> Callable[[Any], int]:
    counters = make_counters(Path("/nonexistent"))
    return counters.counter(counters.table.facts("gpt-5", provider="openai")).count


def _recall(found: Sequence[tuple[bool, bool]]) -> tuple[float, float]:
    return (
        round(statistics.mean(five for five, _ in found), 3),
        round(statistics.mean(ten for _, ten in found), 3),
    )


if __name__ == "__main__":
    import sys

    print(json.dumps(main(sys.argv[1:]), indent=2))
