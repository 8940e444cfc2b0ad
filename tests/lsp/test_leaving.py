"""The editor is killed: the server is gone within seconds, and every process that it had started.

Issue 10, item 4, "the server exits with its parent always". The editor here is a small program that
starts the server, speaks to it over pipes, and gets SIGKILL while the server is busy with one thing
or another: with its process id in ``initialize``; without (then only the end of standard input
tells); or with it while somebody else holds the pipe open (then only the process id tells).
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import environment
from lsp.pipe import SERVE, Pipe, children, clean_environment
from tierline.embeddings.embedder import find_model as find_embeddings
from tierline.lsp.parent import alive
from tierline.providers.base import ProviderError
from tierline.providers.gguf import find_model
from wire.agents import Use, calls
from wire.scripts import o_reply, o_texts, then
from wire.servers import Hold, wire_server

GONE_SECONDS = 20.0
"""On a very busy machine, the whole start included; at rest it is one or two."""
LATEST_SECONDS = 60.0
"""By then what is waited for has happened."""

EDITOR = """
    import json, os, subprocess, sys, threading
    serve, opening, how = json.load(open(sys.argv[1]))
    server = subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    def send(message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        server.stdin.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
        server.stdin.flush()
    for message in opening:
        if how != "without id" and message.get("method") == "initialize":
            message["params"]["processId"] = os.getpid()
        send(message)
    if how == "held open":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"],
                         pass_fds=[server.stdin.fileno()], stdout=subprocess.DEVNULL)
    print(server.pid, flush=True)
    while line := server.stdout.readline():
        size = int(line.split(b":")[1])
        while server.stdout.readline().strip():
            pass
        body = json.loads(server.stdout.read(size))
        if body.get("method") == "window/showMessageRequest":
            send({"id": body["id"], "result": body["params"]["actions"][0]})
            continue
        event = (body.get("params") or {}).get("body") or {}
        if event.get("kind") == "consentAsked":
            answer = {"id": event["consent"]["id"], "answer": "once"}
            send({"id": 99, "method": "tierline/consent/answer", "params": answer})
        if "kind" in event:
            print(event["kind"], flush=True)
