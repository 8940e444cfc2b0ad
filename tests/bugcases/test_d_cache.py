"""Bug cases of area D: the prompt cache's prefix and its breakpoints."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from bugcases.bodies import load, violations
from bugcases.fixtures import case, expect, oracle
from bugcases.through_lsp import place
from lsp.conftest import Start
from support.tierworld import FACTS, POLICIES, World, blocks, marks_of, plain_blocks, text_item
from tierline import protocol as p
from tierline.context.items import Section
from tierline.context.models import ModelFacts
from tierline.context.prompt import ToolSpec
from tierline.context.tiers.attribution import Cause, ReportedTokens, attribute
from tierline.context.tiers.base import Arrangement, Tier
from tierline.context.tiers.counter import CounterPolicy
from tierline.context.tiers.outcome import Outcome
from tierline.context.tiers.shape import SentBlock, Shape
from tierline.history.groups import to_prompt
from wire.scripts import a_reply
from wire.servers import wire_server

LONG = "".join(f"def function_{n}() -> int:\n    return {n}\n\n\n" for n in range(400))
FIVE_MINUTES = ModelFacts(
    "m", "anthropic", caching="explicit", min_cacheable_tokens=1024, ttls=("5m",)
)
EVERY = pytest.mark.parametrize("policy", POLICIES)


def fixture(number: str, name: str) -> Any:
    return json.loads((case(number) / name).read_text(encoding="utf-8"))


def specs(rows: Any) -> tuple[ToolSpec, ...]:
    """Tools as the fixtures write them; those whose names begin with ``ext__`` come and go."""
    rows = rows if isinstance(rows, list) else [rows]
    return tuple(ToolSpec(**row, builtin=not row["name"].startswith("ext__")) for row in rows)


def sent(world: World) -> dict[str, Any]:
    """The next body; the oracle objects to nothing in it."""
    body = world.request()
    assert violations(body, "anthropic") == []
    return body


def cached(body: dict[str, Any]) -> str:
    """Canonical text of everything up to the last breakpoint, by the oracle."""
    return str(oracle().cached_prefix(body))


# --- BR-040: the clock ---------------------------------------------------------------------------


@EVERY
def test_br040_a_clock_changes_nothing_that_is_cached(policy: str) -> None:
    """BR-040: a time stamp near the start of the prompt changes every request. Behind its prompt it
    stays what it was, and a later request only adds another one.
    """
    world = World(POLICIES[policy](), files={"a.py": LONG})
    start = datetime.fromisoformat(fixture("BR-040", "clock.json")[0]).timestamp()
    bodies = []
    for number, stamp in enumerate(fixture("BR-040", "clock.json")):
        world.now = start + 20 * number
        clock = text_item("clock", Section.STATE, f"It is {stamp}.", volatile=True)
        world.tail = [clock]
        world.ask("What now?")
        bodies.append(sent(world))
        world.reply("Go on.")
    one, two = bodies
    assert plain_blocks(two)[: len(plain_blocks(one))] == plain_blocks(one)
    assert "It is 2024" not in plain_blocks(one)[0]


async def test_br040_no_body_tells_the_time(start: Start, workspace: Path) -> None:
    """Through a server: nothing in the cached prefix looks like a date or a time."""
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.chat("One?")
        await editor.chat("Two?")
        for body in model.bodies:
            assert cached(body) != "[]"
            assert not re.search(r"\d{4}-\d\d-\d\d|\b\d\d:\d\d\b|\b1[67]\d{8}\b", cached(body))


# --- BR-042, BR-052: tools -----------------------------------------------------------------------


@EVERY
def test_br042_the_order_of_registration_changes_no_byte(policy: str) -> None:
    """BR-042: the same tools registered in another order give another prefix."""
    assert expect("BR-042")["same_serialised_bytes"]
    bodies = []
    for name in ("tools_a.json", "tools_b.json"):
        world = World(
            POLICIES[policy](), files={"a.py": LONG}, tools=specs(fixture("BR-042", name))
        )
        world.ask("What now?")
        bodies.append(json.dumps(sent(world)))
    assert bodies[0] == bodies[1]
    write = next(t for t in json.loads(bodies[0])["tools"] if t["name"] == "write_file")
    assert write["input_schema"]["required"] == ["path", "text"], "this order has a meaning"


def test_br052_a_dynamic_tool_leaves_the_built_ins_their_boundary() -> None:
    """BR-052: adding one dynamic tool changes the block that holds the stable built-ins."""
    base, extra = fixture("BR-052", "tools_base.json"), fixture("BR-052", "tool_extra.json")
    long = [{**row, "description": row["description"] + " and more" * 800} for row in base]
    world = World(POLICIES["log_structured"](), tools=specs(long))
    world.ask("What now?")
    before = sent(world)["tools"]
    world.tools = (*specs(extra), *specs(long))
    after = sent(world)["tools"]
    boundary = next(i for i, tool in enumerate(after) if "cache_control" in tool)
    assert boundary == len(before) - 1, "behind the last built-in"
    plain = [{k: v for k, v in tool.items() if k != "cache_control"} for tool in after]
    assert plain[: boundary + 1] == before
    assert [tool["name"] for tool in after][-1] == "ext__search"


# --- BR-044: resuming ----------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["log_structured", "counter"])
async def test_br044_a_resumed_session_sends_the_bytes_of_the_live_one(
    start: Start, workspace: Path, policy: str
) -> None:
    """BR-044: after a reload the same history is serialised differently."""
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    place(workspace, case("BR-044") / "history.jsonl")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model, cache={"policy": policy})
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.chat("third")
        await editor.stop()
        again = await start(model, cache={"policy": policy})
        await again.chat("fourth")
        live, resumed = (request.raw for request in model.requests)
        covered = raw_prefix(live)
        assert b"with two blocks and trailing space" in live
        assert b'"tools":' in covered and b'"system":' in covered
        assert MARK.sub(b"", resumed).startswith(covered)
        assert violations(model.bodies[-1], "anthropic") == []


MARK = re.compile(rb',"cache_control":\{[^{}]*\}')


def raw_prefix(body: bytes) -> bytes:
    """The bytes up to the last breakpoint. The breakpoints themselves are none of the bytes that a
    provider keeps, and move from request to request.
    """
    return MARK.sub(b"", body[: body.rindex(b',"cache_control":')])


# --- BR-046: four breakpoints --------------------------------------------------------------------


def everything(policy: str) -> World:
    """The fixture's state: every section has something, large enough for tiers of their own."""
    state = fixture("BR-046", "state_all_tiers.json")
    paths = [path for paths in state["files"].values() for path in paths]
    world = World(
        POLICIES[policy](),
        files={path: f"# {path}\n{LONG}" for path in paths},
        system=state["system"] * 10,
        tools=specs(state["tools"]),
        extra=[
            text_item("tree:", Section.FILES, "\n".join(paths)),
            *(text_item(f"url:{u}", Section.URLS, f"The page {u}") for u in state["urls"]),
            *(text_item(f"memo:{m}", Section.MEMOS, f"Memo {m}") for m in state["memos"]),
        ],
    )
    for turn in range(state["history_turns"]):
        world.ask(f"Question {turn}?")
        world.reply(f"Answer {turn}.")
    world.ask(state["prompt"])
    return world


