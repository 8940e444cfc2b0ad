"""Secrets are replaced before anything is written. The scanner itself is passed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tierline.context.blocks import Block, Reasoning, Text, ToolResult, ToolUse
from tierline.context.text import well_formed
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


WINDOW = 4_096
"""Characters at the end of the text that are always scanned again: a secret may be unfinished."""


class IncrementalRedaction:
    """The redacted form of a growing text, and what each step adds to it.

    Text far enough from the end is settled and not scanned again. The text is cut only where both
    parts redact to the same apart as together, so never inside a secret.
    """

    def __init__(self, redact: Redact | None) -> None:
        self._redact: Redact = redact if redact is not None else lambda text: text
        self._raw = 0
        """Characters of the text that are settled."""
        self._settled = ""
        self._tail = ""
        self._grown = ""
        self._cut_at = 2 * WINDOW
        """The unsettled text is cut once it has more characters than this."""
        self._rest = ""

    @property
    def written(self) -> int:
        """Characters of redacted text that the last ``keep`` marked as written."""
        return len(self._settled) + len(self._tail)

    @property
    def whole(self) -> str:
        """The whole text of the last ``grow``, redacted."""
        return self._settled + self._grown

    def grow(self, text: str) -> str | None:
        """The redacted text since the last ``keep``; None if text that was kept has changed.
        ``text`` must begin with the text of the previous call.
        """
        self._rest = text[self._raw :]
        self._grown = self._redact(well_formed(self._rest))
        if not self._grown.startswith(self._tail):
            return None
        return self._grown[len(self._tail) :]

    def keep(self) -> None:
        """Mark the result of the last ``grow`` as written."""
        self._tail = self._grown
        if len(self._rest) > self._cut_at:
            self._settle()

    def _settle(self) -> None:
        rest = self._rest
        cut = rest.rfind("\n", 0, len(rest) - WINDOW) + 1
        if cut:
            head, tail = (self._redact(well_formed(part)) for part in (rest[:cut], rest[cut:]))
            if head + tail == self._tail:
                self._raw += cut
                self._settled += head
                self._tail = self._grown = tail
                self._cut_at = 2 * WINDOW
                return
        self._cut_at = len(rest) + WINDOW
