"""The working copy (seed 004, Testing / ContextManager)."""

from __future__ import annotations

import itertools

import pytest

from histories import four_characters, msg, texts
from tierline.context.blocks import Block
from tierline.history.messages import HistoryRole, Message
from tierline.history.working import ContextHistory


class Fixture:
    def __init__(self) -> None:
        self.purged = 0
        self.broken = False
        numbers = itertools.count(1)

        def make(role: HistoryRole, content: tuple[Block, ...]) -> Message:
            if self.broken and role == "assistant":
                raise RuntimeError("no more")
            return msg(next(numbers), role, content)

        def purge() -> None:
            self.purged += 1

        self.history = ContextHistory(make=make, count=four_characters, purge=purge)


def test_messages_are_added_and_the_list_is_a_copy() -> None:
    """Seed 004: "add_message, add_exchange, get_history returns copy (mutation-safe)"."""
    history = Fixture().history
    history.add_message("user", "a")
    history.add_exchange("b", "c")
    copy = history.get_history()
    copy.clear()
    assert texts(history.get_history()) == ["a", "b", "c"]
    assert [m.role for m in history.get_history()] == ["user", "user", "assistant"]


def test_exchange_is_added_whole_or_not_at_all() -> None:
    fixture = Fixture()
    fixture.broken = True
    with pytest.raises(RuntimeError):
        fixture.history.add_exchange("b", "c")
    assert fixture.history.get_history() == []


def test_set_replaces_and_clear_empties_and_purges() -> None:
    """Seed 004: "set_history replaces, clear_history empties"."""
    fixture = Fixture()
    fixture.history.add_message("user", "old")
    fixture.history.set_history([msg(9, "user", "new")])
    assert texts(fixture.history.get_history()) == ["new"] and fixture.purged == 0
    fixture.history.clear_history()
    assert fixture.history.get_history() == [] and fixture.purged == 1
    assert fixture.history.history_token_count() == 0


def test_reregister_purges_without_losing_messages() -> None:
    """Seed 004: "Purge stability entries without clearing history"."""
    fixture = Fixture()
    fixture.history.add_message("user", "kept")
    fixture.history.reregister_history_items()
    assert fixture.purged == 1 and texts(fixture.history.get_history()) == ["kept"]


def test_token_count_follows_the_history() -> None:
    """Seed 004: "history_token_count > 0 for non-empty history"."""
    history = Fixture().history
    history.add_message("user", "x" * 40)
    assert history.history_token_count() == 10
    history.add_message("assistant", "y" * 40)
    assert history.history_token_count() == 20
    history.set_history([])
    assert history.history_token_count() == 0
