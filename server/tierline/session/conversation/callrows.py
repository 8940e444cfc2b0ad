"""Calls and results of the history as rows for clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tierline import protocol as p
from tierline.context.blocks import Image, Text, ToolResult
from tierline.context.text import clip, well_formed
from tierline.history.groups import calls, results
from tierline.history.messages import Message

SHOWN = 4_000
"""Characters of a result and of arguments that clients get; the history has all."""

Title: TypeAlias = Callable[[str, Mapping[str, Any]], str]
"""Words for a call's row, from the tool's name and the arguments."""
Answers: TypeAlias = Mapping[tuple[str, str], tuple[Message, ToolResult]]
"""Results by turn and call id."""


def results_of(messages: Sequence[Message]) -> Answers:
    """All results in some messages."""
    return {(m.group_id, r.tool_use_id): (m, r) for m in messages for r in results(m)}


def call_rows(message: Message, answers: Answers, title: Title) -> list[p.ToolCallInfo]:
    """The rows of a message's calls. A call without a result is waiting for one."""
    rows = []
    for call in calls(message):
        row = p.ToolCallInfo(
            id=call.id,
            message_id=message.id,
            name=call.name,
            title=title(call.name, call.input),
            arguments=shown_arguments(call.input),
        )
        if (found := answers.get((message.group_id, call.id))) is not None:
            holder, result = found
            facts = holder.meta
            row.status = "error" if result.is_error else "ok"
            row.status = "interrupted" if facts.get("interrupted") else row.status
            row.note = str(facts.get("note", ""))
            row.result = shown_result(result)
            spent = facts.get("milliseconds")
            row.milliseconds = spent if isinstance(spent, int) else 0
        rows.append(row)
    return rows


def shown_arguments(arguments: Mapping[str, Any]) -> str:
    """Arguments as text for the user."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=1, default=str)
    return clip(well_formed(text), SHOWN)


def shown_result(result: ToolResult) -> str:
    """The beginning of a result."""
    parts = ("[picture]" if isinstance(b, Image) else b.text for b in result.content)
    return clip(well_formed("\n".join(parts)), SHOWN)


def shown_text(text: str) -> str:
    """The beginning of a text."""
    return shown_result(ToolResult("", (Text(text),)))
