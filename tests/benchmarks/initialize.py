"""How long an editor waits for ``initialize`` after it started the server.

    python tests/benchmarks/initialize.py            # median of 15 starts
    python tests/benchmarks/initialize.py --runs 5

Wall-clock milliseconds from the creation of the process to the last byte of the answer, with a warm
file cache. The limit of 400 ms is for one core that does nothing else. ``eof`` is how
long the process needs to leave once its standard input closes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIMIT_MS = 400.0
RUNS = 15


def start_once(folder: Path) -> tuple[float, float, float]:
    """One start. Returns (initialize, its processor time, eof) in milliseconds."""
    params: dict[str, Any] = {"processId": None, "capabilities": {}, "rootUri": folder.as_uri()}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    before = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "tierline", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        process.stdin.flush()
        length = 0
        while line := process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        answer = json.loads(process.stdout.read(length))
        answered = time.perf_counter()
        used = cpu_ms(process.pid)
        assert answer["result"]["capabilities"]
        process.stdin.close()
        process.wait(10)
        left = time.perf_counter()
    return 1000 * (answered - before), used, 1000 * (left - answered)


def cpu_ms(pid: int) -> float:
    """What a process has used of the processor, in milliseconds; 0 where there is no ``/proc``."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(runs: int = RUNS) -> dict[str, Any]:
    """Start the server ``runs`` times after one that warms the caches."""
    with tempfile.TemporaryDirectory() as folder:
        start_once(Path(folder))
        found = [start_once(Path(folder)) for _ in range(runs)]
    answered, used, left = zip(*found, strict=True)
    median = statistics.median(answered)
    return {
        "runs": runs,
        "initialize_ms": {
            "median": round(median, 1),
            "min": round(min(answered), 1),
            "max": round(max(answered), 1),
        },
        "cpu_ms": {"median": round(statistics.median(used), 1), "max": round(max(used), 1)},
        "eof_ms": {"median": round(statistics.median(left), 1), "max": round(max(left), 1)},
        "limit_ms": LIMIT_MS,
        "ok": median <= LIMIT_MS,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    result = main(parser.parse_args().runs)
    print(json.dumps(result, indent=1))
    sys.exit(0 if result["ok"] else 1)
