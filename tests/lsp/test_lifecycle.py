"""Start, stop, death of the editor, and noise on standard output. Bug cases of area R."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from bugcases.fixtures import case, expect
from lsp.conftest import environment
from lsp.editor import TOKEN
from lsp.pipe import SERVE, ForkedPipe, Pipe, children, clean_environment, frame, history, hook
from tierline.lsp.parent import alive
from tierline.lsp.tcp import TOKEN_VARIABLE
from tierline.providers.base import ProviderError
from tierline.providers.gguf import find_model
from wire.scripts import o_reply, o_texts, then
from wire.servers import Cut, Hold, Pause, WireServer, wire_server

GONE_SECONDS = 5.0
DRIP: list[bytes | Pause | Hold | Cut] = [Pause(0.02), o_texts("more ")[1]] * 200
HEAVY = ("anthropic", "openai", "tiktoken", "xllamacpp")


def wait_gone(pid: int, seconds: float = GONE_SECONDS) -> float:
    """How long a process (that may not be our child) lives on; fails after ``seconds``."""
    before = time.monotonic()
    while alive(pid):
        assert time.monotonic() < before + seconds, f"process {pid} lives"
        time.sleep(0.02)
    return time.monotonic() - before


def ask(pipe: Pipe, text: str = "Go.") -> str:
    return str(pipe.request("tierline/chat/send", {"text": text})["turnId"])


def texts(records: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """(role, text, status) of the messages in a log."""
    found = []
    for record in records:
        if record.get("role"):
            content = record["content"]
            parts = [content] if isinstance(content, str) else [b["text"] for b in content]
            found.append((record["role"], "".join(parts), record.get("status", "")))
    return found


# --- start ----------------------------------------------------------------------------------------


def test_nothing_heavy_is_imported_before_initialize_is_answered(workspace: Path) -> None:
    """Issue 2, Must show 5: what talks to models loads on first use."""
    command = (sys.executable, "-X", "importtime", *SERVE[1:])
    with Pipe(workspace, command=command, env={"OPENAI_API_KEY": "test-key-of-nobody"}) as pipe:
        pipe.request("initialize", {"processId": None, "capabilities": {}})
        imported = {line.rpartition("|")[2].strip() for line in pipe.stderr.splitlines()}
        assert "tierline.lsp.server" in imported, "the list is read"
        assert [name for name in imported if name.split(".")[0] in HEAVY] == []
        ports = {"tierline.session", "tierline.session.workbench"}
        early = {n for n in imported if n.startswith("tierline.session")} - ports
        assert not early, "opened afterwards; only what the editor's side implements is known"
        pipe.notify("initialized")
        pipe.request("tierline/files/list")
        imported = {line.rpartition("|")[2].strip() for line in pipe.stderr.splitlines()}
        late = ("anthropic", "openai", "tiktoken", "xllamacpp")  # nothing to be counted yet
        assert [name for name in imported if name.split(".")[0] in late] == []


def test_br_018_no_network_is_needed_to_start_and_to_count(workspace: Path, tmp_path: Path) -> None:
    """BR-018: no route to the vocabulary's host."""
    wanted = expect("BR-018")
    names = [line.partition("=")[0] for line in (case("BR-018") / "env.txt").read_text().split()]
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.setblocking(False)
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        (tmp_path / "empty").mkdir()
        env = {
            name: str(tmp_path / "empty") if name.endswith("_DIR") else address for name in names
        }
        assert {"HTTPS_PROXY", "TIKTOKEN_CACHE_DIR"} <= set(env)
        (workspace / "src" / "a.py").write_text("x = 1\n" * 50, encoding="utf-8")
        with Pipe(workspace, env={**env, "OPENAI_API_KEY": "nobody"}) as pipe:
            pipe.initialize()
            assert time.monotonic() - pipe.started < wanted["initialize_seconds_max"]
            for _ in range(5):
                pipe.request("tierline/files/add", {"path": "src/a.py"})
                budget = pipe.request("tierline/budget/get")
            assert budget["used"] > 50
            warned = [n for n in pipe.events("notice") if n["code"] == "counting"]
            assert len(warned) <= wanted["warnings_max"]
            with pytest.raises(BlockingIOError):
                proxy.accept()


# --- noise ----------------------------------------------------------------------------------------

NOISE_AT_IMPORT = """
    import os, runpy, subprocess, sys
    class Noisy:
        def find_spec(self, name, path=None, target=None):
            if name in {names!r}:
                runpy.run_path({script!r})
                os.write(2, b"noise was made\\n")
    if "serve" in open("/proc/self/cmdline").read():
        sys.meta_path.insert(0, Noisy())
"""


