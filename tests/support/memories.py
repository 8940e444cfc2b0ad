"""Conversations with times, for tests of the memory levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.histories import msg
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.history.messages import Message
from tierline.history.parser import full_text
from tierline.memory.levels import Budgets
from tierline.memory.state import Memory
from tierline.memory.view import CompressCommand, MemoryBuilder


def count(value: Any) -> int:
    """Four characters a token, and four tokens for each message's frame."""
    if isinstance(value, str):
        return (len(value) + 3) // 4
    return sum(4 + sum((len(full_text((b.block,))) + 3) // 4 for b in m.blocks) for m in value)


def said(
    number: int, minute: float, prompt: str, reply: str = "Done.", *outputs: str, **more: Any
) -> list[Message]:
    """A turn ``g<number>`` at a minute of a day, with a call and result for each output."""
    whole = int(minute)
    when = f"2026-03-{1 + whole // 1440:02d}T{whole // 60 % 24:02d}:{whole % 60:02d}:00Z"
    fields: dict[str, Any] = {"group": f"g{number}", "timestamp": when, **more}
    made = [msg(number * 1000, "user", prompt, **fields)]
    for place, output in enumerate(outputs):
        call = f"call_{number}_{place}"
        use = (ToolUse(call, "read_file", {"path": "x"}),)
        made.append(msg(number * 1000 + 2 * place + 1, "assistant", use, **fields))
        result = (ToolResult(call, (Text(output),)),)
        made.append(msg(number * 1000 + 2 * place + 2, "tool", result, **fields))
    made.append(msg(number * 1000 + 999, "assistant", reply, **fields))
    return made


def remember(history: Sequence[Message], forced: Sequence[str] = (), **budgets: Any) -> Memory:
    """The memory after a conversation."""
    return MemoryBuilder(Budgets(**budgets), count).memory(
        history, [CompressCommand(g) for g in forced]
    )


FILLER = "We went through the listing line by line and changed nothing of note. "
