"""What sessions cost under each stability policy, as a multiple of what they must cost at least.

Replays editing sessions through the real engine (the conversation as it was sent, policy,
assembler, strict form, thinking that is still valid, Anthropic body) with what a user gets by
default: cards, memos, selections, tools that read, thinking, STATE. Every body is accounted for by
an independent cache simulator; what rewrites lose of the thinking is reported beside the cost.
Deterministic; some minutes.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter as Counted
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from benchmarks.cache_bound import Bound
from benchmarks.cache_sessions import KINDS, Session, from_git, generated
from benchmarks.cache_simulator import INPUT, CacheSimulator, Lifetimes, weigh
from support.tierworld import FACTS, World, text_item, tokens
from tierline.context.blocks import Block, Reasoning, Text, ToolResult
from tierline.context.items import Item, Section
from tierline.context.prompt import PromptMessage
from tierline.context.tiers import updates
from tierline.context.tiers.base import (
    AppliedEdit,
    Arrangement,
    CacheState,
    PieceKind,
    PlanParts,
    Pricing,
    RequestContext,
    Signals,
    StabilityPolicy,
    Tier,
    advance,
    piece_of,
)
from tierline.context.tiers.counter import CounterPolicy
from tierline.context.tiers.document_updates import DocumentUpdates
from tierline.context.tiers.fixed import FixedPolicy
from tierline.context.tiers.layout_options import ALL, LayoutInput
from tierline.context.tiers.log_structured import LogStructuredPolicy, bytes_count
from tierline.context.tiers.logstate import LogEnd, LogState
from tierline.history.truncation import DEFAULTS, truncate_result
from tierline.providers.render_anthropic import block as render

RECENT = 5
"""Turns whose thinking is looked at apart, the newest among them."""
ROOT = Path(__file__).parents[2]
SEEDS = 2
POLICIES: dict[str, Callable[[], StabilityPolicy]] = {
    "fixed order": FixedPolicy,
    "append-only": lambda: AppendOnly(),  # noqa: PLW0108 - defined below
    "counter": CounterPolicy,
    "log-structured": LogStructuredPolicy,
}
LIFETIMES: dict[str, Callable[[], StabilityPolicy]] = {
    "always 5 minutes": lambda: LogStructuredPolicy(ttl="5m"),
    "always an hour": lambda: LogStructuredPolicy(ttl="1h"),
    "auto (the default)": LogStructuredPolicy,
}
AUTO = "auto (the default)"
TARGET_MEDIAN, TARGET_WORST, TARGET_COUNTER = 1.10, 1.20, 1.8


@frozen
class AppendOnly:
    """What many agents do: a changed file is sent again in full at the end; nothing is tidied up.

    The model's own edits are in the conversation already and are not sent again.
    """

    name: str = field(default="append_only", init=False)

    def arrange(
        self, items: Sequence[Item], sent: CacheState, clock: RequestContext, prices: Pricing
    ) -> Arrangement:
        parts = PlanParts.of(items)
        parts = evolve(parts, talk=(*parts.talk, *parts.tail), tail=())
        known = LogState.from_json(sent.state) if sent.policy == self.name else None
        request = LayoutInput(
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
                texts=known.texts if known else {},
                edits=clock.edits,
                number=sent.requests + 1,
                count=bytes_count,
            ),
        )
        way = request.keep() if known else request.rewrite(ALL)
        pieces, marks = request.pieces(way)
        ends = [end for end in request.state.ends if end.length <= way.kept]
        state = LogState(
            way.base, way.log, (*ends, LogEnd(len(way.log), clock.now)), texts=request.texts(way)
        )
        parts = evolve(parts, talk=way.talk)
        following = advance(sent, clock, parts, self.name, ttl="5m", state=state.to_json())
        return Arrangement(self.name, tuple(pieces), marks, "5m", following)

    def purge(self, sent: CacheState, prefix: str) -> CacheState:
        return sent


class _FullTexts(DocumentUpdates):
    def _words(
        self, doc: Item, known: str, path: str, edit: AppliedEdit | None
    ) -> tuple[PieceKind, str]:
        kind, text = super()._words(doc, known, path, edit)
        if kind is PieceKind.DELTA:
            return PieceKind.FULL, updates.full(updates.of_item(doc))
        return kind, text


class NotesLeave:
    """As the default, but cards, memos and selections stand in the newest prompt alone, behind the
    last breakpoint, and leave with the next one: the way that was not chosen (docs/tiers.md).
    """

    name = "log_structured"

    def arrange(
        self, items: Sequence[Item], sent: CacheState, clock: RequestContext, prices: Pricing
    ) -> Arrangement:
        tail = [piece_of(item, Tier.TAIL) for item in items if item.volatile]
        stays = [item for item in items if not item.volatile]
        arranged = LogStructuredPolicy().arrange(stays, sent, clock, prices)
        return evolve(arranged, pieces=(*arranged.pieces, *tail))

    def purge(self, sent: CacheState, prefix: str) -> CacheState:
        return sent


NOTES: dict[str, Callable[[], StabilityPolicy]] = {"leave": NotesLeave}

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
            world.tail = [
                text_item(key, Section.MEMOS if key[0] == "m" else Section.PROMPT
                          if key[0] == "p" else Section.RETRIEVED, text, volatile=True)
                for key, text in step.notes
            ]  # fmt: skip
        observe(world, world.request())
        if step.edit is not None:
            world.model_edit(step.edit.path, step.edit.old, step.edit.new, step.thinking)
        if step.result:
            world.look(step.result, step.thinking)
        if step.reply:
            world.reply(step.reply, step.thinking)
            state = text_item("state:anchor", Section.STATE, step.state)
            if world.policy.name in ("log_structured", "append_only"):
                world.extra = [state]
            else:  # for the others the product sends it for each prompt, as a note
                world.state = evolve(state, volatile=True)
            _compact(world, session.compaction_trigger)
    return world


def _compact(world: World, trigger: int) -> None:
    """All but the newest turns become a summary once history is long (seed 004)."""
    sizes = [tokens(turn.prompt) + sum(map(_short, turn.atoms)) for turn in world.turns]
    if sum(sizes) <= trigger:
        return
    kept = len(sizes)
    while kept > 0 and (sum(sizes[kept - 1 :]) <= 4000 or len(sizes) - kept < 2):
        kept -= 1
    told = ", ".join(turn.prompt[:60] for turn in world.turns[:kept])
    world.summary = f"Summary of the conversation so far: {told}"[:2000]
    world.turns = world.turns[kept:]


def _short(atom: tuple[PromptMessage, ...]) -> int:
    """Tokens of an atom in its shortest form, as compaction counts: without thinking."""
    blocks = [b.block for message in atom for b in message.blocks]
    shapes = (_cut(block) for block in blocks if not isinstance(block, Reasoning))
    return round(sum(weigh(shape or {}) for shape in shapes))


def _cut(block: Block) -> Any:
    return render(
        truncate_result(block, DEFAULTS.inactive, "x" * 20)
        if isinstance(block, ToolResult)
        else block
    )


def costs(
    session: Session,
    policies: Mapping[str, Callable[[], StabilityPolicy]],
    lifetimes: Lifetimes = ("5m",),
) -> dict[str, float]:
    """Cost of a session under each policy and its lower bound, in the price of an input token, and
    what rewrites did. The bounds differ by the thinking that a policy still sends.
    """
    found: dict[str, float] = {}
    for name, make in policies.items():
        cache, bound, losses = CacheSimulator(), Bound(), Losses()
        paid: list[float] = []
        plain: list[float] = []

        def observe(
            world: World,
            body: dict[str, Any],
            cache: CacheSimulator = cache,
            bound: Bound = bound,
            paid: list[float] = paid,
            plain: list[float] = plain,
            losses: Losses = losses,
        ) -> None:
            outcome = cache.send(body, world.now)
            paid.append(outcome.cost)
            plain.append(outcome.total * INPUT)
            losses.request(world)
            account(bound, world)

        replay(session, make(), observe, lifetimes)
        found[name] = sum(paid)
        found[f"{name}, bound"] = bound.cost(lifetimes)
        if name == "fixed order":
            found["no cache"], found["no cache, bound"] = sum(plain), found[f"{name}, bound"]
        found[f"{name}, rewrites"] = sum(losses.rewrites.values())
        found[f"{name}, cold"] = losses.rewrites["cold"]
        found[f"{name}, thinking lost"] = losses.tokens / max(losses.made, 1.0)
        found[f"{name}, recent thinking"] = losses.recent()
    return found


@define
class Losses:
    """What rewrites took away from a session."""

    rewrites: Counted[str] = field(factory=Counted)
    """By the name of the decision."""
    tokens: float = 0.0
    """Thinking that became invalid although its turn is still sent."""
    made: float = 0.0
    """All thinking."""
    _recent: list[float] = field(factory=list)
    _there: dict[str, float] = field(factory=dict)
    _known: set[str] = field(factory=set)
    """Thinking that was met before."""

    def request(self, world: World) -> None:
        """Take down a request."""
        assert world.arranged is not None
        if world.arranged.rewrite is not None:
            self.rewrites[world.arranged.rewrite.code] += 1
        sent = _sent(world)
        newest = thinking(world, RECENT)
        if newest:
            there = sum(size for key, size in newest.items() if key in sent)
            self._recent.append(there / sum(newest.values()))
        now = thinking(world)
        new = now.keys() - self._known
        self.made += sum(now[key] for key in new)
        # What is new was made for the last request: it can be lost at once.
        lost = sum(now[key] for key in (*self._there, *new) if key in now and key not in sent)
        self._known |= new
        self._there = {key: size for key, size in now.items() if key in sent}
        self.tokens += lost

    def recent(self) -> float:
        """How much of the newest turns' thinking a request has, on average."""
        return statistics.fmean(self._recent) if self._recent else 1.0


