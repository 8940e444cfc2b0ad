"""Nothing leaves the machine but the user's request to the chosen provider. Issue 10, item 5.

A whole server is used as a person uses it, while every connection of it and of the processes that
it starts is recorded in three ways that do not depend on each other: an audit hook inside each
Python (addresses, and names that are looked up), strace around the whole family where it may run
(native code too), and the kernel's own tables of sockets, read again and again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lsp.conftest import environment
from lsp.long_session import use
from lsp.pipe import SERVE, Pipe, children, hook
from lsp.project import make_project
from support.recording import UNRECORDED
from tierline.embeddings.embedder import find_model
from tierline.providers.base import ProviderError
from tierline.providers.gguf import find_model as find_language_model
from wire.scripts import a_reply, o_reply
from wire.servers import Kind, wire_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="read the Linux way")

RECORDER = """
    import json, os, sys

    def record(event, arguments):
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            said = arguments[1]
        elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
            said = arguments[0]
        elif event == "socket.bind":
            said = arguments[1]
        else:
            return
        line = json.dumps([event, os.getpid(), said], default=repr) + "\\n"
        with open(os.environ["RECORD_TO"], "a") as file:
            file.write(line)

    sys.addaudithook(record)
    with open(os.environ["RECORD_TO"], "a") as file:
        file.write(json.dumps(["start", os.getpid(), sys.orig_argv]) + "\\n")
"""
NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
CONNECT = re.compile(
    r"(?:connect|sendto|sendmsg)\(.*sin6?_port=htons\((\d+)\).*?"
    r"(?:inet_addr\(\"([^\"]+)\"\)|inet_pton\(AF_INET6, \"([^\"]+)\")"
)


def strace_works() -> bool:
    """Some systems forbid tracing."""
    tool = shutil.which("strace")
    return tool is not None and (
        subprocess.run(
            [tool, "-f", "--seccomp-bpf", "-o", os.devnull, "true"],
            check=False, capture_output=True,
        )
    ).returncode == 0  # fmt: skip


def remote_addresses(pids: list[int]) -> set[tuple[str, int]]:
    """(address in hexadecimal, port) of the far ends of the processes' sockets."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    inodes.add(str(entry.readlink()))
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                address, _, port = fields[2].partition(":")
                if f"socket:[{fields[9]}]" in inodes and int(port, 16):
                    found.add((address, int(port, 16)))
    return found


class Watch:
    """What a server and its children said to whom."""

    def __init__(self, folder: Path) -> None:
        self.audit_file = folder / "audit.jsonl"
        self.trace_file = folder / "trace.txt"
        self.env = hook(folder / "hook", RECORDER)
        if ours := os.environ.get("PYTHONPATH"):
            self.env["PYTHONPATH"] += os.pathsep + ours
        self.env["RECORD_TO"] = str(self.audit_file)
        self.traced = strace_works()
        self.sampled: set[tuple[str, int]] = set()
        self.samples = 0

    @property
    def command(self) -> tuple[str, ...]:
        if not self.traced:
            return SERVE
        calls = "trace=connect,sendto,sendmsg"
        return ("strace", "-f", "--seccomp-bpf", "-qq", "-e", calls, "-e", "signal=none", "-o",
                str(self.trace_file), *SERVE)  # fmt: skip

    @contextlib.contextmanager
    def sampling(self, pid: int) -> Iterator[None]:
        """Read the kernel's tables until the end."""
        over = threading.Event()

        def run() -> None:
            while not over.wait(0.05):
                self.sampled |= remote_addresses([pid, *children(pid)])
                self.samples += 1

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def audited(self) -> list[tuple[str, int, Any]]:
        return [tuple(json.loads(line)) for line in self.audit_file.read_text().splitlines()]

    def connections(self) -> set[tuple[str, int]]:
        """(address, port) by the audit hooks; what is no Internet address is no connection."""
        return {
            (said[0], said[1])
            for event, _, said in self.audited()
            if event in ("socket.connect", "socket.sendto", "socket.sendmsg")
            and isinstance(said, list)
        }

    def names(self) -> set[str]:
        return {said for event, _, said in self.audited() if event in NAMES}

    def programs(self) -> list[str]:
        return [" ".join(said) for event, _, said in self.audited() if event == "start"]

    def system_calls(self) -> set[tuple[str, int]]:
        """(address, port) by strace."""
        return {
            (found[2] or found[3], int(found[1]))
            for line in self.trace_file.read_text(errors="replace").splitlines()
            if (found := CONNECT.search(line))
        }


