"""Conversations of other tools are read as data: what was said; what is left out is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tierline.history import foreign

AIDER = """
# aider chat started at 2026-01-02 10:00:00

> Aider v0.90
> Model: x

#### What does a.py do?
#### In one line.

It adds.

```python
x = 1
```

> Tokens: 1k sent

#### Thanks

Welcome.

# aider chat started at 2026-01-03 11:00:00

#### Again

Yes.
"""

CLAUDE = "\n".join(
    json.dumps(record)
    for record in (
        {"type": "summary", "summary": "Mend the parser"},
        {"type": "user", "sessionId": "s", "timestamp": "2026-01-02T10:00:00Z",
         "message": {"role": "user", "content": "Mend it."}},
        {"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Mended."},
            {"type": "tool_use", "id": "t", "name": "Edit", "input": {}},
        ]}},
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "caveat"}},
        {"type": "assistant", "isSidechain": True, "message": {"content": "agent"}},
        {"type": "file-history-snapshot"},
    )
) + "\n{broken"  # fmt: skip

COPILOT = {
    "requesterUsername": "me",
    "requests": [
        {
            "message": {"text": "Why?", "parts": []},
            "response": [{"value": "Because "}, {"kind": "inlineReference"}, {"value": "of it."}],
        },
        {"message": {"text": "And?"}, "response": []},
    ],
}


def node(parent: str | None, role: str, *parts: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    return {"parent": parent, "message": {"author": {"role": role}, "content": content}}


CHATGPT = [
    {
        "title": "Trees",
        "current_node": "c",
        "mapping": {
            "r": {"parent": None, "message": None},
            "a": node("r", "user", "Which tree?"),
            "b": node("a", "assistant", "An oak."),
            "c": node("a", "assistant", "A birch.", {"asset": 1}),
        },
    }
]


def said(one: foreign.ForeignConversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in one.said]


def test_aiders_history_has_a_conversation_for_each_start() -> None:
    first, second = foreign.read(AIDER)
    assert said(first) == [
        ("user", "What does a.py do?\nIn one line."),
        ("assistant", "It adds.\n\n```python\nx = 1\n```"),
        ("user", "Thanks"),
        ("assistant", "Welcome."),
    ]
    assert (first.title, first.left_out) == (
        "aider, 2026-01-02 10:00:00",
        {"lines of aider itself": 3},
    )
    assert said(second) == [("user", "Again"), ("assistant", "Yes.")]


def test_claude_codes_records_give_what_was_said() -> None:
    (one,) = foreign.read(CLAUDE)
    assert one.title == "Mend the parser"
    assert said(one) == [("user", "Mend it."), ("assistant", "Mended.")]
    assert one.said[0].timestamp == "2026-01-02T10:00:00Z"
    assert one.left_out == {
        "thinking": 1,
        "calls of tools": 1,
        "results of tools": 1,
        "messages of sub-agents and notes": 2,
        "records that are no messages": 1,
        "damaged lines": 1,
    }


def test_copilots_export_joins_the_parts_of_a_reply() -> None:
    (one,) = foreign.read(json.dumps(COPILOT))
    assert said(one) == [("user", "Why?"), ("assistant", "Because of it."), ("user", "And?")]
    assert one.left_out == {"parts that are no text": 1, "prompts without a reply": 1}


def test_of_chatgpts_tree_the_branch_that_was_shown_is_taken() -> None:
    (one,) = foreign.read(json.dumps(CHATGPT))
    assert (one.title, said(one)) == ("Trees", [("user", "Which tree?"), ("assistant", "A birch.")])
    assert one.left_out == {"pictures": 1, "messages of other branches": 1}


@pytest.mark.parametrize(
    "text",
    ["", "hello", "{}", "[]", "[1, {}]", '{"requests": 1}', "{broken", "[" * 100_000, "null",
     '{"mapping": {"a": {"parent": "a"}}, "current_node": "a"}',
     '{"requests": [{"message": null, "response": [null, 1, {"value": {"value": 3}}]}]}'],
)  # fmt: skip
def test_what_is_none_of_these_gives_nothing_and_breaks_nothing(text: str) -> None:
    assert foreign.read(text) == []


def test_long_conversations_and_messages_are_cut_and_that_is_said() -> None:
    requests = [{"message": {"text": f"q{n}"}, "response": [{"value": "a"}]} for n in range(1_500)]
    requests[-1]["message"] = {"text": "x" * 300_000}
    (one,) = foreign.read(json.dumps({"requests": requests}))
    assert len(one.said) == foreign.MAX_MESSAGES
    assert one.left_out == {"ends of very long messages": 1, "older messages": 1_000}
    assert len(one.said[-2].text) == foreign.MAX_CHARACTERS
