"""Which test runs which line of the packages under test, as JSON: a pytest plugin.

``TIERLINE_MUTATION_MAP`` names the file to write. Servers and other Python processes that a test
starts count for that test (see ``children.py``).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from mutation.children import PACKAGES
from mutation.examples import settle
from mutation.faults import PACKAGE, reach_children

tests: list[str] = []
seconds: list[float] = []
"""Of the processor, so that what else the machine does counts for nothing."""
failed: set[str] = set()
started = time.monotonic()
most = float(os.environ.get("TIERLINE_MUTATION_SECONDS", "inf"))
target = Path(os.environ["TIERLINE_MUTATION_MAP"])
children = target.with_suffix(".children")
recorder = coverage.Coverage(data_file=None, source=[str(PACKAGE / name) for name in PACKAGES])


def pytest_configure() -> None:
    children.mkdir(exist_ok=True)
    for old in children.iterdir():
        old.unlink()
    os.environ["TIERLINE_MUTATION_CHILDREN"] = str(children)
    reach_children()
    settle()
    recorder.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    recorder.switch_context(str(len(tests)))
    tests.append(item.nodeid)
    began = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        seconds.append(round(sum(os.times()[:4]) - began, 3))
        recorder.switch_context("")
        if time.monotonic() - started > most:
            item.session.shouldstop = "the time for the map is over"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    recorder.stop()
    data = recorder.get_data()
    lines: dict[str, dict[str, set[int]]] = {}
    for file in sorted(data.measured_files()):
        found = lines.setdefault(Path(file).relative_to(PACKAGE).as_posix(), {})
        for number, contexts in data.contexts_by_lineno(file).items():
            found[str(number)] = {int(context) for context in contexts if context}
    numbers = {test: number for number, test in enumerate(tests)}
    for record in children.iterdir():
        told = json.loads(record.read_text(encoding="utf-8"))
        if (which := numbers.get(told["test"])) is not None:
            for name, passed in told["lines"].items():
                for line in passed:
                    lines.setdefault(name, {}).setdefault(str(line), set()).add(which)
    # A test that fails without a fault can tell nothing about one.
    bad = {number for test, number in numbers.items() if test in failed}
    value = {
        "tests": tests,
        "seconds": seconds,
        "failed": sorted(failed),
        "lines": {
            name: {line: sorted(which - bad) for line, which in sorted(found.items())}
            for name, found in lines.items()
        },
    }
    target.write_text(json.dumps(value), encoding="utf-8")
