"""The stricter rule for requests with many pictures, applied to the messages about to be sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from tierline.context.blocks import Block, Image, Text, ToolResult
from tierline.context.images import dimensions
from tierline.context.prompt import PromptMessage

MANY = 20
"""With more pictures than this in one request, Anthropic limits the side of each to ``MAX_SIDE``
pixels ("Vision": image size); one picture over it makes the whole request fail."""
MAX_SIDE = 2000
UNSEEN = "[picture left out: this model takes no pictures]"
MAX_PICTURES = 100
"""Pictures that one request may hold; the oldest beyond it are left out."""


def limit_images(
    messages: Sequence[PromptMessage], *, sees: bool = True
) -> tuple[tuple[PromptMessage, ...], list[str]]:
    """The messages with each picture that may not be sent replaced by a line that says so.

    Also returns the notices. ``sees``: the model accepts pictures. Depends only on the messages and
    the model, so that a resumed session sends the same; pictures inside tool results count as well.
    """
    pictures = [image for message in messages for image in _pictures(message)]
    if not pictures or (sees and len(pictures) <= MANY):
        return tuple(messages), []
    oldest = len(pictures) - MAX_PICTURES
    verdicts = [
        _verdict(image, number < oldest) if sees else UNSEEN
        for number, image in enumerate(pictures)
    ]
    # One notice for all pictures that the model cannot see: there may be many in every request.
    notices = [text for text in verdicts if text] if sees else [UNSEEN]
    if not notices:
        return tuple(messages), []
    rest = iter(verdicts)
    return tuple(
        evolve(
            message,
            blocks=tuple(evolve(b, block=_replaced(b.block, rest)) for b in message.blocks),
        )
        for message in messages
    ), notices


def _pictures(message: PromptMessage) -> Iterator[Image]:
    for held in message.blocks:
        if isinstance(held.block, Image):
            yield held.block
        elif isinstance(held.block, ToolResult):
            yield from (part for part in held.block.content if isinstance(part, Image))


def _verdict(image: Image, beyond: bool) -> str:
    """The text that replaces a picture; empty if it may stay."""
    if beyond:
        return f"[picture left out: a request may hold at most {MAX_PICTURES}]"
    size = dimensions(image)
    if size is not None and max(size) <= MAX_SIDE:
        return ""
    shown = f"{size[0]}×{size[1]} pixels" if size else "of unknown size"
    return (
        f"[picture left out: {shown}; a request with more than {MANY} pictures takes at most "
        f"{MAX_SIDE} on a side]"
    )


def _replaced(block: Block, verdicts: Iterator[str]) -> Block:
    if isinstance(block, Image):
        text = next(verdicts)
        return Text(text) if text else block
    if isinstance(block, ToolResult):
        parts: list[Text | Image] = []
        for part in block.content:
            text = next(verdicts) if isinstance(part, Image) else ""
            parts.append(Text(text) if text else part)
        return evolve(block, content=tuple(parts))
    return block
