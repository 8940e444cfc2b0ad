"""The memory for any conversation: bounded, whole, nothing without a trace, stable in between."""

from __future__ import annotations

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from support.memories import FILLER, count, said
from tierline.context.blocks import ToolResult, ToolUse
from tierline.history.messages import Message, Status
from tierline.memory.levels import Budgets, Level
from tierline.memory.recall import recall, render
from tierline.memory.view import CompressCommand, MemoryBuilder, messages, stats

PROMPTS = (
    "continue",
    "Now let's build the importer",
    "Forget that. The Makefile needs a clean target",
    "parser.py raises IndexError: list index out of range",
    "always answer in French",
    "thanks, that works",
    "what did we decide about the cache earlier?",
    "rename split_row() in parser.py",
    "",
    "数据库的端口是多少？",
    "\ud83d lone surrogate",
    "Important: the key account is K-4711",
)
SMALL = Budgets(permanent=120, session=260, working=500, total=1000)

steps = st.tuples(
    st.integers(0, 45),
    st.sampled_from(PROMPTS),
    st.integers(0, 8),
    st.lists(st.integers(0, 300), max_size=3),
    st.sampled_from((Status.OK, Status.OK, Status.OK, Status.INTERRUPTED, Status.ERROR)),
    st.booleans(),
)
conversations = st.lists(steps, min_size=1, max_size=25)


def build(plan: list[tuple[int, str, int, list[int], Status, bool]]) -> list[list[Message]]:
    minute, turns = 0, []
    for number, (pause, prompt, length, outputs, status, forced) in enumerate(plan, start=1):
        minute += pause
        reply = f"We decided to use library_{number}. {FILLER * length}"
        made = said(number, minute, prompt, reply, *("x = 1\n" * n for n in outputs))
        made[-1] = attrs.evolve(made[-1], status=status, meta={"forced": forced})
        turns.append(made)
    return turns


def forced(turns: list[list[Message]]) -> list[CompressCommand]:
    return [CompressCommand(turn[0].group_id) for turn in turns if turn[-1].meta["forced"]]


@settings(max_examples=60, deadline=None)
@given(conversations)
def test_any_conversation_is_bounded_whole_and_accounted_for(
    plan: list[tuple[int, str, int, list[int], Status, bool]],
) -> None:
    turns = build(plan)
    history = [m for turn in turns for m in turn]
    commands = forced(turns)
    keeper = MemoryBuilder(SMALL, count)
    memory = keeper.memory(history, commands)
    newest = sum(memory.turns[t[0].group_id].tokens for t in turns[-SMALL.verbatim_turns - 1 :])
    assert memory.fill(Level.PERMANENT) <= SMALL.permanent
    assert memory.fill(Level.SESSION) <= SMALL.session + 60, "one summary may be too much for it"
    assert memory.used <= SMALL.total + newest, "only the newest turns are beyond control"
    sent = messages(memory)
    uses = [b.id for m in sent for b in m.content if isinstance(b, ToolUse)]
    results = [b.tool_use_id for m in sent for b in m.content if isinstance(b, ToolResult)]
    assert uses == results, "calls and results stay together"
    assert turns[-1][0] in sent, "the prompt that is being answered is there"
    summaries = (*memory.session, *memory.working.values(), *memory.archived)
    traced = memory.in_full | {g for s in summaries for g in s.groups}
    assert traced == {turn[0].group_id for turn in turns}, "nothing is gone without a trace"
    known = {m.id for m in history}
    assert all(set(s.sources) <= known and s.sources for s in summaries)
    assert len({m.id for m in sent}) == len(sent)
    assert stats(memory, now=memory.now).lines()


@settings(max_examples=40, deadline=None)
@given(conversations)
def test_turn_by_turn_is_the_same_as_at_one_go(
    plan: list[tuple[int, str, int, list[int], Status, bool]],
) -> None:
    turns = build(plan)
    keeper = MemoryBuilder(SMALL, count)
    history: list[Message] = []
    for place, turn in enumerate(turns):
        asked = keeper.memory([*history, turn[0]], forced(turns[:place]))
        history += turn
        grown = keeper.memory(history, forced(turns[:place]))
        before = messages(asked)
        assert messages(grown)[: len(before)] == before, "a reply only adds at the end"
    fresh = MemoryBuilder(SMALL, count).memory(history, forced(turns))
    again = keeper.memory(history, forced(turns))
    assert messages(fresh) == messages(again)


@settings(max_examples=60, deadline=None)
@given(conversations, st.sampled_from(PROMPTS))
def test_recall_never_fails_and_brings_only_what_is_not_there(
    plan: list[tuple[int, str, int, list[int], Status, bool]], prompt: str
) -> None:
    turns = build(plan)
    memory = MemoryBuilder(SMALL, count).memory([m for turn in turns for m in turn], forced(turns))
    found = recall(memory, prompt, result="IndexError: list index out of range")
    full = {m.id for turn in turns if turn[0].group_id in memory.in_full for m in turn}
    for piece in found:
        assert (piece.sources and not set(piece.sources) & full) or piece.kind == "summary"
        assert piece.text.strip() and render(piece).startswith("Recalled from this conversation")
