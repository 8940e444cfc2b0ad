"""From records on disk to a body: any log whatsoever.

The whole path: decode, fold, isolate, select, truncate, strict form, rendering.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bugcases.bodies import body, prompt_of, violations
from property.strategies import identifiers, json_values, odd_text
from support.histories import decoded
from tierline.history.events import EventKind
from tierline.history.groups import atomic, to_prompt
from tierline.history.isolation import isolate
from tierline.history.messages import Status
from tierline.history.selection import select
from tierline.history.timeline import timeline
from tierline.history.truncation import truncate
from tierline.store.log import encode_line

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "150"))

names = st.sampled_from(["g1", "g2", "g3", "m1", "m2", "", "main", "b"])
block = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": odd_text}),
    st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": identifiers, "name": odd_text, "input": json_values}
    ),
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": identifiers, "content": odd_text}
    ),
    st.fixed_dictionaries({"functionCall": st.fixed_dictionaries({"name": odd_text})}),
    st.fixed_dictionaries({"functionResponse": st.fixed_dictionaries({"name": odd_text})}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": odd_text}),
    json_values,
)
call = st.fixed_dictionaries(
    {
        "id": identifiers,
        "function": st.fixed_dictionaries({"name": odd_text, "arguments": odd_text}),
    }
)
message = st.fixed_dictionaries(
    {
        "id": st.integers(0, 40).map(lambda n: f"m{n}"),
        "session_id": st.just("s"),
        "role": st.sampled_from(["user", "assistant", "tool", "system", "summary", "critic", None]),
        "content": st.one_of(odd_text, st.none(), st.lists(block, max_size=4)),
        "parsing_strategy": st.sampled_from(["anthropic", "openai", "gemini", "text", "?"]),
    },
    optional={
        "group_id": names,
        "branch_id": names,
        "status": odd_text | st.sampled_from([s.value for s in Status]),
        "tool_calls": st.lists(call, max_size=2) | json_values,
        "tool_call_id": identifiers,
        "v": st.just(1),
        "covers": st.lists(names, max_size=3),
    },
)
event = st.fixed_dictionaries(
    {
        "type": st.just("event"),
        "id": st.integers(0, 40).map(lambda n: f"e{n}"),
        "session_id": st.just("s"),
        "kind": st.sampled_from([k.value for k in EventKind]) | odd_text,
        "branch_id": names,
        "data": st.dictionaries(
            st.sampled_from(
                ["groups", "to", "text", "covers", "branch", "parent", "at", "id", "status", "size"]
            ),
            names | st.lists(names, max_size=3) | json_values,
            max_size=4,
        ),
    }
)
logs = st.lists(st.one_of(message, message, message, event), max_size=14)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    records=logs,
    strategy=st.sampled_from(["full", "window", "ranked"]),
    size=st.integers(0, 3),
    query=odd_text,
)
def test_any_log_becomes_a_valid_body(
    provider: str, records: list[dict[str, Any]], strategy: str, size: int, query: str
) -> None:
    written = [json.loads(encode_line(r)) for r in records]
    now = timeline(decoded(written), session_id="s")
    history = isolate(now.context(), provider)
    history = select(history, strategy=strategy, size=size, query=query, search=lambda _: ["g1"])
    history = truncate(history, group_id="g2")
    assert violations(body(prompt_of(history, "the prompt"), provider), provider) == []
    assert violations(body(prompt_of(history), provider), provider) == []


@settings(max_examples=EXAMPLES, deadline=None)
@given(logs)
def test_folding_keeps_its_promises(records: list[dict[str, Any]]) -> None:
    entries = decoded(records)
    for name in ("", "main", "b"):
        now = timeline(entries, session_id="s", branch=name)
        visible = now.visible()
        assert len({m.id for m in now.messages}) == len(now.messages)
        assert not [m for m in visible if m.group_id in now.hidden]
        covered = {g for s in now.summaries for g in s.covers}
        assert covered <= {m.group_id for m in visible}, "a summary stands for what is there"
        sent = now.context()
        kept = [m for m in sent if not m.meta.get("summary")]
        expected = [m for m in visible if m.group_id not in covered or m.role == "system"]
        assert kept == expected
        groups = [m.group_id for m in now.messages]
        assert len(list(dict.fromkeys(groups))) == sum(
            1 for i, g in enumerate(groups) if i == 0 or groups[i - 1] != g
        ), "groups are contiguous"
        assert [m for atom in atomic(visible) for m in atom] == list(visible)
        assert all(to_prompt(m).role in ("user", "assistant") for m in sent)


@settings(max_examples=EXAMPLES, deadline=None)
@given(logs, logs)
def test_folding_twice_what_was_folded_before_changes_nothing(
    first: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    """Records that come in twice (two windows, an import) do no harm."""
    once = timeline(decoded([*first, *second]), session_id="s")
    twice = timeline(decoded([*first, *second, *first]), session_id="s")
    assert once.messages == twice.messages and once.summaries == twice.summaries
