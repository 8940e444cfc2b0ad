"""The tiers of a request as rows, from an arrangement and the shape that was sent."""

from __future__ import annotations

from tierline.context.assemble import assemble
from tierline.context.models import ModelFacts
from tierline.context.tiers.base import Arrangement, Kind, Tariff
from tierline.context.tiers.fixed import Fixed
from tierline.context.tiers.log_structured import LogStructured
from tierline.context.tiers.shape import overlap, shape
from tierline.context.tiers.tiermap import TierRow, rows_from_json, rows_to_json, tier_rows
from tierworld import World

FACTS = ModelFacts("m", "anthropic", caching="explicit", min_cacheable_tokens=1, max_marks=4,
                   lookback_blocks=20, ttls=("5m", "1h"))  # fmt: skip


def words(value: object) -> int:
    return len(str(value)) // 4


def send(world: World) -> Arrangement:
    arranged = world.arrange()
    world.sent = arranged.next
    return arranged


def rows(
    arranged: Arrangement, before: tuple[TierRow, ...] = (), readable: int = 0
) -> tuple[TierRow, ...]:
    sent = shape(assemble(arranged, facts=FACTS, count=words), words)
    return tier_rows(arranged, sent, readable, rows_to_json(before))


def test_rows_say_what_stands_where_and_what_changed() -> None:
    text = "".join(f"x{n} = {n}\n" for n in range(200))
    world = World(LogStructured(), files={"a.py": text, "b.py": text.replace("x", "y")})
    world.ask("One?")
    first = rows(send(world))
    assert {row.tier for row in first} >= {"head", "log"}
    assert all(item.change == "" for row in first for item in row.items), "nothing was before"
    world.reply("Yes.")
    world.now += 5
    world.files["a.py"] = text.replace("x7 = 7", "x7 = 77")
    world.ask("Two?")
    arranged = send(world)
    second = rows(arranged, first, readable=10**6)
    items = [(row.tier, item) for row in second for item in row.items]
    base = next(i for t, i in items if i.path == "a.py" and t != "log")
    assert (base.stale, base.kind, base.change, base.cached) == (True, Kind.ITEM, "", True)
    update = next(i for t, i in items if i.path == "a.py" and t == "log")
    assert (update.kind, update.change) == (Kind.DELTA, "edited")
    log = next(row for row in second if row.tier == "log")
    assert log.delta == update.tokens
    assert sum(row.stale for row in second) == base.tokens
    assert any(item.marked for _, item in items)
    assert sum(row.tokens for row in second) == sum(p.tokens for p in arranged.pieces)
    assert rows_from_json(rows_to_json(second)) == second


def test_only_what_lies_in_the_readable_part_is_cached() -> None:
    world = World(Fixed(), files={"a.py": "a = 1\n" * 50, "b.py": "b = 1\n" * 50})
    world.ask("One?")
    arranged = send(world)
    sent = shape(assemble(arranged, facts=FACTS, count=words), words)
    place = next(n for n, part in enumerate(sent.parts) if part.key == "file:b.py")
    found = {i.key: i.cached for row in tier_rows(arranged, sent, place) for i in row.items}
    assert found["file:a.py"]
    assert not found["file:b.py"]
    assert overlap(sent, sent, Tariff.of(FACTS)).end == len(sent.parts)


def test_damaged_rows_are_left_out() -> None:
    assert rows_from_json([{"tier": "L0", "nonsense": 1}, {}]) == ()
