"""Terms of a text for comparing relevance: stems, without fillers, identifiers in parts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from tierline.history.selection import search_words

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff]{2,}")
_ENDINGS = ("ations", "ation", "ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "e")
_MIN_STEM_LENGTH = 3


def stem(word: str) -> str:
    """A word without the commonest English endings: what is left need not be a word."""
    if not word.isascii() or not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM_LENGTH:
            if ending == "s" and word.endswith("ss"):
                continue
            root = word[: -len(ending)]
            if ending in ("ied", "ies"):
                return root + "y"
            if len(root) > _MIN_STEM_LENGTH and root[-1] == root[-2] and root[-1] not in "ls":
                return root[:-1]  # stopped, stop
            return root
    return word


def terms(text: str) -> tuple[str, ...]:
    """The stems of a text's content words, in order, each once.

    Fillers and stop-words are left out. An identifier counts whole and by its parts
    (``parse_header``: itself, ``parse``, ``header``); a run of Chinese, Japanese or Korean counts
    by overlapping pairs.
    """
    return tuple(dict.fromkeys(_terms(text)))


def counts(text: str) -> dict[str, int]:
    """How often each stem occurs."""
    found: dict[str, int] = {}
    for term in _terms(text, every=True):
        found[term] = found.get(term, 0) + 1
    return found


def _terms(text: str, *, every: bool = False) -> Iterable[str]:
    for word in search_words(text, every=every):
        lower = word.lower()
        yield stem(lower)
        for run in _CJK.findall(lower):
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        parts = _PART.findall(word)
        if len(parts) > 1:
            for part in search_words(" ".join(parts), every=every):
                yield stem(part.lower())


@frozen
class Weights:
    """Weights of terms: their inverse document frequency in a collection of texts."""

    of: Mapping[str, float]
    unseen: float

    @classmethod
    def over(cls, documents: Sequence[Iterable[str]]) -> Weights:
        """Count in how many of the documents (given by their terms) each term occurs."""
        total = len(documents)
        found: dict[str, int] = {}
        for document in documents:
            for term in set(document):
                found[term] = found.get(term, 0) + 1
        weights = {t: math.log(1 + (total - n + 0.5) / (n + 0.5)) for t, n in found.items()}
        return cls(weights, math.log(1 + (total + 0.5) / 0.5))

    def weight(self, term: str) -> float:
        """The weight of a term; an unseen one has the largest."""
        return self.of.get(term, self.unseen)


def similarity(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Cosine of two weighted bags of terms, 0 to 1."""
    if len(b) < len(a):
        a, b = b, a
    dot = sum(weight * b[term] for term, weight in a.items() if term in b)
    if not dot:
        return 0.0
    norms = math.sqrt(sum(w * w for w in a.values()) * sum(w * w for w in b.values()))
    return min(dot / norms, 1.0)


def lexical(a: str, b: str) -> float:
    """Similarity of two texts by their terms, 0 to 1; used where there are no embeddings."""
    return similarity(
        {t: 1 + math.log(n) for t, n in counts(a).items()},
        {t: 1 + math.log(n) for t, n in counts(b).items()},
    )
