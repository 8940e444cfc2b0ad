"""Sessions that people really had with coding assistants, lived through with the whole server.

Each session of a folder (``--sessions DIR``, see tests/benchmarks/recorded/README.md) is replayed
with defaults against the enforcing server. Reported side by side: what it costs over the least that
its content can cost, and what the same conversation costs in other tools' arrangements; what was
read from the cache; how much of what was sent was out of date; how far estimates were off; how long
a turn takes in the product; what is kept on the disk. ``--most N``: at most so many sessions.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.recorded.account import account
from benchmarks.recorded.arrangements import NAMES
from benchmarks.recorded.folder import chosen, side_by_side
from benchmarks.recorded.recording import Recording
from benchmarks.recorded.replay import play

COUNTER = "counter"
OTHERS = (*NAMES, COUNTER)
MOST = 60
SAME = 0.005
"""Part of the cost by which two arrangements may differ and still cost the same."""


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Replay. Raises NothingToMeasure where there are no sessions."""
    found = chosen("real_sessions", MOST, arguments)
    began = time.perf_counter()
    rows = asyncio.run(side_by_side(found, _one))
    people = sorted({one.person for one in found})
    numbers = {person: f"{number:02}" for number, person in enumerate(people, 1)}
    for row, one in zip(rows, found, strict=True):
        row["person"] = numbers[one.person]
    return {
        **summed(rows),
        "people": len(people),
        "sessions": len(rows),
        "seconds": round(time.perf_counter() - began),
        "by_session": {f"{n:02}": row for n, row in enumerate(rows, 1)},
    }


async def _one(recording: Recording) -> dict[str, Any]:
    row = account(await play(recording))
    counted = account(await play(recording, COUNTER))
    row["others"][COUNTER] = round(counted["cost"] / row["cost"], 3)
    row["others_read"][COUNTER] = counted["read"]
    print(f"{recording.name}: {row['over_bound']} {row['others']}", file=sys.stderr)
    for fault in (*row["wrong"], *row["failed"]):
        print(f"  {fault}", file=sys.stderr)
    return row


