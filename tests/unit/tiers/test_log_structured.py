"""The default policy, sentence by sentence (design, section 6b)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from benchmarks.cache_simulator import CacheSimulator
from support.tierworld import FACTS, World, blocks, marks_of, prefix, text_item
from tierline.context.items import Section
from tierline.context.models import ModelFacts
from tierline.context.prompt import ToolSpec
from tierline.context.tiers.base import (
    Arrangement,
    Decision,
    Piece,
    PieceKind,
    Pricing,
    Signals,
    Tier,
)
from tierline.context.tiers.cost import RentAccount, Verdict
from tierline.context.tiers.layout_options import ALL, RewritePoint, thinking_weight
from tierline.context.tiers.log_structured import LogStructuredPolicy
from tierline.context.tiers.logstate import LogState
from tierline.context.tiers.rewrites import rents

BIG = "".join(f"value_{i} = compute({i})\n" for i in range(250))
OTHER = BIG.replace("value", "other")
LONG_REPLY = "That is how it is. " * 300
AUTOMATIC = ModelFacts("gpt-test", family="openai", caching="automatic", min_cacheable_tokens=1024)


def world(**files: str) -> World:
    """Without the limit for outdated text, which has tests of its own."""
    texts = {f"{n}.py": t for n, t in files.items()} or {"a.py": BIG}
    made = World(LogStructuredPolicy(limit=1), files=texts)
    made.ask("First?")
    made.request()
    made.reply("Yes.")
    return made


def ask(made: World, prompt: str = "And now?", *, wait: float = 30.0) -> Arrangement:
    """Ask, send, and have it accepted; what was arranged."""
    made.now += wait
    made.ask(prompt)
    arranged = made.arrange()
    made.sent = arranged.next
    return arranged


def updates_of(arranged: Arrangement) -> list[tuple[str, PieceKind]]:
    return [(p.key, p.kind) for p in arranged.pieces if p.kind is not PieceKind.ITEM]


def decision(arranged: Arrangement, code: str) -> Decision | None:
    return next((d for d in arranged.decisions if d.code == code), None)


def piece(arranged: Arrangement, key: str) -> Piece:
    return next(p for p in arranged.pieces if p.key == key)


# --- the log -------------------------------------------------------------------------------------


def test_a_change_is_appended_before_the_prompt_and_the_base_stays() -> None:
    made = world()
    was = made.body(made.policy.arrange(made.items(), made.sent, made.moment(), Pricing.of(FACTS)))
    made.files["a.py"] = BIG.replace("compute(7)", "compute(77)")
    arranged = ask(made)
    assert updates_of(arranged) == [("file:a.py", PieceKind.DELTA)]
    assert piece(arranged, "file:a.py").stale, "the version in the base is not the current one"
    body = made.body(arranged)
    assert blocks(body)[: len(prefix(was)) - 1] == blocks(was)[: len(prefix(was)) - 1]
    said = [block["text"].split("\n")[0][:16] for _, block in blocks(body)][-2:]
    assert said == ["Update: a.py cha", "And now?"]


def test_bytes_that_were_sent_stay_while_the_conversation_grows() -> None:
    made = world()
    for turn in range(6):
        made.files["a.py"] = BIG.replace("compute(9)", f"compute({turn})")
        ask(made)
        body = made.request()
        made.reply("Fine.")
        made.ask("Next?")
        again = [
            json.dumps([r, {k: v for k, v in b.items() if k != "cache_control"}],
                       ensure_ascii=False, sort_keys=True)
            for r, b in blocks(made.request())
        ]  # fmt: skip
        assert again[: len(prefix(body))] == prefix(body)


def test_the_models_own_edit_is_only_confirmed() -> None:
    made = world()
    made.model_edit("a.py", "compute(7)", "compute(77)")
    arranged = ask(made)
    assert updates_of(arranged) == [("file:a.py", PieceKind.CONFIRMED)]
    assert piece_update(arranged).text.count("\n") == 1


def piece_update(arranged: Arrangement) -> Piece:
    return next(p for p in arranged.pieces if p.kind is not PieceKind.ITEM)


@pytest.mark.parametrize(
    "spoil",
    ["changed further", "no longer in the history", "id with a blank"],
)
def test_an_edit_that_the_model_cannot_have_is_not_confirmed(spoil: str) -> None:
    made = world()
    made.model_edit("a.py", "compute(7)", "compute(77)")
    if spoil == "changed further":
        made.files["a.py"] += "x = 1\n"
    elif spoil == "no longer in the history":
        made.turns[-1].atoms.pop()
        made.turns[-1].names.pop()
    else:
        made.edits[0] = evolve(made.edits[0], reference="call 1")
    assert updates_of(ask(made)) == [("file:a.py", PieceKind.DELTA)]


def test_removal_is_a_tombstone_and_addition_is_in_full() -> None:
    made = world(a=BIG, b=OTHER)
    del made.files["b.py"]
    made.files["c.py"] = "x = 1\n"
    assert updates_of(ask(made)) == [("file:b.py", PieceKind.GONE), ("file:c.py", PieceKind.FULL)]
    made.reply(LONG_REPLY * 8)
    ask(made)
    made.files["b.py"] = OTHER
    arranged = ask(made)
    assert updates_of(arranged)[-1] == ("file:b.py", PieceKind.FULL), (
        "what is gone must be given again"
    )
    assert arranged.tiers()["file:b.py"] == Tier.LOG


def test_an_undone_edit_is_a_difference_again() -> None:
    made = world()
    made.files["a.py"] = BIG + "x = 1\n"
    ask(made)
    made.reply(LONG_REPLY)
    ask(made)
    made.files["a.py"] = BIG
    assert updates_of(ask(made)) == [("file:a.py", PieceKind.DELTA)] * 2


def test_a_log_that_is_shorter_than_its_updates_is_written_anew() -> None:
    """Rewriting that costs less than carrying on is free, as what lies behind is new anyway."""
    made = world()
    made.files["a.py"] = BIG + "x = 1\n"
    ask(made)
    made.files["a.py"] = BIG
    arranged = ask(made)
    assert updates_of(arranged) == []
    bought = decision(arranged, "consolidate")
    assert bought is not None
    assert "free" in bought.sentence


def test_an_undone_turn_takes_its_updates_with_it() -> None:
    made = world()
    ask(made, "Keep this.")
    made.reply("Yes.")
    made.files["a.py"] = BIG + "x = 1\n"
    ask(made, "Undo this.")
    made.turns.pop()
    arranged = ask(made, "Instead?")
    assert updates_of(arranged) == [("file:a.py", PieceKind.DELTA)]
    assert decision(arranged, "cold") is None


def test_texts_that_are_no_files_are_kept_fresh_too() -> None:
    made = world()
    made.extra = [text_item("memo:1", Section.MEMOS, "Use tabs.")]
    assert updates_of(ask(made)) == [("memo:1", PieceKind.FULL)]
    made.extra = []
    assert updates_of(ask(made))[-1] == ("memo:1", PieceKind.GONE)


# --- consolidation: cold -------------------------------------------------------------------------


def changed() -> World:
    made = world(a=BIG, b=OTHER)
    made.files["a.py"] = BIG.replace("compute(7)", "compute(77)")
    ask(made)
    made.reply("Yes.")
    return made


@pytest.mark.parametrize("why", ["expired", "model", "tools", "instructions", "policy"])
def test_a_cold_cache_is_used_to_tidy_up(why: str) -> None:
    """a: idle longer than the lifetime, new model, new tools, new instructions: free."""
    made = changed()
    wait = 30.0
    if why == "expired":
        wait = 4000.0
    elif why == "model":
        made.facts = evolve(made.facts, name="claude-other")
    elif why == "tools":
        made.tools = (ToolSpec("run", "d", {}),)
    elif why == "instructions":
        made.system += "Be brief."
    else:
        made.sent = evolve(made.sent, policy="counter")
    arranged = ask(made, wait=wait)
    assert updates_of(arranged) == []
    assert not any(p.stale for p in arranged.pieces)
    cold = decision(arranged, "cold")
    assert cold is not None
    assert why in cold.sentence


def test_the_first_request_rewrites_nothing() -> None:
    made = World(LogStructuredPolicy(), files={"a.py": BIG})
    made.ask("One?")
    first = made.arrange()
    assert first.rewrite is None
    assert first.next.requests == 1


def test_a_request_too_small_to_be_cached_is_always_tidy() -> None:
    made = World(LogStructuredPolicy(), files={"a.py": "x = 1\n"}, system="Be brief.")
    made.ask("One?")
    made.request()
    made.files["a.py"] = "x = 2\n"
    arranged = ask(made)
    assert updates_of(arranged) == []
    assert "too small" in str([d.sentence for d in arranged.decisions])


def test_the_base_is_ordered_by_hazard() -> None:
    """What changes most stands last; what version control and the editor say counts as well."""
    made = world(a=BIG, b=OTHER, c=BIG.replace("value", "third"))
    for turn in range(4):
        made.files["a.py"] = BIG + f"x = {turn}\n"
        ask(made)
    arranged = ask(made, wait=4000.0)
    base = [p.key for p in arranged.pieces if p.key.startswith("file:")]
    assert base[-1] == "file:a.py"
    assert arranged.tiers()["file:a.py"] == Tier.L3
    made.signals = {"file:b.py": Signals(churn=0.9), "file:c.py": Signals(churn=0.0)}
    arranged = ask(made, wait=4000.0)
    tiers = arranged.tiers()
    assert tiers["file:c.py"] == Tier.L0
    assert tiers["file:b.py"] == Tier.L2
    assert piece(arranged, "file:b.py").hazard > piece(arranged, "file:c.py").hazard


# --- consolidation: after compaction -------------------------------------------------------------


def test_compaction_drops_dead_updates_for_free() -> None:
    """b: the log behind that point is new anyway."""
    made = world(a=BIG, b=OTHER)
    for turn in range(5):
        made.files["a.py"] = BIG.replace("compute(7)", f"compute({turn + 100})")
        ask(made)
        made.reply("Yes.")
    made.summary = "They changed a.py a few times."
    made.turns = made.turns[-1:]
    arranged = ask(made)
    assert updates_of(arranged) == [("file:a.py", PieceKind.DELTA)]
    assert decision(arranged, "cold") is None
    assert not any(p.stale for p in arranged.pieces if p.kind is not PieceKind.ITEM)
    assert [p.key for p in arranged.pieces if p.tier in (Tier.L0, Tier.L1, Tier.L2, Tier.L3)] == [
        p.key for p in made.arrange().pieces if p.tier in (Tier.L0, Tier.L1, Tier.L2, Tier.L3)
    ], "the base stays"


# --- consolidation: rent or buy ------------------------------------------------------------------


def test_the_base_is_rewritten_when_the_rent_has_reached_the_price() -> None:
    """c: and not before. The numbers stand in the decision."""
    made = world(a=BIG, b=OTHER)
    made.files["a.py"] = OTHER.replace("other", "wholly_new")
    rents: list[float] = []
    for _ in range(60):
        arranged = ask(made, "?")
        bought = decision(arranged, "consolidate")
        if bought is not None:
            break
        waiting = [d for d in arranged.decisions if d.code == "defer"]
        rents.append(max(d.numbers["rent"] for d in waiting))
        assert all(d.numbers["rent"] < d.numbers["price"] for d in waiting)
    else:
        raise AssertionError("it was never bought")
    assert len(rents) > 3
    assert rents == sorted(rents)
    assert bought.numbers["rent"] >= bought.numbers["price"] > 0
    assert updates_of(arranged) == []
    later = ask(made, "?")
    assert all(
        d.numbers["rent"] < bought.numbers["rent"] for d in later.decisions if d.code == "defer"
    ), "the account begins anew"


def test_a_purchase_settles_only_what_it_removed() -> None:
    """Rewriting the log alone leaves the base's stale bytes, and their account, as they were."""
    verdicts = {
        ALL: Verdict(False, "wait", 900.0, 5000.0, RentAccount(900.0)),
        RewritePoint(Tier.L1): Verdict(False, "wait", 400.0, 3000.0, RentAccount(400.0)),
        RewritePoint(Tier.LOG): Verdict(True, "due", 300.0, 250.0, RentAccount()),
    }
    assert rents(verdicts, RewritePoint(Tier.LOG)) == {"L0": 600.0, "L1": 100.0}
    assert rents(verdicts, ALL) == {}
    assert rents(verdicts, None) == {"L0": 900.0, "L1": 400.0, "log": 0.0}


