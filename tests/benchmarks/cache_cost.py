"""What sessions cost under each stability policy, as a multiple of what they must cost at least.

Replays editing sessions through the real engine (policy, assembler, strict form, Anthropic body)
and accounts for every body with an independent cache simulator. Deterministic; about a minute.
Run it: ``python -m benchmarks.cache_cost`` from ``tests`` writes the plot and prints the table.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from benchmarks.cache_bound import Bound
from benchmarks.cache_plot import bars
from benchmarks.cache_sessions import KINDS, Session, from_git, generated
from benchmarks.cache_simulator import INPUT, CacheSimulator
from tierline.context.items import Item
from tierline.context.tiers import updates
from tierline.context.tiers.base import (
    AppliedEdit,
    Arrangement,
    Kind,
    Moment,
    Parts,
    Sent,
    StabilityPolicy,
    Tariff,
    Tier,
    advance,
)
from tierline.context.tiers.counter import Counter
from tierline.context.tiers.fixed import Fixed
from tierline.context.tiers.log_structured import LogStructured, bytes_count
from tierline.context.tiers.logstate import End, LogState
from tierline.context.tiers.ways import Request
from tierworld import World, tokens

ROOT = Path(__file__).parents[2]
SEEDS = 6
POLICIES: dict[str, Callable[[], StabilityPolicy]] = {
    "no cache": Fixed,
    "fixed order": Fixed,
    "append-only": lambda: AppendOnly(),  # noqa: PLW0108 - defined below
    "counter": Counter,
    "log-structured": LogStructured,
}
TARGET_MEDIAN, TARGET_WORST, TARGET_COUNTER = 1.08, 1.15, 1.8


@frozen
class AppendOnly:
    """What many agents do: a changed file is sent again in full at the end; nothing is tidied up.

    The model's own edits are in the conversation already and are not sent again.
    """

    name: str = field(default="append_only", init=False)

    def arrange(
        self, items: Sequence[Item], sent: Sent, clock: Moment, prices: Tariff
    ) -> Arrangement:
        parts = Parts.of(items)
        known = LogState.from_json(sent.state) if sent.policy == self.name else None
        request = _FullTexts(
            head=parts.head,
            parts=parts,
            state=known or LogState(),
            number=sent.requests + 1,
            clock=clock,
            prices=prices,
            ttl="5m",
            hazards={doc.key: 0.0 for doc in parts.docs},
            count=bytes_count,
        )
        way = request.keep() if known else request.rewrite(Tier.L0)
        pieces, marks = request.pieces(way)
        ends = [end for end in request.state.ends if end.length <= way.kept]
        state = LogState(
            way.base, way.log, (*ends, End(len(way.log), clock.now)), texts=request.texts(way)
        )
        following = advance(sent, clock, parts, self.name, ttl="5m", state=state.to_json())
        return Arrangement(self.name, tuple(pieces), marks, "5m", following)

    def purge(self, sent: Sent, prefix: str) -> Sent:
        return sent


class _FullTexts(Request):
    def _words(
        self, doc: Item, known: str, path: str, edit: AppliedEdit | None
    ) -> tuple[Kind, str]:
        kind, text = super()._words(doc, known, path, edit)
        if kind is Kind.DELTA:
            return Kind.FULL, updates.full(updates.of_item(doc))
        return kind, text


# --- replaying -----------------------------------------------------------------------------------


def replay(
    session: Session, policy: StabilityPolicy, observe: Callable[[World, dict[str, Any]], None]
) -> World:
    """Live through a session under a policy. ``observe`` sees the world and the body of every
    request.
    """
    world = World(policy, files=dict(session.files))
    for step in session.steps:
        world.now += step.gap
        for change in step.before:
            if change.text is None:
                world.files.pop(change.path, None)
            else:
                world.files[change.path] = change.text
        if step.prompt:
            world.ask(step.prompt)
        observe(world, world.request())
        if step.edit is not None:
            world.model_edit(step.edit.path, step.edit.old, step.edit.new)
        if step.reply:
            world.reply(step.reply)
            _compact(world, session.compaction_trigger)
    return world


def _compact(world: World, trigger: int) -> None:
    """All but the newest turns become a summary once history is long (seed 004)."""
    sizes = [
        tokens(turn.prompt) + sum(tokens(str(atom)) // 2 for atom in turn.atoms)
        for turn in world.turns
    ]
    if sum(sizes) <= trigger:
        return
    kept = len(sizes)
    while kept > 0 and (sum(sizes[kept - 1 :]) <= 4000 or len(sizes) - kept < 2):
        kept -= 1
    told = ", ".join(turn.prompt[:60] for turn in world.turns[:kept])
    world.summary = f"Summary of the conversation so far: {told}"[:2000]
    world.turns = world.turns[kept:]


def costs(session: Session) -> dict[str, float]:
    """Cost of a session under each policy, and its lower bound, in the price of an input token."""
    bound = Bound()
    own: dict[str, str] = {}

    def account(world: World, body: dict[str, Any]) -> None:
        for edit in world.edits:
            own[edit.item.removeprefix("file:")] = edit.after
        current = {item.path: item.sha256 for item in world.items() if item.path}
        talk = {"system": world.system}
        if world.summary:
            talk[f"summary {hash(world.summary)}"] = world.summary
        for turn in world.turns:
            talk[turn.id] = turn.prompt
            for place, atom in enumerate(turn.atoms):
                talk[f"{turn.id}.{place}"] = "".join(_said(atom))
        mine = frozenset(path for path, sha in own.items() if current.get(path) == sha)
        bound.request(world.now, talk, dict(world.files), mine)

    found: dict[str, float] = {}
    for name, make in POLICIES.items():
        cache = CacheSimulator()
        total = 0.0

        def observe(
            world: World, body: dict[str, Any], cache: CacheSimulator = cache, name: str = name
        ) -> None:
            nonlocal total
            outcome = cache.send(body, world.now)
            total += outcome.total * INPUT if name == "no cache" else outcome.cost
            if name == "no cache":
                account(world, body)

        replay(session, make(), observe)
        found[name] = total
    found["bound"] = bound.cost()
    return found


def _said(atom: Any) -> list[str]:
    """The content of messages, without names of fields, so that it is not overestimated."""
    words: list[str] = []
    for message in atom:
        for entry in message.blocks:
            block = entry.block
            if hasattr(block, "text"):
                words.append(block.text)
            elif hasattr(block, "input"):
                words += [str(value) for value in block.input.values()]
            elif hasattr(block, "content"):
                words += [part.text for part in block.content if hasattr(part, "text")]
    return words


# --- results -------------------------------------------------------------------------------------


def main(seeds: int = SEEDS, plot: Path | None = None) -> dict[str, Any]:
    """Replay everything. Returns ratios (cost over bound) by kind and policy, and the verdicts."""
    started = time.perf_counter()
    sessions = [generated(kind, seed) for kind in KINDS for seed in range(seeds)]
    real = from_git(ROOT)
    if real is not None:
        sessions.append(real)
    ratios: dict[str, dict[str, list[float]]] = {}
    money: dict[str, dict[str, float]] = {}
    for session in sessions:
        paid = costs(session)
        spent = money.setdefault(session.kind, dict.fromkeys(paid, 0.0))
        for name, cost in paid.items():
            spent[name] += cost
            if name != "bound":
                ratios.setdefault(session.kind, {}).setdefault(name, []).append(
                    cost / paid["bound"]
                )
    medians = {
        kind: {name: round(statistics.median(values), 3) for name, values in by_name.items()}
        for kind, by_name in ratios.items()
    }
    ours = [medians[kind]["log-structured"] for kind in medians]
    heavy = money["edit-heavy"]
    result = {
        "ratios": medians,
        "requests": sum(len(s.steps) for s in sessions),
        "sessions": len(sessions),
        "real_sessions": real is not None,
        "log_structured_median": round(statistics.median(ours), 3),
        "log_structured_worst": round(max(ours), 3),
        "counter_over_log_structured_edit_heavy": round(
            heavy["counter"] / heavy["log-structured"], 2
        ),
        "targets": {
            "median": TARGET_MEDIAN,
            "worst": TARGET_WORST,
            "counter_over_log_structured_edit_heavy": TARGET_COUNTER,
        },
        "seconds": round(time.perf_counter() - started, 1),
    }
    if plot is not None:
        plot.write_text(bars(medians, list(POLICIES)), encoding="utf-8")
    return result


def table(result: dict[str, Any]) -> str:
    """The ratios as a Markdown table."""
    names = list(POLICIES)
    lines = ["| sessions | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for kind, by_name in result["ratios"].items():
        cells = (f"{by_name[name]:.2f}" for name in names)
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    outcome = main(plot=ROOT / "docs" / "images" / "cache-cost.svg")
    print(table(outcome))
    print({k: v for k, v in outcome.items() if k != "ratios"})