def thinking(world: World, turns: int = 0) -> dict[str, float]:
    """The thinking in the conversation, or in its newest turns, by what it is bound to."""
    blocks = (
        b.block
        for turn in world.turns[-turns:]
        for atom in turn.atoms
        for m in atom
        for b in m.blocks
    )
    return {b.prefix: weigh(render(b) or {}) for b in blocks if isinstance(b, Reasoning)}


def account(bound: Bound, world: World) -> None:
    """Tell the bound what this request has to present."""
    talk = {"system": weigh({"type": "text", "text": world.system})}
    if world.summary:
        talk[f"summary {world.summary}"] = weigh({"type": "text", "text": world.summary})
    newest = world.turns[-1].names[-DEFAULTS.recent :]
    for turn in world.turns:
        talk[f"history:{turn.id}"] = weigh({"type": "text", "text": turn.prompt})
        for name, atom in zip(turn.names, turn.atoms, strict=True):
            talk |= _layers(name, atom, turn is world.turns[-1], name in newest)
    for item in world.tail:
        talk[f"{item.key} {item.text}"] = weigh({"type": "text", "text": item.text})
    for item in (*world.extra, *([world.state] if world.state else ())):
        for line in item.text.splitlines():
            talk[f"state {line}"] = weigh({"type": "text", "text": line})
    now = {item.key: item.sha256 for item in world.items() if item.path}
    own = {
        edit.item.removeprefix("file:"): edit.history
        for edit in world.edits
        if now.get(edit.item) == edit.after
    }
    talk |= {key: size for key, size in thinking(world).items() if key in _sent(world)}
    bound.request(world.now, talk, world.files, own)