@EVERY
def test_br046_never_a_fifth_marker(policy: str) -> None:
    """BR-046: too many sections are marked cacheable; the API rejects the fifth marker."""
    most = expect("BR-046")["max_cache_control"]
    world = everything(policy)
    for turn in range(16):
        world.files["e.py"] = f"# e.py {turn}\n"
        arranged = world.arrange()
        body = sent(world)
        assert 1 <= marks_of(body) <= most
        last_of_section(arranged, body)
        world.reply("Done.")
        world.ask("And then?")


def last_of_section(arranged: Arrangement, body: dict[str, Any]) -> None:
    """Every marker is on the last block of a tier, of the log as it was, or of the prompt."""
    parts = [block for _, block in blocks(body)]
    texts = [piece.text for piece in arranged.pieces]
    for at, block in enumerate(parts):
        if "cache_control" not in block or block.get("text") not in texts:
            continue
        piece = arranged.pieces[texts.index(block["text"])]
        if piece.tier in (Tier.L0, Tier.L1, Tier.L2, Tier.L3):
            following = parts[at + 1].get("text", "") if at + 1 < len(parts) else ""
            after = [p for p in arranged.pieces if p.text == following and p.text]
            assert not any(p.tier is piece.tier for p in after)


def test_br046_with_five_tiers_the_most_useful_four_are_kept() -> None:
    """Kept in priority order: what ends latest saves most."""
    world = everything("log_structured")
    world.request()
    world.reply("Done.")
    world.ask("And then?")
    body = sent(world)
    marked = [i for i, (_, block) in enumerate(blocks(body)) if "cache_control" in block]
    parts = blocks(body)
    assert parts[marked[-1]][1]["text"] == "And then?", "the end of this prompt"
    assert parts[marked[-2]][1]["text"] == "next step?", "the end of the request before"


# --- BR-048: empty blocks ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["image_only.jsonl", "empty_tool_result.jsonl"])
async def test_br048_no_marker_on_an_empty_block(start: Start, workspace: Path, name: str) -> None:
    """BR-048: marker on an empty text block; the session is dead after that."""
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    place(workspace, case("BR-048") / name)
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        for prompt in ("What now?", "A later prompt.", "One more."):
            assert (await editor.chat(prompt)).outcome == "ok"
        for body in model.bodies:
            assert violations(body, "anthropic") == []
            parts = [block for _, block in blocks(body)]
            assert all(b["text"].strip() for b in parts if b.get("type") == "text")
            assert any("cache_control" in b for b in parts)


