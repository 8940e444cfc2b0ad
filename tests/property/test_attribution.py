"""Attribution against an independent cache: what is said to be readable is what a provider that
keeps its promises reads, and such a provider is never blamed.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.cache_simulator import CacheSimulator
from support.tierworld import FACTS, POLICIES, World
from tierline.context.blocks import Text
from tierline.context.strict import strict
from tierline.context.tiers.attribution import Cause, ReportedTokens, attribute
from tierline.context.tiers.base import Pricing, Tier
from tierline.context.tiers.outcome import Outcome
from tierline.context.tiers.shape import Shape, overlap, shape

QUARTERS = evolve(FACTS, min_cacheable_tokens=4 * FACTS.min_cacheable_tokens)
"""Sizes in bytes, so that no rounding lies between our count and the simulator's."""
PATHS = ("a.py", "b.py", "c.py")

step = st.one_of(
    st.tuples(st.just("edit"), st.sampled_from(PATHS), st.integers(0, 60)),
    st.tuples(st.just("add"), st.sampled_from(PATHS), st.integers(0, 9)),
    st.tuples(st.just("remove"), st.sampled_from(PATHS), st.just(0)),
    st.tuples(st.just("undo"), st.just(""), st.just(0)),
    st.tuples(st.just("pause"), st.just(""), st.sampled_from([250, 400, 4000])),
    st.tuples(st.just("instructions"), st.just(""), st.integers(0, 9)),
    st.tuples(st.just("nothing"), st.just(""), st.just(0)),
)


def size(value: Any) -> int:
    """Bytes of a block's text."""
    return len(value.text.encode()) if isinstance(value, Text) else 0


def source(path: str, lines: int = 60) -> str:
    return "".join(f"{path[0]}_{n} = {n} * {n}\n" for n in range(lines))


def act(world: World, what: tuple[str, str, int]) -> None:
    kind, path, number = what
    if kind == "edit" and path in world.files:
        lines = world.files[path].split("\n")
        lines[number % len(lines)] = f"changed = {world.count}"
        world.files[path] = "\n".join(lines)
    elif kind == "add":
        world.files.setdefault(path, source(path, 40 + number))
    elif kind == "remove":
        world.files.pop(path, None)
    elif kind == "undo" and len(world.turns) > 1:
        world.turns.pop()
    elif kind == "pause":
        world.now += number
    elif kind == "instructions":
        world.system = f"You are assistant {number}. " * 200


@given(policy=st.sampled_from(sorted(POLICIES)), steps=st.lists(step, min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_a_provider_that_keeps_its_promise_is_never_blamed(
    policy: str, steps: list[tuple[str, str, int]]
) -> None:
    world = World(POLICIES[policy](), files={path: source(path) for path in PATHS})
    cache = CacheSimulator(FACTS.min_cacheable_tokens)
    before: Shape | None = None
    for number, what in enumerate([("nothing", "", 0), *steps]):
        act(world, what)
        world.now += 10
        world.ask(f"Question {number}?")
        arranged = world.arrange()
        prompt = strict(world.prompt(arranged), strategy="anthropic")
        tail = {piece.key for piece in arranged.pieces if piece.tier is Tier.TAIL}
        now = shape(
            prompt, size, volatile=tail, provider="anthropic", policy=policy, at=world.now,
            ttl=arranged.ttl,
        )  # fmt: skip
        world.sent = arranged.next
        read = cache.send(world.body(arranged), world.now)
        quarters = (round(4 * read.read), round(4 * read.written), round(4 * read.total))
        figures = ReportedTokens(quarters[2], 1, quarters[0], quarters[1])
        assert now.tokens == quarters[2]
        found = attribute(before, now, figures, QUARTERS)
        if before is not None:
            seen = overlap(before, now, Pricing.of(QUARTERS))
            alive = found.cause is not Cause.EXPIRED and world.now - before.at <= 300
            if alive:
                assert seen.readable <= quarters[0], "what can be read is read"
        assert found.cause not in (Cause.EVICTED, Cause.LOOKBACK, Cause.RESTARTED)
        assert (found.outcome is Outcome.FIRST) == (before is None)
        if found.outcome is Outcome.MISS:
            assert quarters[0] == 0
            assert found.cause is not Cause.NONE
        if found.cause in (Cause.EDITED, Cause.REMOVED, Cause.ADDED, Cause.REORDERED):
            assert found.item
        before = now
        world.reply(f"Answer {number}. " * 20)
