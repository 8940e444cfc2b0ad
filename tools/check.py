"""Runs every check in order, prints a table, and ends with one plain line that sums up the tests.

All stages run even if an early one fails, so that one run shows everything that is wrong. Checks
that keep one core busy run two at a time; tests have the machine to themselves.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "vscode-client"
RESULTS = ROOT / "build" / "test-results"
PYTHON = sys.executable
NOT_OFFERED = 75  # EX_TEMPFAIL: a check that needs a service which is not there
MOST_AGAIN = 3  # more failures than these are nobody's bad luck


@dataclass
class Stage:
    """One command. ``kind``: check (passes or fails as one), pytest or vitest (counts tests)."""

    name: str
    command: list[str]
    kind: str = "check"
    group: str = "fast"
    cwd: Path = ROOT
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    ok: bool = False
    env: dict[str, str] = field(default_factory=dict)
    beside: bool = False
    """Needs one core, and minds nobody else on the other."""
    output: str = ""
    unsteady: list[str] = field(default_factory=list)
    """Tests that failed beside others and passed alone."""


def stages() -> list[Stage]:
    """Everything, in order."""

    def tool(name: str, *arguments: str) -> list[str]:
        return [str(Path(PYTHON).with_name(name)), *arguments]

    def pytest(*arguments: str) -> list[str]:
        return [PYTHON, "-m", "pytest", "-q", "--durations=8", *arguments]

    def check(name: str, command: list[str], **more: Any) -> Stage:
        return Stage(name, command, beside=True, **more)

    quick = ["tests/unit", "tests/property", "tests/wire", "tests/bugcases"]
    return [
        check("mypy strict", tool("mypy")),
        check("ruff check", tool("ruff", "check", ".")),
        check("ruff format", tool("ruff", "format", "--check", ".")),
        check("client lint", ["npm", "run", "--silent", "lint"], cwd=CLIENT),
        check("client types", ["npm", "run", "--silent", "typecheck"], cwd=CLIENT),
        check("import contracts", tool("lint-imports", "--no-cache")),
        check("unused code", [PYTHON, "tools/unused.py"]),
        check("documentation", ["make", "docs"], group="slow"),
        check("dependency audit", [PYTHON, "tools/audit.py", "--where-offered"], group="slow"),
        check("extension package", ["make", "package"], group="e2e"),
        Stage("client units", ["npm", "run", "--silent", "test"], "vitest", cwd=CLIENT),
        # Neighbours share fixtures, and whoever is done first takes over from another. More workers
        # than cores: many tests wait for a process or a clock.
        Stage(
            "python tests",
            pytest("-n", "3", "--dist", "worksteal", "-m", "not model", *quick),
            "pytest",
        ),
        Stage(
            "language server",
            pytest("-n", "4", "--dist", "worksteal", "tests/lsp", "tests/panel", "-m", "not model"),
            "pytest",
            "slow",
        ),
        Stage("packages of servers", [PYTHON, "tools/real_servers.py"], group="slow"),
        Stage(
            "real servers", pytest("-n", "2", "--dist", "loadfile", "tests/real"), "pytest", "slow"
        ),
        Stage("embedded model", pytest("-m", "model", *marked("model")), "pytest", "slow"),
        Stage("VS Code", pytest("-n", "2", "--dist", "worksteal", "tests/e2e"), "pytest", "e2e"),
        Stage("other editors", pytest("tests/editors"), "pytest", "e2e"),
    ]


def marked(name: str) -> list[str]:
    """Test files that use a marker, but for those of real servers: collecting all takes longer than
    running these.
    """
    tests = ROOT / "tests"
    return [
        path.relative_to(ROOT).as_posix()
        for path in sorted(tests.glob("**/test_*.py"))
        if not path.is_relative_to(tests / "real")
        and f"mark.{name}" in path.read_text(encoding="utf-8")
    ]


def run(stage: Stage) -> None:
    """Run one stage and read its counts."""
    if not stage.beside:
        head(stage)
    started = time.monotonic()
    report = RESULTS / f"{re.sub(r'[^a-z]+', '-', stage.name.lower())}.xml"
    report.unlink(missing_ok=True)
    command = list(stage.command)
    if stage.kind == "pytest":
        command.append(f"--junitxml={report}")
    elif stage.kind == "vitest":
        command += ["--", "--reporter=default", "--reporter=junit", f"--outputFile.junit={report}"]
    try:
        done = subprocess.run(
            command, cwd=stage.cwd, env={**os.environ, **stage.env}, check=False,
            stdin=subprocess.DEVNULL, text=True, encoding="utf-8", errors="replace",
            stdout=subprocess.PIPE if stage.beside else None,
            stderr=subprocess.STDOUT if stage.beside else None,
        )  # fmt: skip
        code, stage.output = done.returncode, done.stdout or ""
    except OSError as error:
        code, stage.output = 1, f"could not run: {error}\n"
    if stage.kind != "check":
        count(stage, report)
    if stage.kind == "pytest" and code == 1 and 0 < stage.failed <= MOST_AGAIN:
        code = run_again(stage, report)
    stage.seconds = time.monotonic() - started
    if stage.kind == "check" and code == NOT_OFFERED:
        stage.skipped, code = 1, 0
    stage.ok = code == 0
    if not stage.ok and stage.kind != "check" and stage.failed == 0:
        stage.failed = 1  # it broke before, or after, its tests
    if stage.output and not stage.beside:
        print(stage.output, end="")


def run_again(stage: Stage, report: Path) -> int:
    """Run a stage's few failures once more, alone. Returns the exit status.

    Real processes on a busy machine can be late. What passes now is named in the summary, as
    something to mend; what fails again has failed.
    """
    first, names = stage.failed, failures(report)
    head(stage, "once more, alone")
    report = report.with_stem(f"{report.stem}-again")
    report.unlink(missing_ok=True)
    more = ["--last-failed", "--last-failed-no-failures=none", "-n0", f"--junitxml={report}"]
    done = subprocess.run(
        [*stage.command, *more], cwd=stage.cwd, env={**os.environ, **stage.env}, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    again = failures(report)
    if not report.exists() or done.returncode not in (0, 1):
        return 1
    stage.unsteady = [name for name in names if name not in again]
    stage.failed = len(again)
    stage.passed += first - stage.failed
    return done.returncode


def failures(report: Path) -> list[str]:
    """The tests of a JUnit file that failed, each once."""
    if not report.exists():
        return []
    cases = ET.parse(report).getroot().iter("testcase")
    bad = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    return list(dict.fromkeys(f"{c.get('classname')}::{c.get('name')}" for c in bad))


def run_beside(some: list[Stage]) -> None:
    """Run checks two at a time; each is shown whole when it is through."""
    with ThreadPoolExecutor(2) as pool:
        running = {pool.submit(run, stage): stage for stage in some}
        for future in as_completed(running):
            future.result()
            head(running[future])
            print(running[future].output, end="", flush=True)


def head(stage: Stage, more: str = "") -> None:
    """The line above a stage's output."""
    title = f"{stage.name} {more}".strip()
    print(f"\n━━ {title} " + "━" * (66 - len(title)), flush=True)


