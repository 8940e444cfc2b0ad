"""Runs tests with a fault, in a forked process that has nothing of the product imported yet."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
import time
from pathlib import Path

from attrs import frozen

from mutation.faults import install, module
from mutation.mutants import Mutant

ON_IMPORT = 70
"""The child's status if the module cannot even be imported; the others are pytest's."""
WALL_SECONDS = 900
BUSY = "the machine is too busy"


@frozen
class Verdict:
    """What became of one fault."""

    result: str
    """``noticed``, ``timeout``, ``survived``, ``no test``, or ``error``: the tests did not run."""
    by: str = ""
    """The test that failed."""
    tests: int = 0
    """How many were tried."""


def attempt(
    mutant: Mutant | None, tests: list[tuple[str, float]], scratch: Path, patience: int = 1
) -> Verdict:
    """Run the tests until one fails. Without a mutant: the code as it is, and all of them.
    ``patience``: so many times the usual limit.
    """
    said = scratch / f"failed-{os.getpid()}"
    said.write_text("", encoding="utf-8")
    child = os.fork()
    if child == 0:
        # Of the processor: a test that never ends is told from a machine that is busy.
        limit = patience * int(20 + 6 * sum(seconds for _, seconds in tests))
        _run(mutant, [name for name, _ in tests], said, limit)
    status = _wait(child, patience * WALL_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # servers that a failed test has left behind
    by = said.read_text(encoding="utf-8").strip()
    said.unlink()
    if status is None:
        return Verdict("error", BUSY, len(tests))
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return Verdict("timeout", by, len(tests))
    if status == 0:
        return Verdict("survived", "", len(tests))
    if status in (1, 2, ON_IMPORT):
        return Verdict("noticed", by or "on import", len(tests))
    # Anything else says that the tests did not run, and so nothing.
    return Verdict("error", f"pytest returned {status}", len(tests))


def _wait(child: int, limit: float) -> int | None:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _run(mutant: Mutant | None, tests: list[str], said: Path, limit: int) -> None:
    """In the child: never returns."""
    code = 99
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        if mutant is not None:
            install(mutant.path, mutant.index)
            try:
                importlib.import_module(module(mutant.path))
            except BaseException:
                os._exit(ON_IMPORT)
        import pytest

        from mutation.examples import settle

        settle()
        first = ["-x"] if mutant is not None else []
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *first]
        code = int(pytest.main([*options, *tests], plugins=[_Failures(said)]))
    finally:
        sys.stdout.flush()
        os._exit(code)


class _Failures:
    """A pytest plugin that writes down what fails."""

    def __init__(self, said: Path) -> None:
        self.said = said

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False):
            with self.said.open("a", encoding="utf-8") as out:
                out.write(f"{getattr(report, 'nodeid', '')}\n")
