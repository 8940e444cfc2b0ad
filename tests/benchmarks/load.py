"""A busy editor: 50 open documents, 20 edits a second, a chat beside them (issue 10, item 4).

Measures how long a server over stdio takes to answer requests meanwhile, whether every event came,
once and in order, and whether memory grows; then 10,000 toggles of a pin and 100 sessions. The
provider is a script on the loopback interface.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsp.pipe import Pipe
from wire.scripts import o_reply
from wire.servers import wire_server

DOCUMENTS, EDITS_PER_SECOND, LINES = 50, 20, 120
ASKED = ("tierline/budget/get", "tierline/state/get", "tierline/files/list", "tierline/plan/list")


class Meter(Pipe):
    """Keeps times and numbers instead of messages."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self.came: dict[Any, tuple[float, Any]] = {}
        self.seqs: list[int] = []
        self.ends: list[str] = []
        self._writing = threading.Lock()
        super().__init__(*arguments, **more)

    def write(self, data: bytes, chunk: int = 0) -> None:
        with self._writing:
            super().write(data, chunk)

    def ask(self, method: str, params: Any = None, seconds: float = 120) -> tuple[float, Any]:
        """Seconds until the answer, and its result."""
        with self._writing:
            self._number += 1
            number = self._number
        began = time.monotonic()
        self.post(method, params, number=f"m{number}")
        self.until(lambda: f"m{number}" in self.came, seconds)
        came, answer = self.came.pop(f"m{number}")
        assert "error" not in answer, answer
        return came - began, answer["result"]

    def _add(self, to: list[Any], what: Any) -> None:
        if to is self.messages and "params" in what and "seq" in (what["params"] or {}):
            self.seqs.append(what["params"]["seq"])
            body = what["params"]["body"]
            if body["kind"] == "turnFinished":
                self.ends.append(body["outcome"])
        elif to is self.messages and str(what.get("id", "")).startswith("m"):
            self.came[what["id"]] = (time.monotonic(), what)
        else:
            super()._add(to, what)
            return
        with self._came:
            self._came.notify_all()


def resident_mb(pid: int) -> float:
    """What a process has in memory now (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(seconds: float, toggles: int, sessions: int, seed: int = 4) -> dict[str, Any]:
    """The whole run. ``seconds`` is the time of the edits and the chat."""
    dice = random.Random(seed)
    replies = [o_reply(*(f"word{i} " for i in range(40)))]
    with tempfile.TemporaryDirectory() as name, wire_server("openai", replies) as model:
        root = Path(name).resolve() / "work"
        root.mkdir()
        uris = []
        for number in range(DOCUMENTS):
            path = root / f"m{number:02}.py"
            path.write_text("".join(f"v{i} = {i}\n" for i in range(LINES)), encoding="utf-8")
            uris.append(path.as_uri())
        env = {
            "TIERLINE_PROVIDER_NAME": "openai",
            "TIERLINE_PROVIDER_BASE_URL": model.url,
            "TIERLINE_PROVIDER_MODEL": "gpt-5",
            "OPENAI_API_KEY": "nobody",
            "TIERLINE_SYMBOLS_ENABLED": "true",
        }
        with Meter(root, env=env) as server:
            server.initialize()
            for path, uri in zip(sorted(root.glob("*.py")), uris, strict=True):
                document = {"uri": uri, "languageId": "python", "version": 1}
                document["text"] = path.read_text(encoding="utf-8")
                server.notify("textDocument/didOpen", {"textDocument": document})
            server.ask("tierline/files/add", {"path": "m00.py"})
            server.ask("tierline/budget/get")
            over = threading.Event()
            edits = itertools.count(2)

            def edit() -> None:
                due = time.monotonic()
                while not over.is_set():
                    version, line = next(edits), dice.randrange(LINES)
                    place = {"line": line, "character": 0}
                    server.notify("textDocument/didChange", {
                        "textDocument": {"uri": dice.choice(uris), "version": version},
                        "contentChanges": [{"range": {"start": place, "end": place}, "text": "x"}],
                    })  # fmt: skip
                    due += 1 / EDITS_PER_SECOND
                    time.sleep(max(0.0, due - time.monotonic()))

            def chat() -> None:
                while not over.is_set():
                    count = len(server.ends)
                    server.ask("tierline/chat/send", {"text": f"Question {count} about m00.py"})
                    server.until(lambda count=count: len(server.ends) > count, 120)
                    over.wait(2.0)

            workers = [threading.Thread(target=edit), threading.Thread(target=chat)]
            for worker in workers:
                worker.start()
            took: list[float] = []
            memory: list[float] = []
            began = time.monotonic()
            for method in itertools.cycle(ASKED):
                if time.monotonic() - began > seconds:
                    break
                took.append(server.ask(method)[0])
                memory.append(resident_mb(server.process.pid))
                time.sleep(0.05)
            over.set()
            for worker in workers:
                worker.join()
            made = next(edits) - 2
            turns = list(server.ends)
            for number in range(toggles):
                how = "unpin" if number % 2 else "pin"
                server.post(f"tierline/files/{how}", {"path": "m00.py"}, number=f"m-t{number}")
                if number % 100 == 99:
                    server.until(lambda n=number: f"m-t{n}" in server.came, 120)
                    server.came.clear()
            pinned = [f["pin"] for f in server.ask("tierline/files/list")[1]["files"]]
            memory_toggled = resident_mb(server.process.pid)
            first = server.ask("tierline/state/get")[1]["sessionId"]
            for _ in range(sessions):
                server.ask("tierline/history/newSession")
                server.ask("tierline/history/loadSession", {"sessionId": first})
            state = server.ask("tierline/state/get")[1]
            memory_end = resident_mb(server.process.pid)
            server.until(lambda: server.seqs[-1:] >= [state["seq"]], 30)
            server.ask("shutdown")
            server.notify("exit")
            server.gone(10)
            status = server.process.returncode
    ranked = sorted(took)
    half = len(memory) // 2
    return {
        "seconds": seconds,
        "edits": made,
        "edits_per_second": round(made / seconds, 1),
        "turns": len(turns),
        "turns_ok": turns.count("ok"),
        "requests": len(took),
        "p50_ms": round(1000 * ranked[len(ranked) // 2], 1),
        "p99_ms": round(1000 * ranked[int(len(ranked) * 0.99)], 1),
        "max_ms": round(1000 * ranked[-1], 1),
        "events": len(server.seqs),
        "events_lost_or_out_of_order": sum(
            b != a + 1 for a, b in itertools.pairwise(server.seqs)
        ),
        "toggles": toggles,
        "pin_after_toggles": pinned,
        "sessions": sessions,
        "memory_mb": {
            "first_half": round(sum(memory[:half]) / max(1, half), 1),
            "second_half": round(sum(memory[half:]) / max(1, len(memory) - half), 1),
            "after_toggles": round(memory_toggled, 1),
            "at_the_end": round(memory_end, 1),
        },
        "load_average": round(os.getloadavg()[0], 1),
        "exit_status": status,
    }  # fmt: skip


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """20 seconds of edits, or 5 minutes; 10,000 toggles and 100 sessions in both."""
    return measure(300 if "--full" in arguments else 20, 10_000, 100)


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))
