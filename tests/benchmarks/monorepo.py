"""A workspace of 100,000 files: what a user feels while it is indexed, and after it.

    python tests/benchmarks/monorepo.py                 # 10,000 files, a switch of 2,000
    python tests/benchmarks/monorepo.py --full          # 100,000 files, a switch of 20,000

Starts ``tierline serve`` as an editor does. While the index is built cold it asks what a user asks
(budget, completions of a mention, a pin, and a prompt once the last one has its reply) and times
each answer. Then the same again at rest; the search of the model's tool; and a branch switch: that
many files are written anew, and the editor says so in messages of 1,000 files, as VS Code does.
Memory is the peak of all the server's processes together. Beside the time of an answer stands what
of it is the product's own: without the time in which the main threads of server and index were
ready and had no processor, as other programs had it (Linux: ``schedstat``).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.symbols_scale import Server, make_tree, peak_mb, percentile

ANSWER_MS, MEMORY_MB = 100.0, 500.0
QUERIES = ("par", "mod99", "part07/unit", "symbol:cache_par", "stream_tok", "")
_BATCH = 1000


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Build, ask meanwhile, ask at rest, switch, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--files", type=int, default=0)
    options = parser.parse_args(list(arguments))
    files = options.files or (100_000 if options.full else 10_000)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve() / "work"
        os.environ["TIERLINE_STATE_DIR"] = str(root.with_name("state"))
        size = make_tree(root, files)
        began = time.perf_counter()
        server = Server(root)
        try:
            return {"tree_mb": round(size / 1e6), **measured(server, root, files, began)}
        finally:
            server.process.kill()


def table(figures: Mapping[str, Any]) -> str:
    """How long requests took, by when they were asked."""
    rows = [
        "| request | when | count | median | p99 | worst | p99 without waiting for a processor |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for when in ("indexing", "at_rest", "switching"):
        for what, t in figures[when].items():
            rows.append(
                f"| {what} | {when.replace('_', ' ')} | {t['count']} | {t['median']:,} ms | "
                f"{t['p99']:,} ms | {t['max']:,} ms | {t['own_p99']:,} ms |"
            )
    return "\n".join(rows)


class Asked:
    """What a user asks for, in turn, each answer timed."""

    def __init__(self, server: Server, root: Path) -> None:
        self.server = server
        self.some = sorted(root.glob("part0[0-3]/*/mod*.py"))[:40]
        self.times: dict[str, list[tuple[float, float]]] = {}
        self._number = self._prompts = 0
        self._threads = [server.process.pid]

    def round(self) -> None:
        """One of each."""
        self._number += 1
        number = self._number
        path = str(self.some[number % len(self.some)])
        self.ask("budget", "tierline/budget/get", {})
        query = QUERIES[number % len(QUERIES)]
        self.ask("completion", "tierline/mention/complete", {"query": query})
        if number % 5 == 1:
            self.ask("pin", "tierline/files/pin", {"path": path})
            self.ask("state", "tierline/state/get", {})
            self.ask("remove", "tierline/files/remove", {"path": path})
        if number % 10 == 1 and self._answered():
            text = f"What does request_plan_{number} do?"
            self.ask("prompt", "tierline/chat/send", {"text": text})
            self._prompts += 1

    def _answered(self) -> bool:
        """True if the last prompt has its reply: nobody lets prompts wait by the hundred."""
        ends = sum(body["kind"] == "turnFinished" for _, body in self.server.bodies)
        return bool(ends >= self._prompts)

    def ask(self, what: str, method: str, params: Any) -> Any:
        waited = self._waited()
        result, milliseconds = self.server.ask(method, params, 120)
        own = max(0.0, milliseconds - (self._waited() - waited))
        self.times.setdefault(what, []).append((milliseconds, own))
        return result

    def _waited(self) -> float:
        """Milliseconds that the server and its index have waited for a processor."""
        if len(self._threads) == 1:
            self._threads += children(self.server.process.pid)[:1]
        waited = 0
        for pid in self._threads:
            with contextlib.suppress(OSError, IndexError):
                waited += int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1])
        return waited / 1e6

    def taken(self) -> dict[str, dict[str, float]]:
        """The times so far, which begin anew."""
        times, self.times = self.times, {}
        return {
            what: {
                "count": len(values),
                "median": round(percentile([t for t, _ in values], 0.5), 1),
                "p99": round(percentile([t for t, _ in values], 0.99), 1),
                "max": round(max(t for t, _ in values), 1),
                "own_p99": round(percentile([t for _, t in values], 0.99), 1),
            }
            for what, values in times.items()
        }


def measured(server: Server, root: Path, files: int, began: float) -> dict[str, Any]:
    """What the server does with the tree."""
    started = time.perf_counter() - began
    server.ask("tierline/budget/get", {})  # loads the vocabulary, as the editor does
    asked = Asked(server, root)
    status = until_ready(server, asked)
    cold = time.perf_counter() - began
    progress = sum(b["kind"] == "symbolsChanged" for _, b in server.bodies)
    figures: dict[str, Any] = {
        "files": status["files"],
        "symbols": status["symbols"],
        "initialize_seconds": round(started, 2),
        "skipped": status["skipped"],
        "cold_seconds": round(cold, 1),
        "cold_cpu_seconds": status["cpuSeconds"],
        "progress_events": progress,
        "indexing": asked.taken(),
    }
    for _ in range(200):
        asked.round()
    figures["at_rest"] = asked.taken()
    found, shown = server.ask("tierline/plan/show", {"prompt": "Where is the parser's token?"}, 120)
    assert found
    figures["retrieval_ms"] = round(shown, 1)
    figures |= switched(server, root, files // 5, asked)
    status, _ = server.ask("tierline/symbols/status", {})
    memory = processes_mb(server.process.pid)
    figures |= {
        "server_peak_mb": round(memory[0]),
        "all_peak_mb": round(sum(memory)),
        "database_mb": round(
            sum(p.stat().st_size for p in root.parent.rglob(".tierline/symbols.sqlite3*")) / 1e6
        ),
        "limits": {"answer_ms": ANSWER_MS, "memory_mb": MEMORY_MB},
    }
    for when in ("indexing", "at_rest", "switching"):
        figures[f"worst_p99_ms_{when}"] = max(t["p99"] for t in figures[when].values())
        figures[f"worst_own_p99_ms_{when}"] = max(t["own_p99"] for t in figures[when].values())
    figures["load"] = round(os.getloadavg()[0], 1)
    return figures


def until_ready(server: Server, asked: Asked) -> dict[str, Any]:
    """Ask until the index is complete."""
    while True:
        status, _ = server.ask("tierline/symbols/status", {}, 120)
        if status["state"] == "ready" and status["files"] > 0:
            return dict(status)
        asked.round()
        time.sleep(0.05)


def switched(server: Server, root: Path, count: int, asked: Asked) -> dict[str, Any]:
    """Write files anew, and tell of it as an editor does."""
    changed: list[str] = []
    for number, path in enumerate(sorted(root.glob("part*/*/mod*.*"))):
        if number % 5 or len(changed) >= count:
            continue
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")
        changed.append(path.as_uri())
    last = root / "part00" / "unit000" / "mod0.py"
    last.write_text("def after_the_switch() -> int:\n    return 1\n", encoding="utf-8")
    changed.append(last.as_uri())
    began = time.perf_counter()
    for at in range(0, len(changed), _BATCH):
        changes = [{"uri": uri, "type": 2} for uri in changed[at : at + _BATCH]]
        server.send("workspace/didChangeWatchedFiles", {"changes": changes})
    while True:
        found, _ = server.ask("tierline/retrieval/code", {"symbol": "after_the_switch"}, 120)
        if found["found"]:
            break
        asked.round()
        assert time.perf_counter() - began < 600
        time.sleep(0.05)
    return {
        "switch_files": len(changed),
        "switch_seconds": round(time.perf_counter() - began, 1),
        "switching": asked.taken(),
    }


def processes_mb(pid: int) -> list[float]:
    """The peaks of a process and of those that it started."""
    return [peak_mb(pid), *(mb for child in children(pid) for mb in processes_mb(child))]


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if int(place.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(place.parent.name))
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:]), indent=1))
