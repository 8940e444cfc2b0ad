"""Twelve turns with edits against the embedded model, under each policy: how long until the first
token, and how many tokens came from the cache.

Three sessions, one per policy, live through the same edits and prompts with the real engine and a
model process each. They take turns, so that what else the machine does falls on all alike.
``--full`` takes files of two and a half times the size, minutes more on two cores.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.quotes import POLICIES
from tierline import protocol as p
from tierline.session.session import Session

ROOT = Path(__file__).parents[2]
TURNS = 12
FILES = 5
FUNCTIONS, FULL_FUNCTIONS = 3, 8
"""Per file."""
EDITS = ("", "b", "b", "", "d", "b", "bd", "", "b", "b", "", "d")
"""Files that change before each turn: b is being worked on, d now and then."""
PROMPTS = (
    "What does b.py do?", "I renamed something. Is it clear?", "Which function is the longest?",
    "What would you test first?", "Is the new branch right?", "Where is the total computed?",
    "Compare b.py and d.py.", "Sum up what we have so far.", "Did that change the result?",
    "Is anything unused now?", "What is left to do?", "Write a commit message.",
)  # fmt: skip
OUTPUT = 6


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Measure. Returns a row per turn and sums over the turns after the first, when the model has
    nothing of the files yet.
    """
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        os.environ.pop(name, None)
    os.environ["TIERLINE_PROVIDER_NAME"] = "local"
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = str(Path(folder) / "config")
        size = FULL_FUNCTIONS if "--full" in arguments else FUNCTIONS
        measured = asyncio.run(_measure(Path(folder), size))
    rows: dict[str, Any] = {}
    for turn in range(TURNS):
        row: dict[str, Any] = {"edited": " ".join(EDITS[turn])}
        for policy in POLICIES:
            seconds, read, total = measured[policy][turn]
            row[f"{policy}_ms"] = round(1000 * seconds)
            row[f"{policy}_cached"] = read
            row[f"{policy}_input"] = total
        rows[str(turn + 1)] = row
    result: dict[str, Any] = {"turns": rows, "full": "--full" in arguments}
    for policy in POLICIES:
        warm = measured[policy][1:]
        result[policy] = {
            "first_token_median_ms": round(1000 * statistics.median(s for s, _, _ in warm)),
            "first_token_sum_ms": round(1000 * sum(s for s, _, _ in warm)),
            "cached_share": round(sum(r for _, r, _ in warm) / sum(t for _, _, t in warm), 3),
            "computed_tokens": sum(t - r for _, r, t in warm),
        }
    ours = result["log_structured"]["first_token_sum_ms"]
    for other in ("fixed", "counter"):
        ratio = ours / result[other]["first_token_sum_ms"]
        result[f"log_structured_over_{other}"] = round(ratio, 3)
    result["seconds"] = round(time.perf_counter() - began, 1)
    return result


def table(result: dict[str, Any]) -> str:
    """Turn by turn as a Markdown table: time to the first token and cached of all input tokens."""
    names = list(POLICIES)
    head = "| turn | edited | " + " | ".join(f"{POLICIES[n]} | cached" for n in names) + " |"
    out = [head, "| ---: | --- |" + " ---: |" * (2 * len(names))]
    for turn, row in result["turns"].items():
        cells = []
        for name in names:
            cells.append(f"{row[f'{name}_ms']:,} ms")
            cells.append(f"{row[f'{name}_cached']:,} of {row[f'{name}_input']:,}")
        out.append(f"| {turn} | {row['edited']} | " + " | ".join(cells) + " |")
    out += ["", "After the first turn:", ""]
    out.append("| policy | time to first tokens | median | read from the cache | computed |")
    out.append("| --- | ---: | ---: | ---: | ---: |")
    for name in names:
        sums = result[name]
        out.append(
            f"| {POLICIES[name]} | {sums['first_token_sum_ms'] / 1000:.1f} s | "
            f"{sums['first_token_median_ms']:,} ms | {100 * sums['cached_share']:.0f} % | "
            f"{sums['computed_tokens']:,} tokens |"
        )
    return "\n".join(out) + "\n"


Measured = dict[str, list[tuple[float, int, int]]]
"""Per policy and turn: seconds to the first token, cached tokens, all input tokens."""


async def _measure(folder: Path, functions: int) -> Measured:
    measured: Measured = {policy: [] for policy in POLICIES}
    rooms = [_Room(folder / policy, policy, functions) for policy in POLICIES]
    try:
        for room in rooms:
            await room.open()
        for turn in range(TURNS):
            for room in rooms:
                room.edit(turn)
                measured[room.policy].append(await room.ask(PROMPTS[turn]))
    finally:
        for room in rooms:
            await room.session.close()
    return measured


class _Room:
    """A workspace with a session under one policy."""

    def __init__(self, root: Path, policy: str, functions: int) -> None:
        self.root, self.policy = root, policy
        rng = random.Random(7)
        self.files = {f"{name}.py": _source(rng, functions) for name in "abcde"[:FILES]}
        self._events: asyncio.Queue[p.Event] = asyncio.Queue()
        root.mkdir(parents=True)
        for name, text in self.files.items():
            (root / name).write_text(text, encoding="utf-8")
        self.session = Session(
            [(root.name, root.as_uri())],
            editor_settings={
                # The files are small: what counts as a full tier must be, too.
                "cache": {"policy": policy, "min_tokens": 128},
                "context": {"max_output_tokens": OUTPUT, "mode": "off"},
            },
            publish=self._events.put_nowait,
        )

    async def open(self) -> None:
        """Start, and wake the model with a prompt of its own, so that loading is not measured."""
        await self.session.start()
        await self.ask("Hello.")
        for name in self.files:
            await self.session.files.add(p.FileParams(path=name))

    def edit(self, turn: int) -> None:
        """What the user changed before this turn."""
        rng = random.Random(turn)
        for letter in EDITS[turn]:
            name = f"{letter}.py"
            lines_of = self.files[name].split("\n")
            place = rng.randrange(len(lines_of) // 3, len(lines_of) - 2)
            lines_of[place] = f"    total += {rng.randrange(1000)}"
            self.files[name] = "\n".join(lines_of)
            (self.root / name).write_text(self.files[name], encoding="utf-8")

    async def ask(self, prompt: str) -> tuple[float, int, int]:
        """One turn."""
        began = time.perf_counter()
        first = 0.0
        sent = await self.session.turns.send(p.ChatSendParams(text=prompt))
        while True:
            body = (await self._events.get()).body
            if isinstance(body, p.TextDelta | p.ReasoningDelta) and not first:
                first = time.perf_counter() - began
            if isinstance(body, p.TurnFinished) and body.turn_id == sent.turn_id:
                break
        if body.usage is None or body.cache is None:
            raise RuntimeError(f"the turn failed: {body.error}")
        if body.cache.read_tokens < 0:
            raise RuntimeError("the embedded model did not say what it had cached")
        return first, body.cache.read_tokens, body.usage.input_tokens


def _source(rng: random.Random, functions: int) -> str:
    """About 50 tokens per function."""
    out = []
    for number in range(functions):
        a, b = rng.randrange(100), rng.randrange(100)
        out.append(f"def step_{number}(total: int, value: int) -> int:")
        out.append(f"    if value > {a}:")
        out.append(f"        total += value * {b}")
        out.append(f"    total -= {rng.randrange(50)}")
        out.append("    return total\n\n")
    return "\n".join(out)


if __name__ == "__main__":
    outcome = main(sys.argv[1:])
    print(table(outcome))
    print(json.dumps(outcome))
