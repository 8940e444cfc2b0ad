"""Lines that no chat panel should send: the agent answers, goes on, and prints only messages.

``TIERLINE_FUZZ_SECONDS`` is the time of the random part (120 with ``make fuzz``).
"""

from __future__ import annotations

import json
import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lsp.conftest import environment, model, workspace
from wire.servers import WireServer

__all__ = ["model", "workspace"]

SECONDS = float(os.environ.get("TIERLINE_FUZZ_SECONDS", "5"))
SEED = int(os.environ.get("TIERLINE_FUZZ_SEED", "22"))
METHODS = (
    "initialize",
    "authenticate",
    "session/new",
    "session/load",
    "session/list",
    "session/resume",
    "session/close",
    "session/fork",
    "session/prompt",
    "session/cancel",
    "session/set_mode",
    "session/set_config_option",
    "session/nothing",
    "_ours/nothing",
)


class Line:
    """The agent's two pipes, line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.junk: list[bytes] = []
        self.other: list[Any] = []
        self._answers: queue.Queue[Any] = queue.Queue()
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.junk.append(line)
                continue
            (self._answers.put if "method" not in message else self.other.append)(message)

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def post(self, method: Any, params: Any = None, number: Any = None) -> Any:
        self._number += 1
        number = f"n{self._number}" if number is None else number
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.write(json.dumps(message).encode() + b"\n")
        return number

    def answer(self, number: Any, seconds: float = 60) -> Any:
        """The answer to one request; those to others are passed over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = self._answers.get(timeout=seconds)
            if message.get("id") == number:
                return message
        raise TimeoutError(number)

    def works(self) -> None:
        """A good request is answered."""
        found = self.answer(self.post("session/list", {"cwd": str(self.workspace)}))
        assert "sessions" in found["result"], found
        assert self.process.poll() is None
        assert self.junk == []

    workspace: Path = Path()


@contextmanager
def agent(workspace: Path, model: WireServer) -> Iterator[Line]:
    env = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    env |= environment(model) | {
        "XDG_CONFIG_HOME": str(workspace / ".config"),
        "TIERLINE_DATA_DIR": str(workspace / ".data"),
        "TIERLINE_STATE_DIR": str(workspace.parent / ".state"),
        "TIERLINE_SYMBOLS_ENABLED": "false",
    }
    with (workspace.parent / "stderr").open("w+b") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tierline", "acp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=env,
        )
        line = Line(process)
        line.workspace = workspace
        try:
            yield line
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(20) == 0, "it leaves with its client"
        finally:
            process.kill()
            process.wait()
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace")
        assert "Task exception was never retrieved" not in said, said[-3000:]


BAD_LINES = {
    "no JSON": b"{not json\n",
    "empty": b"\n",
    "blanks": b"   \t \n",
    "half a character": b'{"jsonrpc":"2.0","method":"x","params":"\xc3"}\n',
    "NUL": b"\0" * 20 + b"\n",
    "a list": b"[]\n",
    "a batch": b'[{"jsonrpc":"2.0","id":1,"method":"session/list"}]\n',
    "a number": b"7\n",
    "null": b"null\n",
    "only a version": b'{"jsonrpc": "2.0"}\n',
    "method is a number": b'{"jsonrpc": "2.0", "id": 901, "method": 7}\n',
    "method is null": b'{"jsonrpc": "2.0", "id": 902, "method": null}\n',
    "id is a list": b'{"jsonrpc": "2.0", "id": [1], "method": "session/list"}\n',
    "id is an object": b'{"jsonrpc": "2.0", "id": {}, "method": "session/list"}\n',
    "an answer to nobody": b'{"jsonrpc": "2.0", "id": 4711, "result": {}}\n',
    "an error to nobody": b'{"jsonrpc": "2.0", "id": 4712, "error": 5}\n',
    "deep": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "a frame of LSP": b"Content-Length: 2\r\n\r\n{}\n",
    "cancel with nothing": b'{"jsonrpc": "2.0", "method": "session/cancel"}\n',
    "cancel of nobody": b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}\n',
    "a large number": b'{"jsonrpc": "2.0", "id": 1e400, "method": "session/list"}\n',
}
HELLO = {"protocolVersion": 1, "clientCapabilities": {}}


def test_lines_that_are_none(workspace: Path, model: WireServer) -> None:
    with agent(workspace, model) as line:
        line.answer(line.post("initialize", HELLO))
        for name, data in BAD_LINES.items():
            line.write(data)
            try:
                line.works()
            except (AssertionError, BrokenPipeError, queue.Empty) as error:
                raise AssertionError(f"after {name}: {error}") from error


WRONG: tuple[Any, ...] = (None, True, 7, "", "x", [], [1], {}, {"sessionId": 1}, {"cwd": None})


def test_wrong_parameters_of_every_method_are_answered_with_an_error(
    workspace: Path, model: WireServer
) -> None:
    with agent(workspace, model) as line:
        line.answer(line.post("initialize", HELLO))
        for method in METHODS:
            for wrong in WRONG:
                found = line.answer(line.post(method, wrong))
                if "error" in found:
                    assert found["error"]["message"], found
                    assert "Traceback" not in json.dumps(found), found
        line.works()
    assert model.bodies == []


def test_a_huge_line_is_read_or_refused_and_the_next_one_is_answered(
    workspace: Path, model: WireServer
) -> None:
    with agent(workspace, model) as line:
        line.answer(line.post("initialize", HELLO))
        number = line.post("session/nothing", {"x": "y" * 10_000_000})
        assert line.answer(number)["error"]["code"] == -32601
        line.write(b'{"jsonrpc":"2.0","id":"big","method":"x","params":"' + b"z" * 70_000_000)
        line.write(b'"}\n')
        line.works()


def _any(rng: random.Random, session: str, folder: str, depth: int = 0) -> Any:
    kinds: list[Any] = [
        None,
        rng.random() < 0.5,
        rng.randint(-(10**12), 10**12),
        rng.choice(["", "x", session, folder, "\ud800", "/help", "a" * 5000, "../../etc"]),
    ]
    if depth < 3:
        names = [
            "sessionId",
            "cwd",
            "prompt",
            "type",
            "text",
            "uri",
            "mcpServers",
            "modeId",
            "data",
        ]
        kinds.append([_any(rng, session, folder, depth + 1) for _ in range(rng.randint(0, 3))])
        kinds.append(
            {
                name: session
                if name == "sessionId" and rng.random() < 0.8
                else _any(rng, session, folder, depth + 1)
                for name in rng.sample(names, rng.randint(0, 5))
            }
        )
    return rng.choice(kinds[-2:] if depth == 0 else kinds)


def test_random_requests_in_any_order(workspace: Path, model: WireServer) -> None:
    rng = random.Random(SEED)
    with agent(workspace, model) as line:
        line.answer(line.post("initialize", HELLO))
        made = line.answer(line.post("session/new", {"cwd": str(workspace), "mcpServers": []}))
        session = made["result"]["sessionId"]
        deadline, sent = time.monotonic() + SECONDS, 0
        while time.monotonic() < deadline:
            for _ in range(rng.randint(1, 5)):
                line.post(rng.choice(METHODS), _any(rng, session, str(workspace)))
                sent += 1
            if rng.random() < 0.2:
                line.write(rng.choice(list(BAD_LINES.values())))
            line.works()
        assert sent > 10