def test_br_192_noise_on_standard_output_never_reaches_the_protocol(
    workspace: Path, tmp_path: Path
) -> None:
    """BR-192: an import that prints, writes to descriptor 1, and starts a child that prints.

    The modules chosen are loaded before the server exists, with the session, and with a turn.
    """
    script = case("BR-192") / "noisy.py"
    names = ("lsprotocol.types", "tierline.session.session", "tierline.providers.openai")
    env = hook(tmp_path / "hook", NOISE_AT_IMPORT.format(names=names, script=str(script)))
    with (
        wire_server("openai", [o_reply("Clean.")]) as model,
        Pipe(workspace, env={**env, **environment(model)}) as pipe,
    ):
        pipe.initialize()
        ask(pipe)
        pipe.until(lambda: pipe.events("turnFinished"))
        pipe.request("shutdown")
        pipe.notify("exit")
        pipe.gone(GONE_SECONDS)
        assert pipe.junk == []
        assert pipe.events("turnFinished")[0]["outcome"] == "ok"
        assert pipe.stderr.count("noise was made") == len(names)
        for said in ("plain print", "fd1 bytes", "a warning", "child output"):
            assert said in pipe.stderr


# --- the editor dies ------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0.1, 3.0])
def test_br_196_the_server_leaves_when_its_parent_is_killed(workspace: Path, delay: float) -> None:
    """BR-196, with the report's own script: SIGKILL, also during start-up."""
    assert delay in expect("BR-196")["delays"]
    script = case("BR-196") / "kill_parent.py"
    done = subprocess.run(
        [sys.executable, str(script), str(delay), "--", *SERVE],
        check=False,
        capture_output=True,
        text=True,
        env=clean_environment(workspace),
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert float(done.stdout.split()[-1].rstrip("s")) <= GONE_SECONDS


def test_br_196_a_pipe_that_somebody_holds_open_does_not_keep_it_alive(workspace: Path) -> None:
    """The parent named in ``initialize`` is gone, yet standard input never ends."""
    with wire_server("openai", [then(o_texts("Half"), Hold())]) as model:
        with (
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as editor,
            Pipe(workspace, env=environment(model)) as pipe,
        ):
            pipe.initialize(process_id=editor.pid)
            ask(pipe)
            pipe.until(lambda: pipe.events("textDelta"))
            editor.kill()
            editor.wait()
            assert pipe.gone(GONE_SECONDS) <= GONE_SECONDS
        assert texts(history(workspace))[-1] == ("assistant", "Half", "interrupted")


def test_br_185_br_196_closing_standard_input_stops_the_reply_and_keeps_its_text(
    workspace: Path,
) -> None:
    """BR-185: the request ends within a second, what came is saved, nobody logs every chunk."""
    endless = then(o_texts("One ", "two ", "three "), *DRIP)
    with wire_server("openai", [endless]) as model:
        with Pipe(workspace, env=environment(model)) as pipe:
            pipe.initialize()
            ask(pipe)
            pipe.until(lambda: len(pipe.events("textDelta")) >= 3)
            assert pipe.process.stdin is not None
            pipe.process.stdin.close()
            assert model.hung_up.wait(1.0)
            assert pipe.gone(GONE_SECONDS) <= GONE_SECONDS
            assert len(pipe.stderr.splitlines()) <= 1, pipe.stderr
        role, text, status = texts(history(workspace))[-1]
        assert (role, status) == ("assistant", "interrupted")
        assert text.startswith("One two three ")


def test_br_185_a_client_that_closes_both_pipes_is_no_error_storm(workspace: Path) -> None:
    """The editor is killed: reading ends and every write fails."""
    endless = then(o_texts("One "), *DRIP)
    script = f"""
        import os, subprocess, sys, time
        p = subprocess.Popen({list(SERVE)!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        print(p.pid, flush=True)
        def send(data): p.stdin.write(data); p.stdin.flush()
        for data in {[frame(m) for m in _opening(workspace)]!r}: send(data)
        seen = b""
        while seen.count(b"textDelta") < 2: seen += os.read(p.stdout.fileno(), 65536)
        print("streaming", flush=True)
        time.sleep(60)
    """
    with wire_server("openai", [endless]) as model:
        env = clean_environment(workspace, **environment(model))
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        ) as editor:
            assert editor.stdout is not None
            assert editor.stderr is not None
            pid = int(editor.stdout.readline())
            assert editor.stdout.readline().strip() == "streaming"
            editor.kill()
            assert model.hung_up.wait(1.0)
            wait_gone(pid)
            logged = editor.stderr.read()
            assert len(logged.splitlines()) <= 2, logged
        role, text, status = texts(history(workspace))[-1]
        assert (role, status) == ("assistant", "interrupted")
        assert text.startswith("One ")


def _opening(workspace: Path) -> list[dict[str, Any]]:
    params: dict[str, Any] = {
        "processId": None,
        "capabilities": {},
        "rootUri": workspace.as_uri(),
        "initializationOptions": {"token": TOKEN},
    }
    return [
        {"id": 1, "method": "initialize", "params": params},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "tierline/chat/send", "params": {"text": "Go."}},
    ]