def _sent(world: World) -> set[str]:
    """The thinking in the request, by what it is bound to."""
    assert world.answered is not None
    blocks = (b.block for m in world.answered.messages for b in m.blocks)
    return {block.prefix for block in blocks if isinstance(block, Reasoning)}


def _layers(
    name: str, atom: tuple[PromptMessage, ...], active: bool, newest: bool
) -> dict[str, float]:
    """A reply and what its calls gave: the shortest form for as long as it is in the conversation,
    the rest of a result while its turn goes on.
    """
    layers = {name: float(_short(atom))}
    results = [b.block for m in atom for b in m.blocks if isinstance(b.block, ToolResult)]
    text = "".join(part.text for r in results for part in r.content if isinstance(part, Text))
    short, degraded, full = DEFAULTS.inactive, DEFAULTS.degraded, DEFAULTS.full
    if active and text[short:degraded]:
        layers[f"{name} degraded"] = len(text[short:degraded]) / 4
    if active and newest and text[degraded:full]:
        layers[f"{name} full"] = len(text[degraded:full]) / 4
    return layers


# --- results -------------------------------------------------------------------------------------


def main(seeds: int = SEEDS) -> dict[str, Any]:
    """Replay everything. Returns ratios (cost over bound) by kind and policy, and the verdicts."""
    started = time.perf_counter()
    sessions = [generated(kind, seed) for kind in KINDS for seed in range(seeds)]
    real = from_git(ROOT)
    sessions += real
    notes: dict[str, list[dict[str, float]]] = {}
    paid: dict[str, list[dict[str, float]]] = {}
    chosen: dict[str, list[dict[str, float]]] = {}
    with ProcessPoolExecutor() as pool:
        for session, found in zip(sessions, pool.map(_all_costs, sessions), strict=True):
            for to, costs_of in zip((paid, chosen, notes), found, strict=True):
                to.setdefault(session.kind, []).append(costs_of)
    names = ("no cache", *POLICIES)
    ratios = {kind: _medians(rows, names) for kind, rows in paid.items()}
    ours = {kind: by_name["log-structured"] for kind, by_name in ratios.items()}
    return {
        "ratios": ratios,
        "lifetimes": {kind: _medians(rows, LIFETIMES) for kind, rows in chosen.items()},
        "notes": {kind: _medians(rows, NOTES) for kind, rows in notes.items()},
        "rewrites": {
            kind: {
                "rewrites": _mean(rows, "log-structured, rewrites"),
                "cold": _mean(rows, "log-structured, cold"),
                "thinking_lost": _mean(rows, "log-structured, thinking lost"),
                "recent_thinking": _mean(rows, "log-structured, recent thinking"),
                "auto_rewrites": _mean(chosen[kind], f"{AUTO}, rewrites"),
                "auto_thinking_lost": _mean(chosen[kind], f"{AUTO}, thinking lost"),
                "auto_recent_thinking": _mean(chosen[kind], f"{AUTO}, recent thinking"),
                "leave_thinking_lost": _mean(notes[kind], "leave, thinking lost"),
            }
            for kind, rows in paid.items()
        },
        "dearest_session": {
            kind: round(
                max(row["log-structured"] / row["log-structured, bound"] for row in rows), 3
            )
            for kind, rows in paid.items()
        },
        "requests": sum(len(s.steps) for s in sessions),
        "sessions": len(sessions),
        "seeds": seeds,
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


def _all_costs(session: Session) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """What a session costs with entries of five minutes, with a choice of lifetimes, and if notes
    leave.
    """
    return costs(session, POLICIES), costs(session, LIFETIMES, ("5m", "1h")), costs(session, NOTES)


def _mean(rows: list[dict[str, float]], name: str) -> float:
    return round(statistics.fmean(row[name] for row in rows), 2)


def _medians(rows: list[dict[str, float]], names: Iterable[str]) -> dict[str, float]:
    """Median over sessions of cost over bound, by policy."""
    return {
        name: round(statistics.median(row[name] / row[f"{name}, bound"] for row in rows), 3)
        for name in names
    }


def table(result: dict[str, Any]) -> str:
    """The ratios as Markdown tables."""
    return (
        "Five-minute entries for all, as in the targets:\n\n"
        + _markdown(result["ratios"])
        + "\nWith a choice of lifetimes, over a bound that knows every pause beforehand:\n\n"
        + _markdown(result["lifetimes"])
        + "\nCards, memos and selections that stay where they were sent, or leave:\n\n"
        + _markdown(result["notes"])
        + "\nRewrites in a session, and the share of thinking that they lose:\n\n"
        + _markdown(result["rewrites"])
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
