"""Leaving out pictures of a conversation when a request would be too large in bytes."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from tierline.context.blocks import Image, Text, pictures, with_pictures
from tierline.history.messages import Message

LEFT_OUT = "[an older picture was here; it left the request, which would have been too large]"
_SHARE = 0.5
"""Share of the limit that stays, so that not every new picture makes another leave."""


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


def _without(message: Message, count: int) -> Message:
    """The message without its first ``count`` pictures."""
    left = count

    def changed(image: Image) -> Text | Image:
        nonlocal left
        left -= 1
        return Text(LEFT_OUT) if left >= 0 else image

    return evolve(message, content=tuple(with_pictures(b, changed) for b in message.content))
