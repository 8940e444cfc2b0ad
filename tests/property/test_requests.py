"""What holds for every body that is sent, whatever is in the files and in the conversation (issue
3, must show 2): the session's own composer, from messages and files to bytes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from property.strategies import odd_text
from support.planning import FourCharacters
from tierline.config import CacheConfig
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.counting import TokenCounter
from tierline.context.enforce import FixedPartTooLarge
from tierline.context.fences import render_file
from tierline.context.items import Item, Pin, Section
from tierline.context.limits import Limits
from tierline.context.mode import ContextMode
from tierline.context.models import ModelFacts
from tierline.context.plan import PlanEntry
from tierline.context.prompt import ToolSpec
from tierline.context.text import sha256
from tierline.history.messages import Message
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.base import Provider
from tierline.providers.openai import OpenAIProvider
from tierline.providers.transport import Endpoint
from tierline.session.requests.candidates import RequestSnapshot
from tierline.session.requests.composer import ComposedRequest, Composer
from tierline.session.state.plan import LastPlan
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "100"))
TOOL = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {}})
words = st.one_of(odd_text, st.integers(1, 300).map(lambda n: f"word {n} " * n))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Turns with calls and results, the last one unanswered."""
    made: list[Message] = []

    def say(role: Any, group: str, *content: Any) -> None:
        made.append(
            Message(
                f"m{len(made)}",
                "s",
                group,
                "2024-01-01T00:00:00Z",
                role,
                content,
                parsing_strategy="anthropic",
            )
        )

    turns = draw(st.integers(1, 5))
    for turn in range(turns):
        group = f"g{turn}"
        say("user", group, Text(f"question {turn} {draw(words)}"))
        for call in range(draw(st.integers(0, 2))):
            use = ToolUse(f"toolu_{turn}_{call}", "read_file", {"path": draw(odd_text)})
            say("assistant", group, Text("Looking."), use)
            if draw(st.integers(0, 5)):
                say("tool", group, ToolResult(use.id, (Text(f"result {use.id} {draw(words)}"),)))
        if turn < turns - 1:
            say("assistant", group, Text(f"answer {turn} {draw(words)}"))
    return tuple(made)


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[RequestSnapshot, TokenCounter]:
    window = draw(st.integers(200, 6_000))
    native = draw(st.booleans())
    facts = ModelFacts(
        "claude-test",
        family="anthropic",
        encoding="stub",
        native_encoding=native,
        window=window,
        max_input_tokens=draw(st.integers(window // 2, window)),
        max_output_tokens=draw(st.integers(1, window)),
        margin=draw(st.sampled_from([0.02, 0.1, 0.3])),
        caching="explicit",
        max_marks=4,
        ttls=("5m",),
        min_cacheable_tokens=draw(st.sampled_from([1, 100, 1024])),
    )
    counter = TokenCounter(facts, FourCharacters())
    messages = draw(conversations())
    texts = draw(st.lists(words, max_size=5))
    files = []
    for number, text in enumerate(texts):
        rendered = render_file(f"f{number}.py", text)
        pin = draw(st.sampled_from([Pin.NONE, Pin.STICKY]))
        files.append(
            Item(
                f"file:f{number}.py",
                Section.FILES,
                sha256(rendered),
                counter.count(rendered),
                rendered,
                path=f"f{number}.py",
                pin=pin,
            )
        )
    tail = (Text(draw(words)),) if draw(st.booleans()) else ()
    return RequestSnapshot(
        facts=facts,
        strategy="anthropic",
        mode=draw(st.sampled_from(list(ContextMode))),
        limits=Limits.of(
            facts, margin=counter.margin, compaction_trigger_tokens=draw(st.integers(50, 5_000))
        ),
        messages=messages,
        files=tuple(files),
        absent=tuple(
            PlanEntry(
                f"file:gone{n}.py", Section.FILES, 0, "missing", "It is not on disk any more."
            )
            for n in range(draw(st.integers(0, 2)))
        ),
        group_id=messages[-1].group_id,
        memos=tuple(
            Item("memo:1", Section.MEMOS, sha256(t.text), counter.count(t.text), t.text)
            for t in tail
        ),
        compaction_failed=draw(st.booleans()),
        cache=CacheConfig(policy=draw(st.sampled_from(["log_structured", "counter", "fixed"]))),
        now=1e9,
        tools=(TOOL,) if draw(st.integers(0, 3)) else (),
    ), counter


@pytest.fixture(scope="module")
def composer(tmp_path_factory: pytest.TempPathFactory) -> Composer:
    home: Path = tmp_path_factory.mktemp("home")
    models: Any = SimpleNamespace(info=lambda: SimpleNamespace(name="test"))
    nothing: Any = None
    store: Any = SimpleNamespace(close=lambda: None)
    return Composer(
        Preferences(), TurnQueue(), nothing, models, nothing, nothing, store, LastPlan(), home
    )


PROVIDERS: dict[str, Provider] = {
    "anthropic": AnthropicProvider(Endpoint("http://127.0.0.1:1", key="k")),
    "openai": OpenAIProvider(Endpoint("http://127.0.0.1:1", key="k")),
}


def compose(
    composer: Composer, snapshot: RequestSnapshot, counter: TokenCounter
) -> ComposedRequest:
    try:
        return composer._work(snapshot, counter, PROVIDERS[snapshot.strategy])
    except FixedPartTooLarge:
        assume(False)
        raise


@pytest.mark.parametrize("strategy", PROVIDERS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(made=snapshots(), more=st.lists(words, max_size=2))
def test_every_body_fits_and_holds_what_its_plan_says(
    composer: Composer,
    strategy: str,
    made: tuple[RequestSnapshot, TokenCounter],
    more: list[str],
) -> None:
    snapshot, counter = made
    snapshot = evolve(snapshot, strategy=strategy)
    for text in ("", *more):
        composed = compose(composer, snapshot, counter)
        _fits(composed, snapshot, counter)
        _is_what_the_plan_says(composed, snapshot)
        again = composer._work(snapshot, counter, PROVIDERS[strategy])
        assert again.plan == composed.plan, "the same state gives the same plan"
        assert again.request.payload == composed.request.payload
        # The next turn: a reply, a changed file, another prompt.
        group = f"{snapshot.group_id}+"
        reply = evolve(
            snapshot.messages[-1], id=f"r{group}", role="assistant", content=(Text("Yes."),)
        )
        ask = evolve(
            reply, id=f"q{group}", group_id=group, role="user", content=(Text(f"And? {text}"),)
        )
        snapshot = evolve(
            snapshot,
            messages=(*snapshot.messages, reply, ask),
            group_id=group,
            sent=composed.arrangement.next,
            now=snapshot.now + 30,
            files=tuple(_edited(item, text, counter) for item in snapshot.files[:1])
            + snapshot.files[1:],
        )


def _edited(item: Item, text: str, counter: TokenCounter) -> Item:
    rendered = render_file(item.path, text)
    return evolve(item, text=rendered, sha256=sha256(rendered), tokens=counter.count(rendered))


def _fits(composed: ComposedRequest, snapshot: RequestSnapshot, counter: TokenCounter) -> None:
    limits, plan = snapshot.limits, composed.plan
    size = limits.estimate(counter.count(composed.prompt))
    assert size + composed.prompt.max_output_tokens <= limits.window
    assert size <= limits.max_input_tokens
    assert plan.estimate + plan.max_output_tokens <= limits.window
    report = composed.budget
    assert sum(section.tokens for section in report.sections) == report.used == plan.tokens


def _is_what_the_plan_says(composed: ComposedRequest, snapshot: RequestSnapshot) -> None:
    body = composed.request.body
    text = json.dumps(body, ensure_ascii=False)
    sent = {block.key for block in composed.prompt.system}
    sent |= {block.key for message in composed.prompt.messages for block in message.blocks}
    out = {entry.key: entry for entry in composed.plan.excluded}
    for item in snapshot.files:
        assert (item.key in sent) != (item.key in out), f"{item.key} is in or out"
        assert item.key in sent or out[item.key].reason
    for absent in snapshot.absent:
        assert out[absent.key].reason and absent.key not in sent
    # A call and its result are one atom: both are there, or neither.
    answered = {
        b.tool_use_id for m in snapshot.messages for b in m.content if isinstance(b, ToolResult)
    }
    for message in snapshot.messages:
        for block in message.content:
            if isinstance(block, ToolUse) and block.id in answered and snapshot.tools:
                asked = any(
                    isinstance(b.block, ToolUse) and b.block.id == block.id
                    for m in composed.prompt.messages
                    for b in m.blocks
                )
                assert asked == (f"result {block.id} " in text)
    assert f"question {int(snapshot.group_id.rstrip('+')[1:])}" in text or (
        snapshot.group_id.endswith("+")
    ), "the request that is being answered is in"