def test_any_tier_may_be_the_boundary_where_prefixes_are_cached_automatically() -> None:
    made = world(a=BIG, b=OTHER)
    made.facts = AUTOMATIC
    made.signals = {"file:a.py": Signals(churn=0.0), "file:b.py": Signals(churn=0.9)}
    ask(made)
    sentences = " ".join(d.sentence for d in ask(made).decisions)
    assert "tier L3" in sentences
    assert "the log" in sentences


# --- lifetimes, breakpoints, restarts ------------------------------------------------------------


@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_the_lifetime_is_the_users_if_set(ttl: str) -> None:
    made = World(LogStructuredPolicy(ttl=ttl), files={"a.py": BIG})
    made.ask("One?")
    assert made.arrange().ttl == ttl


def test_the_lifetime_stays_while_the_cache_is_warm() -> None:
    made = world()
    was = made.sent.ttl
    for _ in range(10):
        assert ask(made, wait=20.0).ttl == was


def test_four_breakpoints_head_base_last_request_this_one() -> None:
    made = world(a=BIG, b=OTHER)
    made.signals = {"file:a.py": Signals(churn=0.0)}
    ask(made, wait=4000.0)
    made.reply("Yes.")
    arranged = ask(made, "Fourth?")
    marked = [
        block.get("text", "")[:12] for _, block in blocks(made.body(arranged))
        if "cache_control" in block
    ]  # fmt: skip
    assert marked == ["a.py\n```pyth"[:12], "b.py\n```pyth"[:12], "And now?", "Fourth?"]


