"""Order and breakpoints of the seed's tiered prompt (seed 004:327-337), read from real bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from support.tierworld import POLICIES, World, blocks, marks_of, plain_blocks, say, text_item
from tierline.context.assemble import ACKNOWLEDGEMENT
from tierline.context.blocks import Reasoning, Text, ToolResult, ToolUse
from tierline.context.items import Section
from tierline.context.tiers.base import Piece, Tier
from tierline.context.tiers.counter import ENTRY_N, CounterPolicy
from tierline.context.tiers.fixed import FixedPolicy
from tierline.context.tiers.log_structured import LogStructuredPolicy

BIG = "x = compute(12345)\n" * 300
"""Enough for a tier of its own (1425 tokens; the target is 1126)."""


def world(**places: Tier) -> World:
    """A world whose last request was accepted, with items in the tiers named. ``a`` stands for
    ``file:a.py``, ``history`` for the first turn, ``symbols`` for a symbol block.
    """
    made = World(CounterPolicy())
    made.files = {f"{name}.py": f"# {name}\n{BIG}" for name in places if len(name) == 1}
    made.extra = [
        text_item("symbols:src", Section.SYMBOLS, f"symbols of src\n{BIG}"),
        text_item("tree:", Section.FILES, "README.md\nsrc/a.py"),
        text_item("url:1", Section.URLS, "The page says hello."),
    ]
    made.ask("First question?" + (BIG if "history" in places else ""))
    made.reply("First answer.")
    made.ask("Second question?")
    made.request()
    first = made.turns[0]
    talk = {f"history:{first.id}", *first.names}
    wanted = {key(name): tier for name, tier in places.items()}
    if "history" in places:
        wanted |= dict.fromkeys(talk, places["history"])
    rows = [
        [*row[:3], str(wanted[row[0]]), ENTRY_N[wanted[row[0]]], *row[5:]]
        if row[0] in wanted
        else row
        for row in made.sent.state["entries"]
    ]
    made.sent = evolve(made.sent, state={"entries": rows})
    if "history" in places and not any(row[0] in talk for row in rows):
        raise AssertionError("the first turn is not tracked")
    return made


def key(name: str) -> str:
    return {"symbols": "symbols:src"}.get(name, f"file:{name}.py")


def marked(body: dict[str, Any]) -> list[str]:
    """The beginnings of the marked blocks' texts, each with where it stands."""
    return [
        f"{role}: {block.get('text', block['type'])[:20]}"
        for role, block in blocks(body)
        if "cache_control" in block
    ]


def texts(body: dict[str, Any]) -> str:
    return "\n".join(block.get("text", "") for _, block in blocks(body))


def order(body: dict[str, Any], *parts: str) -> None:
    everything = texts(body)
    places = [everything.index(part) for part in parts]
    assert places == sorted(places), list(zip(parts, places, strict=True))


# --- seed 004:328-337 ----------------------------------------------------------------------------


def test_graduated_files_are_not_among_the_active_ones() -> None:
    """Seed 004:328."""
    body = world(a=Tier.L1, b=Tier.L3).request()
    body_files = texts(body)
    assert body_files.count("# a\n") == body_files.count("# b\n") == 1
    made = world(a=Tier.L1)
    made.files["z.py"] = "z = 1\n"
    working = texts(made.request()).split("# Working Files")[1]
    assert "z = 1" in working
    assert "# a\n" not in working


def test_all_files_graduated_leaves_no_working_files() -> None:
    """Seed 004:329."""
    assert "# Working Files" not in texts(world(a=Tier.L1, b=Tier.L3).request())
    made = world(a=Tier.L1)
    made.files["z.py"] = "z = 1\n"
    assert texts(made.request()).count("# Working Files") == 1


def test_l0_marker_is_on_the_system_message_without_l0_history() -> None:
    """Seed 004:330."""
    body = world(a=Tier.L0).request()
    assert "cache_control" in body["system"][-1]
    assert sum("cache_control" in block for block in body["system"]) == 1
    plain = world().request()
    assert "cache_control" in plain["system"][-1], "L0 of the system prompt alone"


