"""A language client that writes its frames itself: a test decides about every byte and process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.recording import RECORDER
from support.warm import popen, started

SERVE = (sys.executable, "-m", "tierline", "serve")


def frame(message: dict[str, Any]) -> bytes:
    """One message as it goes over the wire."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def clean_environment(workspace: Path, **more: str) -> dict[str, str]:
    """The environment without keys, and with settings of nobody."""
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    own = {
        "XDG_CONFIG_HOME": str(workspace / ".config"),
        "TIERLINE_STATE_DIR": str(workspace.parent / ".state"),
        "TIERLINE_SYMBOLS_ENABLED": "false",
    }
    return kept | own | more


class Pipe:
    """One ``tierline serve`` on pipes. Standard error goes to a file beside the workspace."""

    forked = False

    def __init__(
        self, workspace: Path, env: dict[str, str] | None = None, command: tuple[str, ...] = SERVE
    ) -> None:
        self.workspace = workspace
        self._command = command
        self.messages: list[dict[str, Any]] = []
        self.junk: list[bytes] = []
        """What came over the wire and is no frame."""
        self._came = threading.Condition()
        self._number = 0
        self._errors = workspace.parent / f"stderr-{time.monotonic_ns()}.txt"
        self.started = time.monotonic()
        with self._errors.open("wb") as errors:
            start = popen if self.forked else started
            given = clean_environment(workspace, **(env or {}))
            self.process: Any = start(command, given, errors.fileno())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            if self._command != SERVE:  # calls that strace filtered fail without it, so nobody goes
                for pid in children(self.process.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            self.process.kill()
        self.process.wait(10)

    @property
    def stderr(self) -> str:
        """What the server has logged."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

    # --- sending ---------------------------------------------------------------------------------

    def write(self, data: bytes, chunk: int = 0) -> None:
        """Bytes as they are, ``chunk`` at a time if given."""
        stream = self.process.stdin
        assert stream is not None
        for start in range(0, len(data), chunk or max(1, len(data))):
            stream.write(data[start : start + (chunk or len(data))])
            stream.flush()

    def post(self, method: str, params: Any = None, number: Any = None) -> Any:
        """Send a request without waiting for the answer. Returns its id."""
        self._number += 1
        number = self._number if number is None else number
        self.write(frame({"id": number, "method": method, "params": params or {}}))
        return number

    def notify(self, method: str, params: Any = None) -> None:
        self.write(frame({"method": method, "params": params or {}}))

    def request(self, method: str, params: Any = None, seconds: float = 30) -> Any:
        """Send a request and wait. Returns the result; fails on an error."""
        answer = self.answer(self.post(method, params), seconds)
        assert "error" not in answer, answer
        return answer["result"]

    def initialize(self, process_id: int | None = None, **settings: Any) -> Any:
        """Shake hands."""
        result = self.request(
            "initialize",
            {
                "processId": process_id,
                "capabilities": {},
                "rootUri": self.workspace.as_uri(),
                "initializationOptions": {"settings": settings},
            },
        )
        self.notify("initialized")
        return result

    # --- receiving -------------------------------------------------------------------------------

    def answer(self, number: Any, seconds: float = 30) -> dict[str, Any]:
        """The answer to a request."""

        def find() -> Any:
            return next((m for m in self.messages if m.get("id") == number), None)

        return self.until(find, seconds)  # type: ignore[no-any-return]

    def until(self, found: Any, seconds: float = 30) -> Any:
        """Wait for messages until ``found`` gives something true."""
        with self._came:
            assert self._came.wait_for(found, seconds), f"nothing in {seconds} s: {self.stderr}"
            return found()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Bodies of one kind of event."""
        bodies = [m["params"]["body"] for m in self.messages if "body" in (m.get("params") or {})]
        return [body for body in bodies if body["kind"] == kind]

    def kill(self) -> None:
        """SIGKILL. Afterwards ``messages`` holds all that the server has said."""
        self.process.kill()
        self.process.wait(10)
        self._reader.join(10)

    def gone(self, seconds: float) -> float:
        """Wait for the end of the process. Returns how long that took."""
        before = time.monotonic()
        self.process.wait(seconds)
        return time.monotonic() - before

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            if not line.startswith(b"Content-Length: "):
                self._add(self.junk, line)
                continue
            length = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            self._add(self.messages, json.loads(stream.read(length)))

    def _add(self, to: list[Any], what: Any) -> None:
        with self._came:
            to.append(what)
            self._came.notify_all()


class ForkedPipe(Pipe):
    """For tests that neither measure the process nor care how it starts."""

    forked = True


def hook(folder: Path, code: str) -> dict[str, str]:
    """Run ``code`` in every Python of the server before its own, the way a site's hook does."""
    folder.mkdir()
    code = f"import runpy\nrunpy.run_path({str(RECORDER)!r})\n" + textwrap.dedent(code)
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return {"PYTHONPATH": str(folder)}


def history(workspace: Path) -> list[dict[str, Any]]:
    """All records of the log; fails if one is torn."""
    raw = (workspace / ".tierline" / "history.jsonl").read_bytes()
    assert raw.endswith(b"\n")
    return [json.loads(line) for line in raw.split(b"\n")[:-1]]


def children(pid: int) -> list[int]:
    """Process ids of all descendants (Linux)."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(b")")[2].split()[1])
    found = [child for child, parent in parents.items() if parent == pid]
    return found + [deeper for child in found for deeper in children(child)]
