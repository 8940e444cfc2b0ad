"""What is kept between requests saves time and changes nothing: plan, arrangement and body are
those of a cold start, byte for byte.

The hot side keeps items, state and messages as the session does. The cold side gets copies of
everything, its state from JSON, and treats no message as plain.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st

from property.strategies import blocks, messages, odd_text
from support.atoms import atoms
from support.histories import four_characters
from support.planning import limits
from support.tierworld import POLICIES, World
from tierline.context.assemble import assemble
from tierline.context.blocks import Text
from tierline.context.items import Item
from tierline.context.plan import plan
from tierline.context.prompt import PromptMessage
from tierline.context.strict import strict
from tierline.context.tiers.base import CacheState, Pricing, RequestContext
from tierline.history.groups import AtomCache
from tierline.history.isolation import isolate
from tierline.history.messages import Message
from tierline.history.truncation import truncate
from tierline.providers import render_anthropic, render_openai
from tierline.providers.canonical import dumps

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "150"))
PATHS = ("a.py", "b.py", "src/long name.md")

steps = st.one_of(
    st.tuples(st.just("ask"), odd_text),
    st.tuples(st.just("reply"), odd_text),
    st.tuples(st.just("atom"), st.lists(messages, min_size=1, max_size=3).map(tuple)),
    st.tuples(st.just("write"), st.tuples(st.sampled_from(PATHS), st.text(max_size=60))),
    st.tuples(st.just("append"), st.tuples(st.sampled_from(PATHS), st.text(max_size=30))),
    st.tuples(st.just("delete"), st.sampled_from(PATHS)),
    st.tuples(st.just("summary"), st.just("What was said, in short.")),
    st.tuples(st.just("undo"), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 400.0, 4000.0])),
    st.tuples(st.just("send"), st.booleans()),
)


@define
class Side:
    """One of the two ways to make a request."""

    world: World
    hot: bool
    items: dict[tuple[Any, ...], Item] = field(factory=dict)

    def request(self, accepted: bool) -> tuple[Any, ...]:
        """Plan id and entries, tiers, and both bodies."""
        world = self.world
        items = [self._item(item) for item in world.items()]
        made = plan(items, limits(200_000), model="m", frame_tokens=9, group_id="t")
        sent = world.sent
        if not self.hot:
            sent = CacheState.from_json(json.loads(json.dumps(sent.to_json())))
        moment = RequestContext(world.now, world.facts.name, "", world.turns[-1].id, {}, ())
        pricing = Pricing.of(world.facts)
        arranged = world.policy.arrange(made.select(items), sent, moment, pricing)
        if accepted:
            world.sent = arranged.next
        prompt = assemble(arranged, facts=world.facts, cache_key="s")
        first = strict(prompt, strategy="anthropic")
        second = strict(prompt, strategy="openai")
        bodies = (
            dumps(render_anthropic.body(first)),
            dumps(render_openai.body(second, official=True)),
        )
        state = json.dumps(arranged.next.to_json(), sort_keys=True)
        return made, arranged.tiers(), arranged.marks, state, *bodies

    def _item(self, item: Item) -> Item:
        """The hot side meets the same object as long as nothing about the item has changed."""
        if not self.hot:
            copies = tuple(PromptMessage(m.role, m.blocks) for m in item.messages)
            return evolve(item, messages=copies)
        return self.items.setdefault((item.key, item.sha256, item.required), item)


def live(world: World, step: tuple[str, Any]) -> None:
    kind, value = step
    match kind:
        case "ask":
            world.ask(value)
        case "reply" if world.turns:
            world.reply(value)
        case "atom" if world.turns:
            world._append(*value)
        case "write":
            world.files[value[0]] = value[1]
        case "append" if value[0] in world.files:
            world.files[value[0]] += value[1]
        case "delete":
            world.files.pop(value, None)
        case "summary" if len(world.turns) > 2:
            world.summary = value
            world.turns = world.turns[1:]
        case "undo" if len(world.turns) > 1:
            world.turns.pop()
        case "wait":
            world.now += value


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(happened=st.lists(steps, min_size=4, max_size=25))
def test_requests_are_those_of_a_cold_start(policy: str, happened: list[tuple[str, Any]]) -> None:
    make: Callable[[], Any] = POLICIES[policy]
    hot, cold = Side(World(make()), hot=True), Side(World(make()), hot=False)
    with pytest.MonkeyPatch.context() as patch:
        for step in [("ask", "first"), *happened, ("send", True)]:
            for side in (hot, cold):
                live(side.world, step)
            if step[0] != "send":
                continue
            fast = hot.request(step[1])
            patch.setattr(PromptMessage, "plain", False)
            slow = cold.request(step[1])
            patch.undo()
            assert fast == slow


contents = st.one_of(
    odd_text.map(lambda text: (Text(text),)),
    st.lists(blocks, max_size=3).map(tuple),
)
records = st.builds(
    Message,
    id=st.sampled_from(["m1", "m2", "m3", "m4", "m5"]),
    session_id=st.just("s"),
    group_id=st.sampled_from(["g1", "g2"]),
    timestamp=st.just("2024-01-01T00:00:00Z"),
    role=st.sampled_from(["user", "assistant", "tool", "system"]),
    content=contents,
    parsing_strategy=st.sampled_from(["anthropic", "openai", "text"]),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    requests=st.lists(
        st.tuples(
            st.lists(records, max_size=6, unique_by=lambda message: message.id),
            st.sampled_from(["", "g1", "g2"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_history_items_are_those_of_a_cold_start(
    requests: list[tuple[list[Message], str]],
) -> None:
    """Whatever the requests before held: another text under the same id, another active turn."""
    known: AtomCache = {}
    for found, active in [*requests, *requests]:
        warm = truncate(isolate(found, "anthropic"), group_id=active)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Message, "plain", False)
            cold = truncate(isolate(found, "anthropic"), group_id=active)
            assert warm == cold
            expected = atoms(cold, count=four_characters, group_id=active)
        assert atoms(warm, count=four_characters, group_id=active, known=known) == expected