def test_a_turn_of_many_blocks_is_still_found() -> None:
    """A breakpoint looks back 20 blocks; the end of the last request has its own."""
    made = world(a=BIG)
    cache = CacheSimulator()
    cache.send(made.request(), made.now)
    for _ in range(30):
        made.model_edit("a.py", "compute(7)", "compute(7)")
    made.ask("And?")
    outcome = cache.send(made.request(), made.now + 10)
    assert outcome.read > 3000


def test_a_restart_changes_nothing() -> None:
    made = changed()
    made.now += 30
    made.ask("And now?")
    live = made.request(accepted=False)
    made.restart()
    assert made.request(accepted=False) == live


def test_a_refused_request_is_not_remembered() -> None:
    made = world()
    made.files["a.py"] = BIG + "x = 1\n"
    before = made.sent
    made.request(accepted=False)
    assert made.sent == before
    assert updates_of(ask(made)) == [("file:a.py", PieceKind.DELTA)]


def test_the_same_arguments_give_the_same_arrangement() -> None:
    made = changed()
    first: Any = made.arrange()
    assert made.arrange() == first


# --- where the newest rewrite ended --------------------------------------------------------------


def test_a_rewrite_begins_where_the_one_before_ended_and_reads_what_stands_before_it() -> None:
    made, cache = world(a=BIG, b=OTHER), CacheSimulator()
    made.now += 400  # the cache expires: everything is written anew
    anew, _ = turn(made, cache)
    began = made.now
    body, read = until_rewritten(made, cache)
    assert made.now - began > 300, "the breakpoint kept it"
    stays = prefix(anew)
    assert prefix(body)[: len(stays)] == stays
    assert read >= CacheSimulator().send(anew, 0.0).written
    assert marks_of(body) <= 4