"""


class Scene:
    """One editor with its server, and what both are at."""

    def __init__(self, workspace: Path, how: str, env: dict[str, str], **settings: Any) -> None:
        self.workspace, self.how = workspace, how
        self.env = clean_environment(workspace, **env)
        params = {
            "processId": None,
            "capabilities": {},
            "rootUri": workspace.as_uri(),
            "initializationOptions": {"settings": settings},
        }
        self.opening: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": params},
            {"method": "initialized", "params": {}},
        ]

    def post(self, method: str, **params: Any) -> None:
        number = len(self.opening)
        self.opening.append({"id": number, "method": method, "params": params})

    def play(self, event: str = "", until: Callable[[int], bool] | None = None) -> float:
        """Start, wait for an event and for a state of affairs (given the server's process id), kill
        the editor. Returns how long the longest-lived process lived on.
        """
        script = self.workspace.parent / "opening.json"
        script.write_text(json.dumps([SERVE, self.opening, self.how]), encoding="utf-8")
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(EDITOR), str(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.env,
            text=True,
        ) as editor:
            late = threading.Timer(LATEST_SECONDS, editor.kill)
            late.start()
            try:
                return self._watch(editor, event, until)
            finally:
                late.cancel()
                editor.kill()

    def _watch(
        self, editor: subprocess.Popen[str], event: str, until: Callable[[int], bool] | None
    ) -> float:
        assert editor.stdout is not None
        server = int(editor.stdout.readline())
        if event:
            assert any(line.strip() == event for line in editor.stdout), f"never {event}"
        end = time.monotonic() + LATEST_SECONDS
        while until is not None and not until(server):
            assert time.monotonic() < end and alive(server), "it never came to that"
            time.sleep(0.02)
        family = [server, *children(server)]
        editor.kill()
        began = time.monotonic()
        while left := [pid for pid in family if alive(pid)]:
            assert time.monotonic() < began + GONE_SECONDS, [what(pid) for pid in left]
            time.sleep(0.02)
        return time.monotonic() - began


def what(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
    except OSError:
        return f"{pid} (just gone)"


def has_child(name: str) -> Callable[[int], bool]:
    return lambda server: any(name in what(pid) for pid in children(server))


def lasted(seconds: float) -> Callable[[int], bool]:
    end = time.monotonic() + seconds
    return lambda _: time.monotonic() >= end


pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
    pytest.mark.parametrize("how", ["with id", "without id", "held open"]),
]


def test_while_it_starts(workspace: Path, how: str) -> None:
    for delay in (0.0, 0.1, 0.3, 0.6):
        Scene(workspace, how, {}).play(until=lasted(delay))


def test_while_nothing_happens(workspace: Path, how: str) -> None:
    scene = Scene(workspace, how, {"TIERLINE_SYMBOLS_ENABLED": "true"})
    scene.play("symbolsChanged", has_child("symbols.worker"))


def test_while_the_symbols_are_read(workspace: Path, how: str) -> None:
    for number in range(1500):
        path = workspace / f"src/p{number // 50}/m{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"def f{i}(x):\n    return g{i}(x)\n\n" for i in range(60)))
    scene = Scene(workspace, how, {"TIERLINE_SYMBOLS_ENABLED": "true"})
    scene.play(until=has_child("symbols.worker"))


def test_while_a_reply_streams(workspace: Path, how: str) -> None:
    with wire_server("openai", [then(o_texts("Half"), Hold())]) as model:
        scene = Scene(workspace, how, environment(model))
        scene.post("tierline/chat/send", text="Go.")
        scene.play("textDelta")
        with Pipe(workspace, env=environment(model)) as pipe:
            pipe.initialize()
            reply = pipe.request("tierline/state/get")["messages"][-1]
            assert (reply["text"], reply["status"]) == ("Half", "interrupted")


@pytest.mark.parametrize("stubborn", [False, True], ids=["plain", "stubborn"])
def test_while_a_command_runs(workspace: Path, how: str, stubborn: bool) -> None:
    """Also one that takes no notice of being asked to end, and what it has started itself."""
    code = "import signal, subprocess, sys, time\n"
    code += "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" * stubborn
    code += "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
    code += "open('begun', 'w').close()\ntime.sleep(300)"
    use = Use("run_command", {"argv": [sys.executable, "-c", code]}, "c1")
    with wire_server("openai", [calls("openai", use), o_reply("Done.")]) as model:
        scene = Scene(workspace, how, environment(model))
        scene.post("tierline/chat/send", text="Run it.")
        scene.play(until=lambda _: (workspace / "begun").exists())


@pytest.mark.model
@pytest.mark.parametrize("when", ["loading", "reading", "writing"])
def test_while_the_embedded_model_works(workspace: Path, how: str, when: str) -> None:
    try:
        find_model()
    except ProviderError as error:
        pytest.skip(f"{error.message} {error.advice}")
    scene = Scene(workspace, how, {"TIERLINE_PROVIDER_NAME": "local"})
    long = "".join(f"{i} bottles of {i * 37 % 101} kinds. " for i in range(200))
    text = "Count from one to five hundred." if when != "reading" else f"Sum up: {long}"
    scene.post("tierline/chat/send", text=text)
    if when == "writing":
        scene.play("textDelta", has_child("local_server"))
        return
    seen: list[float] = []

    def there(server: int) -> bool:
        if has_child("local_server")(server):
            seen.append(time.monotonic())
        return bool(seen) and seen[-1] - seen[0] > (0.2 if when == "loading" else 3.0)

    scene.play(until=there)


@pytest.mark.model
def test_while_sentences_are_embedded(workspace: Path, how: str) -> None:
    if find_embeddings("") is None:
        pytest.skip("no model for sentences is installed")
    long = "The parser of the query language reads tokens, and nobody knows why. " * 40
    replies = [o_reply(*(f"{i}: {long}" for i in range(30)))]
    with wire_server("openai", replies) as model:
        scene = Scene(workspace, how, environment(model), history={"strategy": "ranked"})
        for number in range(6):
            scene.post("tierline/chat/send", text=f"Why {number}? {long}")
        scene.play(until=has_child("embeddings.worker"))