@pytest.mark.parametrize(("kind", "embeddings"), [("anthropic", "auto"), ("openai", "off")])
def test_a_session_connects_to_the_chosen_provider_and_to_nothing_else(
    workspace: Path, tmp_path: Path, embeddings: str, kind: Kind
) -> None:
    """With a provider on this machine: any other address, or any name looked up, is a leak."""
    make_project(workspace)
    watch = Watch(tmp_path)
    reply = a_reply("Yes.") if kind == "anthropic" else o_reply("Yes.")
    with wire_server(kind, [reply]) as model:
        env = environment(model) | watch.env | {
            "TIERLINE_SYMBOLS_ENABLED": "true", "TIERLINE_MEMORY_EMBEDDINGS": embeddings,
        }  # fmt: skip
        with (
            Pipe(workspace, env=env, command=watch.command) as pipe,
            watch.sampling(pipe.process.pid),
        ):
            use(pipe)
        address = urlsplit(model.url)
        assert model.bodies, "the provider was asked"
    allowed = {(address.hostname, address.port)}
    assert watch.connections() == allowed, "by the audit hooks"
    assert watch.names() <= {address.hostname}, "names that were looked up"
    assert watch.samples > 10
    near = {host for host, _ in watch.sampled}
    assert near <= {"0100007F", "0000000000000000FFFF00000100007F"}, "by the kernel's tables"
    assert {port for host, port in watch.sampled} <= {address.port}
    if watch.traced:
        # Port 0 asks the system which of its own addresses it would use; nothing is sent.
        seen = {(host, port) for host, port in watch.system_calls() if port}
        assert seen == allowed, "by strace, with native code"
    programs = watch.programs()
    assert any("symbols.worker" in said for said in programs), "children are watched"
    if find_model() is not None:
        meant = any("embeddings.worker" in said for said in programs)
        assert meant == (embeddings == "auto"), "the sentence model ran, unless it is off"


@pytest.mark.model
@pytest.mark.slow
def test_the_embedded_model_is_reached_on_loopback_and_reaches_nothing(
    workspace: Path, tmp_path: Path
) -> None:
    """The model in its own process: native code, which no audit hook sees, so strace looks."""
    try:
        find_language_model()
    except ProviderError as error:
        pytest.skip(f"{error.message} {error.advice}")
    make_project(workspace)
    watch = Watch(tmp_path)
    env = watch.env | {
        "TIERLINE_PROVIDER_NAME": "local",
        "TIERLINE_CONTEXT_MAX_OUTPUT_TOKENS": "32",  # small models ramble now and then
        "TIERLINE_SYMBOLS_ENABLED": "true",
    }
    with (
        Pipe(workspace, env=env, command=watch.command) as pipe,
        watch.sampling(pipe.process.pid),
    ):

        def chat() -> None:  # little to read: the model is small, the machine may be busy
            pipe.request("tierline/files/clear")
            turn = pipe.request("tierline/chat/send", {"text": "Hi."})["turnId"]
            pipe.until(lambda: any(e["turnId"] == turn for e in pipe.events("turnFinished")), 300)

        use(pipe, prompts=0, before_the_end=chat)
    hosts = {host for host, _ in watch.connections()}
    assert hosts == {"127.0.0.1"}, "the model has been asked, and nobody else"
    assert watch.names() <= {"127.0.0.1", "localhost"}
    assert {host for host, _ in watch.sampled} <= {"0100007F", "0000000000000000FFFF00000100007F"}
    if watch.traced:
        assert {host for host, _ in watch.system_calls()} <= {"127.0.0.1", "::1"}


def test_without_a_provider_only_this_machine_is_asked(workspace: Path, tmp_path: Path) -> None:
    """A search for Ollama and LM Studio stays on loopback, and sends nothing of the user's."""
    watch = Watch(tmp_path)
    with (
        Pipe(workspace, env=watch.env, command=watch.command) as pipe,
        watch.sampling(pipe.process.pid),
    ):
        pipe.initialize()
        pipe.request("tierline/provider/list")
        pipe.request("tierline/state/get")
        pipe.request("shutdown")
        pipe.notify("exit")
        pipe.gone(20)
    loopback = {"127.0.0.1", "::1"}
    assert {host for host, _ in watch.connections()} <= loopback
    assert watch.names() <= loopback | {"localhost"}
    assert {port for _, port in watch.connections()} <= {11434, 1234, 8080}
    if watch.traced:
        assert {host for host, _ in watch.system_calls()} <= loopback


def test_a_leak_would_be_seen(tmp_path: Path) -> None:
    """The three recorders can fail: a program that does what must not be done is caught by each."""
    watch = Watch(tmp_path)
    leak = (
        "import socket, sys, subprocess, time\n"
        "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "u.connect(('192.0.2.1', 53))\n"  # a documentation address; a UDP connect sends nothing
        "if len(sys.argv) < 2: subprocess.run([sys.executable, __file__, 'child'])\n"
        "else:\n"
        "    u.connect(('192.0.2.2', 53)); time.sleep(0.5)\n"
        "    try: socket.getaddrinfo('leak.invalid', 80)\n"
        "    except OSError: pass\n"
    )
    (tmp_path / "leak.py").write_text(leak)
    command = [*watch.command[: -len(SERVE)], sys.executable, str(tmp_path / "leak.py")]
    with (
        subprocess.Popen(command, env={**os.environ, **watch.env, **UNRECORDED}) as process,
        watch.sampling(process.pid),
    ):
        assert process.wait(60) == 0
    assert watch.connections() >= {("192.0.2.1", 53), ("192.0.2.2", 53)}
    assert "leak.invalid" in watch.names()
    assert ("020200C0", 53) in watch.sampled
    if watch.traced:
        assert {("192.0.2.1", 53), ("192.0.2.2", 53)} <= watch.system_calls()
