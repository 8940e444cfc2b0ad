"""How much memory the server takes once it has counted and planned.

Starts ``tierline serve`` as an editor does, puts 200 source files with 500,000 tokens into the
context and asks for the budget, so that the vocabulary is loaded and a request is composed. Prints
the peak of the process in MB; the embedded model, which has a process of its own, is not started.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FILES, FILE_BYTES = 200, 5_900
LIMIT_MB = 120.0


class Connection:
    """Just enough of a client: requests one at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._number = 0

    def notify(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self._in.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._in.flush()

    def ask(self, method: str, params: Any) -> Any:
        self._number += 1
        self.notify(method, params, id=self._number)
        while True:
            length = 0
            while line := self._out.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                raise EOFError("the server has gone")
            message = json.loads(self._out.read(length))
            if message.get("id") == self._number and "method" not in message:
                return message["result"]


def peak_mb(pid: int) -> float:
    """The most that a process has had resident. Elsewhere than on Linux: what it has now."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        text = status.read_text(encoding="utf-8")
        line = next(part for part in text.splitlines() if part.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    shown = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True
    )
    return int(shown.stdout) / 1024


def main() -> dict[str, Any]:
    """Start, fill, ask, measure, stop."""
    words = random.Random(3)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        (root / "src").mkdir()
        for number in range(FILES):
            text = ""
            while len(text) < FILE_BYTES:
                text += f"value_{words.randrange(10_000)} = call({words.random():.6f})\n"
            (root / "src" / f"m{number:03}.py").write_text(text, encoding="utf-8")
        with subprocess.Popen(
            [sys.executable, "-m", "tierline", "serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                server = Connection(process)
                folder = {"uri": root.as_uri(), "name": "work"}
                settings = {"provider": {"name": "openai", "baseUrl": "http://127.0.0.1:9/v1"},
                            "context": {"maxInputTokens": 2_000_000}}  # fmt: skip
                server.ask(
                    "initialize",
                    {"processId": None, "capabilities": {}, "workspaceFolders": [folder],
                     "initializationOptions": {"settings": settings}},
                )  # fmt: skip
                server.notify("initialized", {})
                started = peak_mb(process.pid)
                added = server.ask("tierline/files/add", {"path": "src"})
                budget = server.ask("tierline/budget/get", {})
                peak = peak_mb(process.pid)
                server.ask("shutdown", None)
                server.notify("exit", None)
                process.wait(10)
            finally:
                process.kill()
    return {
        "files": len(added["files"]),
        "tokens": budget["used"],
        "after_initialize_mb": round(started, 1),
        "peak_mb": round(peak, 1),
        "limit_mb": LIMIT_MB,
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))