def count(stage: Stage, report: Path) -> None:
    """Read passed, failed and skipped from a JUnit file."""
    if not report.exists():
        return
    for suite in ET.parse(report).getroot().iter("testsuite"):
        total = int(suite.get("tests", 0))
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        stage.failed += failed
        stage.skipped += skipped
        stage.passed += total - failed - skipped


def main() -> int:
    """Run the chosen stages. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true", help="only lint, types and unit tests")
    parser.add_argument("--only", help="only the stages of one group: fast, slow or e2e")
    arguments = parser.parse_args()
    wanted = "fast" if arguments.fast else arguments.only
    chosen = [stage for stage in stages() if wanted in (None, stage.group)]
    RESULTS.mkdir(parents=True, exist_ok=True)
    for beside, some in itertools.groupby(chosen, lambda stage: stage.beside):
        if beside:
            run_beside(list(some))
        else:
            for stage in some:
                run(stage)
    print("\n━━ summary " + "━" * 59)
    for stage in chosen:
        counts = f"{stage.passed} passed" if stage.kind != "check" else ""
        counts += f", {stage.failed} failed" if stage.kind != "check" and stage.failed else ""
        counts += f", {stage.skipped} skipped" if stage.skipped else ""
        word = (
            "FAIL"
            if not stage.ok
            else "--  "
            if stage.kind == "check" and stage.skipped
            else "ok  "
        )
        print(f"{word} {stage.name:20} {stage.seconds:7.1f} s  {counts.removeprefix(', ')}")
    for name in (name for stage in chosen for name in stage.unsteady):
        print(f"unsteady: {name} passed at its second try only: mend it")
    checks = [stage for stage in chosen if stage.kind == "check"]
    passed = sum(stage.passed for stage in chosen)
    passed += sum(stage.ok and not stage.skipped for stage in checks)
    failed = sum(stage.failed for stage in chosen) + sum(not stage.ok for stage in checks)
    skipped = sum(stage.skipped for stage in chosen)
    print(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if all(stage.ok for stage in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
