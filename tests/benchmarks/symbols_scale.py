"""The symbol index of a generated tree of 10,000 files, behind a server that is used meanwhile.

    python tests/benchmarks/symbols_scale.py              # 2,000 files
    python tests/benchmarks/symbols_scale.py --full       # 10,000 files

Starts ``tierline serve`` as an editor does, and while the index is built cold asks for the budget
and sends prompts, each timed. Then one file is edited, and the time is taken until the server says
that the index holds it. Memory is the peak of each process; the tree has Python, TypeScript, Go,
Java and C files of about 4 kB that refer to each other.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLD_SECONDS, EDIT_MS, ANSWER_MS = 60.0, 300.0, 50.0
MEMORY_MB = 400.0
EDITS = 5
_BODY = {
    "py": ("def {f}(value: int, other: str = '') -> int:\n    \"\"\"{words}.\"\"\"\n"
           "    total = value + {g}({n})\n    for item in range({n}):\n        total += item\n"
           "    return total\n\n", "import {m}\nfrom {p} import {g}\n", "#"),
    "ts": ("/** {words}. */\nexport function {f}(value: number): number {{\n"
           "  const total = value + {g}({n});\n  return total * {n};\n}}\n\n",
           "import {{ {g} }} from '../{p}';\n", "//"),
    "go": ("// {f} does this: {words}.\nfunc {f}(value int) int {{\n"
           "\ttotal := value + {g}({n})\n\treturn total\n}}\n\n", "package p{n}\n", "//"),
    "java": ("  /** {words}. */\n  public int {f}(int value) {{\n"
             "    int total = value + helper.{g}({n});\n    return total;\n  }}\n\n",
             "package p{n};\nclass C{n} {{\n", "//"),
    "c": ("/* {words}. */\nstatic int {f}(int value)\n{{\n"
          "    int total = value + {g}({n});\n    return total;\n}}\n\n",
          '#include "{p}.h"\n', "//"),
}  # fmt: skip
_SHARE = ["py"] * 5 + ["ts"] * 2 + ["go", "java", "c"]
_WORDS = [
    "cache",
    "parser",
    "token",
    "stream",
    "buffer",
    "plan",
    "request",
    "budget",
    "index",
    "graph",
    "symbol",
    "window",
    "model",
    "turn",
    "session",
    "store",
    "branch",
    "memo",
    "layer",
    "order",
    "block",
    "render",
    "split",
    "merge",
    "count",
    "trace",
    "limit",
    "retry",
]


def make_tree(root: Path, files: int, seed: int = 11) -> int:
    """Write the tree. Returns its bytes."""
    random_ = random.Random(seed)
    size = 0
    for number in range(files):
        ending = random_.choice(_SHARE)
        body, head, _ = _BODY[ending]
        folder = root / f"part{number % 40:02}" / f"unit{number % 400:03}"
        folder.mkdir(parents=True, exist_ok=True)

        def name(of: int) -> str:
            return f"{_WORDS[of % len(_WORDS)]}_{_WORDS[of // 7 % len(_WORDS)]}_{of}"

        near = random_.randrange(max(1, files))
        facts = {"m": f"mod{near}", "p": f"part{near % 40:02}/mod{near}", "g": name(near * 10),
                 "n": number}  # fmt: skip
        parts = [head.format(**facts)]
        for place in range(random_.randrange(10, 26)):
            words = " ".join(random_.choices(_WORDS, k=8))
            target = random_.randrange(files) * 10 + random_.randrange(10)
            parts.append(
                body.format(f=name(number * 10 + place), g=name(target), n=place, words=words)
            )
        text = "".join(parts) + ("}\n" if ending == "java" else "")
        (folder / f"mod{number}.{ending}").write_text(text, encoding="utf-8")
        size += len(text)
    return size


class Server:
    """A server on pipes: requests are timed, notifications are kept."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tierline", "serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.came = threading.Condition()
        self._sending = threading.Lock()
        self.answers: dict[int, float] = {}
        self.results: dict[int, Any] = {}
        self.bodies: list[tuple[float, dict[str, Any]]] = []
        self._numbers = itertools.count(1)
        threading.Thread(target=self._read, daemon=True).start()
        settings = {"provider": {"name": "openai", "baseUrl": "http://127.0.0.1:9/v1",
                                 "maxRetries": 0}}  # fmt: skip
        self.ask(
            "initialize",
            {"processId": None, "capabilities": {}, "initializationOptions": {"settings": settings},
             "workspaceFolders": [{"uri": root.as_uri(), "name": "work"}]},
        )  # fmt: skip
        self.send("initialized", {})

    def send(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin is not None
        with self._sending:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.process.stdin.flush()

    def ask(self, method: str, params: Any, seconds: float = 60) -> tuple[Any, float]:
        """The result and the milliseconds until it came."""
        number, began = next(self._numbers), time.perf_counter()
        self.send(method, params, id=number)
        with self.came:
            assert self.came.wait_for(lambda: number in self.answers, seconds), method
        return self.results[number], 1000 * (self.answers[number] - began)

    def until(self, found: Any, seconds: float) -> Any:
        """Wait for an event; returns when it came and its body."""
        with self.came:
            assert self.came.wait_for(lambda: any(map(found, self.bodies)), seconds)
            return next(entry for entry in self.bodies if found(entry))

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                return
            message = json.loads(stream.read(length))
            now = time.perf_counter()
            with self.came:
                if "method" not in message:
                    self.results[message["id"]] = message.get("result")
                    self.answers[message["id"]] = now
                elif isinstance(message.get("params"), dict) and "body" in message["params"]:
                    self.bodies.append((now, message["params"]["body"]))
                self.came.notify_all()


def peak_mb(pid: int) -> float:
    """The most that a process has had resident (Linux), in MB."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    line = next(x for x in status.read_text("utf-8").splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Build, ask meanwhile, edit, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--files", type=int, default=0)
    options = parser.parse_args(list(arguments))
    files = options.files or (10_000 if options.full else 2_000)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        size = make_tree(root, files)
        (root / ".tierline").mkdir()
        server = Server(root)
        try:
            return measured(server, root, files, size)
        finally:
            server.process.kill()


def measured(server: Server, root: Path, files: int, size: int) -> dict[str, Any]:
    """What the server does with the tree."""
    warm, _ = server.ask("tierline/budget/get", {})  # loads the vocabulary, as the editor does
    assert warm["used"] > 0
    began = time.perf_counter()
    budgets: list[float] = []
    chats: list[float] = []

    def ready(entry: tuple[float, dict[str, Any]]) -> bool:
        body = entry[1]
        return bool(body["kind"] == "symbolsChanged" and body["status"]["state"] == "ready")

    while not any(map(ready, server.bodies)):
        budgets.append(server.ask("tierline/budget/get", {})[1])
        if len(budgets) % 20 == 5:
            text = f"What does request_plan_{len(budgets)} do?"
            chats.append(server.ask("tierline/chat/send", {"text": text})[1])
        time.sleep(0.05)
    at, _ = server.until(ready, 1)
    cold = at - began
    cold_cpu = server.ask("tierline/symbols/status", {})[0]["cpuSeconds"]
    finished = "turnFinished"
    with server.came:  # prompts that wait for each other are another matter
        done = lambda: sum(b["kind"] == finished for _, b in server.bodies) >= len(chats)  # noqa: E731
        assert server.came.wait_for(done, 120)
    edits = []
    for number in range(EDITS):
        path = next(root.glob(f"part{number:02}/**/*.py"))
        path.write_text(path.read_text("utf-8") + f"\ndef edited_{number}(): ...\n", "utf-8")
        seen = len(server.bodies)
        edited = time.perf_counter()
        change = {"uri": path.as_uri(), "type": 2}
        server.send("workspace/didChangeWatchedFiles", {"changes": [change]})
        at, _ = server.until(
            lambda e, seen=seen: e in server.bodies[seen:] and e[1]["kind"] == "symbolsChanged", 30
        )
        edits.append(1000 * (at - edited))
        found, _ = server.ask("tierline/retrieval/code", {"symbol": f"edited_{number}"})
        assert found["found"], (found, path.name)
    status, _ = server.ask("tierline/symbols/status", {})
    _, rank = server.ask(
        "tierline/plan/show", {"prompt": "How does the parser split the token stream?"}
    )
    return {
        "files": status["files"],
        "symbols": status["symbols"],
        "tree_mb": round(size / 1e6, 1),
        "cold_seconds": round(cold, 1),
        "cold_cpu_seconds": cold_cpu,
        "edit_ms": {"median": round(sorted(edits)[EDITS // 2], 1), "max": round(max(edits), 1)},
        "budget_ms": _summary(budgets),
        "chat_ms": _summary(chats) if chats else {},
        "retrieval_ms": round(rank, 1),
        "index_peak_mb": round(status["memoryBytes"] / 2**20, 1),
        "server_peak_mb": round(peak_mb(server.process.pid), 1),
        "database_mb": round((root / ".tierline" / "symbols.sqlite3").stat().st_size / 1e6, 1),
        "limits": {"cold_seconds": COLD_SECONDS, "edit_ms": EDIT_MS, "answer_ms": ANSWER_MS,
                   "memory_mb": MEMORY_MB},
    }  # fmt: skip


def _summary(values: Sequence[float]) -> dict[str, float]:
    return {
        "count": len(values),
        "median": round(percentile(values, 0.5), 1),
        "p99": round(percentile(values, 0.99), 1),
        "max": round(max(values), 1),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:]), indent=1))
