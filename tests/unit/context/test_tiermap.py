"""The tiers of a request as rows, from an arrangement and the shape that was sent."""

from __future__ import annotations

from attrs import evolve

from support.tierworld import World
from tierline.context.assemble import assemble
from tierline.context.models import ModelFacts
from tierline.context.tiers.base import Arrangement, PieceKind, Pricing
from tierline.context.tiers.fixed import FixedPolicy
from tierline.context.tiers.log_structured import LogStructuredPolicy
from tierline.context.tiers.shape import SentBlock, Shape, overlap, shape
from tierline.context.tiers.tiermap import (
    TierRow,
    rows_from_json,
    rows_to_json,
    tier_rows,
    with_top,
)

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
    world = World(LogStructuredPolicy(), files={"a.py": text, "b.py": text.replace("x", "y")})
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
    assert (base.stale, base.kind, base.change, base.cached) == (True, PieceKind.ITEM, "", True)
    update = next(i for t, i in items if i.path == "a.py" and t == "log")
    assert (update.kind, update.change) == (PieceKind.DELTA, "edited")
    log = next(row for row in second if row.tier == "log")
    assert log.delta == update.tokens
    assert sum(row.stale for row in second) == base.tokens
    assert any(item.marked for _, item in items)
    assert sum(row.tokens for row in second) == sum(p.tokens for p in arranged.pieces)
    assert rows_from_json(rows_to_json(second)) == second


def test_only_what_lies_in_the_readable_part_is_cached() -> None:
    world = World(FixedPolicy(), files={"a.py": "a = 1\n" * 50, "b.py": "b = 1\n" * 50})
    world.ask("One?")
    arranged = send(world)
    sent = shape(assemble(arranged, facts=FACTS, count=words), words)
    place = next(n for n, part in enumerate(sent.parts) if part.key == "file:b.py")
    found = {i.key: i.cached for row in tier_rows(arranged, sent, place) for i in row.items}
    assert found["file:a.py"]
    assert not found["file:b.py"]
    assert overlap(sent, sent, Pricing.of(FACTS)).end == len(sent.parts)


def test_damaged_rows_are_left_out() -> None:
    assert rows_from_json([{"tier": "L0", "nonsense": 1}, {}]) == ()


def test_the_tool_definitions_are_first_and_all_adds_up_to_the_request() -> None:
    world = World(FixedPolicy(), files={"a.py": "a = 1\n" * 50})
    world.ask("One?")
    arranged = send(world)
    plain = shape(assemble(arranged, facts=FACTS, count=words), words)
    tools = (SentBlock("tool:read_file", "r", 40), SentBlock("tool:search", "s", 60, mark="5m"))
    sent = evolve(plain, parts=(*tools, *plain.parts))
    pieces = sum(piece.tokens for piece in arranged.pieces)

    def top(
        readable: int, before: tuple[TierRow, ...] = (), of: Shape = sent
    ) -> tuple[TierRow, ...]:
        found = tier_rows(arranged, of, readable, rows_to_json(before))
        return with_top(found, of, pieces + 107, 100, readable, rows_to_json(before))

    for readable, cached in ((0, False), (1, False), (2, True)):
        found = top(readable)
        assert sum(row.tokens for row in found) == pieces + 107
        head = found[0]
        assert (head.tier, head.items[0].key, head.items[-1].key) == (
            "head", "tools", "request:frame",
        )  # fmt: skip
        first = head.items[0]
        assert (first.tokens, first.cached, first.marked) == (100, cached, True)
        assert head.items[-1].tokens == 7
        assert rows_from_json(rows_to_json(found)) == found
    other = evolve(sent, parts=(evolve(tools[0], sha="other"), *sent.parts[1:]))
    assert top(0, top(0))[0].items[0].change == ""
    assert top(0, top(0), other)[0].items[0].change == "edited"
    without = with_top(rows(arranged), plain, pieces + 7, 0, 0)
    assert [i.key for i in without[0].items if i.key in ("tools", "request:frame")] == [
        "request:frame"
    ]
