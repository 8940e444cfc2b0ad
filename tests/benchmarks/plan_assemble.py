"""How fast a request is planned and assembled, and tokens are counted.

    python tests/benchmarks/plan_assemble.py            # all sizes
    python tests/benchmarks/plan_assemble.py --quick    # the size with a limit only

The session: 200 files and 2,000 messages, 500,000 tokens in all, and the same ten times smaller and
four times larger. Every turn adds a prompt and a reply and edits a file, as real turns do. Times
are milliseconds, with everything counted before (warm), by the clock and, as ``cpu``, of the
processor, which other programs disturb less: ``plan`` decides what goes in,
``arrange`` what stays as it was sent, ``assemble`` makes messages of it, ``strict`` the form that
providers accept, ``render`` the exact body. ``count`` is a 1 MB source file, new, edited in the
middle, and unchanged.
Limits: plan to render under 30 ms (95th percentile), an edited file under 60 ms, an unchanged one
under 0.1 ms.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from attrs import evolve

from tierline import tokenizers
from tierline.context.assemble import assemble
from tierline.context.blocks import Text
from tierline.context.counting import TokenCounter
from tierline.context.fences import render_file
from tierline.context.items import Item, Section
from tierline.context.limits import Limits
from tierline.context.models import ModelFacts
from tierline.context.plan import plan
from tierline.context.prompt import PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.context.text import sha256
from tierline.context.tiers.base import CacheState, Pricing, RequestContext
from tierline.context.tiers.log_structured import LogStructuredPolicy
from tierline.lsp.heap import enable_collector
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.transport import Endpoint

FILES, MESSAGES, TOKENS = 200, 2_000, 500_000
SCALES = (0.1, 0.25, 1.0, 2.0, 4.0)
P95_LIMIT_MS = 30.0
EDIT_LIMIT_MS = 60.0
SAME_LIMIT_MS = 0.1
STAGES = ("plan", "arrange", "assemble", "strict", "render")
_WORDS = (
    *("value", "index", "return", "self", "result", "path", "token", "count", "item", "list"),
    *("update", "for", "in", "if", "not", "None", "while", "error", "message", "buffer"),
    *("read", "write", "cache", "entry", "section", "window", "limit", "order", "first", "last"),
)


class Conversation:
    """Files and history of a given size, with the changes that turns bring."""

    def __init__(self, scale: float, counter: TokenCounter, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._counter = counter
        self.turn = 0
        self._texts = [self._text(TOKENS * 0.6 / FILES) for _ in range(int(FILES * scale))]
        self.files = [self._file(number) for number in range(len(self._texts))]
        self.history = [self._message() for _ in range(int(MESSAGES * scale))]
        self.head = Item(
            "system:head", Section.SYSTEM, "head", counter.count("Be brief."), "Be brief.",
            required=True,
        )  # fmt: skip

    def next_turn(self) -> list[Item]:
        """A file was edited, a reply and a prompt were added."""
        place = self._random.randrange(len(self.files))
        lines = self._texts[place].split("\n")
        lines[self._random.randrange(len(lines))] = self._text(10)
        self._texts[place] = "\n".join(lines)
        self.files[place] = self._file(place)
        self.history[-1] = evolve(self.history[-1], required=False)
        self.history += [self._message(), self._message()]
        self.history[-1] = evolve(self.history[-1], required=True)
        return [self.head, *self.files, *self.history]

    def _text(self, tokens: float) -> str:
        lines = [
            "    " + " ".join(self._random.choices(_WORDS, k=9)) for _ in range(int(tokens / 10))
        ]
        return "\n".join(lines)

    def _file(self, number: int) -> Item:
        path = f"src/module_{number:04}.py"
        text = render_file(path, self._texts[number])
        tokens = self._counter.count(text)
        return Item(f"file:{path}", Section.FILES, sha256(text), tokens, text, path=path)

    def _message(self) -> Item:
        self.turn += 1
        key = f"history:{self.turn:08}"
        block = PromptBlock(Text(self._text(TOKENS * 0.4 / MESSAGES)), key)
        message = PromptMessage("user" if self.turn % 2 == 0 else "assistant", (block,))
        assert isinstance(block.block, Text)
        return Item(
            key, Section.HISTORY, sha256(block.block.text), self._counter.count([message]),
            messages=(message,), group=f"g{self.turn // 2}",
        )  # fmt: skip


def measure(scale: float, counter: TokenCounter, turns: int) -> dict[str, Any]:
    """Milliseconds per stage over some turns at one scale."""
    conversation = Conversation(scale, counter)
    limits = Limits(window=10_000_000, max_input_tokens=10_000_000, max_output_tokens=8_192)
    adapter = AnthropicProvider(Endpoint("http://127.0.0.1:1", key="k"))
    facts = counter.model
    pricing, policy, sent = (
        Pricing.of(facts),
        LogStructuredPolicy(count=counter.count),
        CacheState(),
    )
    times: dict[str, list[float]] = {stage: [] for stage in (*STAGES, "total", "cpu")}
    tokens = size = 0
    for turn in range(turns + 2):
        items = conversation.next_turn()
        cpu = time.thread_time()
        marks = [time.perf_counter()]
        made = plan(items, limits, model="m", frame_tokens=15, group_id=str(turn))
        marks.append(time.perf_counter())
        moment = RequestContext(1.7e9 + 60.0 * turn, model="m", group_id=items[-1].group)
        arranged = policy.arrange(made.select(items), sent, moment, pricing)
        sent = arranged.next
        marks.append(time.perf_counter())
        prompt = assemble(
            arranged, facts=facts, count=counter.count, max_output_tokens=made.max_output_tokens
        )
        marks.append(time.perf_counter())
        prompt = strict(prompt, strategy="anthropic")
        marks.append(time.perf_counter())
        size = len(adapter.render(prompt).payload)
        marks.append(time.perf_counter())
        cpu = time.thread_time() - cpu
        tokens = made.tokens
        if turn < 2:
            continue  # the first turns warm the caches
        for stage, begin, end in zip(STAGES, marks[:-1], marks[1:], strict=True):
            times[stage].append(1000 * (end - begin))
        times["total"].append(1000 * (marks[-1] - marks[0]))
        times["cpu"].append(1000 * cpu)
    return {
        "tokens": tokens,
        "files": len(conversation.files),
        "messages": len(conversation.history),
        "body_bytes": size,
        **{f"{stage}_p50": round(statistics.median(times[stage]), 2) for stage in times},
        "total_p95": round(_percentile(times["total"], 0.95), 2),
        "cpu_p95": round(_percentile(times["cpu"], 0.95), 2),
    }


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def counting(counter: TokenCounter) -> dict[str, Any]:
    """Milliseconds to count a source file of 1 MB: new, edited, unchanged."""
    source = random.Random(7)
    lines: list[str] = []
    size = 0
    while size < 1_000_000:
        words = " ".join(source.choices(_WORDS, k=source.randint(2, 9)))
        lines.append(f"{'    ' * source.randint(0, 3)}{words} = {source.randint(0, 9999)}\n")
        size += len(lines[-1])
    text = "".join(lines)
    new = _time(lambda: counter.count(text))
    edited = []
    for number in range(20):
        place = source.randrange(len(text))
        change = f"{text[:place]}edit {number}\n{text[place:]}"
        edited.append(_time(lambda change=change: counter.count(change)))  # type: ignore[misc]
    counter.count(text)
    same = [_time(lambda: counter.count(text)) for _ in range(100)]
    return {
        "bytes": len(text),
        "new_ms": round(new, 2),
        "edited_p95_ms": round(_percentile(edited, 0.95), 2),
        "unchanged_p95_ms": round(_percentile(same, 0.95), 4),
    }


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def _peak_mb() -> float:
    """Most memory that this process has had, in MB (the system counts in KB, or in bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main(quick: bool = False, turns: int = 60) -> dict[str, Any]:
    """Run, print a table, return all figures."""
    gc.disable()
    enable_collector()  # as the server does
    began = time.perf_counter()
    encoder = tokenizers.encoder("o200k_base")
    load_ms = round(1000 * (time.perf_counter() - began), 1)
    model = ModelFacts("m", native_encoding=True, caching="explicit", max_marks=4)
    count = counting(TokenCounter(model, encoder))
    memory = _peak_mb()
    rows = [
        measure(scale, TokenCounter(model, encoder), turns)
        for scale in ((1.0,) if quick else SCALES)
    ]
    print(f"{'tokens':>10} {'files':>6} {'messages':>8}", end="")
    print(
        "".join(f"{stage:>9}" for stage in STAGES),
        f"{'p50':>8} {'p95 ms':>8} {'cpu p95':>8} {'µs/1k':>7}",
    )
    for row in rows:
        print(f"{row['tokens']:>10,} {row['files']:>6} {row['messages']:>8,}", end="")
        print("".join(f"{row[f'{stage}_p50']:>9.2f}" for stage in STAGES), end="")
        per_thousand = 1e6 * row["cpu_p50"] / row["tokens"]
        print(f" {row['total_p50']:>8.2f} {row['total_p95']:>8.2f}", end="")
        print(f" {row['cpu_p95']:>8.2f} {per_thousand:>7.1f}")
    print(
        f"count of 1 MB: new {count['new_ms']} ms, edited {count['edited_p95_ms']} ms (p95), "
        f"unchanged {count['unchanged_p95_ms']} ms (p95); vocabulary loaded in {load_ms} ms; "
        f"at most {memory:.0f} MB of memory so far"
    )
    main_row = next(row for row in rows if row["files"] == FILES)
    smallest, largest = rows[0], rows[-1]
    growth = (largest["cpu_p50"] / smallest["cpu_p50"]) / (largest["tokens"] / smallest["tokens"])
    return {
        "assemble": rows,
        "count": count,
        "vocabulary_load_ms": load_ms,
        "memory_mb": round(memory, 1),
        "growth_relative_to_linear": round(growth, 2),
        "within_limits": main_row["total_p95"] < P95_LIMIT_MS
        and count["edited_p95_ms"] < EDIT_LIMIT_MS
        and count["unchanged_p95_ms"] < SAME_LIMIT_MS,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the size with a limit only")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    arguments = parser.parse_args()
    figures = main(quick=arguments.quick)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    sys.exit(0 if figures["within_limits"] else 1)
