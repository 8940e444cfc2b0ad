"""Secrets are replaced before anything is written. The scanner itself is passed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tierline.context.blocks import Block, Reasoning, Text, ToolResult, ToolUse
from tierline.history.events import LogEvent
from tierline.history.messages import Message

Redact = Callable[[str], str]
"""Returns the text with every secret replaced by a placeholder."""


def redact_message(message: Message, redact: Redact) -> Message:
    """The message with all its texts redacted; pictures and ids are left alone."""
    content = redact_blocks(message.content, redact)
    results = tuple(_value(r, redact) for r in message.edit_results)
    meta = _value(message.meta, redact)
    return attrs.evolve(message, content=content, edit_results=results, meta=meta)


def redact_blocks(blocks: Sequence[Block], redact: Redact | None) -> tuple[Block, ...]:
    """Blocks with their texts redacted; as they are without ``redact``."""
    if redact is None:
        return tuple(blocks)
    return tuple(clean for block in blocks if (clean := _block(block, redact)) is not None)


def redact_event(event: LogEvent, redact: Redact) -> LogEvent:
    """The event with all texts of its data redacted."""
    return attrs.evolve(event, data=_value(event.data, redact))


def _block(block: Block, redact: Redact) -> Block | None:
    match block:
        case Text():
            return Text(redact(block.text))
        case ToolUse():
            return attrs.evolve(block, input=_value(block.input, redact))
        case ToolResult():
            content = tuple(
                Text(redact(c.text)) if isinstance(c, Text) else c for c in block.content
            )
            return attrs.evolve(block, content=content)
        case Reasoning():
            # Signed by its provider: any change makes it worthless, so it goes as a whole.
            return block if _value(block.data, redact) == dict(block.data) else None
        case _:
            return block


def _value(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {k: _value(v, redact) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_value(v, redact) for v in value]
    return value
