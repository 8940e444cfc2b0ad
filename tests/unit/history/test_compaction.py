"""What compaction chooses, at its edges; its rules are in `test_topics_and_compaction.py`.

Sizes are characters here, so that what fits exactly can be told from what does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.histories import compacted, msg, texts, tool_turn, turn
from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary
from tierline.history.compaction import (
    NOTHING,
    SMALLEST,
    CompactionKind,
    CompactionPlan,
    CompactionSettings,
    outline,
    should_compact,
    verbatim_start,
)
from tierline.history.groups import groups
from tierline.history.messages import Message

SETTINGS = CompactionSettings(
    compaction_trigger_tokens=1_000,
    verbatim_window_tokens=200,
    summary_budget_tokens=500,
    min_verbatim_exchanges=1,
)


def size(messages: Sequence[Message]) -> int:
    return len("".join(texts(messages)))


def talk(*sizes: int) -> list[Message]:
    """A turn of each size, half of it the prompt: ``m0`` and ``m1``, ``m10`` and ``m11``, …"""
    return [
        m
        for number, total in enumerate(sizes)
        for m in turn(number, "p" * (total // 2), "r" * (total - total // 2))
    ]


def start_of(messages: Sequence[Message], given: CompactionSettings) -> int:
    """Index of the first message that stays word for word."""
    turns = groups(messages)
    return sum(len(t.messages) for t in turns[: verbatim_start(turns, given, size)])


def settings(**values: Any) -> CompactionSettings:
    return attrs.evolve(SETTINGS, **values)


@pytest.mark.parametrize(
    ("sizes", "window", "start"),
    [
        ((100, 100, 100), 200, 2),  # what fits exactly stays
        ((100, 100, 100), 199, 4),
        ((100, 100, 100), 300, 0),
        ((100, 100, 300), 200, 4),  # the newest stays, however long it is
        ((100, 10, 300), 200, 4),  # and then nothing besides it
        ((100, 100, 100), 0, 4),
    ],
)
def test_the_newest_turns_that_fit_stay_and_the_newest_in_any_case(
    sizes: tuple[int, ...], window: int, start: int
) -> None:
    given = settings(verbatim_window_tokens=window)
    assert start_of(talk(*sizes), given) == start
    assert start_of([], given) == 0


def test_an_exchange_is_a_prompt_with_what_follows_and_a_summary_is_none() -> None:
    card = msg(900, "user", "s" * 80, group="summary:x", meta={"summary": True, "covers": ["g9"]})
    note = msg(901, "assistant", "r" * 80, group="gn")  # a turn that no prompt of ours began
    messages = [card, *talk(100, 100), note]
    for wanted, start in ((1, 3), (2, 1), (3, 0)):
        given = settings(verbatim_window_tokens=0, min_verbatim_exchanges=wanted)
        assert start_of(messages, given) == start
    everything = settings(verbatim_window_tokens=0, min_verbatim_exchanges=9)
    assert outline(messages, everything, size) == NOTHING


@pytest.mark.parametrize(
    ("index", "covers"),
    [(4, ("g1",)), (5, ("g1",)), (7, ("g1",)), (8, ("g1", "g2")), (9, ("g1", "g2"))],
)
def test_a_boundary_inside_a_turn_moves_to_its_beginning(
    index: int, covers: tuple[str, ...]
) -> None:
    """A call is never separated from its result, whatever a model says."""
    messages = [*tool_turn(1, ["x" * 60]), *tool_turn(2, ["y" * 60]), *turn(3)]
    assert [m.group_id for m in messages].index("g2") == 4
    done = outline(messages, settings(verbatim_window_tokens=400), size)
    assert done == NOTHING, "all fits"
    done = outline(
        messages, settings(verbatim_window_tokens=400), size, TopicBoundary(index, "new", 0.9)
    )
    assert (done.case, done.covers, done.reason) == (CompactionKind.TRUNCATE, covers, "new")
    left = compacted(messages, done)
    assert {m.group_id for m in left} == {"g1", "g2", "g3"} - set(covers)


def test_a_topic_that_began_with_the_conversation_is_no_reason_to_drop_anything() -> None:
    messages = talk(60, 60, 60)
    first = TopicBoundary(0, "the very first", 1.0)
    assert outline(messages, settings(verbatim_window_tokens=999), size, first) == NOTHING


def test_system_messages_are_neither_replaced_nor_counted() -> None:
    rules = msg(500, "system", "s" * 300, group="g0")
    messages = [rules, *talk(60, 60, 60)]
    done = outline(messages, settings(verbatim_window_tokens=60), size)
    assert (done.case, done.covers, done.zone_tokens) == (
        CompactionKind.SUMMARIZE,
        ("g0", "g1"),
        120,
    )
    assert rules not in done.zone
    assert compacted(messages, done) == (rules, *messages[-2:])


def test_a_summary_takes_at_most_its_budget_and_half_of_what_it_replaces() -> None:
    for tokens, budget in ((400, 200), (400, 100), (80, 100)):
        given = settings(verbatim_window_tokens=60, summary_budget_tokens=budget)
        done = outline(talk(tokens, 60), given, size)
        assert done.zone_tokens == tokens
        assert done.budget_tokens == min(budget, tokens // 2)


def test_little_is_not_worth_a_summary_but_may_be_dropped_with_its_topic() -> None:
    given = settings(verbatim_window_tokens=60)
    assert outline(talk(SMALLEST, 60), given, size).case is CompactionKind.SUMMARIZE
    short = outline(talk(SMALLEST - 1, 60), given, size)
    assert (short.case, short.zone, short.covers) == (CompactionKind.NONE, (), ())
    assert (short.zone_tokens, short.budget_tokens) == (0, 0), "nothing is replaced"
    assert short.reason != NOTHING.reason
    ended = TopicBoundary(2, "", 0.5)
    done = outline(talk(SMALLEST - 1, 60), given, size, ended)
    assert (done.case, done.reason) == (CompactionKind.TRUNCATE, "the topic changed")
    assert done.boundary is ended


def test_a_summary_alone_is_not_summarised_again() -> None:
    """It would lose a little each time and gain nothing."""
    card = msg(900, "user", "s" * 300, group="summary:x", meta={"summary": True, "covers": ["g9"]})
    assert outline([card, *talk(60)], settings(verbatim_window_tokens=60), size) == NOTHING
    done = outline([card, *talk(60, 60)], settings(verbatim_window_tokens=60), size)
    assert (done.covers, done.zone_tokens) == (("g9", "g0"), 360)
    damaged = attrs.evolve(card, meta={"summary": True, "covers": "g9"})
    done = outline([damaged, *talk(60, 60)], settings(verbatim_window_tokens=60), size)
    assert done.covers == ("g0",), "what a damaged log says it covers is not guessed"


RULE = "Never touch generated files."


def ruled(number: int, characters: int, **meta: object) -> tuple[Message, Message]:
    """A turn with a long reply, its prompt so many characters with a rule of its own."""
    rule = f"Never touch the file number {number}."
    asked, reply = turn(number, rule + "\n" + "." * (characters - len(rule) - 1), "r" * 99)
    return attrs.evolve(asked, meta=meta), reply


def test_a_rule_stays_word_for_word_up_to_two_hundred_tokens_and_is_quoted_beyond() -> None:
    """docs/compaction.md, "What never happens"."""
    for characters, kept in ((200, ("m10",)), (201, ())):
        done = outline([*ruled(1, characters), *talk(60)], settings(), size)
        assert done.keeps == kept
        assert done.rules == (() if kept else ("Never touch the file number 1.",))
        assert ("m10" in {m.id for m in done.zone}) is not bool(kept)
    messages = [*ruled(1, 201, pinned=True), *talk(60)]
    wide = settings(verbatim_window_tokens=600)
    pinned = outline(messages, wide, size, TopicBoundary(2, "", 1.0))
    assert pinned.keeps == ("m10",), "what is pinned stays whole"


def test_what_is_kept_takes_half_of_the_window_and_the_newest_comes_first() -> None:
    """docs/compaction.md: "takes at most half of the verbatim window"."""
    given = settings(verbatim_window_tokens=600)
    messages = [m for n in range(1, 5) for m in ruled(n, 150)]
    done = outline([*messages, *talk(600)], given, size)
    assert done.keeps == ("m30", "m40"), "300 characters, in the order of the conversation"
    assert done.rules == ("Never touch the file number 1.", "Never touch the file number 2.")
    small = settings(verbatim_window_tokens=60)
    assert outline([*ruled(1, 200), *talk(60)], small, size).keeps == ("m10",), (
        "one rule finds room, however small the window"
    )


def test_a_rule_that_was_said_twice_is_quoted_once() -> None:
    twice = [m for n in (1, 2) for m in turn(n, RULE + " " + "padding " * 60)]
    assert outline([*twice, *talk(60)], settings(), size).rules == (RULE,)


def test_rules_stand_before_the_summary_unless_it_quotes_them() -> None:
    done = CompactionPlan(CompactionKind.SUMMARIZE, "", rules=(RULE, "Always use tabs."))
    assert done.text("Notes.\n") == f"Standing rules:\n- {RULE}\n- Always use tabs.\n\nNotes."
    assert done.text(f"{RULE} Notes.") == f"Standing rules:\n- Always use tabs.\n\n{RULE} Notes."
    assert done.text(f"{RULE} Always use tabs.") == f"{RULE} Always use tabs."
    assert CompactionPlan(CompactionKind.TRUNCATE, "").text("") == ""


def test_growth_is_measured_from_what_the_last_attempt_left() -> None:
    """A tenth of the trigger, and at least one token."""
    assert not should_compact(1_149, SETTINGS, after=1_050)
    assert should_compact(1_150, SETTINGS, after=1_050)
    tiny = settings(compaction_trigger_tokens=1)
    assert not should_compact(5, tiny, after=5) and should_compact(6, tiny, after=5)


@given(
    st.lists(st.integers(2, 300), min_size=1, max_size=8),
    st.integers(0, 700),
    st.integers(0, 3),
    st.none() | st.integers(0, 15),
)
def test_whole_turns_go_the_newest_stays_and_order_is_kept(
    sizes: list[int], window: int, exchanges: int, boundary: int | None
) -> None:
    messages = talk(*sizes)
    given = settings(verbatim_window_tokens=window, min_verbatim_exchanges=exchanges)
    found = SAFE_BOUNDARY
    if boundary is not None and boundary < len(messages):
        found = TopicBoundary(boundary, "new", 0.9)
    done = outline(messages, given, size, found)
    left = compacted(messages, done)
    assert left == tuple(messages[len(messages) - len(left) :]), "a tail, in order"
    assert {m.group_id for m in left}.isdisjoint(done.covers)
    assert len({m.group_id for m in left}) >= min(max(exchanges, 1), len(sizes))
    if done.case is CompactionKind.SUMMARIZE:
        stays = {m.group_id for m in left}
        prompts = size(left) <= window or len(stays) == max(exchanges, 1)
        assert prompts, "no more than the window but what must stay"
