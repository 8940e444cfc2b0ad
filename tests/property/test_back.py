"""Whatever the user and the model change, going back and forward never loses a byte."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.going_back import World
from tierline import protocol as p
from tierline.context.edits.merge import merge
from tierline.errors import TierlineError

LINES = st.sampled_from([b"one\n", b"two\n", b"three\r\n", b"\xc3\xa4\n", b"no end"])
CONTENTS = st.one_of(
    st.none(),
    st.lists(LINES, max_size=6).map(b"".join),
    st.sampled_from([bytes(range(256)), b"\xff\xfea\x00\n\x00", b"\n" * 3]),
)
NAMES = st.sampled_from(["a.txt", "b.txt"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("prompt")),
        st.tuples(st.just("tool"), NAMES, CONTENTS),
        st.tuples(st.just("user"), NAMES, CONTENTS),
        st.tuples(st.just("back"), st.integers(0, 5), st.sampled_from(["old", ""])),
        st.tuples(st.just("forward")),
    ),
    max_size=10,
)
TEXT = st.lists(st.sampled_from("abcdefgh"), max_size=9).map(lambda lines: "".join(
    f"{line}\n" for line in lines
))  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_nothing_that_a_file_said_is_lost(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live(Path(folder).resolve(), steps))


async def _live(root: Path, steps: list[Any]) -> None:
    world = World(root)
    (root / "a.txt").write_bytes(b"one\ntwo\n")
    groups = [await world.prompt("first")]
    for step in steps:
        visible = [g for g in groups if g in world.conversation.groups()]
        if step[0] == "prompt" or not visible:
            groups.append(await world.prompt("more"))
        elif step[0] == "tool":
            await world.tool(visible[-1], *step[1:])
        elif step[0] == "user":
            world.user(*step[1:])
        elif step[0] == "back":
            wanted = visible[step[1] % len(visible)]
            await _there_and_back(world, p.BackParams(wanted), step[2])
        else:
            try:
                await _there_and_back(world, p.BackParams(forward=True), "")
            except TierlineError as error:
                assert error.code == "not_found"
    world.close()


async def _there_and_back(world: World, where: p.BackParams, take: str) -> None:
    """A move keeps what it replaces, and the moment before it can be had again, byte for byte."""
    before = world.files()
    seen = await world.back.preview(where)
    choices = [p.BackChoice(f.path, "old") for f in seen.files if take in f.choices]
    wanted = {choice.path for choice in choices}
    where.choices = choices
    done = await world.back.go(where)
    assert done.problems == []
    after = world.files()
    untouched = {f.path for f in seen.files if f.take == "mine"} - wanted
    for name in untouched:
        assert after.get(name) == before.get(name)
    undone = await world.back.go(p.BackParams(move_id=done.move_id))
    assert world.files() == before, "back again"
    assert set(undone.changed) == set(done.changed)
    await world.back.go(p.BackParams(move_id=undone.move_id))
    assert world.files() == after, "and once more"


@given(TEXT, TEXT, TEXT)
def test_a_merge_has_the_changes_of_both_or_is_refused(base: str, ours: str, theirs: str) -> None:
    assert merge(base, ours, base) == ours
    assert merge(base, base, theirs) == theirs
    assert merge(base, ours, ours) == ours
    made = merge(base, ours, theirs)
    assert merge(base, theirs, ours) == made, "it does not matter who is who"
    if made is not None:
        new = [line for line in ours.splitlines() if line not in base]
        assert all(line in made for line in new), "what one side wrote is in it"


@given(st.lists(st.integers(0, 30), unique=True, max_size=20), st.integers(0, 1))
def test_changes_that_lie_apart_always_merge(places: list[int], first: int) -> None:
    base = [f"line {n}\n" for n in range(64)]
    sides = [list(base), list(base)]
    both = list(base)
    for number, place in enumerate(sorted(places)):
        at = 2 * place + 1  # a line in between stays as it is
        sides[(number + first) % 2][at] = both[at] = f"other {number}\n"
    assert merge("".join(base), "".join(sides[0]), "".join(sides[1])) == "".join(both)