def test_l0_marker_is_on_the_last_history_message_with_l0_history() -> None:
    """Seed 004:331."""
    made = world(a=Tier.L0, history=Tier.L0)
    body = made.request()
    assert not any("cache_control" in block for block in body["system"])
    first, second = body["messages"][:2]
    assert first["content"][-1]["text"].startswith("First question?")
    assert "cache_control" not in first["content"][-1]
    assert second["content"][-1]["text"] == "First answer."
    assert "cache_control" in second["content"][-1]


def test_l1_is_a_pair_of_user_and_assistant_with_its_symbols() -> None:
    """Seed 004:332."""
    body = world(symbols=Tier.L1).request()
    user, assistant = body["messages"][:2]
    assert (user["role"], assistant["role"]) == ("user", "assistant")
    assert any(block["text"].startswith("symbols of src") for block in user["content"])
    assert assistant["content"][0]["text"] == ACKNOWLEDGEMENT


def test_empty_tiers_produce_no_messages() -> None:
    """Seed 004:333."""
    assert texts(world(a=Tier.L2).request()).count("# Reference Files") == 1
    assert "# Reference Files" not in texts(world().request())
    acknowledged = texts(world(a=Tier.L2).request()).count(ACKNOWLEDGEMENT)
    assert acknowledged == texts(world().request()).count(ACKNOWLEDGEMENT) + 1


def test_tree_pages_and_active_files_stand_where_they_belong() -> None:
    """Seed 004:334."""
    made = world(a=Tier.L3)
    made.files["z.py"] = "z = 1\n"
    order(made.request(), "# a\n", "# Repository Files", "# URL Context", "# Working Files")


def test_active_history_follows_the_active_files_and_precedes_the_prompt() -> None:
    """Seed 004:335."""
    made = world(a=Tier.L3)
    made.files["z.py"] = "z = 1\n"
    body = made.request()
    order(body, "z = 1", "First question?", "First answer.", "Second question?")
    assert body["messages"][-1]["content"][-1]["text"] == "Second question?"


def test_order_of_tiers() -> None:
    """Seed 004:336: L0 < L1 < L3 < tree < active < prompt."""
    made = world(a=Tier.L0, b=Tier.L1, c=Tier.L2, d=Tier.L3)
    made.files["z.py"] = "z = 1\n"
    body = made.request()
    order(
        body, "# a\n", "# b\n", "# c\n", "# d\n", "# Repository Files", "z = 1", "Second question?"
    )


@pytest.mark.parametrize(
    "places",
    [
        {"a": Tier.L0},
        {"a": Tier.L1, "b": Tier.L3},
        {"a": Tier.L0, "b": Tier.L1, "c": Tier.L2, "d": Tier.L3},
        {"symbols": Tier.L1, "a": Tier.L2},
        {"a": Tier.L0, "history": Tier.L0, "b": Tier.L2},
    ],
    ids=str,
)
def test_each_non_empty_tier_ends_in_a_breakpoint(places: dict[str, Tier]) -> None:
    """Seed 004:337."""
    made = world(**places)
    arrangement = made.arrange()
    body = made.body(arrangement)
    filled = {p.tier for p in arrangement.pieces if p.tier in tuple(Tier)[1:5]} | {Tier.L0}
    assert marks_of(body) == len(filled)
    ends = []
    for tier in sorted(filled):
        wanted = (tier, Tier.HEAD) if tier is Tier.L0 else (tier,)
        ends.append([piece for piece in arrangement.pieces if piece.tier in wanted][-1])
    assert marked(body) == [
        f"{role}: {(piece.text or _last_words(piece))[:20]}"
        for piece, role in ((p, _role(p)) for p in ends)
    ]


def _last_words(piece: Piece) -> str:
    block = piece.messages[-1].blocks[-1].block
    assert isinstance(block, Text)
    return block.text


