"""Leaving out pictures of a conversation when a request would be too large in bytes."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from tierline.context.blocks import Block, Image, Text, ToolResult
from tierline.history.messages import Message

LEFT_OUT = "[an older picture was here; it left the request, which would have been too large]"
_SHARE = 0.5
"""Share of the limit that stays when older pictures leave, so that not every new picture makes
another leave.
"""


def lighter(messages: Sequence[Message], most_bytes: int) -> tuple[list[Message], int]:
    """The messages with at most ``most_bytes`` of pictures, and how many left. The oldest leave;
    those of the newest prompt stay. The same conversation gives the same answer, however it grew.
    """
    weights = [
        (number, len(image.data))
        for number, message in enumerate(messages)
        if not message.plain
        for image in pictures(message.content)
    ]
    newest = max((n for n, message in enumerate(messages) if message.role == "user"), default=0)
    first, total = 0, 0
    for at, (_, weight) in enumerate(weights):
        total += weight
        if total <= most_bytes:
            continue
        while first < at and total > most_bytes * _SHARE and weights[first][0] != newest:
            total -= weights[first][1]
            first += 1
    leaving: dict[int, int] = {}
    for number, _ in weights[:first]:
        leaving[number] = leaving.get(number, 0) + 1
    found = list(messages)
    for number, count in leaving.items():
        found[number] = _without(found[number], count)
    return found, first


def pictures(content: Sequence[Block]) -> list[Image]:
    """The pictures of a message, those inside tool results too."""
    found: list[Image] = []
    for block in content:
        if isinstance(block, Image):
            found.append(block)
        elif isinstance(block, ToolResult):
            found += [part for part in block.content if isinstance(part, Image)]
    return found


def _without(message: Message, count: int) -> Message:
    """The message without its first ``count`` pictures."""
    left = count
    content: list[Block] = []
    for block in message.content:
        changed: Block = block
        if isinstance(block, Image) and left:
            changed, left = Text(LEFT_OUT), left - 1
        elif isinstance(block, ToolResult):
            parts: list[Text | Image] = []
            for part in block.content:
                gone = isinstance(part, Image) and left > 0
                left -= gone
                parts.append(Text(LEFT_OUT) if gone else part)
            changed = evolve(block, content=tuple(parts))
        content.append(changed)
    return evolve(message, content=tuple(content))
