"""Servers that others wrote, run as processes of their own, and an editor beside them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import real_servers
from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p

_START_SECONDS = 240
"""LiteLLM compiles its modules at its first start; on a busy machine that takes a minute."""
MOST_ERROR_PERCENT = 3.0
KEY = "sk-0123456789abcdef0123456789abcdef"
"""Of nobody."""
Program = Callable[[str, str], str]


@pytest.fixture(scope="session")
def program(pytestconfig: pytest.Config) -> Program:
    """``program("litellm", "litellm")``: a server's program, installed if need be, in the open."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def find(name: str, command: str) -> str:
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            return str(real_servers.programs(name) / command)

    return find


@contextlib.contextmanager
def serving(
    command: Sequence[str], port: int, path: str, log: Path, env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The address of a server that runs while the block does; up when it answers at ``path``."""
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(url + path, process, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError):  # not there yet, or not ready (an HTTP error is one)
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-3000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A project with a file that is worth caching."""
    root = tmp_path / "work"
    root.mkdir()
    # Prose, because the servers behind count characters, four a token, as prose has them.
    body = "\n\n".join(
        f"Rate {n} applies to whoever settles an invoice within the season of its issue, "
        "unless another agreement, signed by both sides and kept with the papers, says otherwise."
        for n in range(150)
    )
    (root / "rates.md").write_text(f"{body}\n", encoding="utf-8")
    return root


@pytest_asyncio.fixture
async def start(workspace: Path) -> AsyncIterator[Start]:
    """``await start(url, provider, model)``: an editor whose server asks a real one."""
    running: list[Editor] = []

    async def begin(url: str, name: str, model: str, api: str = "auto", **settings: Any) -> Editor:
        editor = Editor(workspace)
        env = {f"{name}_API_KEY": KEY for name in ("OPENAI", "ANTHROPIC", "LITELLM", "LLAMA")}
        chosen = {"name": name, "base_url": url, "model": model, "api": api}
        await editor.start(env=env, settings={"provider": chosen, **settings})
        running.append(editor)
        return editor

    yield begin
    for editor in running:
        await editor.stop()


async def turns(editor: Editor, *prompts: str) -> list[p.TurnFinished]:
    """Ask one after the other; each has to succeed."""
    ends = []
    for prompt in prompts:
        end = await editor.chat(prompt)
        assert (end.outcome, end.error) == ("ok", ""), f"{prompt}: {end.error}"
        assert end.message is not None and end.message.text.strip(), prompt
        assert end.usage is not None and not end.usage.estimated, "the server reports its figures"
        ends.append(end)
    return ends


async def budget_error(editor: Editor) -> float:
    """How far the newest estimate was from what the server reported for it, in per cent."""
    done = await editor.ask("stats/turns", p.TurnStatsParams(limit=1))
    error: float | None = done.turns[0].error_percent
    assert error is not None
    return abs(error)
