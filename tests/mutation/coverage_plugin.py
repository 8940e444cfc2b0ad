"""Which test runs which line of the packages under test, as JSON: a pytest plugin.

``TIERLINE_MUTATION_MAP`` names the file to write.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "server" / "tierline"
tests: list[str] = []
seconds: list[float] = []
started = time.monotonic()
most = float(os.environ.get("TIERLINE_MUTATION_SECONDS", "inf"))
recorder = coverage.Coverage(
    data_file=None, source=[str(PACKAGE / name) for name in ("context", "history", "store")]
)


def pytest_configure() -> None:
    recorder.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    recorder.switch_context(str(len(tests)))
    tests.append(item.nodeid)
    began = time.perf_counter()
    try:
        return (yield)
    finally:
        seconds.append(round(time.perf_counter() - began, 3))
        recorder.switch_context("")
        if time.monotonic() - started > most:
            item.session.shouldstop = "the time for the map is over"


def pytest_sessionfinish() -> None:
    recorder.stop()
    data = recorder.get_data()
    found = {}
    for file in sorted(data.measured_files()):
        name = Path(file).relative_to(PACKAGE).as_posix()
        found[name] = {
            number: sorted(int(context) for context in contexts if context)
            for number, contexts in sorted(data.contexts_by_lineno(file).items())
        }
    Path(os.environ["TIERLINE_MUTATION_MAP"]).write_text(
        json.dumps({"tests": tests, "seconds": seconds, "lines": found}), encoding="utf-8"
    )