@pytest.mark.parametrize("client", ["stdin", "killed"])
def test_a_tcp_client_that_hangs_up_ends_the_server(workspace: Path, client: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with wire_server("openai", [then(o_texts("Half"), Hold())]) as model:
        env = clean_environment(workspace, **environment(model), **{TOKEN_VARIABLE: TOKEN})
        with subprocess.Popen([*SERVE, "--tcp", f"127.0.0.1:{port}"], env=env) as server:
            until = time.monotonic() + 20
            while True:
                try:
                    link = socket.create_connection(("127.0.0.1", port))
                    break
                except OSError:
                    assert time.monotonic() < until
                    time.sleep(0.05)
            for message in _opening(workspace):
                link.sendall(frame(message))
            seen = b""
            while b"textDelta" not in seen:
                seen += link.recv(65536)
            if client == "killed":  # a reset instead of a goodbye
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            link.close()
            try:
                server.wait(GONE_SECONDS)
            finally:
                server.kill()
        assert model.hung_up.wait(1.0)
    assert texts(history(workspace))[-1] == ("assistant", "Half", "interrupted")


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("how", ["stdin", "kill"])
def test_br_196_the_embedded_model_leaves_with_the_server(workspace: Path, how: str) -> None:
    """BR-196: while a reply streams from a real model in a process of its own."""
    try:
        find_model()
    except ProviderError as error:
        pytest.skip(f"{error.message} {error.advice}")
    with Pipe(workspace, env={"TIERLINE_PROVIDER_NAME": "local"}) as pipe:
        pipe.initialize()
        ask(pipe, "Count from one to five hundred, in words.")
        pipe.until(lambda: len(pipe.events("textDelta")) >= 3, seconds=120)
        family = children(pipe.process.pid)
        assert family, "the model runs in a child"
        if how == "stdin":
            assert pipe.process.stdin is not None
            pipe.process.stdin.close()
        else:
            pipe.process.send_signal(signal.SIGKILL)
        pipe.gone(GONE_SECONDS)
        for pid in family:
            wait_gone(pid)
        said = texts(history(workspace))
    assert said[0] == ("user", "Count from one to five hundred, in words.", "ok")
    if how == "stdin":
        assert said[-1][::2] == ("assistant", "interrupted")
        assert said[-1][1]


# --- stop -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_br_198_twenty_stops_under_load_are_quick_and_clean(workspace: Path) -> None:
    """BR-198: a busy neighbour on the machine, a reply that streams, and the editor says stop.

    The neighbour rests while a server starts, of which nothing is asked here.
    """
    busy = subprocess.Popen([sys.executable, "-c", "while True: sum(range(10_000))"])
    took = []
    try:
        with wire_server("openai", [then(o_texts("Half "), Hold())]) as model:
            for number in range(20):
                busy.send_signal(signal.SIGSTOP)
                kind = Pipe if number < 3 else ForkedPipe
                with kind(workspace, env=environment(model)) as pipe:
                    pipe.initialize(process_id=os.getpid())
                    ask(pipe, "Again?")
                    pipe.until(lambda pipe=pipe: pipe.events("textDelta"))
                    busy.send_signal(signal.SIGCONT)
                    before = time.monotonic()
                    pipe.request("shutdown")
                    pipe.notify("exit")
                    pipe.gone(10)
                    took.append(time.monotonic() - before)
                    assert pipe.process.returncode == 0
                    assert children(pipe.process.pid) == []
                    assert pipe.stderr == ""
                    assert pipe.junk == []
    finally:
        busy.kill()
        busy.wait()
    assert max(took) < 2.0, sorted(took)
    said = texts(history(workspace))
    assert [s for s in said if s[0] == "assistant"] == [("assistant", "Half ", "interrupted")] * 20


def test_exit_without_shutdown_is_an_abnormal_end(workspace: Path) -> None:
    """LSP, "exit": status 1 if no shutdown came before."""
    with Pipe(workspace) as pipe:
        pipe.initialize()
        pipe.notify("exit")
        pipe.gone(2.0)
        assert pipe.process.returncode == 1


def test_br_200_two_windows_on_one_folder_both_work(workspace: Path) -> None:
    """BR-200: a second server of the same workspace."""
    with wire_server("openai", [o_reply("Yes.")]) as model:
        env = environment(model)
        with Pipe(workspace, env=env) as one, Pipe(workspace, env=env) as two:
            for pipe in (one, two):
                pipe.initialize()
            for pipe in (one, two, one):
                count = len(pipe.events("turnFinished"))
                ask(pipe)
                pipe.until(lambda p=pipe, n=count: len(p.events("turnFinished")) > n)
                assert pipe.events("turnFinished")[-1]["outcome"] == "ok"
        assert len(texts(history(workspace))) == 6


# --- without a model ------------------------------------------------------------------------------


def test_a_server_without_a_model_still_starts_and_says_what_to_do(workspace: Path) -> None:
    with Pipe(workspace, env={"TIERLINE_PROVIDER_NAME": "openai"}) as pipe:
        pipe.initialize()
        state = pipe.request("tierline/state/get")
        assert not state["provider"]["available"]
        assert state["provider"]["why"]


def test_the_wire_server_is_asked_nothing_before_the_first_prompt(
    workspace: Path, model: WireServer
) -> None:
    """Issue 2, Providers: nothing is connected or loaded before it is needed."""
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        pipe.request("tierline/state/get")
        assert model.requests == []
        assert model.others == []
