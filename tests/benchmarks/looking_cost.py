"""What the chip of the active editor costs, over recorded sessions lived through with the server.

Each session (``--sessions DIR``, see tests/benchmarks/recorded/README.md) is replayed three times:
with the chip off; with the file that the turn is about open and the cursor resting in its first
line; and the same with the cursor and the visible lines elsewhere at each prompt. The enforcing
server's bodies are accounted for by the simulator of a prompt cache. ``--most N``: at most so many
sessions.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.cache_simulator import CacheSimulator, Outcome
from benchmarks.recorded.folder import chosen, side_by_side
from benchmarks.recorded.recording import Recording
from benchmarks.recorded.replay import Looking, Played, Player, play
from tierline import protocol as p

MOST = 12
VISIBLE = 40
"""Lines that an editor shows."""


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Replay. Raises NothingToMeasure where there are no sessions."""
    found = chosen("looking_cost", MOST, arguments)
    return summed(asyncio.run(side_by_side(found, _one)))


def place(player: Player, number: int, *, moving: bool) -> p.EditorPlace | None:
    """The file that the turn edits first, else the one that was open before."""
    for turn in reversed(player.recording.turns[: number + 1]):
        paths = [edit.path for done in turn.rounds for edit in done.edits]
        if path := next((one for one in paths if (player.root / one).is_file()), ""):
            break
    else:
        return None
    file = player.root / path
    lines = max(1, file.read_text(encoding="utf-8").count("\n"))
    first = random.Random(f"{player.recording.name} {number}").randint(1, lines) if moving else 1
    return p.EditorPlace(file.as_uri(), first, min(first + VISIBLE, lines), first)


WAYS: dict[str, Looking | None] = {
    "off": None,
    "resting": lambda player, number: place(player, number, moving=False),
    "moving": lambda player, number: place(player, number, moving=True),
}


async def _one(recording: Recording) -> dict[str, list[Outcome]]:
    row = {way: outcomes(await play(recording, looking=looking)) for way, looking in WAYS.items()}
    print(f"{recording.name}: {[len(r) for r in row.values()]}", file=sys.stderr)
    return row


def outcomes(played: Played) -> list[Outcome]:
    """What the cache gave each request of a session."""
    cache = CacheSimulator()
    return [cache.send(sent.body, sent.at) for sent in played.sent]


def summed(rows: Sequence[dict[str, list[Outcome]]]) -> dict[str, Any]:
    """The figures of all sessions, way by way."""
    ways: dict[str, dict[str, float]] = {}
    for way in WAYS:
        each = [one for row in rows for one in row[way]]
        total, read = sum(one.total for one in each), sum(one.read for one in each)
        ways[way] = {
            "requests": len(each),
            "tokens_a_request": round(total / len(each)),
            "read": round(read / total, 4),
            "anew_a_request": round((total - read) / len(each)),
            "cost_a_request": round(sum(one.cost for one in each) / len(each)),
        }
    alike = [row for row in rows if len(row["resting"]) == len(row["moving"])]
    lost = [
        max(0.0, still.read - moved.read)
        for row in alike
        for still, moved in zip(row["resting"], row["moving"], strict=True)
    ]
    return {
        "sessions": len(rows),
        "compared": len(lost),
        "requests_that_lost": sum(one >= 1 for one in lost),
        "lost_tokens_a_request": round(statistics.fmean(lost), 1) if lost else 0.0,
        "by_way": ways,
    }


def table(result: dict[str, Any]) -> str:
    """The chip off, on, and with a cursor that moves."""
    names = {"off": "off", "resting": "on, cursor resting", "moving": "on, cursor elsewhere"}
    lines = [
        "| chip | requests | tokens a request | read from the cache | not from the cache "
        "| cost a request |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for way, row in result["by_way"].items():
        lines.append(
            f"| {names[way]} | {row['requests']} | {row['tokens_a_request']:,} | {row['read']:.1%} "
            f"| {row['anew_a_request']:,} | {row['cost_a_request']:,} |"
        )
    said = (
        f"Over {result['sessions']} sessions; tokens are bytes by four, costs in input tokens' "
        f"price. Of {result['compared']} requests with the cursor elsewhere, "
        f"{result['requests_that_lost']} read less from the cache than the same request with "
        f"the cursor resting.\n\n"
    )
    return said + "\n".join(lines) + "\n"


if __name__ == "__main__":
    outcome = main(sys.argv[1:])
    print(table(outcome))
    print(json.dumps(outcome, indent=1))
