"""The local detector: no model, no network, well under a millisecond a message.

Every prompt may begin a new topic. The features: how many of its words, files and code names
occurred before, whether lexical cohesion dips at this place (Hearst's depth score), whether the
kind of work changes, whether a cue phrase announces a switch or a follow-up. A logistic model
weighs them; its weights were fitted by ``segmentation.py --fit`` (tests/benchmarks) on one half of
real programming chats and are measured on the other half (docs/benchmarks.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from attrs import frozen

from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary
from tierline.history.boundaries.signs import TurnSigns, turns
from tierline.history.messages import Message

LOOK_BACK = 6
"""Turns before a place that a prompt is compared with."""
_DIP = ("dip", "low", "apart")
# The switch cue's weight was set by hand: the data are whole chats joined end to end, and nobody
# announces a switch in a new chat.
_OWN = {
    "bias": -4.16,
    "unseen_words": 0.39,
    "new_files": 1.01,
    "old_files": 0.39,
    "new_names": 0.31,
    "old_names": -0.64,
    "work_shift": 0.60,
    "switch_cue": 2.50,
    "follow_cue": -0.19,
    "points_back": -0.71,
    "length": 1.11,
}
_COHESION = {
    ("words", 1): (0.86, 0.27, 0.64),
    ("words", 2): (0.79, 0.21, 0.88),
    ("words", 3): (0.36, -0.15, 0.32),
    ("rare_words", 1): (0.52, 0.69, 0.05),
    ("rare_words", 2): (0.53, 0.17, 0.32),
    ("rare_words", 3): (0.84, -0.09, 0.16),
    ("prompts", 1): (0.04, -0.04, -1.03),
    ("prompts", 2): (0.18, 0.40, -0.33),
    ("prompts", 3): (0.60, 0.34, -0.09),
}
"""For each kind of words and number of turns: how deep cohesion dips, whether it is lowest here,
and how far apart the sides are.
"""
WEIGHTS = _OWN | {
    f"{kind}_{block}_{what}": weight
    for (kind, block), weights in _COHESION.items()
    for what, weight in zip(_DIP, weights, strict=True)
}
FEATURES = tuple(WEIGHTS)
FITTED_PRIOR = 0.25
"""Share of prompts that began a new topic in the conversations that the weights were fitted on."""
PRIOR = 0.1
"""Share of prompts that begin a new topic within a session."""


@frozen
class Gap:
    """A place where a topic could begin: the index of the prompt, the probability that one does.
    ``reasons`` are the features with the largest weight in it.
    """

    place: int
    probability: float
    reasons: tuple[str, ...] = ()


def gaps(messages: Sequence[Message]) -> list[Gap]:
    """Every prompt but the first, with its probability, in order."""
    found = turns(messages)
    return [_gap(turn, values) for turn, values in zip(found[1:], features(found), strict=True)]


def detect(messages: Sequence[Message]) -> TopicBoundary:
    """The most probable boundary; of equals, the latest.

    Its confidence is the probability, corrected for how seldom the topic changes within a session:
    among the chats that the weights were fitted on, laid end to end, every fourth prompt began a
    new one.
    """
    best = max(gaps(messages), key=lambda gap: (round(gap.probability, 3), gap.place), default=None)
    if best is None:
        return SAFE_BOUNDARY
    reason = ", ".join(best.reasons) or "cohesion dips here"
    return TopicBoundary(best.place, reason, _corrected(best.probability))


def features(found: Sequence[TurnSigns]) -> list[tuple[float, ...]]:
    """One vector for every turn but the first, in the order of ``FEATURES``: shares of 0 to 1, and
    dips of cohesion in thirds of a standard deviation of this conversation's.
    """
    rarity = _rarity(found)
    columns = [
        column
        for kind, block in _COHESION
        for column in _valleys(_cohesions(found, block, kind, rarity))
    ]
    return [
        (*_own(found, i, rarity), *(column[i - 1] for column in columns))
        for i in range(1, len(found))
    ]


def _own(found: Sequence[TurnSigns], i: int, rarity: dict[str, float]) -> tuple[float, ...]:
    turn = found[i]
    before = found[max(0, i - LOOK_BACK) : i]
    said: set[str] = set().union(*(t.words for t in before))
    files = frozenset[str]().union(*(t.files for t in before))
    names = frozenset[str]().union(*(t.names for t in before))
    weight = sum(rarity[w] for w in turn.prompt)
    unseen = sum(rarity[w] for w in turn.prompt if w not in said)
    mentioned = turn.prompt_files or turn.files
    called = turn.prompt_names
    works = {t.work for t in before[-2:]} - {None}
    return (
        1.0,
        unseen / weight if weight else 0.5,
        _share(mentioned - files, mentioned),
        _share(mentioned & files, mentioned),
        _share(called - names, called),
        _share(called & names, called),
        float(bool(works) and turn.work is not None and turn.work not in works),
        float(turn.switches),
        float(turn.follows and not turn.switches),
        min(turn.points_back, 3) / 3,
        min(math.log1p(turn.length) / 4, 1.0),
    )


def _corrected(probability: float) -> float:
    odds = probability / (1 - probability)  # never 1, see _gap
    odds *= (PRIOR / (1 - PRIOR)) / (FITTED_PRIOR / (1 - FITTED_PRIOR))
    return odds / (1 + odds)


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part) / len(whole) if whole else 0.0


def _rarity(found: Sequence[TurnSigns]) -> dict[str, float]:
    """Inverse document frequency of stems over the turns."""
    df: Counter[str] = Counter()
    for turn in found:
        df.update(turn.words.keys())
    return {word: math.log(1 + len(found) / times) for word, times in df.items()}


Vector: TypeAlias = dict[str, float]


def _cohesions(
    found: Sequence[TurnSigns], size: int, kind: str, rarity: dict[str, float]
) -> list[float]:
    """Cosine of the words of ``size`` turns before and after every place."""
    counted = [turn.prompt if kind == "prompts" else turn.words for turn in found]
    weighed = None if kind == "words" else rarity
    scores = []
    for i in range(1, len(found)):
        before = _block(counted[max(0, i - size) : i], weighed)
        behind = _block(counted[i : i + size], weighed)
        small, large = sorted((before, behind), key=len)
        dot = sum(value * large[word] for word, value in small.items() if word in large)
        norm = math.sqrt(_square(before) * _square(behind))
        scores.append(dot / norm if norm else 0.0)
    return scores


def _block(counted: Sequence[Counter[str]], rarity: dict[str, float] | None) -> Vector:
    total: Vector = {}
    for words in counted:
        for word, times in words.items():
            total[word] = total.get(word, 0.0) + times
    if rarity is None:
        return total
    return {word: math.log1p(times) * rarity[word] for word, times in total.items()}


def _square(vector: Vector) -> float:
    return sum(value * value for value in vector.values())


_LEVEL = 0.05
"""Standard deviation of cohesion that chance explains: a chat about one topic has dips too."""


def _valleys(scores: Sequence[float]) -> tuple[list[float], ...]:
    """Three values for every place: its depth in standard deviations above the mean, divided by 3;
    1 if it is a local minimum; and 1 minus the cohesion.
    """
    if not scores:
        return [], [], []
    depths = [_depth(scores, i) for i in range(len(scores))]
    mean = sum(depths) / len(depths)
    deviation = math.sqrt(sum((d - mean) ** 2 for d in depths) / len(depths))
    dips = [(depth - mean) / (deviation + _LEVEL) / 3 for depth in depths]
    lowest = [float(s == min(scores[max(0, i - 1) : i + 2])) for i, s in enumerate(scores)]
    return dips, lowest, [1.0 - score for score in scores]


def _depth(scores: Sequence[float], i: int) -> float:
    """How far cohesion rises on either side until it falls again (Hearst 1997)."""
    left = right = scores[i]
    for value in reversed(scores[:i]):
        if value < left:
            break
        left = value
    for value in scores[i + 1 :]:
        if value < right:
            break
        right = value
    return left + right - 2 * scores[i]


def _gap(turn: TurnSigns, values: tuple[float, ...]) -> Gap:
    total = sum(w * v for w, v in zip(WEIGHTS.values(), values, strict=True))
    return Gap(turn.place, 1 / (1 + math.exp(-max(-30.0, min(30.0, total)))), _reasons(values))


_WORDS = {
    "switch_cue": "a switch is announced",
    "new_files": "other files",
    "work_shift": "another kind of work",
    "unseen_words": "other words",
    "rare_words_2_dip": "little in common with what came before",
    "new_names": "other names of code",
}


def _reasons(values: tuple[float, ...]) -> tuple[str, ...]:
    named = dict(zip(FEATURES, values, strict=True))
    return tuple(words for name, words in _WORDS.items() if named[name] > 0.6)[:3]
