"""Our own checker of request bodies and the oracle agree, on good bodies and on damaged ones."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bugcases.bodies import body, oracle_violations, prompt_of
from bugcases.fixtures import CASES
from support import wellformed
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.history.messages import HistoryRole, Message

DAMAGES = (
    "drop message", "double message", "swap messages", "blank text", "surrogate", "drop block",
    "rename call", "spoil input", "empty content",
)  # fmt: skip


def history() -> list[Message]:
    def message(number: int, role: HistoryRole, *content: Any) -> Message:
        return Message(f"m{number}", "s", f"g{number // 4}", "", role, content)

    return [
        message(0, "user", Text("look")),
        message(1, "assistant", Text("ok"), ToolUse("a", "read", {"p": 1}), ToolUse("b", "read")),
        message(2, "user", ToolResult("a", (Text("one"),)), ToolResult("b", (Text("two"),))),
        message(3, "assistant", Text("done")),
        message(4, "user", Text("more")),
    ]


def damaged(value: dict[str, Any], damage: str, at: int) -> dict[str, Any]:
    """The body with one thing wrong with it (or, by chance, nothing)."""
    messages = value["messages"]
    place = at % len(messages)
    message = messages[place]
    blocks = message["content"] if isinstance(message.get("content"), list) else []
    calls = message.get("tool_calls") or [b for b in blocks if b["type"] == "tool_use"]
    match damage:
        case "drop message":
            del messages[place]
        case "double message":
            messages.insert(place, copy.deepcopy(message))
        case "swap messages":
            other = (place + 1) % len(messages)
            messages[place], messages[other] = messages[other], messages[place]
        case "blank text" | "surrogate":
            text = "\u200b \n" if damage == "blank text" else "\ud800"
            texts = [b for b in blocks if b["type"] == "text"]
            if texts:
                texts[0]["text"] = text
            elif isinstance(message.get("content"), str):
                message["content"] = text
        case "drop block" if blocks:
            del blocks[at % len(blocks)]
        case "rename call" if calls:
            calls[0]["id"] = "other"
        case "spoil input" if calls:
            if "function" in calls[0]:
                calls[0]["function"]["arguments"] = "{"
            else:
                calls[0]["input"] = "text"
        case "empty content":
            message["content"] = ""
    return value


@pytest.mark.skipif(not CASES.is_dir(), reason="the oracle is absent (set TIERLINE_BUGCASES)")
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(DAMAGES), st.integers(0, 12)), max_size=2))
def test_own_checker_and_oracle_agree(provider: str, damages: list[tuple[str, int]]) -> None:
    value: dict[str, Any] = json.loads(json.dumps(body(prompt_of(history()), provider)))
    for damage, at in damages:
        if value["messages"]:
            value = damaged(value, damage, at)
    theirs = oracle_violations(value, provider)
    ours = wellformed.violations(value, provider)
    assert bool(ours) == bool(theirs), (ours, theirs)
    if not damages:
        assert ours == []
