"""Runs all benchmarks, prints their tables and writes docs/benchmarks.md. ``make bench``.

    python -m benchmarks                        # from tests, or with it on the path
    python -m benchmarks --full                 # the sizes that the targets are for; minutes more
    python -m benchmarks initialize --print     # some only; without --print they are not written

A benchmark is a module here with ``main() -> dict``; if it has ``table(result) -> str`` its main
table comes from there. Each runs in a process of its own, so that none warms or fattens another.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.discover import found, run
from benchmarks.report import load, machine_facts, page

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> int:
    """Run what was asked for. Returns 1 if a benchmark did not finish; targets do not count."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=(__doc__ or "").split("\n")[0])
    about = found()
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(about)}")
    parser.add_argument("--full", action="store_true", help="the sizes that the targets are for")
    parser.add_argument("--print", action="store_true", help="some only: print, do not write")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in about]:
        parser.error(f"there is no benchmark {', '.join(unknown)}")
    if arguments.names and not arguments.print:
        parser.error("the page holds all benchmarks; add --print to run some")
    machine = machine_facts()
    results: dict[str, dict[str, Any]] = {}
    tables: dict[str, str] = {}
    failures: dict[str, str] = {}
    loads: dict[str, float] = {}
    for name in arguments.names or about:
        print(f"\n== {name}", flush=True)
        began = time.perf_counter()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            try:
                results[name], tables[name] = pool.submit(run, name, arguments.full).result()
            except Exception as error:
                failures[name] = type(error).__name__
                print(f"{name} did not finish: {error!r}", file=sys.stderr)
        loads[name] = load()
        print(f"-- {time.perf_counter() - began:.0f} s", flush=True)
    text = page(results, failures, about, tables, machine, loads)
    print(f"\n{text}")
    if not arguments.print:
        PAGE.write_text(text, encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