def summed(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures of all sessions together."""
    ratios = [row["over_bound"] for row in rows]
    cheaper = [all(ratio > 1 for ratio in row["others"].values()) for row in rows]
    errors = [abs(e) for row in rows for e in row["estimate_error"][1:]]
    turns = sorted(ms for row in rows for ms in row["turn_ms"][1:])
    differences = sorted(n for row in rows for n in row["differences"]) or [0]
    return {
        "requests": sum(row["requests"] for row in rows),
        "over_bound_median": round(statistics.median(ratios), 3),
        "over_bound_worst": max(ratios),
        "cheaper_than_all_share": round(statistics.fmean(cheaper), 3),
        "cheaper_or_the_same_share": round(
            statistics.fmean(all(r > 1 - SAME for r in row["others"].values()) for row in rows), 3
        ),
        "ideal_costs_less": sum(row["ideal"] < 1 - SAME for row in rows),
        "ideal_costs_the_same": sum(abs(row["ideal"] - 1) <= SAME for row in rows),
        "cheaper_than": {
            name: round(statistics.fmean(row["others"][name] > 1 for row in rows), 3)
            for name in rows[0]["others"]
        },
        "others_median": {
            name: round(statistics.median(row["others"][name] for row in rows), 3)
            for name in rows[0]["others"]
        },
        "read_median": round(statistics.median(row["read"] for row in rows), 3),
        "outdated_mean": round(statistics.fmean(row["outdated_mean"] for row in rows), 4),
        "outdated_worst": max(row["outdated_worst"] for row in rows),
        "outdated_above_15_percent_share": round(
            statistics.fmean(row["outdated_worst"] > 0.15 for row in rows), 3
        ),
        "left_mean": round(statistics.fmean(row["left_mean"] for row in rows), 4),
        "differences_median": statistics.median(differences),
        "differences_p95": differences[int(0.95 * (len(differences) - 1))],
        "differences_most": differences[-1],
        "estimate_error_median_percent": round(statistics.median(errors or [0]), 1),
        "estimate_error_p95_percent": round(
            sorted(errors or [0])[int(0.95 * max(len(errors) - 1, 0))], 1
        ),
        "turn_ms_median": statistics.median(turns or [0]),
        "turn_ms_p95": (turns or [0])[int(0.95 * max(len(turns) - 1, 0))],
        "disk_over_said_median": round(
            statistics.median(row["disk"] / max(row["said"], 1) for row in rows), 1
        ),
        "disk_kb_median": round(statistics.median(row["disk"] for row in rows) / 1024),
        "refused": sum(row["refused"] for row in rows),
        "wrong": sum(len(row["wrong"]) for row in rows),
        "failed": sum(len(row["failed"]) for row in rows),
    }


def table(result: dict[str, Any]) -> str:
    """Session by session."""
    head = ["session", "person", "format", "turns", "tokens", "over the bound", *OTHERS,
            "read from cache", "outdated (mean)", "outdated (worst)"]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "| --- | --- | --- |" + " ---: |" * (len(head) - 3)]
    for name, row in result["by_session"].items():
        cells = [name, row["person"], row["format"], row["turns"], f"{row['tokens']:,}",
                 f"{row['over_bound']:.2f}", *(f"{row['others'][o]:.2f}" for o in OTHERS),
                 f"{row['read']:.0%}", f"{row['outdated_mean']:.1%}",
                 f"{row['outdated_worst']:.1%}"]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    people, sessions = result["people"], result["sessions"]
    said = (
        f"{sessions} sessions of {people} {'person' if people == 1 else 'people'}; pauses that a "
        "history does not tell are drawn from those of five other people. Files that left the chat "
        "count as outdated.\n\n"
    )
    return (
        f"{said}Cost over the least that the content can cost; then what the same conversation "
        "costs in other arrangements, as a multiple of Tierline's (above 1: Tierline is cheaper)."
        "\n\n" + "\n".join(lines) + f"\n\n{losses(result)}"
    )


def losses(result: dict[str, Any]) -> str:
    """Every session that another arrangement made cheaper, by how much."""
    rows = result["by_session"]
    said = []
    ideal = [f"{n} ({100 * (1 / row['ideal'] - 1):.1f} %)" for n, row in rows.items()
             if row["ideal"] < 1 - SAME]  # fmt: skip
    apart = (
        "Those send a file that the model created when it comes into the chat. A conversation that "
        "only grows and does not send it again would cost "
        f"less than Tierline in {len(ideal)} of {len(rows)}"
        + (": " + ", ".join(ideal) if ideal else "")
        + f"; the same, within {SAME:.1%}, in {result['ideal_costs_the_same']}.\n"
    )
    for other in OTHERS:
        lost = {n: row["others"][other] for n, row in rows.items() if row["others"][other] <= 1}
        for words, found in (
            ("costs less", {n: r for n, r in lost.items() if r <= 1 - SAME}),
            (f"costs the same, within {SAME:.1%}", {n: r for n, r in lost.items() if r > 1 - SAME}),
        ):
            told = ", ".join(f"{n} ({100 * (1 / r - 1):.1f} %)" for n, r in found.items())
            if told:
                said.append(f"* {other} {words} in {len(found)} of {len(rows)}: {told}")
    if not said:
        return f"No session was cheaper, or as cheap, in another arrangement. {apart}"
    head = (
        "Sessions in which another arrangement costs less, or the same; how much dearer Tierline is"
    )
    return f"{head}:\n\n" + "\n".join(said) + f"\n\n{apart}"


if __name__ == "__main__":
    outcome = main(sys.argv[1:])
    print(table(outcome))
    print(json.dumps({k: v for k, v in outcome.items() if k != "by_session"}, indent=1))
