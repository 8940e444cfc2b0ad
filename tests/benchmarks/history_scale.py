"""How the history store behaves with a large log.

    python tests/benchmarks/history_scale.py                # 64 MB, 640 sessions
    python tests/benchmarks/history_scale.py --full         # 1 GB, 10,000 sessions

Prints one JSON object. Times are in milliseconds, measured on a warm file cache: ``list`` of the
newest 50 sessions and of all, ``load_newest`` (which session was last, and all its messages),
``search`` over 200 queries of five kinds (one word, two words, the beginning of a word, a part of a
word, words that occur nowhere), ``append`` of a message while the index is absent (start-up needs
no index), ``rebuild`` in megabytes of log per second.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import years
from tierline.store.sessions import HistoryStore


def timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def median(action: Callable[[], object], times: int = 9) -> float:
    return statistics.median(timed(action) for _ in range(times))


def queries(seed: int = 1) -> list[str]:
    """Forty of each of the five kinds."""
    pick = random.Random(seed)
    every = years.words(seed)
    some = [w for w in every if len(w) >= 6]
    made: list[str] = []
    for _ in range(40):
        word, other, frequent = pick.choice(some), pick.choice(some), pick.choice(every[:500])
        made += [word, f"{other} {frequent}", word[:5], word[1:6], f"zq{word}qz"]
    return made


def measure(root: Path, megabytes: int, sessions: int) -> dict[str, Any]:
    store = HistoryStore(root)
    store.folder.mkdir(parents=True)
    size = years.write(store.log.path, sessions=sessions, megabytes=megabytes).bytes
    figures: dict[str, Any] = {"log_mb": round(size / 1e6), "sessions": sessions}

    fresh = HistoryStore(root)
    figures["append_without_index_ms"] = timed(
        lambda: fresh.append(fresh.make("user", "x"), durable=True)
    )
    steps: list[int] = []
    began = time.perf_counter()
    store.index.catch_up(lambda done, total: steps.append(done))
    seconds = time.perf_counter() - began
    figures["rebuild_mb_per_s"] = size / 1e6 / seconds
    figures["rebuild_progress_steps"] = len(steps)
    began = time.perf_counter()
    while not store.maintain(1.0):
        pass
    figures["vocabulary_s"] = time.perf_counter() - began
    figures["index_mb"] = round(store.index.path.stat().st_size / 1e6)
    store.close()

    store = HistoryStore(root)
    figures["open_ms"] = timed(lambda: store.list_sessions(limit=1))
    figures["list_50_ms"] = statistics.median(
        timed(lambda: store.list_sessions(50)) for _ in range(9)
    )
    figures["list_all_ms"] = median(store.list_sessions)
    figures["load_newest_ms"] = median(lambda: HistoryStore(root).restore_newest())
    taken: dict[str, list[float]] = {}
    kinds = ("word", "two words", "beginning", "part", "nowhere")
    partial = hits = 0
    for number, query in enumerate(queries()):
        began = time.perf_counter()
        result = store.search(query)
        taken.setdefault(kinds[number % 5], []).append((time.perf_counter() - began) * 1000)
        partial += result.partial
        hits += bool(result.hits)
    every = sorted(itertools.chain.from_iterable(taken.values()))
    figures["search_p50_ms"] = statistics.median(every)
    figures["search_p95_ms"] = every[int(len(every) * 0.95)]
    figures["search_max_ms"] = every[-1]
    figures["search_worst_by_kind_ms"] = {k: round(max(v), 1) for k, v in taken.items()}
    figures["searches_with_hits"], figures["searches_partial"] = hits, partial
    store.close()
    return {k: round(v, 2) if isinstance(v, float) else v for k, v in figures.items()}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="1 GB and 10,000 sessions")
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--sessions", type=int, default=640)
    options = parser.parse_args(arguments)
    megabytes = 1000 if options.full else options.megabytes
    sessions = 10_000 if options.full else options.sessions
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder), megabytes, sessions)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:]), indent=2))
