"""A weighted graph and its ranks: PageRank by power iteration, personalised on demand.

Page, Brin, Motwani, Winograd 1999, "The PageRank Citation Ranking"; personalisation as in section 6
there (the random surfer jumps to chosen nodes). Plain lists: a few hundred thousand edges take a
fraction of a second, and no numeric library has to be loaded.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from attrs import field, frozen

DAMPING = 0.85
TOLERANCE = 1e-7
MAX_ITERATIONS = 60


class NodeEdges(Protocol):
    """The edges of a node: weights by target."""

    def __iter__(self) -> Iterator[int]: ...
    def items(self) -> Iterable[tuple[int, float]]:
        """Targets with their weights."""

    def values(self) -> Iterable[float]:
        """The weights."""


@frozen(eq=False)
class Compact:
    """Edges in a tenth of the memory of a dictionary."""

    targets: array[int] = field(factory=lambda: array("I"))
    weights: array[float] = field(factory=lambda: array("d"))

    @classmethod
    def of(cls, edges: Mapping[int, float]) -> Compact:
        """The same edges, in the same order."""
        return cls(array("I", edges), array("d", edges.values()))

    def __iter__(self) -> Iterator[int]:
        return iter(self.targets)

    def items(self) -> Iterable[tuple[int, float]]:
        """Targets with their weights."""
        return zip(self.targets, self.weights, strict=True)

    def values(self) -> Iterable[float]:
        """The weights."""
        return self.weights


Edges = Sequence[NodeEdges]
"""For each node its edges."""


def pagerank(
    edges: Edges,
    jump: Mapping[int, float] | None = None,
    *,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    start: Sequence[float] | None = None,
) -> list[float]:
    """The rank of each node; ranks sum to 1. An empty graph has none.

    ``jump`` says where the surfer begins anew, as weights of any scale; everywhere alike if it is
    empty. A node without edges jumps too. ``start`` is an earlier result to begin with, which
    saves iterations. Ends when ranks change by less than ``tolerance`` in sum.

    Raises:
        ValueError: a weight is negative, or ``damping`` is not within 0 and 1.
    """
    size = len(edges)
    if not size:
        return []
    if not 0 <= damping <= 1:
        raise ValueError("damping is a probability")
    home = _distribution(size, jump)
    sources, targets, shares = array("I"), array("I"), array("d")
    loose: list[int] = []
    for node, out in enumerate(edges):
        total = 0.0
        for weight in out.values():
            if weight < 0:
                raise ValueError("weights are not negative")
            total += weight
        if total <= 0:
            loose.append(node)
            continue
        for target, weight in out.items():
            sources.append(node)
            targets.append(target)
            shares.append(weight / total)
    rank = list(start) if start is not None and len(start) == size else list(home)
    for _ in range(max_iterations):
        flow = [0.0] * size
        for source, target, share in zip(sources, targets, shares, strict=True):
            flow[target] += rank[source] * share
        lost = sum(rank[node] for node in loose)
        back = 1 - damping + damping * lost
        fresh = [damping * f + back * h for f, h in zip(flow, home, strict=True)]
        change = sum(abs(a - b) for a, b in zip(fresh, rank, strict=True))
        rank = fresh
        if change < tolerance:
            break
    return rank


def spread(
    edges: Edges,
    seeds: Mapping[int, float],
    *,
    damping: float = DAMPING,
    steps: int = 3,
    least: float = 0.0,
) -> dict[int, float]:
    """The first terms of the personalised rank: what is within ``steps`` edges of the seeds.

    Equals ``pagerank(edges, seeds)`` up to ``damping ** (steps + 1)`` in sum, and touches only the
    neighbourhood; for a prompt in a large workspace. A node that less than ``least`` of the whole
    reaches keeps it and passes nothing on.
    """
    total = sum(seeds.values())
    if total <= 0:
        return {}
    front = {node: weight / total for node, weight in seeds.items() if weight > 0}
    home = dict(front)
    rank: dict[int, float] = {}
    for step in range(steps + 1):
        keep = 1 - damping if step < steps else 1.0
        for node, mass in front.items():
            rank[node] = rank.get(node, 0.0) + keep * mass
        if step == steps:
            break
        following: dict[int, float] = {}
        lost = 0.0
        for node, mass in front.items():
            out = edges[node]
            if mass < least:
                rank[node] += damping * mass
                continue
            whole = sum(out.values())
            if whole <= 0:
                lost += damping * mass
                continue
            for target, weight in out.items():
                following[target] = following.get(target, 0.0) + damping * mass * weight / whole
        for node, weight in home.items():
            if lost:
                following[node] = following.get(node, 0.0) + lost * weight
        front = following
    return rank


def _distribution(size: int, jump: Mapping[int, float] | None) -> list[float]:
    home = [0.0] * size
    for node, weight in (jump or {}).items():
        if weight < 0:
            raise ValueError("weights are not negative")
        home[node] += weight
    total = sum(home)
    if total <= 0:
        return [1 / size] * size
    return [weight / total for weight in home]
