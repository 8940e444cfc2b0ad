"""Commands end with whoever runs them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tierline.lsp.parent import alive

STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open('begun.part', 'w') as out:
    out.write(str(os.getpid()))
os.rename('begun.part', 'begun')
time.sleep(60)
"""
LEAVE = """
import asyncio, os, sys
from tierline.tools.running import run

async def leave():
    command = [sys.executable, "-c", sys.argv[1]]
    running = asyncio.ensure_future(run(command, os.getcwd(), seconds=60, most_characters=100))
    while not os.path.exists("begun"):
        await asyncio.sleep(0.02)
    running.cancel()
    await asyncio.sleep(0.1)
    assert not running.done(), "it is being ended"

asyncio.run(leave())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_command_that_ignores_the_request_ends_with_the_loop(tmp_path: Path) -> None:
    """The end of a loop cancels every task, the one that is ending the command among them."""
    subprocess.run(
        [sys.executable, "-c", LEAVE, STUBBORN], cwd=tmp_path, check=True, capture_output=True
    )
    pid = int((tmp_path / "begun").read_text())
    end = time.monotonic() + 10
    while alive(pid):
        assert time.monotonic() < end, "it was left running"
        time.sleep(0.02)
