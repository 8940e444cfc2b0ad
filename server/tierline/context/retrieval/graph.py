"""A weighted graph and its ranks: PageRank by power iteration, personalised on demand.

Page, Brin, Motwani, Winograd 1999, "The PageRank Citation Ranking"; personalisation as in section 6
there (the random surfer jumps to chosen nodes). Plain arrays: a few hundred thousand edges take a
fraction of a second, and no numeric library has to be loaded.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar, overload

from attrs import define, field, frozen

DAMPING = 0.85
TOLERANCE = 1e-7
MAX_ITERATIONS = 60
_T = TypeVar("_T")
_STEP = 20_000
"""Edges that are followed in one step."""


class NodeEdges(Protocol):
    """The edges of a node: weights by target."""

    def __iter__(self) -> Iterator[int]: ...
    def items(self) -> Iterable[tuple[int, float]]:
        """Targets with their weights."""

    def values(self) -> Iterable[float]:
        """The weights."""


@frozen(eq=False)
class EdgeArrays:
    """The edges of a node in arrays, a tenth of the memory of a dictionary."""

    targets: array[int] = field(factory=lambda: array("I"))
    weights: array[float] = field(factory=lambda: array("f"))

    @classmethod
    def of(cls, edges: Mapping[int, float]) -> EdgeArrays:
        """The same edges, in the same order."""
        return cls(array("I", edges), array("f", edges.values()))

    def __iter__(self) -> Iterator[int]:
        return iter(self.targets)

    def items(self) -> Iterable[tuple[int, float]]:
        """Targets with their weights."""
        return zip(self.targets, self.weights, strict=True)

    def values(self) -> Iterable[float]:
        """The weights."""
        return self.weights


Edges = Sequence[NodeEdges]
"""The edges of each node, by its number."""


class EdgeSequence(Sequence[EdgeArrays]):
    """Edges that are looked up by the number of their node."""

    __slots__ = ()

    @abstractmethod
    def of_node(self, node: int) -> EdgeArrays:
        """The edges of one node."""

    @overload
    def __getitem__(self, node: int) -> EdgeArrays: ...
    @overload
    def __getitem__(self, node: slice) -> Sequence[EdgeArrays]: ...
    def __getitem__(self, node: int | slice) -> EdgeArrays | Sequence[EdgeArrays]:
        if isinstance(node, slice):
            return [self[n] for n in range(*node.indices(len(self)))]
        if node >= len(self):
            raise IndexError(node)
        return self.of_node(node)


@define(eq=False)
class Graph(EdgeSequence):
    """The edges of all nodes in flat arrays: eight bytes an edge, four a node."""

    targets: array[int] = field(factory=lambda: array("I"))
    weights: array[float] = field(factory=lambda: array("f"))
    _ends: array[int] = field(factory=lambda: array("I", (0,)))

    def add(self, edges: Iterable[tuple[int, float]]) -> None:
        """Add the next node."""
        for target, weight in edges:
            self.targets.append(target)
            self.weights.append(weight)
        self._ends.append(len(self.targets))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def of_node(self, node: int) -> EdgeArrays:
        """The edges of one node."""
        start, end = self._ends[node], self._ends[node + 1]
        return EdgeArrays(self.targets[start:end], self.weights[start:end])

    def turned(self, limit: int, share: float = 1.0) -> Generator[None, None, Graph]:
        """The reversed edges, each node's heaviest ``limit`` with their shares. In steps."""
        size = len(self)
        places = array("I", (0,)) * (size + 1)
        for count, target in enumerate(self.targets):
            places[target + 1] += 1
            if count % _STEP == _STEP - 1:
                yield
        for node in range(size):
            places[node + 1] += places[node]
        sources = array("I", (0,)) * len(self.targets)
        weights = array("f", (0.0,)) * len(self.targets)
        free = array("I", places)
        for node in range(size):
            start, end = self._ends[node], self._ends[node + 1]
            for target, weight in zip(
                self.targets[start:end], self.weights[start:end], strict=True
            ):
                sources[free[target]], weights[free[target]] = node, share * weight
                free[target] += 1
            if node % 500 == 499:
                yield
        ends = array("I", (0,))
        for node in range(size):  # in place: there may be no room for them twice
            some = slice(places[node], places[node + 1])
            into, strength = sources[some], weights[some]
            if len(into) > limit:
                heavy = sorted(range(len(into)), key=lambda at: -strength[at])[:limit]
                into = array("I", map(into.__getitem__, heavy))
                strength = array("f", map(strength.__getitem__, heavy))
            end = ends[-1] + len(into)
            sources[ends[-1] : end], weights[ends[-1] : end] = into, strength
            ends.append(end)
            if node % 500 == 499:
                yield
        del sources[ends[-1] :], weights[ends[-1] :]
        return Graph(sources, weights, ends)


