"""PageRank by power iteration, and its local form."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.context.retrieval.graph import (
    DAMPING,
    Edges,
    Graph,
    UndirectedEdges,
    ranking,
    run_to_end,
    spread,
)


def pagerank(edges: Edges, *more: Any, **options: Any) -> list[float]:
    """All steps at once."""
    return run_to_end(ranking(edges, *more, **options))


weights = st.floats(0.01, 10, allow_nan=False)


@st.composite
def graphs(draw: st.DrawFn) -> list[dict[int, float]]:
    size = draw(st.integers(1, 8))
    return [
        draw(st.dictionaries(st.integers(0, size - 1), weights, max_size=4)) for _ in range(size)
    ]


def solved(edges: list[dict[int, float]], home: list[float]) -> list[float]:
    """The same by Gaussian elimination: (1 - d) h + d (M + h l^T) r = r."""
    size = len(edges)
    matrix = [[0.0] * (size + 1) for _ in range(size)]
    for row in range(size):
        matrix[row][row] += 1.0
        matrix[row][size] = (1 - DAMPING) * home[row]
    for source, out in enumerate(edges):
        total = sum(out.values())
        for row in range(size):
            share = out.get(row, 0.0) / total if total else home[row]
            matrix[row][source] -= DAMPING * share
    for pivot in range(size):
        best = max(range(pivot, size), key=lambda r: abs(matrix[r][pivot]))
        matrix[pivot], matrix[best] = matrix[best], matrix[pivot]
        for row in range(size):
            if row != pivot:
                factor = matrix[row][pivot] / matrix[pivot][pivot]
                matrix[row] = [
                    a - factor * b for a, b in zip(matrix[row], matrix[pivot], strict=True)
                ]
    return [matrix[row][size] / matrix[row][row] for row in range(size)]


@given(graphs(), st.data())
def test_power_iteration_gives_the_solution_of_the_equations(
    edges: list[dict[int, float]], data: st.DataObject
) -> None:
    size = len(edges)
    jump = data.draw(st.dictionaries(st.integers(0, size - 1), weights))
    total = sum(jump.values())
    home = [jump.get(n, 0.0) / total for n in range(size)] if jump else [1 / size] * size
    found = pagerank(edges, jump, tolerance=1e-12, max_iterations=400)
    assert found == pytest.approx(solved(edges, home), abs=1e-6)
    assert sum(found) == pytest.approx(1)


@given(graphs(), st.data())
def test_a_warm_start_changes_nothing_but_the_time(
    edges: list[dict[int, float]], data: st.DataObject
) -> None:
    start = data.draw(st.lists(st.floats(0, 1), min_size=len(edges), max_size=len(edges)))
    cold = pagerank(edges, tolerance=1e-12, max_iterations=400)
    total = sum(start) or 1.0
    warm = pagerank(edges, tolerance=1e-12, max_iterations=400, start=[s / total for s in start])
    assert warm == pytest.approx(cold, abs=1e-6)


@given(graphs(), st.data())
def test_spreading_far_enough_is_the_personalised_rank(
    edges: list[dict[int, float]], data: st.DataObject
) -> None:
    seeds = data.draw(
        st.dictionaries(st.integers(0, len(edges) - 1), weights, min_size=1, max_size=3)
    )
    exact = pagerank(edges, seeds, tolerance=1e-13, max_iterations=500)
    near = run_to_end(spread(edges, seeds, steps=120))
    assert [near.get(n, 0.0) for n in range(len(edges))] == pytest.approx(exact, abs=1e-6)
    short = run_to_end(spread(edges, seeds, steps=3))
    assert sum(short.values()) == pytest.approx(1)
    pruned = run_to_end(spread(edges, seeds, steps=120, least=1e-3))
    assert sum(pruned.values()) == pytest.approx(1)
    assert all(v >= 0 for v in pruned.values())
    gap = sum(abs(short.get(n, 0.0) - exact[n]) for n in range(len(edges)))
    assert gap <= 2 * DAMPING**4 + 1e-6


def test_what_everything_refers_to_ranks_first() -> None:
    ranks = pagerank([{2: 1.0}, {2: 1.0}, {3: 1.0}, {}])
    assert max(range(4), key=ranks.__getitem__) in (2, 3)
    assert ranks[2] > ranks[0]


def test_nonsense_is_refused() -> None:
    assert pagerank([]) == []
    with pytest.raises(ValueError, match="negative"):
        pagerank([{0: -1.0}])
    with pytest.raises(ValueError, match="negative"):
        pagerank([{}], {0: -1.0})
    with pytest.raises(ValueError, match="probability"):
        pagerank([{}], damping=2)
    assert run_to_end(spread([{}], {})) == {}


@given(graphs())
def test_a_graph_holds_the_same_edges_in_eight_bytes_each(
    edges: list[dict[int, float]],
) -> None:
    graph = Graph()
    for out in edges:
        graph.add(out.items())
    near = [{n: pytest.approx(w) for n, w in out.items()} for out in edges]
    assert [dict(out.items()) for out in graph] == near
    assert [list(out) for out in graph] == [list(out) for out in edges]
    assert pagerank(graph) == pytest.approx(pagerank(edges))
    assert run_to_end(spread(graph, {0: 1.0})) == pytest.approx(run_to_end(spread(edges, {0: 1.0})))
    assert graph.targets.itemsize + graph.weights.itemsize == 8
    back = run_to_end(graph.turned(limit=2))
    for node, into in enumerate(back):
        sources = {n: out[node] for n, out in enumerate(edges) if node in out}
        best = sorted(sources.values(), reverse=True)[:2]
        assert sorted(into.values(), reverse=True) == pytest.approx(best)
        assert all(sources[n] == pytest.approx(w) for n, w in into.items())


@given(graphs())
def test_edges_and_those_back_count_together(edges: list[dict[int, float]]) -> None:
    graph = Graph()
    for out in edges:
        graph.add(out.items())
    both = UndirectedEdges(graph, run_to_end(graph.turned(limit=9, share=0.4)))
    merged = [dict(out) for out in edges]
    for node, out in enumerate(edges):
        for target, weight in out.items():
            merged[target][node] = merged[target].get(node, 0.0) + 0.4 * weight
    for node, wanted in enumerate(merged):
        found: dict[int, float] = {}
        for target, weight in both[node].items():
            found[target] = found.get(target, 0.0) + weight
        assert found == pytest.approx(wanted)
    assert pagerank(both) == pytest.approx(pagerank(merged), rel=1e-4)
    both.add()
    assert len(both) == len(edges) + 1 and list(both[len(edges)]) == []


def test_edges_are_turned_where_they_lie() -> None:
    """While edges are computed anew the old ones still serve: there is no room for a third time."""
    size, each = 3_000, 20
    graph = Graph()
    for node in range(size):
        graph.add(((node * 7 + place) % size, 1.0) for place in range(each))
    whole = 8 * size * each
    tracemalloc.start()
    try:
        turned = run_to_end(graph.turned(limit=64))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(turned.targets) == size * each
    assert peak < 1.5 * whole
