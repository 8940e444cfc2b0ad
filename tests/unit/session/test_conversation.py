"""Seed 004, Testing / ContextManager (004:310-315). The working copy of history as the seed
describes it (004:43-55) is the conversation; through a real server the same operations are in
``tests/lsp/test_history.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.histories import four_characters, msg, texts
from support.planning import atom, limits, prompt, system
from tierline.context.blocks import Text
from tierline.context.budget import budget
from tierline.context.limits import compaction_trigger, should_compact
from tierline.context.models import ModelFacts
from tierline.context.plan import plan
from tierline.history.groups import to_prompt
from tierline.history.messages import Status
from tierline.session.conversation import Conversation
from tierline.session.state.preferences import Preferences
from tierline.store.sessions import HistoryStore

pytestmark = pytest.mark.requirement("004:310-315")


@pytest.fixture
def conversation(tmp_path: Path) -> Conversation:
    return Conversation(HistoryStore(tmp_path), Preferences())


async def exchange(conversation: Conversation, user: str, assistant: str) -> None:
    prompt, problem = await conversation.add_user((Text(user),), files=())
    assert not problem
    await conversation.add_assistant(
        prompt.group_id,
        (Text(assistant),),
        status=Status.OK,
        strategy="text",
        usage=None,
        plan_id="",
    )


async def test_messages_and_exchanges_are_added_and_the_history_is_a_copy(
    conversation: Conversation,
) -> None:
    """004:310, "add_message, add_exchange, get_history returns copy (mutation-safe)"."""
    await conversation.add_user((Text("one"),), files=())
    await exchange(conversation, "two", "three")
    copy = conversation.visible()
    copy.append(msg(99, "user", "slipped in"))
    del copy[0]
    assert texts(conversation.visible()) == ["one", "two", "three"]
    with pytest.raises(AttributeError):
        conversation.visible()[0].role = "assistant"  # type: ignore[misc]


async def test_history_is_replaced_and_emptied(conversation: Conversation) -> None:
    """004:311, "set_history replaces, clear_history empties"."""
    await exchange(conversation, "old", "older")
    first = conversation.session_id
    await conversation.open()
    assert conversation.visible() == []
    await exchange(conversation, "new", "newer")
    assert texts(conversation.visible()) == ["new", "newer"]
    await conversation.open(first)
    assert texts(conversation.visible()) == ["old", "older"]


async def test_history_has_tokens_once_it_is_not_empty(conversation: Conversation) -> None:
    """004:312, "history_token_count > 0 for non-empty history"."""

    def tokens() -> int:
        return four_characters([to_prompt(m) for m in conversation.context()])

    assert tokens() == 0
    await exchange(conversation, "something", "else")
    assert tokens() > 0


def test_token_budget_has_the_required_keys_and_room() -> None:
    """004:313, "Token budget has required keys, remaining > 0"; the keys are those of 004:98-106,
    and ``max_history_tokens`` is a sixteenth of the input (004:94).
    """
    limit = limits(160_000)
    made = plan([system(), atom(1, 300), prompt()], limit)
    found = budget(made, ModelFacts("m"), limit)
    assert 0 < found.remaining < found.max_input_tokens
    assert found.max_history_tokens == 160_000 // 16
    assert found.history_tokens == 300
    assert not should_compact(found.history_tokens, limit).due


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
