"""Keeps the newest run of each benchmark, so that one can be measured again without the others.

``results/<name>.json`` holds what ``docs/benchmarks.md`` shows of it: figures, the benchmark's own
table, and under which conditions it was measured.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen


class NothingToMeasure(Exception):  # noqa: N818 - no fault
    """What a benchmark needs is not here; its last run stays. The message says how to get it."""


FOLDER = Path(__file__).parent / "results"


@frozen
class Run:
    """One run of one benchmark. ``load``: the system's in the last minute before its end."""

    figures: Mapping[str, Any]
    table: str = ""
    failure: str = ""
    """The kind of error if it did not finish; the figures are empty then."""
    load: float = 0.0
    full: bool = False
    day: str = ""
    commit: str = ""
    """Of the tree that was measured, ``+`` when it had changes that were not committed."""
    machine: Mapping[str, str] = field(factory=dict)


def keep(name: str, run: Run, folder: Path = FOLDER) -> None:
    """Write a run down in the place of the one before."""
    folder.mkdir(exist_ok=True)
    text = json.dumps(asdict(run), indent=1, sort_keys=True, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def kept(folder: Path = FOLDER) -> dict[str, Run]:
    """The newest run of every benchmark."""
    return {
        path.stem: Run(**json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.glob("*.json"))
    }


def commit() -> str:
    """Which tree this is; empty outside a repository."""
    told = ("git", "describe", "--always", "--dirty=+", "--exclude=*")
    done = subprocess.run(
        told, cwd=FOLDER.parent, capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout.strip()
