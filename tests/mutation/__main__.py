"""``make mutants``: put faults into context/, history/ and store/, and see whether a test notices.

A sample of each package, drawn with a seed, which can be done in portions: what is in
build/mutation is not done again while the package is unchanged. Each fault lives only in the memory
of a forked process and of the servers that its tests start; no file is changed. Needs fork.
Not part of ``make test``: what it finds is judged by a person, see docs/reliability.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mutation.attempt import BUSY, Verdict, attempt
from mutation.children import PACKAGES
from mutation.faults import PACKAGE, ROOT
from mutation.mutants import Mutant, difference, mutants
from mutation.reach import OUT, portions, reach, witnesses


def all_mutants(package: str) -> list[Mutant]:
    """Every fault of a package, in the order of files and lines."""
    found: list[Mutant] = []
    for path in sorted((PACKAGE / package).rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        found += mutants(name, path.read_text(encoding="utf-8"))
    return found


def sample(package: str, count: int, seed: int) -> list[Mutant]:
    """``count`` faults of a package; a longer sample begins with the shorter one."""
    everything = all_mutants(package)
    random.Random(f"{package} {seed}").shuffle(everything)
    return everything[:count]


def results_path(package: str, seed: int) -> Path:
    """Where the results for the package as it is now are kept."""
    digest = hashlib.sha256()
    for path in sorted((PACKAGE / package).rglob("*.py")):
        digest.update(path.read_bytes())
    return OUT / f"{package}-{seed}-{digest.hexdigest()[:8]}.jsonl"


def read(path: Path) -> list[dict[str, Any]]:
    """The results in a file, one for each line; of two for one fault, the later."""
    if not path.is_file():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return list({(r["place"], r["index"]): r for r in rows}.values())


def judge(mutant: Mutant, known: dict[str, Any], seconds: float) -> Verdict:
    """Try the tests that pass the fault, the quick ones first, until one fails."""
    tried = 0
    verdict = Verdict("no test")
    for tests in portions(witnesses(mutant, known), seconds):
        verdict = attempt(mutant, tests, OUT)
        if verdict.result == "timeout" or verdict.by == BUSY:
            # Beside other programs the same work takes more of the processor, too.
            verdict = attempt(mutant, tests, OUT, patience=4)
        tried += verdict.tests
        if verdict.result != "survived":
            break
    return Verdict(verdict.result, verdict.by, tried)


def row(mutant: Mutant, verdict: Verdict) -> dict[str, Any]:
    """One line of the results."""
    source = (PACKAGE / mutant.path).read_text(encoding="utf-8")
    return {
        "place": f"{mutant.path}:{mutant.line}",
        "index": mutant.index,
        "change": mutant.change,
        "result": verdict.result,
        "by": verdict.by,
        "tests": verdict.tests,
        "diff": difference(source, mutant),
    }


def recheck(rows: list[dict[str, Any]], known: dict[str, Any]) -> None:
    """A test that noticed something must pass without a fault, or its word is void."""
    seconds = dict(zip(known["tests"], known["seconds"], strict=True))
    names = {
        r["by"].splitlines()[0] for r in rows if r["result"] == "noticed" and r["by"] in seconds
    }
    if not names:
        return
    said = attempt(None, [(name, seconds[name]) for name in sorted(names)], OUT)
    if said.result == "survived":
        print(f"All {len(names)} tests that noticed a fault pass without one.")
    else:
        print(f"Not to be trusted, as they fail without a fault, too ({said.result}):\n{said.by}")


def report(packages: list[str], seed: int) -> list[dict[str, Any]]:
    """The score per package and, in build/mutation/survivors.md, who survived."""
    rows: list[dict[str, Any]] = []
    text = []
    for package in packages:
        mine = read(results_path(package, seed))
        said = Counter(r["result"] for r in mine)
        noticed = said["noticed"] + said["timeout"]
        counted = sum(said.values()) - said["error"]
        if counted:
            share = f"{noticed}/{counted} noticed ({100 * noticed / counted:.0f} %)"
            print(f"{package:8} {share}, {dict(said)}")
        for r in mine:
            if r["result"] in ("survived", "no test", "error"):
                told = f"{r['result']}, {r['tests']} tests {r['by']}".rstrip()
                text.append(f"- `{r['place']}` ({told})\n```diff\n{r['diff']}\n```\n")
        rows += mine
    (OUT / "survivors.md").write_text("\n".join(text), encoding="utf-8")
    return rows


def main() -> int:
    """Run a sample. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("packages", nargs="*", default=list(PACKAGES), help="context history store")
    parser.add_argument("--count", type=int, default=60, help="faults in each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=30, help="of tests, at most, three times")
    parser.add_argument("--part", default="1/1", help="every so many-th of the sample, such as 2/3")
    parser.add_argument("--map", nargs="*", type=int, help="find anew which tests run which lines")
    parser.add_argument("--map-seconds", type=float, default=600, help="at most, for that")
    parser.add_argument(
        "--only", nargs="*", help="places such as store/log.py:120; nothing is kept"
    )
    arguments = parser.parse_args()
    os.chdir(ROOT)
    known = reach(arguments.map is not None, arguments.map or [], arguments.map_seconds)
    # Everything that is not under test is imported once, before the forks.
    import hypothesis  # noqa: F401
    import lsprotocol.types  # noqa: F401
    import pygls.lsp.server  # noqa: F401
    import pytest  # noqa: F401
    import tiktoken  # noqa: F401

    end = time.monotonic() + arguments.minutes * 60
    part, parts = map(int, arguments.part.split("/"))
    for package in arguments.packages:
        path = results_path(package, arguments.seed)
        if arguments.only:
            drawn = [m for m in all_mutants(package) if f"{m.path}:{m.line}" in arguments.only]
        else:
            drawn = sample(package, arguments.count, arguments.seed)[part - 1 :: parts]
        done = {
            (r["place"], r["index"]) for r in read(path) if r["tests"] and r["result"] != "error"
        }
        for mutant in drawn:
            if (f"{mutant.path}:{mutant.line}", mutant.index) in done and not arguments.only:
                continue
            if time.monotonic() > end:
                print("The time is over.", flush=True)
                break
            began = time.monotonic()
            verdict = judge(mutant, known, arguments.seconds)
            print(f"{verdict.result:9}{time.monotonic() - began:5.1f} s {mutant}"
                  f"  <- {verdict.tests} tests {verdict.by}", flush=True)  # fmt: skip
            if not arguments.only:
                with path.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row(mutant, verdict)) + "\n")
    if not arguments.only:
        recheck(report(arguments.packages, arguments.seed), known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
