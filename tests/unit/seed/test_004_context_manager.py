"""Seed 004, Testing / ContextManager (004:310-315). The working copy of history as the seed
describes it (004:43-55) is ``history/working.py``; through a real server the same operations are in
``tests/lsp/test_seed_004.py``.
"""

from __future__ import annotations

import itertools

import pytest

from histories import four_characters, msg, texts
from planning import atom, limits, prompt, system
from tierline.context.blocks import Block
from tierline.context.budget import budget, token_budget
from tierline.context.limits import compaction_trigger, should_compact
from tierline.context.models import ModelFacts
from tierline.context.plan import plan
from tierline.history.messages import HistoryRole, Message
from tierline.history.working import ContextHistory


@pytest.fixture
def history() -> ContextHistory:
    numbers = itertools.count(1)

    def make(role: HistoryRole, content: tuple[Block, ...]) -> Message:
        return msg(next(numbers), role, content)

    return ContextHistory(make=make, count=four_characters)


def test_messages_and_exchanges_are_added_and_the_history_is_a_copy(
    history: ContextHistory,
) -> None:
    """004:310, "add_message, add_exchange, get_history returns copy (mutation-safe)"."""
    history.add_message("user", "one")
    history.add_exchange("two", "three")
    copy = history.get_history()
    copy.append(msg(99, "user", "slipped in"))
    del copy[0]
    assert texts(history.get_history()) == ["one", "two", "three"]
    with pytest.raises(AttributeError):
        history.get_history()[0].role = "assistant"  # type: ignore[misc]


def test_history_is_replaced_and_emptied(history: ContextHistory) -> None:
    """004:311, "set_history replaces, clear_history empties"."""
    history.add_exchange("old", "older")
    history.set_history([msg(7, "user", "new")])
    assert texts(history.get_history()) == ["new"]
    history.clear_history()
    assert history.get_history() == []


def test_history_has_tokens_once_it_is_not_empty(history: ContextHistory) -> None:
    """004:312, "history_token_count > 0 for non-empty history"."""
    assert history.history_token_count() == 0
    history.add_message("user", "something")
    assert history.history_token_count() > 0


def test_token_budget_has_the_required_keys_and_room() -> None:
    """004:313, "Token budget has required keys, remaining > 0"; the keys are those of 004:98-106,
    and ``max_history_tokens`` is a sixteenth of the input (004:94).
    """
    limit = limits(160_000)
    made = plan([system(), atom(1, 300), prompt()], limit)
    found = token_budget(budget(made, ModelFacts("m"), limit))
    assert set(found) == {
        "history_tokens",
        "max_history_tokens",
        "max_input_tokens",
        "remaining",
        "needs_summary",
    }
    assert found["remaining"] > 0
    assert found["max_history_tokens"] == 160_000 // 16
    assert found["history_tokens"] == 300


@pytest.mark.parametrize(
    ("enabled", "tokens", "due"),
    [(False, 1_000_000, False), (True, 24_000, False), (True, 0, False), (True, 24_001, True)],
)
def test_should_compact(enabled: bool, tokens: int, due: bool) -> None:
    """004:314, "should_compact false when disabled or below trigger"; the trigger is 004:235's."""
    limit = limits(200_000, compaction_enabled=enabled)
    assert compaction_trigger(limit) == 24_000
    assert bool(should_compact(tokens, limit)) is due


def test_compaction_status() -> None:
    """004:315, "Compaction status returns enabled/trigger/percent"; a client asks for it with
    ``tierline/history/status``.
    """
    verdict = should_compact(6_000, limits(200_000))
    assert (verdict.trigger_tokens, verdict.percent) == (24_000, 25.0)
    assert should_compact(48_000, limits(200_000)).percent == 100.0
    off = should_compact(48_000, limits(200_000, compaction_enabled=False))
    assert not off and "off" in off.reason
