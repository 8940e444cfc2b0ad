"""A busy editor: 50 open documents, 20 edits a second, a chat beside them.

Measures how long a server over stdio takes to answer requests meanwhile, whether every event came,
once and in order; then 10,000 toggles of a pin and 100 sessions, and the events of an hour (edits,
saves, documents opened and closed, requests, turns) as fast as the server takes them, to see
whether memory grows. The provider is a script on the loopback interface.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsp.pipe import Pipe, children
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

DOCUMENTS, EDITS_PER_SECOND, LINES, TURNS_PER_MINUTE = 50, 20, 120, 2
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


def project(root: Path) -> list[str]:
    """A folder of small modules. Returns their URIs."""
    root.mkdir()
    uris = []
    for number in range(DOCUMENTS):
        path = root / f"m{number:02}.py"
        path.write_text("".join(f"v{i} = {i}\n" for i in range(LINES)), encoding="utf-8")
        uris.append(path.as_uri())
    return uris


def environment(model: WireServer) -> dict[str, str]:
    return {
        "TIERLINE_PROVIDER_NAME": "openai",
        "TIERLINE_PROVIDER_BASE_URL": model.url,
        "TIERLINE_PROVIDER_MODEL": "gpt-5",
        "OPENAI_API_KEY": "nobody",
        "TIERLINE_SYMBOLS_ENABLED": "true",
    }


class Writer:
    """The programmer: changes documents, one line at a time."""

    def __init__(self, server: Meter, uris: list[str], dice: random.Random) -> None:
        self.server, self.uris, self.dice = server, uris, dice
        self.versions = itertools.count(2)
        self.made = 0

    def open(self, uri: str) -> None:
        text = "".join(f"v{i} = {i}\n" for i in range(LINES))
        document = {"uri": uri, "languageId": "python", "version": next(self.versions)}
        self.server.notify("textDocument/didOpen", {"textDocument": document | {"text": text}})

    def close(self, uri: str) -> None:
        self.server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def edit(self) -> None:
        """Another letter at the beginning of a random line, so that documents keep their size."""
        line, number = self.dice.randrange(LINES), next(self.versions)
        start, end = {"line": line, "character": 0}, {"line": line, "character": 1}
        letter = chr(ord("a") + number % 26)
        self.made += 1
        self.server.notify("textDocument/didChange", {
            "textDocument": {"uri": self.dice.choice(self.uris), "version": number},
            "contentChanges": [{"range": {"start": start, "end": end}, "text": letter}],
        })  # fmt: skip

    def save(self) -> None:
        uri = self.dice.choice(self.uris)
        self.server.notify("textDocument/didSave", {"textDocument": {"uri": uri}})


def beside_edits(server: Meter, writer: Writer, seconds: float) -> list[float]:
    """Seconds that requests took beside edits in their real rhythm and a chat."""
    over = threading.Event()

    def edit() -> None:
        due = time.monotonic()
        while not over.is_set():
            writer.edit()
            due += 1 / EDITS_PER_SECOND
            time.sleep(max(0.0, due - time.monotonic()))

    def chat() -> None:
        while not over.is_set():
            turn(server)
            over.wait(2.0)

    workers = [threading.Thread(target=edit), threading.Thread(target=chat)]
    for worker in workers:
        worker.start()
    took: list[float] = []
    began = time.monotonic()
    for method in itertools.cycle(ASKED):
        if time.monotonic() - began > seconds:
            break
        took.append(server.ask(method)[0])
        time.sleep(0.05)
    over.set()
    for worker in workers:
        worker.join()
    return sorted(took)


def turn(server: Meter) -> None:
    """A prompt, and its reply to the end."""
    count = len(server.ends)
    server.ask("tierline/chat/send", {"text": f"Question {count} about m00.py"})
    server.until(lambda: len(server.ends) > count, 120)


def toggle(server: Meter, toggles: int) -> list[str]:
    """Pin and unpin one file. Returns the pins at the end."""
    for number in range(toggles):
        how = "unpin" if number % 2 else "pin"
        server.post(f"tierline/files/{how}", {"path": "m00.py"}, number=f"m-t{number}")
        if number % 100 == 99:
            server.until(lambda n=number: f"m-t{n}" in server.came, 120)
            server.came.clear()
    return [f["pin"] for f in server.ask("tierline/files/list")[1]["files"]]


def minutes_of_use(server: Meter, writer: Writer, minutes: int) -> list[float]:
    """The events of so many minutes without their pauses. Returns the server's memory (MB) after
    each, and its processes' together in the last place.
    """
    memory = []
    for number in range(minutes):
        for second in range(60):
            for _ in range(EDITS_PER_SECOND):
                writer.edit()
            server.ask(ASKED[second % len(ASKED)])
        uri = writer.uris[number % len(writer.uris)]
        writer.save()
        writer.close(uri)
        writer.open(uri)
        for how in ("pin", "unpin"):
            server.ask(f"tierline/files/{how}", {"path": "m00.py"})
        for _ in range(TURNS_PER_MINUTE):
            turn(server)
        memory.append(resident_mb(server.process.pid))
    return memory


def measure(
    seconds: float, toggles: int, sessions: int, minutes: int = 0, seed: int = 4
) -> dict[str, Any]:
    """The whole run. ``seconds``: of the edits and the chat in their real rhythm; ``minutes``: of
    use whose pauses are left out.
    """
    replies = [o_reply(*(f"word{i} " for i in range(40)))]
    with tempfile.TemporaryDirectory() as name, wire_server("openai", replies) as model:
        root = Path(name).resolve() / "work"
        uris = project(root)
        with Meter(root, env=environment(model)) as server:
            server.initialize()
            writer = Writer(server, uris, random.Random(seed))
            for uri in uris:
                writer.open(uri)
            server.ask("tierline/files/add", {"path": "m00.py"})
            server.ask("tierline/budget/get")
            took = beside_edits(server, writer, seconds)
            made, turns = writer.made, len(server.ends)
            model.requests.clear()
            memory = [resident_mb(server.process.pid)]
            pinned = toggle(server, toggles)
            memory.append(resident_mb(server.process.pid))
            first = server.ask("tierline/state/get")[1]["sessionId"]
            for _ in range(sessions):
                server.ask("tierline/history/newSession")
                server.ask("tierline/history/loadSession", {"sessionId": first})
            memory.append(resident_mb(server.process.pid))
            began = time.monotonic()
            hour = minutes_of_use(server, writer, minutes)
            used = time.monotonic() - began
            processes = [server.process.pid, *children(server.process.pid)]
            together = sum(map(resident_mb, processes))
            state = server.ask("tierline/state/get")[1]
            server.until(lambda: server.seqs[-1:] >= [state["seq"]], 30)
            server.ask("shutdown")
            server.notify("exit")
            server.gone(10)
            status = server.process.returncode
    return {
        "seconds": seconds,
        "edits": made,
        "edits_per_second": round(made / seconds, 1),
        "turns": turns,
        "turns_of_all": len(server.ends),
        "turns_ok": server.ends.count("ok"),
        "requests": len(took),
        "p50_ms": round(1000 * took[len(took) // 2], 1),
        "p99_ms": round(1000 * took[int(len(took) * 0.99)], 1),
        "max_ms": round(1000 * took[-1], 1),
        "events": len(server.seqs),
        "events_lost_or_out_of_order": sum(
            b != a + 1 for a, b in itertools.pairwise(server.seqs)
        ),
        "toggles": toggles,
        "pin_after_toggles": pinned,
        "sessions": sessions,
        "memory_mb": {
            "after_edits": round(memory[0], 1),
            "after_toggles": round(memory[1], 1),
            "after_sessions": round(memory[2], 1),
            "all_processes_at_the_end": round(together, 1),
        },
        "hour": in_use(hour, writer.made - made, used) if hour else {},
        "load_average": round(os.getloadavg()[0], 1),
        "exit_status": status,
    }  # fmt: skip


def in_use(memory: list[float], edits: int, seconds: float) -> dict[str, Any]:
    """Growth after the first sixth, in which caches fill: means of a sixth each, so that one
    collection of garbage more or less does not decide.
    """
    part = max(1, len(memory) // 6)
    warm, end = (sum(p) / len(p) for p in (memory[part : 2 * part] or memory, memory[-part:]))
    return {
        "minutes": len(memory),
        "edits": edits,
        "took_seconds": round(seconds, 1),
        "memory_warm_mb": round(warm, 1),
        "memory_end_mb": round(end, 1),
        "growth_percent": round(100 * (end - warm) / warm, 1),
        "memory_by_minute_mb": [round(m, 1) for m in memory[:: max(1, part // 2)]],
    }


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """20 seconds of edits, or 5 minutes; 10,000 toggles, 100 sessions and an hour's events."""
    return measure(300 if "--full" in arguments else 20, 10_000, 100, 60)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:]), indent=1))
