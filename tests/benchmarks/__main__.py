"""Runs benchmarks, prints their tables and writes docs/benchmarks.md. ``make bench``.

    python -m benchmarks                 # all; from tests, or with it on the path
    python -m benchmarks --full          # the sizes that the targets are for; minutes more
    python -m benchmarks initialize      # some only; the page keeps the newest run of the others
    python -m benchmarks --page          # none: draw the page again from the runs that are kept

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

from benchmarks.discover import found, run
from benchmarks.report import load, machine_facts, page
from benchmarks.results import Run, commit, keep, kept

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> int:
    """Run what was asked for. Returns 1 if a benchmark did not finish; targets do not count."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=(__doc__ or "").split("\n")[0])
    about = found()
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(about)}")
    parser.add_argument("--full", action="store_true", help="the sizes that the targets are for")
    parser.add_argument("--print", action="store_true", help="print, keep and write nothing")
    parser.add_argument("--page", action="store_true", help="run nothing, draw the page again")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in about]:
        parser.error(f"there is no benchmark {', '.join(unknown)}")
    names = [] if arguments.page else arguments.names or list(about)
    measured = {name: measure(name, full=arguments.full) for name in names}
    if not arguments.print:
        for name, one in measured.items():
            keep(name, one)
    runs = measured if arguments.print else kept()
    text = page({name: one for name, one in runs.items() if name in about}, about)
    print(f"\n{text}")
    if not arguments.print:
        PAGE.write_text(text, encoding="utf-8")
    return 1 if any(one.failure for one in measured.values()) else 0


def measure(name: str, *, full: bool) -> Run:
    """Run one benchmark in a process of its own."""
    print(f"\n== {name}", flush=True)
    began = time.perf_counter()
    tree = commit()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            (figures, table), failure = pool.submit(run, name, full).result(), ""
        except Exception as error:
            (figures, table), failure = ({}, ""), type(error).__name__
            print(f"{name} did not finish: {error!r}", file=sys.stderr)
    print(f"-- {time.perf_counter() - began:.0f} s", flush=True)
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return Run(figures, table, failure, load(), full, day, tree, machine_facts())


if __name__ == "__main__":
    sys.exit(main())
