"""Selection strategies: which turns of the conversation are sent.

``full`` sends all (compaction keeps it in bounds); ``window`` the newest N groups; ``ranked`` the N
groups that fit the prompt best; ``levels`` is the hierarchical memory. Order is always
chronological, the current group and system messages are always in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from tierline.history.groups import groups
from tierline.history.messages import Message

Search = Callable[[Sequence[str]], Sequence[str]]
"""Full-text search: words in, ids of matching groups out, best BM25 first."""

Rank = Callable[[str], Sequence[str]]
"""Ranking by meaning: a prompt in, ids of the groups close to it out, the closest first."""

RRF_K = 60
BM25_WEIGHT = 1.5
SEMANTIC_WEIGHT = 1.5
RECENCY_WEIGHT = 1.0
SLIDE_SHARE = 4
"""The window slides by this fraction (a quarter of N), so that the prefix survives in between."""


class Strategy(StrEnum):
    """The names that settings and the ``strategy`` event use."""

    FULL = "full"
    WINDOW = "window"
    RANKED = "ranked"
    LEVELS = "levels"
    """Memory levels; :mod:`tierline.memory` carries it out."""


def select(
    messages: Sequence[Message],
    *,
    strategy: str = Strategy.FULL,
    size: int = 0,
    query: str = "",
    search: Search | None = None,
    semantic: Rank | None = None,
) -> tuple[Message, ...]:
    """Apply a strategy by name. ``size`` is in groups, 0 for all. Unknown names mean ``full``."""
    if strategy not in (Strategy.WINDOW, Strategy.RANKED):
        return tuple(messages)
    if strategy == Strategy.WINDOW or search is None:
        return window(messages, size)
    return ranked(messages, size, query=query, search=search, semantic=semantic)


def until(messages: Iterable[Message], active: str, waiting: Iterable[str] = ()) -> list[Message]:
    """The messages up to and in the turn that is being answered.

    Prompts that wait for their own turn, and what another window has added since, come later: with
    them the newest group would not be the one that is to be answered. Without an active group, or
    if it was taken back meanwhile, only ``waiting`` groups are left out.
    """
    said = list(messages)
    order = list(dict.fromkeys(m.group_id for m in said))
    later = set(waiting) - {active}
    if active in order:
        later.update(order[order.index(active) + 1 :])
    return [m for m in said if m.group_id not in later or m.role == "system"]


def window(
    messages: Sequence[Message], size: int, *, chunk: int | None = None
) -> tuple[Message, ...]:
    """The newest ``size`` groups; 0 for all.

    The start moves in steps of ``chunk`` groups (a quarter of ``size`` unless given; 1 slides every
    turn): between two steps up to ``chunk - 1`` groups fewer than ``size`` are sent, and every
    request begins with the bytes of the one before. The budget never sees more than ``size``.
    """
    if size <= 0:
        return tuple(messages)
    turns = groups(messages)
    step = max(size // SLIDE_SHARE, 1) if chunk is None else max(chunk, 1)
    excess = max(len(turns) - size, 0)
    start = min(-(-excess // step) * step, len(turns) - 1)
    return _only(messages, (t.id for t in turns[start:]))


def ranked(
    messages: Sequence[Message],
    size: int,
    *,
    query: str,
    search: Search,
    semantic: Rank | None = None,
) -> tuple[Message, ...]:
    """The ``size`` groups with the best fused rank, the current one included.

    Reciprocal rank fusion, ``score = sum(weight / (60 + rank))`` with BM25 weighing 1.5 and recency
    1. If the search finds anything, recency ranks only what it found (the subset rule); if the
    query is empty, filler or finds nothing, recency alone decides.
    """
    turns = groups(messages)
    if size <= 0 or len(turns) <= size:
        return tuple(messages)
    order = [t.id for t in turns[:-1]]
    chosen = ranking(order, query, search, semantic)
    return _only(messages, [turns[-1].id, *chosen[: size - 1]])


def ranking(
    order: Sequence[str], query: str, search: Search, semantic: Rank | None = None
) -> list[str]:
    """All groups (given oldest first) by falling relevance to a prompt."""
    recent = list(reversed(order))
    words = search_words(query)
    if not words:
        return recent
    known = set(order)
    found = [g for g in search(words) if g in known]
    meant = [g for g in semantic(query) if g in known] if semantic else []
    both = {*found, *meant}
    chosen = fuse(found, [g for g in recent if g in both] if both else recent, meant)
    return chosen + [g for g in recent if g not in set(chosen)]


def fuse(bm25: Sequence[str], recency: Sequence[str], semantic: Sequence[str] = ()) -> list[str]:
    """Groups by falling fused score; ranks count from 1, ties go to the better BM25 rank.

    ``semantic`` ranks by meaning, where embeddings are installed, and weighs as much as BM25.
    """
    scores: dict[str, float] = {}
    weighted = ((BM25_WEIGHT, bm25), (SEMANTIC_WEIGHT, semantic), (RECENCY_WEIGHT, recency))
    for weight, ranking in weighted:
        for rank, group in enumerate(ranking, start=1):
            scores[group] = scores.get(group, 0.0) + weight / (RRF_K + rank)
    return sorted(scores, key=lambda group: -scores[group])


def search_words(query: str, *, every: bool = False) -> tuple[str, ...]:
    """The words of a prompt to search for: without stop-words and fillers.

    "continue", "go on", "ok next", "carry on with the next step" and the like leave nothing. Each
    word comes once, or with ``every`` as often as it occurs.
    """
    plain = FILLER_PHRASES.sub(" ", query.replace("’", "'"))
    words = re.findall(r"[^\W_](?:[\w.:'/-]*\w)?", plain, re.UNICODE)
    long_enough = (word for word in words if len(word) > 1 or not word.isascii())
    kept = [word for word in long_enough if word.lower() not in STOP_WORDS]
    return tuple(kept if every else dict.fromkeys(kept))


def _only(messages: Iterable[Message], chosen: Iterable[str]) -> tuple[Message, ...]:
    keep = set(chosen)
    return tuple(m for m in messages if m.group_id in keep or m.role == "system")


FILLER_PHRASES = re.compile(
    r"\b(?:carry on|move on|press on|go ahead|try (?:it |that )?again|one more time|next steps?|"
    r"(?:the )?rest of it|as (?:you )?(?:said|suggested|planned|discussed)|looks? (?:good|fine)|"
    r"sounds? (?:good|fine)|well done|good job|any(?:thing)? more|what(?:'s| is) next)\b",
    re.IGNORECASE,
)
"""Filler phrases whose single words are not fillers."""
STOP_WORDS = frozenset(
    """a about above after again against ahead all also am an and another any anything are aren't as
    at away back be because been before being below between both bring but by came can can't cannot
    check come continue continuing could couldn't cool did didn't do does doesn't doing don't done
    down during each else even every everything few fine finish first for from further fix get give
    go goes going good got great had has have having he her here hers him his how however i i'd i'll
    i'm i've if in into is isn't it it's its itself just keep know last let let's like look looks
    lot made make makes many may maybe me mean might mine more most much must my need next nice no
    nope not nothing now of off oh ok okay on once one only onto or other our ours out over own
    perfect please proceed put rather really resume right same say see seems she should shouldn't
    show since so some something soon sorry sounds start still stop such sure take tell than thank
    thanks that that's the their theirs them then there these they thing things think this those
    through thus to too try under until up upon us use used using very want was wasn't way we we're
    well were what what's when where whether which while who whole whom whose why will with without
    won't work works would wouldn't yeah yep yes yet you you're your yours
    weiter weitermachen ja nein danke bitte genau mach fertig nächste nächster continuez
    suivant oui non merci d'accord sigue continúa siguiente sí vale gracias adelante avanti prosegui
    grazie segue próximo obrigado продолжай продолжить дальше да нет спасибо 继续 下一步 好的 谢谢
    続けて 続けてください 次 はい いいえ ありがとう 계속 다음 네 감사합니다""".split()  # noqa: SIM905 - a text reads better than two hundred quoted words
)
"""English function words, and words in several languages that only tell a model to continue."""
