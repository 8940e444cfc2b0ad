"""The recorder that every test runs under would see a leak, here and in a process of ours."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lsp.pipe import hook
from support.recording import VARIABLE

LEAK = """
import socket
for host in ("127.0.0.1", "192.0.2.1"):  # for documentation; a UDP connect sends nothing
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect((host, 53))
for name in ("localhost", "leak.invalid"):
    try:
        socket.getaddrinfo(name, 53)
    except OSError:
        pass
"""


def recorded(log: Path) -> list[str]:
    return [json.loads(line)["reached"] for line in log.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("hooked", [False, True])
def test_a_process_that_reaches_out_is_written_down(tmp_path: Path, hooked: bool) -> None:
    log = tmp_path / "leaks.jsonl"
    env = {**os.environ, VARIABLE: str(log)}
    if hooked:  # with a hook of a test's own
        env |= hook(tmp_path / "hook", "")
    subprocess.run([sys.executable, "-c", LEAK], env=env, check=True)
    assert recorded(log) == ["192.0.2.1", "leak.invalid"]


def test_this_process_is_watched_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "leaks.jsonl"
    monkeypatch.setenv(VARIABLE, str(log))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect(("192.0.2.1", 53))
    assert recorded(log) == ["192.0.2.1"]
    monkeypatch.undo()