@EVERY
def test_br048_the_marker_goes_to_the_last_block_that_is_not_empty(policy: str) -> None:
    """The end of the fixture's history is the end of the request."""
    for name in ("image_only.jsonl", "empty_tool_result.jsonl"):
        world = World(POLICIES[policy](), files={"a.py": LONG})
        messages = [to_prompt(m) for m in load(case("BR-048") / name)]
        user = max(i for i, m in enumerate(messages) if m.role == "user")
        turn = world.ask("   ")
        turn.atoms, turn.names = [tuple(messages[: user + 1])], ["history:fixture"]
        parts = [block for _, block in blocks(sent(world))]
        marked = [b for b in parts if "cache_control" in b]
        assert marked
        assert all(b.get("text", "some").strip() for b in parts)


# --- BR-050: an edited file early in the prompt --------------------------------------------------


def graduated() -> World:
    """A, B and C in L1 under the counter policy."""
    files = {f"{n}.py": (case("BR-050") / f"{n}.py").read_text(encoding="utf-8") for n in "ABC"}
    facts = evolve(FACTS, min_cacheable_tokens=64)
    world = World(CounterPolicy(), files=files, facts=facts, system="You help. " * 40)
    while not all(t == "L1" for k, t in tiers(world).items() if k.startswith("file:")):
        turn(world)
        assert len(world.turns) < 30
    return world


def turn(world: World) -> Arrangement:
    world.ask("And?")
    arranged = world.arrange()
    world.sent = arranged.next
    world.reply("Yes.")
    return arranged


def tiers(world: World) -> dict[str, str]:
    return {row[0]: row[3] for row in world.sent.state.get("entries", [["file:", "", 0, ""]])}


def test_br050_only_the_edited_file_leaves_its_tier() -> None:
    """BR-050: an edited file inside the early cached block invalidates everything after it."""
    world = graduated()
    world.ask("And?")
    before = [json.dumps(b) for _, b in blocks(world.body(world.arrange()))]
    world.files["B.py"] = world.files["B.py"].replace("def b3", "def b33")
    arranged = world.arrange()
    world.sent = arranged.next
    after = [json.dumps(b) for _, b in blocks(world.body(arranged))]
    world.reply("Yes.")
    found = arranged.tiers()
    assert found["file:B.py"] == "active"
    assert found["file:A.py"] == found["file:C.py"] == "L1"
    first = next(i for i, block in enumerate(before) if "# file A" in block)
    assert after[:first] == before[:first], "what stands before B's tier is as it was"
    for _ in range(14):
        arranged = turn(world)
    assert arranged.tiers()["file:B.py"] in ("L3", "L2", "L1", "L0"), "it climbs again"


def test_br050_the_default_policy_rewrites_nothing() -> None:
    files = {f"{n}.py": (case("BR-050") / f"{n}.py").read_text(encoding="utf-8") for n in "ABC"}
    world = World(POLICIES["log_structured"](), files=files)
    world.ask("What now?")
    first = sent(world)
    world.reply("Yes.")
    world.files["B.py"] = world.files["B.py"].replace("def b3", "def b33")
    world.ask("And?")
    covered = json.loads(cached(first))
    assert json.loads(cached(sent(world)))[: len(covered)] == covered


# --- BR-054: what is to blame --------------------------------------------------------------------


def test_br054_a_pause_is_shown_as_expiry_and_not_as_a_change() -> None:
    """BR-054: only file edits are blamed; idle gaps and model switches cause most rewrites."""
    before: Shape | None = None
    found = []
    parts = [SentBlock("system:head", "head", 20_000, "5m")]
    for row in fixture("BR-054", "usage_cache.json"):
        hours, minutes = map(int, row["t"].split(":"))
        now = Shape("anthropic", "m", "fixed", at=3600.0 * hours + 60 * minutes, parts=tuple(parts),
                    stable=len(parts))  # fmt: skip
        total = row["read"] + row["create"] + row["uncached"]
        figures = ReportedTokens(total, 10, row["read"], row["create"])
        found.append(attribute(before, now, figures, FIVE_MINUTES))
        before = now
        key = f"history:{len(parts)}"
        parts = [*parts, SentBlock(key, key, 600, "5m")]
        parts = [evolve(part, mark="5m" if part in parts[-2:] else "") for part in parts]
    rows = fixture("BR-054", "usage_cache.json")
    assert [(a.read, a.written, a.uncached) for a in found] == [
        (row["read"], row["create"], row["uncached"]) for row in rows
    ]
    assert [a.outcome for a in found] == [
        Outcome.FIRST, Outcome.HIT, Outcome.MISS, Outcome.HIT,
    ]  # fmt: skip
    assert found[2].cause is Cause.EXPIRED
    assert "2 hours" in found[2].sentence or "128 minutes" in found[2].sentence
    assert found[2].item == "", "no file is blamed"


def test_br054_another_model_is_shown_as_that() -> None:
    part = SentBlock("system:head", "head", 20_000, "5m")
    before = Shape("anthropic", "m", "fixed", at=0.0, parts=(part,), stable=1)
    now = evolve(before, model="n", at=10.0)
    assert (
        attribute(before, now, ReportedTokens(20_100, 1, 0, 20_000), FIVE_MINUTES).cause
        is Cause.MODEL
    )
