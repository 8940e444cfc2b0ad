"""The tests' own quick start of servers: what it gives is what a program that was started gives."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.warm import TIERLINE, Process, create_subprocess_exec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all are started")


async def _run(*words: str, **how: object) -> tuple[int, bytes, bytes]:
    process = await create_subprocess_exec(
        *TIERLINE, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        **how,
    )  # fmt: skip
    assert isinstance(process, Process)
    assert process.stdin and process.stdout and process.stderr
    process.stdin.close()
    said, errors = await asyncio.gather(process.stdout.read(), process.stderr.read())
    return await process.wait(), said, errors


@pytest.mark.parametrize("word", ["--version", "no-such-command"])
def test_one_says_and_ends_as_the_program_does(word: str) -> None:
    real = subprocess.run([*TIERLINE, word], capture_output=True, check=False)
    assert asyncio.run(_run(word)) == (real.returncode, real.stdout, real.stderr)


async def test_each_has_a_folder_and_an_environment_of_its_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        env = os.environ | {"OPENAI_API_KEY": "x", "TIERLINE_PROVIDER_MODEL": f"of-{name}"}
        _, said, _ = await _run("doctor", "--quick", env=env, cwd=folder)
        words = b"".join(said.split())  # long ones go over several lines
        assert str(folder).encode() in words
        assert f"of-{name}".encode() in words


async def test_one_that_is_killed_says_so() -> None:
    process = await create_subprocess_exec(
        *TIERLINE, "serve", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.kill()
    assert await process.wait() == -9


async def test_what_counts_before_the_first_line_is_started_anew() -> None:
    env = dict(os.environ) | {"PYTHONUTF8": "0"}
    process = await create_subprocess_exec(*TIERLINE, "--version", env=env, stdout=subprocess.PIPE)
    assert isinstance(process, asyncio.subprocess.Process)
    assert b"tierline" in (await process.communicate())[0]
