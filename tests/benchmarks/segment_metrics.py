"""Measures of segmentation, and the method to compare with.

A segmentation of ``n`` units is the set of places (1 to n-1) at which a segment begins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence


def pk(reference: Iterable[int], found: Iterable[int], n: int, k: int = 0) -> float:
    """Beeferman, Berger and Lafferty (1999): how often two units ``k`` apart are wrongly judged to
    be in the same or in different segments. 0 is perfect. ``k`` is half the mean segment.
    """
    gold, guess = _labels(reference, n), _labels(found, n)
    size = k or window(reference, n)
    probes = range(n - size)
    wrong = sum((gold[i] == gold[i + size]) != (guess[i] == guess[i + size]) for i in probes)
    return wrong / max(1, len(probes))


def window_diff(reference: Iterable[int], found: Iterable[int], n: int, k: int = 0) -> float:
    """Pevzner and Hearst (2002): how often a window of ``k`` units holds another number of
    boundaries than it should. 0 is perfect.
    """
    gold, guess = _labels(reference, n), _labels(found, n)
    size = k or window(reference, n)
    probes = range(n - size)
    wrong = sum(gold[i + size] - gold[i] != guess[i + size] - guess[i] for i in probes)
    return wrong / max(1, len(probes))


def f1(pairs: Iterable[tuple[set[int], set[int]]]) -> tuple[float, float, float]:
    """Precision, recall and F1 of exact boundaries over many (reference, found) pairs."""
    right = wrong = missed = 0
    for reference, found in pairs:
        right += len(reference & found)
        wrong += len(found - reference)
        missed += len(reference - found)
    precision = right / (right + wrong) if right + wrong else 0.0
    recall = right / (right + missed) if right + missed else 0.0
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0


def window(reference: Iterable[int], n: int) -> int:
    """Half the mean length of the reference's segments, at least 1."""
    return max(1, round(n / (len(set(reference)) + 1) / 2))


def text_tiling(
    texts: Sequence[Counter[str]], *, block: int = 2, conservative: bool = False
) -> list[int]:
    """TextTiling (Hearst 1997) with utterances for sentences: cosine of the ``block`` units on
    either side of each gap, depth scores, and a boundary wherever a valley is deeper than the mean
    less a standard deviation (half of one: conservative). As in the paper, no stemming weights by
    rarity.
    """
    gaps = range(1, len(texts))
    scores = [_cosine(texts[max(0, g - block) : g], texts[g : g + block]) for g in gaps]
    depths = [_depth(scores, i) for i in range(len(scores))]
    if not depths:
        return []
    mean = sum(depths) / len(depths)
    deviation = math.sqrt(sum((d - mean) ** 2 for d in depths) / len(depths))
    cut = mean + deviation / 2 if conservative else mean - deviation / 2
    peaks = [
        i
        for i, depth in enumerate(depths)
        if depth > max(cut, 0) and depth >= max(depths[max(0, i - 1) : i + 2])
    ]
    return [gaps[i] for i in peaks]


def _cosine(left: Sequence[Counter[str]], right: Sequence[Counter[str]]) -> float:
    a: Counter[str] = sum(left, Counter())
    b: Counter[str] = sum(right, Counter())
    norm = math.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
    return sum(v * b[w] for w, v in a.items()) / norm if norm else 0.0


def _depth(scores: Sequence[float], i: int) -> float:
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


def _labels(boundaries: Iterable[int], n: int) -> list[int]:
    """Number of the segment of each unit."""
    starts = set(boundaries)
    labels, current = [], 0
    for place in range(n):
        current += place in starts
        labels.append(current)
    return labels
