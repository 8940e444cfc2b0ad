"""Query clusters: phases of a conversation, by the words of its prompts.

"If the cosine similarity between the new query's embedding and the current cluster's centroid is
below a threshold: a new cluster, else the same." The embedding is a bag of hashed words: it needs
no model and is the same everywhere, and phases of work differ in the names that they mention.

A **task** is a run of turns in one cluster: it begins with the turn that opens the cluster and ends
when another opens. Leases may be scoped to it.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from tierline.context.retrieval.words import query_terms

THRESHOLD = 0.12
"""Cosine similarity below which a prompt begins a new cluster."""
DIMENSIONS = 512
MIN_WORDS = 3
"""Prompts with fewer content words ("go on", "and the tests?") stay in the current cluster."""
KEEP = 0.7
"""Share of the centroid that remains at each turn."""


def embed(text: str, rarity: Callable[[str], float] = lambda _word: 1.0) -> dict[int, float]:
    """A vector of length 1 as a sparse mapping; empty for a text without words."""
    vector: dict[int, float] = {}
    for word, times in query_terms(text).items():
        digest = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        place = digest % DIMENSIONS
        sign = 1.0 if digest >> 16 & 1 else -1.0
        weight = sign * math.sqrt(min(times, 4)) * max(0.2, rarity(word))
        vector[place] = vector.get(place, 0.0) + weight
    return _unit(vector)


def cosine(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    """Cosine similarity of two vectors of length 1; 0 if one is empty."""
    if len(b) < len(a):
        a, b = b, a
    return sum(value * b.get(place, 0.0) for place, value in a.items())


@frozen
class QueryCluster:
    """The current cluster of a conversation."""

    cluster: int = 0
    """0 before the first prompt; clusters count from 1."""
    centroid: Mapping[int, float] = field(factory=dict)
    turns: int = 0

    @property
    def task(self) -> str:
        """Id of the task, for the scope of a lease (``task:<id>``)."""
        return f"t{self.cluster}"

    def next(
        self,
        text: str,
        *,
        rarity: Callable[[str], float] = lambda _word: 1.0,
        threshold: float = THRESHOLD,
    ) -> QueryCluster:
        """The phase after a prompt."""
        vector = embed(text, rarity)
        if self.cluster == 0:
            return QueryCluster(1, vector, 1)
        if len(query_terms(text)) < MIN_WORDS or not self.centroid:
            return QueryCluster(self.cluster, self.centroid or vector, self.turns + 1)
        if cosine(vector, self.centroid) < threshold:
            return QueryCluster(self.cluster + 1, vector, 1)
        mixed = {place: KEEP * value for place, value in self.centroid.items()}
        for place, value in vector.items():
            mixed[place] = mixed.get(place, 0.0) + (1 - KEEP) * value
        return QueryCluster(self.cluster, _unit(mixed), self.turns + 1)

    def to_json(self) -> list[Any]:
        """JSON values."""
        return [self.cluster, {str(k): round(v, 5) for k, v in self.centroid.items()}, self.turns]

    @classmethod
    def from_json(cls, value: Any) -> QueryCluster:
        """The phase of JSON values; a fresh one if they are invalid."""
        try:
            cluster, centroid, turns = value
            return cls(int(cluster), {int(k): float(v) for k, v in centroid.items()}, int(turns))
        except (TypeError, ValueError, AttributeError):
            return cls()


def _unit(vector: Mapping[int, float]) -> dict[int, float]:
    length = math.sqrt(sum(value * value for value in vector.values()))
    return {place: value / length for place, value in vector.items()} if length > 0 else {}
