"""Years of use: a history of many sessions, behind a server and the command line.

    python tests/benchmarks/years.py                 # 100 MB, 2,000 sessions
    python tests/benchmarks/years.py --full          # 5 GB, 100,000 sessions; 15 GB of disk
    python tests/benchmarks/years.py --folder DIR    # a folder that is kept; --warm: used again

Starts ``tierline serve`` as an editor does. First without the index, as after an update that needs
a new one: the time until the conversation is there and a message is written, and until the list of
sessions comes while the index is built. Then with it: open, list, search, resume, read, export,
rename, delete, statistics, mentions. Beside each of them another request is asked over and over;
its longest wait says how long the event loop was held. At last the command line, with its own peak
of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.symbols_scale import Server, peak_mb, percentile
from support.years import write
from tierline.disk import ownership
from tierline.store.index import Index
from tierline.store.log import HistoryLog

COMMANDS = {
    "sessions": ["sessions"],
    "sessions --json --limit 100000": ["sessions", "--json", "--limit", "100000"],
    "query": ["query", "SELECT count(*) FROM sessions"],
    "stats": ["stats"],
    "stats --turns": ["stats", "--turns"],
    "gc --dry-run": ["gc", "--dry-run"],
    "add": ["add", "user", "One more message."],
    "doctor": ["doctor"],
}


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Write the history, ask the server, ask the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="5 GB and 100,000 sessions")
    parser.add_argument("--megabytes", type=float, default=0)
    parser.add_argument("--sessions", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--warm", action="store_true", help="take what the folder holds")
    options = parser.parse_args(list(arguments))
    megabytes = options.megabytes or (5000 if options.full else 100)
    sessions = options.sessions or (100_000 if options.full else 2000)
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        return _measured(options.folder.resolve(), sessions, megabytes, warm=options.warm)
    with tempfile.TemporaryDirectory() as name:
        return _measured(Path(name).resolve(), sessions, megabytes)


def table(figures: Mapping[str, Any]) -> str:
    """How long each took, and how long others waited beside it."""
    rows = [
        "| what | median | worst | longest wait of another request beside it |",
        "| --- | ---: | ---: | ---: |",
    ]
    for what, t in figures["server"].items():
        rows.append(
            f"| {what} | {t['median']:,} ms | {t['worst']:,} ms | {t['beside_worst']:,} ms |"
        )
    rows += ["", "| command | time | memory (peak) |", "| --- | ---: | ---: |"]
    for what, t in figures["commands"].items():
        rows.append(f"| `tierline {what}` | {t['seconds']:,} s | {t['peak_mb']:,} MB |")
    return "\n".join(rows)


class Years:
    """A server on the history, and what its requests took."""

    def __init__(self, root: Path) -> None:
        self.server = Server(root)
        self.times: dict[str, dict[str, float]] = {}

    def take(self, what: str, asks: Sequence[tuple[str, Any]]) -> list[Any]:
        """Ask one after the other, each timed, while another request is asked all the time."""
        with self._beside() as waits:
            answers = [self.server.ask(f"tierline/{method}", of, 3600) for method, of in asks]
        values = sorted(ms for _, ms in answers)
        self.times[what] = {
            "median": round(percentile(values, 0.5), 1),
            "worst": round(values[-1], 1),
            "beside_p99": round(percentile(waits, 0.99), 1) if waits else 0.0,
            "beside_worst": round(max(waits, default=0.0), 1),
        }
        print(what, self.times[what], file=sys.stderr, flush=True)
        assert all(answer is not None for answer, _ in answers), what
        return [answer for answer, _ in answers]

    @contextmanager
    def _beside(self) -> Iterator[list[float]]:
        waits: list[float] = []
        ended = threading.Event()

        def ask() -> None:
            while not ended.wait(0.01):
                waits.append(self.server.ask("tierline/symbols/status", {}, 600)[1])

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.1)
        try:
            yield waits
        finally:
            ended.set()
            thread.join()


def _measured(
    folder: Path, sessions: int, megabytes: float, *, warm: bool = False
) -> dict[str, Any]:
    root = folder / "work"
    home = root / ".tierline"
    home.mkdir(parents=True, exist_ok=True)
    os.environ["TIERLINE_STATE_DIR"] = str(folder / "state")
    figures: dict[str, Any] = {"server": {}}
    if not warm:
        for path in home.glob("*"):
            path.unlink()
        began = time.perf_counter()
        made = write(home / "history.jsonl", sessions=sessions, megabytes=megabytes)
        figures |= {
            "sessions": sessions,
            "log_mb": round(made.bytes / 1e6),
            "records": made.records,
            "written_in_seconds": round(time.perf_counter() - began, 1),
        }
        ownership.claim(home)
        figures["server"] = _cold(root)
    figures["index_mb"] = round((home / "index.sqlite3").stat().st_size / 1e6)
    answers, figures["server_peak_mb"] = _warm(root)
    figures["server"] |= answers
    figures["commands"] = {what: _command(root, words) for what, words in COMMANDS.items()}
    figures["loop_held_ms_worst"] = max(t["beside_worst"] for t in figures["server"].values())
    return figures


def _cold(root: Path) -> dict[str, Any]:
    """Without the index."""
    began = time.perf_counter()
    years = Years(root)
    try:
        years.take("open without the index", [("state/get", {})])
        whole = 1000 * (time.perf_counter() - began)
        years.times["open without the index"] |= {"median": round(whole), "worst": round(whole)}
        years.take("prompt without the index", [("chat/send", {"text": "Is anybody there?"})])
        years.take("list while the index is built", [("history/listSessions", {"limit": 50})])
        years.take("all of the index", [("history/listSessions", {"limit": 50})])
        while _behind(root):
            years.server.ask("tierline/history/listSessions", {"limit": 50}, 3600)
            time.sleep(0.2)
        years.times["all of the index"] |= {
            "worst": round(1000 * (time.perf_counter() - began)),
            "median": round(1000 * (time.perf_counter() - began)),
        }
        years.times["all of the index"]["peak_mb"] = round(peak_mb(years.server.process.pid))
        return years.times
    finally:
        years.server.process.kill()


def _index(root: Path) -> Index:
    home = root / ".tierline"
    return Index(HistoryLog(home / "history.jsonl"), home / "index.sqlite3")


def _behind(root: Path) -> int:
    with closing(_index(root)) as index:
        return index.behind()


def _warm(root: Path) -> tuple[dict[str, Any], int]:
    with closing(_index(root)) as index:
        alive = [one.session_id for one in index.sessions()]
    opened = []
    for _ in range(3):
        began = time.perf_counter()
        years = Years(root)
        years.server.ask("tierline/state/get", {}, 600)
        opened.append(1000 * (time.perf_counter() - began))
        if len(opened) < 3:
            years.server.process.kill()
    some = alive[:: max(1, len(alive) // 20)]
    some_ids = [{"sessionId": s} for s in some]
    try:
        years.take("list 50", [("history/listSessions", {"limit": 50})] * 5)
        years.take("list all", [("history/listSessions", {"limit": 0})] * 2)
        words = ("prompt", "Renamed 47", "ab cd", "zzzznowhere", "tnoi", "edbrge", "lwfptyrrmtr")
        years.take("search", [("history/search", {"query": w, "limit": 50}) for w in words])
        years.take("read", [("history/getSession", of) for of in some_ids])
        years.take("resume", [("history/loadSession", of) for of in some_ids])
        kinds = ("markdown", "json", "html")
        exports = [("history/export", of | {"format": k}) for of in some_ids[:5] for k in kinds]
        years.take("export", exports)
        renames = [("history/renameSession", of | {"title": "Years"}) for of in some_ids]
        years.take("rename", renames)
        years.take("prompt", [("chat/send", {"text": f"Number {n}?"}) for n in range(5)])
        years.take("mention", [("mention/complete", {"query": f"session:{w}"}) for w in words])
        years.take("costs of a session", [("stats/get", of) for of in some_ids[:5]])
        years.take("costs of all", [("stats/get", {"all": True})])
        years.take("turns", [("stats/turns", {"limit": 50})])
        years.take("delete", [("history/deleteSession", of) for of in some_ids[:10]])
        peak = peak_mb(years.server.process.pid)
    finally:
        years.server.process.kill()
    first = {"median": round(sorted(opened)[1], 1), "worst": round(max(opened), 1),
             "beside_p99": 0.0, "beside_worst": 0.0}  # fmt: skip
    return {"open": first} | years.times, round(peak)


def _command(root: Path, words: Sequence[str]) -> dict[str, Any]:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _WRAPPED, *words, "--root", str(root)],
        capture_output=True, text=True, check=False, timeout=3600,
    )  # fmt: skip
    found = {
        "seconds": round(time.perf_counter() - began, 2),
        "peak_mb": round(int(done.stderr.rsplit("peak=", 1)[-1] or 0) / 1024),
        "status": done.returncode,
    }
    print(words, found, done.stderr[-300:] if done.returncode else "", file=sys.stderr, flush=True)
    return found


_WRAPPED = """
import atexit, pathlib, sys
from tierline.__main__ import main

def peak():
    # Not getrusage: what the parent has used counts in it.
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    print("peak=" + next(x.split()[1] for x in lines if x.startswith("VmHWM")), file=sys.stderr)

atexit.register(peak)
sys.argv[0] = "tierline"
sys.exit(main())
"""


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:]), indent=1))
