"""What sessions cost under each stability policy, as a multiple of what they must cost at least.

Replays editing sessions through the real engine (policy, assembler, strict form, Anthropic body)
and accounts for every body with an independent cache simulator. Deterministic; about a minute.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from benchmarks.cache_bound import Bound
from benchmarks.cache_sessions import KINDS, Session, from_git, generated
from benchmarks.cache_simulator import INPUT, CacheSimulator, Lifetimes, weigh
from tierline.context.items import Item
from tierline.context.tiers import updates
from tierline.context.tiers.base import (
    AppliedEdit,
    Arrangement,
    Kind,
    Moment,
    Parts,
    Sent,
    Signals,
    StabilityPolicy,
    Tariff,
    Tier,
    advance,
)
from tierline.context.tiers.changes import Changes
from tierline.context.tiers.counter import Counter
from tierline.context.tiers.fixed import Fixed
from tierline.context.tiers.log_structured import LogStructured, bytes_count
from tierline.context.tiers.logstate import End, LogState
from tierline.context.tiers.ways import Request
from tierline.providers.render_anthropic import block
from tierworld import FACTS, World, tokens

ROOT = Path(__file__).parents[2]
SEEDS = 6
POLICIES: dict[str, Callable[[], StabilityPolicy]] = {
    "no cache": Fixed,
    "fixed order": Fixed,
    "append-only": lambda: AppendOnly(),  # noqa: PLW0108 - defined below
    "counter": Counter,
    "log-structured": LogStructured,
}
LIFETIMES: dict[str, Callable[[], StabilityPolicy]] = {
    "always 5 minutes": lambda: LogStructured(ttl="5m"),
    "always an hour": lambda: LogStructured(ttl="1h"),
    "auto (the default)": LogStructured,
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
        request = Request(
            head=parts.head,
            parts=parts,
            state=known or LogState(),
            number=sent.requests + 1,
            clock=clock,
            prices=prices,
            ttl="5m",
            hazards={doc.key: 0.0 for doc in parts.docs},
            changes=_FullTexts(
                docs=parts.docs,
                talk=parts.talk,
                texts=known.texts if known else {},
                edits=clock.edits,
                number=sent.requests + 1,
                count=bytes_count,
            ),
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


class _FullTexts(Changes):
    def _words(
        self, doc: Item, known: str, path: str, edit: AppliedEdit | None
    ) -> tuple[Kind, str]:
        kind, text = super()._words(doc, known, path, edit)
        if kind is Kind.DELTA:
            return Kind.FULL, updates.full(updates.of_item(doc))
        return kind, text


# --- replaying -----------------------------------------------------------------------------------


def replay(
    session: Session,
    policy: StabilityPolicy,
    observe: Callable[[World, dict[str, Any]], None],
    lifetimes: Lifetimes = ("5m", "1h"),
) -> World:
    """Live through a session under a policy. ``observe`` sees the world and the body of every
    request. ``lifetimes`` are those that the model offers for cache entries.
    """
    world = World(policy, files=dict(session.files), facts=evolve(FACTS, ttls=lifetimes))
    world.signals = {f"file:{path}": Signals(churn=p) for path, p in session.churn.items()}
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


def costs(
    session: Session,
    policies: Mapping[str, Callable[[], StabilityPolicy]],
    lifetimes: Lifetimes = ("5m",),
) -> dict[str, float]:
    """Cost of a session under each policy, and its lower bound, in the price of an input token."""
    found: dict[str, float] = {}
    for name, make in policies.items():
        cache, bound = CacheSimulator(), Bound()
        paid: list[float] = []

        def observe(
            world: World,
            body: dict[str, Any],
            cache: CacheSimulator = cache,
            bound: Bound = bound,
            paid: list[float] = paid,
            cached: bool = name != "no cache",
        ) -> None:
            outcome = cache.send(body, world.now)
            paid.append(outcome.cost if cached else outcome.total * INPUT)
            if not found:
                account(bound, world)

        replay(session, make(), observe, lifetimes)
        if not found:
            found["bound"] = bound.cost(lifetimes)
        found[name] = sum(paid)
    return found


def account(bound: Bound, world: World) -> None:
    """Tell the bound what this request has to present."""
    talk = {"system": weigh({"type": "text", "text": world.system})}
    if world.summary:
        talk[f"summary {world.summary}"] = weigh({"type": "text", "text": world.summary})
    for turn in world.turns:
        talk[f"history:{turn.id}"] = weigh({"type": "text", "text": turn.prompt})
        for name, atom in zip(turn.names, turn.atoms, strict=True):
            talk[name] = sum(weigh(block(b.block) or {}) for m in atom for b in m.blocks)
    now = {item.key: item.sha256 for item in world.items() if item.path}
    own = {
        edit.item.removeprefix("file:"): edit.history
        for edit in world.edits
        if now.get(edit.item) == edit.after
    }
    bound.request(world.now, talk, world.files, own)


# --- results -------------------------------------------------------------------------------------


def main(seeds: int = SEEDS) -> dict[str, Any]:
    """Replay everything. Returns ratios (cost over bound) by kind and policy, and the verdicts."""
    started = time.perf_counter()
    sessions = [generated(kind, seed) for kind in KINDS for seed in range(seeds)]
    real = from_git(ROOT)
    sessions += real
    paid: dict[str, list[dict[str, float]]] = {}
    chosen: dict[str, list[dict[str, float]]] = {}
    for session in sessions:
        paid.setdefault(session.kind, []).append(costs(session, POLICIES))
        chosen.setdefault(session.kind, []).append(costs(session, LIFETIMES, ("5m", "1h")))
    ratios = {kind: _medians(rows) for kind, rows in paid.items()}
    ours = {kind: by_name["log-structured"] for kind, by_name in ratios.items()}
    return {
        "ratios": ratios,
        "lifetimes": {kind: _medians(rows) for kind, rows in chosen.items()},
        "dearest_session": {
            kind: round(max(row["log-structured"] / row["bound"] for row in rows), 3)
            for kind, rows in paid.items()
        },
        "requests": sum(len(s.steps) for s in sessions),
        "sessions": len(sessions),
        "real_sessions": len(real),
        "log_structured_median": round(statistics.median(ours.values()), 3),
        "log_structured_worst": max(ours.values()),
        "log_structured_worst_kind": max(ours, key=lambda kind: ours[kind]),
        "counter_over_log_structured_edit_heavy": round(
            sum(row["counter"] for row in paid["edit-heavy"])
            / sum(row["log-structured"] for row in paid["edit-heavy"]),
            2,
        ),
        "targets": {
            "median": TARGET_MEDIAN,
            "worst": TARGET_WORST,
            "counter_over_log_structured_edit_heavy": TARGET_COUNTER,
        },
        "seconds": round(time.perf_counter() - started, 1),
    }


def _medians(rows: list[dict[str, float]]) -> dict[str, float]:
    """Median over sessions of cost over bound, by policy."""
    names = [name for name in rows[0] if name != "bound"]
    return {
        name: round(statistics.median(row[name] / row["bound"] for row in rows), 3)
        for name in names
    }


def table(result: dict[str, Any]) -> str:
    """The ratios as Markdown tables."""
    return (
        "Five-minute entries for all, as in the targets:\n\n"
        + _markdown(result["ratios"])
        + "\nWith a choice of lifetimes, over a bound that knows every pause beforehand:\n\n"
        + _markdown(result["lifetimes"])
    )


def _markdown(ratios: Mapping[str, Mapping[str, float]]) -> str:
    names = list(next(iter(ratios.values())))
    lines = ["| sessions | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for kind, by_name in ratios.items():
        lines.append(f"| {kind} | " + " | ".join(f"{by_name[n]:.2f}" for n in names) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    outcome = main()
    print(table(outcome))
    print({k: v for k, v in outcome.items() if k != "ratios"})
