"""Runs benchmarks, prints their tables, writes docs/benchmarks.md and what other pages
quote of it. ``make bench``.

    python -m benchmarks                 # all; from tests, or with it on the path
    python -m benchmarks --full          # the sizes that the targets are for; minutes more
    python -m benchmarks initialize      # some only; the page keeps the newest run of the others
    python -m benchmarks --page          # none: draw the page again from the runs that are kept
    python -m benchmarks retrieval_commits -- --sources DIR   # options of one benchmark's own

A benchmark is a module here with ``main() -> dict``; if it has ``table(result) -> str`` its main
table comes from there. Each runs in a process of its own, so that none warms or fattens another.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks import quotes
from benchmarks.discover import found, run
from benchmarks.report import load, machine_facts, page
from benchmarks.results import NothingToMeasure, Run, commit, keep, kept

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> int:
    """Run what was asked for. Returns 1 if a benchmark did not finish; targets do not count."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=(__doc__ or "").split("\n")[0])
    about = found()
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(about)}")
    parser.add_argument("--full", action="store_true", help="the sizes that the targets are for")
    parser.add_argument("--print", action="store_true", help="print, keep and write nothing")
    parser.add_argument("--page", action="store_true", help="run nothing, draw the page again")
    told, own = parted(sys.argv[1:])
    arguments = parser.parse_args(told)
    if unknown := [name for name in arguments.names if name not in about]:
        parser.error(f"there is no benchmark {', '.join(unknown)}")
    if own and len(arguments.names) != 1:
        parser.error("options behind -- are for one benchmark: name it")
    names = [] if arguments.page else arguments.names or list(about)
    measured: dict[str, Run] = {}
    for name in names:
        try:
            measured[name] = measure(name, ["--full"] * arguments.full + own)
        except NothingToMeasure as missing:
            print(f"{name}: {missing}", file=sys.stderr)
            continue
        if not arguments.print:  # at once: what comes later may be broken off
            keep(name, measured[name])
    runs = measured if arguments.print else kept()
    text = page({name: one for name, one in runs.items() if name in about}, about)
    print(f"\n{text}")
    if not arguments.print:
        PAGE.write_text(text, encoding="utf-8")
        figures = {name: one.figures for name, one in runs.items() if not one.failure}
        for place, written in quotes.written(figures).items():
            place.write_text(written, encoding="utf-8")
    return 1 if any(one.failure for one in measured.values()) else 0


def parted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What is said to the runner, and behind a ``--`` to the benchmark."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def measure(name: str, arguments: list[str]) -> Run:
    """Run one benchmark in a process of its own."""
    print(f"\n== {name}", flush=True)
    began = time.perf_counter()
    tree = commit()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            (figures, table), failure = pool.submit(run, name, arguments).result(), ""
        except NothingToMeasure:
            raise
        except Exception as error:
            (figures, table), failure = ({}, ""), type(error).__name__
            print(f"{name} did not finish: {error!r}", file=sys.stderr)
    print(f"-- {time.perf_counter() - began:.0f} s", flush=True)
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return Run(figures, table, failure, load(), "--full" in arguments, day, tree, machine_facts())


if __name__ == "__main__":
    sys.exit(main())
