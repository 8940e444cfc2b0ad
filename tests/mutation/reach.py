"""Which tests can notice a fault: those that pass its line, found once by coverage and kept."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from typing import Any

from mutation.faults import ROOT
from mutation.mutants import Mutant

OUT = ROOT / "build" / "mutation"
UNIT = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "tests" / "unit").iterdir()
    if (path.is_dir() and path.name != "__pycache__") or path.name.startswith("test_")
)
SUITES = [
    [name for name in UNIT if name < "tests/unit/session"],
    [name for name in UNIT if name >= "tests/unit/session"],
    ["tests/property"],
    ["tests/bugcases"],
    ["tests/lsp"],
]
"""Parts that are run side by side to find out which test passes which line."""
# Long without passing a line that others do not: kills, load, soaks, times, packages.
LEFT_OUT = [
    *(f"tests/unit/{name}" for name in (
        "session", "workspace", "embeddings", "store/test_crash.py", "providers/test_failures.py",
        "test_platform_package.py", "test_supply_chain.py", "test_benchmark_report.py",
        "test_reliability_page.py", "test_otel.py")),
    *(f"tests/property/test_{name}.py" for name in (
        "compaction_soak", "secrets_properties", "boundary", "ignore_against_git",
        "files_round_trip")),
    *(f"tests/lsp/test_{name}.py" for name in (
        "faults_kill", "faults_network", "fuzz_messages", "load", "responsiveness", "no_network",
        "leaving", "lifecycle")),
]  # fmt: skip
FEW = 3
SERVED = ("tests/lsp/", "tests/bugcases/")
"""Tests that mostly wait for a server: tried after all others."""


def reach(again: bool, parts: list[int], seconds: float) -> dict[str, Any]:
    """Which test runs which line; made once and kept in build/mutation.

    Tests for which ``seconds`` are not enough take no part. ``again`` makes the named parts anew.
    """
    OUT.mkdir(parents=True, exist_ok=True)
    running = []
    none = not list(OUT.glob("map-*.json"))
    for number, suites in enumerate(SUITES):
        part = OUT / f"map-{number}.json"
        wanted = number in parts if parts else again or none
        if not wanted:
            continue
        print(f"Which lines {' '.join(suites)} runs …", flush=True)
        env = {**os.environ, "TIERLINE_MUTATION_MAP": str(part),
               "TIERLINE_MUTATION_SECONDS": str(seconds)}  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-q", "-p", "mutation.coverage_plugin",
                   "-p", "no:cacheprovider", "-m", "not model and not slow", *suites,
                   *(f"--ignore={name}" for name in LEFT_OUT)]  # fmt: skip
        log = part.with_suffix(".log").open("wb")
        running.append(subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log))
    for process in running:
        process.wait()
    merged: dict[str, Any] = {"tests": [], "seconds": [], "lines": {}}
    for part in sorted(OUT.glob("map-*.json")):
        _merge(merged, json.loads(part.read_text(encoding="utf-8")))
    return merged


def _merge(into: dict[str, Any], part: dict[str, Any]) -> None:
    offset = len(into["tests"])
    into["tests"] += part["tests"]
    into["seconds"] += part["seconds"]
    for file, by_line in part["lines"].items():
        for line, which in by_line.items():
            tests = into["lines"].setdefault(file, {}).setdefault(line, [])
            tests += [offset + test for test in which if _is_there(part["tests"][test])]


def _is_there(test: str) -> bool:
    """False for a test that was removed since the map was made: pytest would run none at all."""
    file, _, name = test.partition("::")
    return f"def {name.rpartition('::')[2].partition('[')[0]}(" in _text(file)


@functools.cache
def _text(file: str) -> str:
    path = ROOT / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def witnesses(mutant: Mutant, known: dict[str, Any]) -> list[tuple[str, float]]:
    """The tests that pass the statement, with their seconds: those of the package first, those
    with a server last, and the quick ones before the slow ones.

    Where hardly any do, because it runs on import or its result is kept for the next caller, those
    that use the module follow, or else the package.
    """
    lines: dict[str, dict[str, list[int]]] = known["lines"]
    by_line = lines.get(mutant.path, {})
    first, last = mutant.lines
    passing = {t for line in range(first, last + 1) for t in by_line.get(str(line), ())}
    which = set(passing)
    if len(which) < FEW:
        which |= {t for some in by_line.values() for t in some}
    if len(which) < FEW:
        package = mutant.path.split("/")[0] + "/"
        which |= {
            t for file, found in lines.items() if file.startswith(package)
            for some in found.values() for t in some
        }  # fmt: skip
    own = "tests/unit/" + mutant.path.split("/")[0]

    def order(number: int) -> tuple[bool, bool, bool, float]:
        name = known["tests"][number]
        far = not name.startswith(own)
        return name.startswith(SERVED), number not in passing, far, known["seconds"][number]

    tests = [(known["tests"][t], float(known["seconds"][t])) for t in sorted(which, key=order)]
    return list(dict(tests).items())


def portions(tests: list[tuple[str, float]], seconds: float) -> list[list[tuple[str, float]]]:
    """The quick ones at once, then the rest, then those with a server; each for so long at most."""
    inside = [test for test in tests if not test[0].startswith(SERVED)]
    served = [test for test in tests if test[0].startswith(SERVED)]
    quick = _within(inside, seconds / 15, 120)
    rest = _within(inside[len(quick) :], seconds, 2000)
    return [part for part in (quick, rest, _within(served, seconds, 200)) if part]


def _within(tests: list[tuple[str, float]], seconds: float, most: int) -> list[tuple[str, float]]:
    chosen: list[tuple[str, float]] = []
    spent = 0.0
    for test in tests[:most]:
        spent += test[1]
        if chosen and spent > seconds:
            break
        chosen.append(test)
    return chosen
