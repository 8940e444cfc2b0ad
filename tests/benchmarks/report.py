"""Turns figures into Markdown. Nothing that names a machine, a user or a path goes in."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.results import Run
from benchmarks.targets import Figures, Verdict, judge, show

HEAD = """# Benchmarks

<!-- Written by `make bench`. Do not edit. -->

The newest run of each benchmark. Each section says which revision was measured and how busy the
machine was. `make bench` measures all of them again, `make bench ONLY="initialize load"` some; the
programs are in `tests/benchmarks`, each with a description at its top. Ratios come from one run,
side by side.
"""


def page(runs: Mapping[str, Run], about: Mapping[str, str]) -> str:
    """The whole page. ``about``: a sentence per benchmark."""
    results = {name: run.figures for name, run in runs.items() if not run.failure}
    verdicts = judge(results)
    parts = [HEAD]
    machines = {tuple(run.machine.items()): dict(run.machine) for run in runs.values()}
    parts += [grid(("machine", ""), list(facts.items())) for facts in machines.values() if facts]
    parts += ["## Targets\n", summary(verdicts, runs), _targets(verdicts)]
    for name in sorted(runs):
        run = runs[name]
        parts.append(f"## {name}\n")
        parts.append(about.get(name, "").replace("``", "`") + "\n")
        if run.failure:
            parts.append(f"**Did not finish: {run.failure}.**\n")
            continue
        parts.append(_conditions(run))
        parts.append(run.table)
        parts += figures_tables(run.figures, with_lists=not run.table)
    return "\n".join(part for part in parts if part.strip())


def _conditions(run: Run) -> str:
    """Day, tree and how busy the machine was."""
    told = [f"Measured on {run.day}"] if run.day else []
    told += [f"tree {run.commit}"] if run.commit else []
    told += [f"load at its end {run.load:.1f}"]
    return f"*{', '.join(told)}.*\n"


def machine_facts() -> dict[str, str]:
    """What figures depend on."""
    facts = {
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "system": platform.system(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        facts["memory"] = f"{size / 2**30:.0f} GB"
    return facts


def load() -> float:
    """Programs that ran or waited for a processor, averaged over a minute; 0 if unknown."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def summary(verdicts: Sequence[Verdict], runs: Mapping[str, Run]) -> str:
    """In sentences: how many targets were reached, and which were not."""
    missed = [v for v in verdicts if v.missed]
    lines = ["No target was measured.\n"] if not verdicts else []
    lines += (
        [f"{len(verdicts) - len(missed)} of {len(verdicts)} targets were reached.\n"]
        if verdicts
        else []
    )
    for verdict in missed:
        if verdict.value is None:
            lines.append(f"- **Not measured**: {verdict.target.text}.")
            continue
        value = show(verdict.value, verdict.target.unit)
        lines.append(f"- **Missed**: {verdict.target.text}: {value}, not {verdict.target.words()}.")
    lines += [
        f"- **Did not finish**: {name} ({run.failure})."
        for name, run in runs.items()
        if run.failure
    ]
    small = sorted({v.target.benchmark for v in verdicts if not v.comparable and v.value})
    if small:
        lines.append(
            f"- A smaller run than the targets are for: {', '.join(small)}. "
            "`make bench FULL=1` measures the whole."
        )
    cores = os.cpu_count() or 1
    if crowded := {name: run.load for name, run in runs.items() if run.load > cores + 1}:
        list_of = ", ".join(f"{name} ({at:.1f})" for name, at in sorted(crowded.items()))
        lines.append(
            f"- Other programs competed for the {cores} cores, so that times are longer than on a "
            f"machine at rest; load at the end of each: {list_of}."
        )
    return "\n".join(lines) + "\n"


def _targets(verdicts: Sequence[Verdict]) -> str:
    rows = [
        (
            v.target.text,
            v.target.words(),
            "" if v.value is None else show(v.value, v.target.unit),
            v.words(),
        )
        for v in verdicts
    ]
    return grid(("what", "target", "measured", "verdict"), rows) if rows else ""


def figures_tables(figures: Figures, *, with_lists: bool = True) -> list[str]:
    """All figures: scalars in one table, nested ones by dotted name, lists of rows as tables."""
    lists: dict[str, Sequence[Mapping[str, Any]]] = {}
    scalars: list[tuple[str, Any]] = []

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else str(key), inner)
        elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            lists[prefix] = value
        else:
            scalars.append((prefix, value))

    for key, value in figures.items():
        if with_lists or not isinstance(value, Mapping):
            walk(str(key), value)
    parts = [grid(list(rows[0]), [list(row.values()) for row in rows]) for rows in lists.values()]
    return [*parts, grid(("figure", "value"), scalars)] if scalars else parts


def grid(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table; columns of numbers to the right."""
    numeric = [
        bool(rows) and all(isinstance(row[i], int | float) for row in rows)
        for i in range(len(head))
    ]
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("| " + " | ".join("---:" if number else "---" for number in numeric) + " |")
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return show(value, "")
    return str(value).replace("|", "\\|")