def test_a_version_that_stands_before_that_place_is_known_when_the_rest_is_written_anew() -> None:
    """So that a difference to it is given, not the file in full."""
    made, cache = world(a=BIG), CacheSimulator()
    until_rewritten(made, cache)
    assert made.arranged is not None
    assert updates_of(made.arranged) == [("file:a.py", PieceKind.DELTA)]
    until_rewritten(made, cache)
    assert updates_of(made.arranged) == [("file:a.py", PieceKind.DELTA)] * 2


def test_the_state_of_an_older_release_is_read() -> None:
    made = world()
    value = json.loads(json.dumps(dict(made.sent.state)))
    value["ends"] = [end[:3] for end in value["ends"]]
    assert LogState.from_json(value) == LogState.from_json(made.sent.state)


def test_thinking_of_older_turns_weighs_less() -> None:
    weights = [thinking_weight(age) for age in range(14)]
    assert weights[:5] == [1.0] * 5
    assert weights[5:] == sorted(weights[5:], reverse=True)
    assert (weights[8], weights[12]) == (0.5, 0.25)


def until_rewritten(made: World, cache: CacheSimulator) -> tuple[dict[str, Any], float]:
    """Turns before each of which a file changes, until one brings a rewrite: its first body, and
    what of it was read.
    """
    for _ in range(60):
        found = turn(made, cache)
        if made.arranged is not None and made.arranged.rewrite is not None:
            assert made.arranged.rewrite.code == "consolidate"
            return found
    raise AssertionError("nothing was rewritten")


def turn(made: World, cache: CacheSimulator) -> tuple[dict[str, Any], float]:
    """A turn in which the model looks something up; its first body, and what of it was read."""
    made.now += 100
    made.files["a.py"] = BIG.replace("compute(9)", f"compute({made.now})")
    made.ask("And now?")
    body = made.request()
    arranged = made.arranged
    read = cache.send(body, made.now).read
    made.look("x = compute(y)\n" * 30, "I have to see what it is. " * 10)
    cache.send(made.request(), made.now)
    made.arranged = arranged
    made.reply("So it is. " * 10, "Now I know. " * 10)
    return body, read
