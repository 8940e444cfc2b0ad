"""``make mutants``: put faults into context/, history/ and store/, and see whether a test notices.

A sample, bounded in time. Each mutant lives only in the memory of a forked process, in which the
tests run that pass its line (the quick ones first); no file is changed. Needs fork.
Not part of ``make test``: what it finds is sorted by a person, see docs/reliability.md.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from mutation.mutants import Mutant, mutants, mutate

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "server" / "tierline"
OUT = ROOT / "build" / "mutation"
PACKAGES = ("context", "history", "store")
SUITES = [
    ["tests/unit/context", "tests/unit/tiers"],
    ["tests/unit/history", "tests/unit/store"],
    ["tests/unit/seed", "tests/bugcases"],
    ["tests/property"],
]
"""Parts that are run side by side to find out which test passes which line."""
# Slow without adding a line, or through a server of its own, which would not see the mutant.
LEFT_OUT = ["tests/unit/store/test_crash.py", "tests/property/test_compaction_soak.py",
            "tests/property/test_secrets_properties.py", "tests/property/test_boundary.py",
            "tests/property/test_ignore_against_git.py", "tests/property/test_fragments.py",
            "tests/property/test_files_round_trip.py", "tests/bugcases/test_lsp_cases.py",
            "tests/bugcases/test_lsp_files.py", "tests/bugcases/test_lsp_streaming.py",
            "tests/bugcases/test_o_memos.py", "tests/bugcases/test_j_buffers.py",
            "tests/bugcases/test_p_streaming.py", "tests/bugcases/test_q_tool_output.py",
            "tests/bugcases/test_b_tokenizer.py", "tests/bugcases/test_h_encoding.py",
            "tests/bugcases/test_k_secrets.py", "tests/bugcases/test_i_paths.py"]  # fmt: skip


class Loader(importlib.machinery.SourceFileLoader):
    """Gives one module with a fault."""

    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(mutate(source, self.mutant.index), self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds that module before anything else does."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = "tierline." + mutant.path.removesuffix(".py").replace("/", ".")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        file = str(PACKAGE / self.mutant.path)
        loader = Loader(fullname, file, self.mutant)
        return importlib.util.spec_from_file_location(fullname, file, loader=loader)


def coverage(again: bool, seconds: float) -> dict[str, Any]:
    """Which test runs which line; made once and kept in build/mutation.

    Tests for which ``seconds`` are not enough take no part.
    """
    path = OUT / "map.json"
    if again or not path.is_file():
        OUT.mkdir(parents=True, exist_ok=True)
        print("Which tests run which lines …", flush=True)
        running = []
        for number, suites in enumerate(SUITES):
            part = OUT / f"map-{number}.json"
            part.unlink(missing_ok=True)
            env = {**os.environ, "TIERLINE_MUTATION_MAP": str(part),
                   "TIERLINE_MUTATION_SECONDS": str(seconds)}  # fmt: skip
            command = [sys.executable, "-m", "pytest", "-q", "-p", "mutation.coverage_plugin",
                       "-p", "no:cacheprovider", "-m", "not model and not slow", *suites,
                       *(f"--ignore={name}" for name in LEFT_OUT)]  # fmt: skip
            log = (OUT / f"map-{number}.log").open("wb")
            running.append((part, subprocess.Popen(command, cwd=ROOT, env=env, stdout=log,
                                                   start_new_session=True)))  # fmt: skip
        merged: dict[str, Any] = {"tests": [], "seconds": [], "lines": {}}
        for part, process in running:
            process.wait()
            merge(merged, json.loads(part.read_text(encoding="utf-8")))
        path.write_text(json.dumps(merged), encoding="utf-8")
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def merge(into: dict[str, Any], part: dict[str, Any]) -> None:
    """Add the map of other tests."""
    offset = len(into["tests"])
    into["tests"] += part["tests"]
    into["seconds"] += part["seconds"]
    for file, by_line in part["lines"].items():
        for line, which in by_line.items():
            tests = into["lines"].setdefault(file, {}).setdefault(line, [])
            tests += [offset + test for test in which]


def sample(count: int, seed: int, known: dict[str, Any]) -> list[Mutant]:
    """``count`` mutants drawn evenly over all places of the packages."""
    everything: list[Mutant] = []
    for package in PACKAGES:
        for path in sorted((PACKAGE / package).rglob("*.py")):
            name = path.relative_to(PACKAGE).as_posix()
            everything += mutants(name, path.read_text(encoding="utf-8"))
    print(f"{len(everything)} possible mutants, {count} drawn with seed {seed}", flush=True)
    return random.Random(seed).sample(everything, min(count, len(everything)))


def tests_for(
    mutant: Mutant, known: dict[str, Any], most: int = 150, seconds: float = 12.0
) -> list[str]:
    """The tests that pass the line; for what runs on import, those that use the module.

    At most so many, the quickest first, that took so many seconds together without a fault."""
    by_line: dict[str, list[int]] = known["lines"].get(mutant.path, {})
    which = by_line.get(str(mutant.line)) or sorted({t for some in by_line.values() for t in some})
    chosen: list[str] = []
    spent = 0.0
    for test in sorted(which, key=lambda t: float(known["seconds"][t])):
        spent += known["seconds"][test]
        if chosen and (spent > seconds or len(chosen) >= most):
            break
        chosen.append(known["tests"][test])
    return chosen


def attempt(mutant: Mutant, tests: list[str], seconds: float) -> str:
    """``killed``, ``survived`` or ``timeout``, from a forked process."""
    child = os.fork()
    if child == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        code = 3
        try:
            sys.meta_path.insert(0, Finder(mutant))
            import pytest

            code = int(
                pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests])
            )
        except BaseException:
            code = 1  # the module cannot even be imported
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def main() -> int:
    """Run a sample and write build/mutation/report.json. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--tests", type=int, default=150, help="at most, for each mutant")
    parser.add_argument("--seconds", type=float, default=12, help="of tests, for each mutant")
    parser.add_argument("--part", default="1/1", help="a part of the sample, such as 2/3")
    parser.add_argument("--map", action="store_true", help="find anew which tests run which lines")
    parser.add_argument("--map-seconds", type=float, default=600, help="at most, for that")
    parser.add_argument("--only", nargs="*", help="places such as store/log.py:120")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    known = coverage(arguments.map, arguments.map_seconds)
    # Everything that is not under test is imported once, before the forks.
    import attrs  # noqa: F401
    import hypothesis  # noqa: F401
    import lsprotocol.types  # noqa: F401
    import pygls.lsp.server  # noqa: F401
    import pytest  # noqa: F401
    import tiktoken  # noqa: F401

    end = time.monotonic() + arguments.minutes * 60
    results: list[tuple[str, Mutant]] = []
    drawn = sample(100_000 if arguments.only else arguments.count, arguments.seed, known)
    part, parts = map(int, arguments.part.split("/"))
    drawn = drawn[part - 1 :: parts]
    if arguments.only:
        drawn = [m for m in drawn if f"{m.path}:{m.line}" in arguments.only]
    for mutant in drawn:
        if time.monotonic() > end:
            print("The time is over.", flush=True)
            break
        tests = tests_for(mutant, known, arguments.tests, arguments.seconds)
        said = attempt(mutant, tests, 90) if tests else "no test"
        results.append((said, mutant))
        mark = "" if said == "killed" else f"  <- {len(tests)} tests"
        print(f"{len(results):4} {said:8} {mutant}{mark}", flush=True)
    report(results)
    return 0


def report(results: list[tuple[str, Mutant]]) -> None:
    """The score per package and the survivors."""
    OUT.mkdir(parents=True, exist_ok=True)
    rows = [{"result": said, "mutant": str(mutant)} for said, mutant in results]
    (OUT / "report.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    for package in (*PACKAGES, ""):
        said = Counter(said for said, mutant in results if mutant.path.startswith(package))
        total = sum(said.values())
        found = said["killed"] + said["timeout"]
        if total:
            print(f"{package or 'all':8} {found}/{total} noticed ({100 * found / total:.0f} %)")


if __name__ == "__main__":
    sys.exit(main())