def _role(piece: Piece) -> str:
    if piece.messages:
        return str(piece.messages[-1].role)
    return "system" if piece.tier in (Tier.HEAD, Tier.L0) else "user"


# --- never more than four, never on an empty block, never below the minimum ----------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_never_more_than_four(policy: str) -> None:
    """BR-046; seed 004:337 with everything non-empty."""
    made = world(a=Tier.L0, b=Tier.L1, c=Tier.L2, d=Tier.L3)
    made.policy = POLICIES[policy]()
    for _ in range(4):
        assert 1 <= marks_of(made.request()) <= 4
        made.files["e.py"] = BIG + str(made.count)
        made.reply("Yes.")
        made.ask("And?")


@pytest.mark.parametrize("policy", POLICIES)
def test_never_on_an_empty_block(policy: str) -> None:
    """A request or a reply without text, a result without output, thinking at the end."""
    made = World(POLICIES[policy](), files={"a.py": BIG, "empty.py": ""})
    made.ask("   ")
    call = ToolUse("toolu_1", "run", {})
    made._append(say("assistant", "", call), say("user", ToolResult("toolu_1", ())))
    made._append(say("assistant", Text(""), Reasoning("anthropic", {"type": "thinking"})))
    made.ask("")
    body = made.request()
    found = [block for _, block in blocks(body) if "cache_control" in block]
    assert found
    assert all(block["type"] != "thinking" for block in found)
    assert all(block.get("text", "some").strip() for block in found)
    assert all(block.get("text", "some").strip() for _, block in blocks(body))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("minimum", [1024, 2048, 4096])
def test_never_below_the_models_minimum(policy: str, minimum: int) -> None:
    """A prefix that is too short is not cached, and a breakpoint on it would be wasted."""
    made = World(POLICIES[policy](), files={"a.py": BIG, "b.py": BIG})
    made.system = "Be brief."
    made.facts = evolve(made.facts, min_cacheable_tokens=minimum)
    made.ask("One?")
    for _ in range(5):
        body = made.request()
        total = 0.0
        for _, block in blocks(body):
            total += len(json.dumps(block, ensure_ascii=False)) / 4
            assert "cache_control" not in block or total >= minimum
        made.reply("Yes.")
        made.ask("And?")


@pytest.mark.parametrize("policy", [CounterPolicy, FixedPolicy, LogStructuredPolicy])
def test_a_small_request_has_no_breakpoint(policy: type) -> None:
    made = World(policy(), files={"a.py": "x = 1\n"}, system="Be brief.")
    made.ask("One?")
    assert marks_of(made.request()) == 0


def test_a_tier_that_is_too_small_merges_with_its_neighbour() -> None:
    """Design, section 6: its items fall one tier instead of taking a breakpoint."""
    made = world(a=Tier.L1, b=Tier.L2)
    made.files["a.py"] = "x = 1\n"
    made.request()
    rows = [
        [*row[:3], "L2", 6, *row[5:]] if row[0] == "file:a.py" else row
        for row in made.sent.state["entries"]
    ]
    made.sent = evolve(made.sent, state={"entries": rows})
    arrangement = made.arrange()
    tiers = arrangement.tiers()
    assert tiers["file:a.py"] == tiers["file:b.py"] == "L2", "together they fill L2"
    assert marks_of(made.body(arrangement)) == 2


def test_what_holds_for_one_prompt_stays_where_it_was_sent() -> None:
    """Taking it away would change what stands before later replies, and their thinking with it."""
    for policy in POLICIES.values():
        made = World(policy(), files={"a.py": BIG})
        made.tail = [text_item("clock", Section.STATE, "It is noon.", volatile=True)]
        made.ask("One?")
        first = plain_blocks(made.request())
        assert "It is noon." in first[-1]
        made.reply("Yes.")
        made.tail = [text_item("clock", Section.STATE, "It is one.", volatile=True)]
        made.ask("Two?")
        second = plain_blocks(made.request())
        assert second[: len(first)] == first
        assert "It is one." in second[-1]