@frozen(eq=False)
class UndirectedEdges(EdgeSequence):
    """All edges and those back; of two nodes that refer to each other, the weights add up."""

    forward: Graph = field(factory=Graph)
    backward: Graph = field(factory=Graph)

    @classmethod
    def of(cls, forward: Graph, backward: Graph) -> UndirectedEdges:
        """Of two graphs; the nodes that only one of them has have no edges in the other."""
        for one, other in ((forward, backward), (backward, forward)):
            while len(one) < len(other):
                one.add(())
        return cls(forward, backward)

    def add(self) -> None:
        """A further node, without edges."""
        self.forward.add(())
        self.backward.add(())

    def __len__(self) -> int:
        return len(self.forward)

    def of_node(self, node: int) -> EdgeArrays:
        """The edges of one node."""
        out, back = self.forward.of_node(node), self.backward.of_node(node)
        return EdgeArrays(out.targets + back.targets, out.weights + back.weights)


def ranking(
    edges: Edges,
    jump: Mapping[int, float] | None = None,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    start: Sequence[float] | None = None,
) -> Generator[None, None, list[float]]:
    """The rank of each node (PageRank); ranks sum to 1. An empty graph has none. Computed in steps,
    so that other work can run; the generator returns the ranks.

    ``jump`` are the weights, of any scale, of the nodes that the surfer jumps to; all alike if it
    is empty. From a node without edges it always jumps. ``start`` is an earlier result, which saves
    iterations. Ends when ranks change by less than ``tolerance`` in sum.

    Raises:
        ValueError: a weight is negative, or ``damping`` is not within 0 and 1.
    """
    size = len(edges)
    if not size:
        return []
    if not 0 <= damping <= 1:
        raise ValueError("damping is a probability")
    home = _distribution(size, jump)
    totals = yield from _totals(edges)
    loose = [node for node, total in enumerate(totals) if total <= 0]
    rank = array("d", start if start is not None and len(start) == size else home)
    for _ in range(max_iterations):
        flow = yield from _flow(edges, rank, totals)
        lost = sum(rank[node] for node in loose)
        back = 1 - damping + damping * lost
        fresh = array("d", (damping * f + back * h for f, h in zip(flow, home, strict=True)))
        change = sum(abs(a - b) for a, b in zip(fresh, rank, strict=True))
        rank = fresh
        if change < tolerance:
            break
        yield
    return list(rank)


def _totals(edges: Edges) -> Generator[None, None, array[float]]:
    """The sum of each node's weights."""
    totals = array("d")
    for node, out in enumerate(edges):
        if any(weight < 0 for weight in out.values()):
            raise ValueError("weights are not negative")
        totals.append(sum(out.values()))
        if node % 1000 == 999:
            yield
    return totals


def _flow(
    edges: Edges, rank: array[float], totals: array[float]
) -> Generator[None, None, array[float]]:
    """The rank that each node gets over the edges in one iteration."""
    flow = array("d", (0.0,)) * len(edges)
    followed = 0
    for node, out in enumerate(edges):
        if totals[node] <= 0:
            continue
        share = rank[node] / totals[node]
        for target, weight in out.items():
            flow[target] += share * weight
            followed += 1
        if followed > _STEP:
            followed = 0
            yield
    return flow


def run_to_end(steps: Generator[object, None, _T]) -> _T:
    """Run all steps at once and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            value: _T = ended.value
            return value


def spread(
    edges: Edges,
    seeds: Mapping[int, float],
    *,
    damping: float = DAMPING,
    steps: int = 3,
    least: float = 0.0,
) -> Generator[None, None, dict[int, float]]:
    """The first terms of the personalised rank: of nodes within ``steps`` edges of the seeds. Made
    in steps.

    Equals ``ranking(edges, seeds)`` up to ``damping ** (steps + 1)`` in sum, and touches only the
    neighbourhood; for a prompt in a large workspace. A node with less than ``least`` of the whole
    passes nothing on.
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
        for count, (node, mass) in enumerate(front.items()):
            if count % 1000 == 999:
                yield
            if mass < least:
                rank[node] += damping * mass
                continue
            out = edges[node]
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


def _distribution(size: int, jump: Mapping[int, float] | None) -> array[float]:
    home = array("d", (0.0,)) * size
    for node, weight in (jump or {}).items():
        if weight < 0:
            raise ValueError("weights are not negative")
        home[node] += weight
    total = sum(home)
    if total <= 0:
        return array("d", (1 / size,)) * size
    return array("d", (weight / total for weight in home))
