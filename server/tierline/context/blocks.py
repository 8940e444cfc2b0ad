"""Content blocks: the provider-neutral pieces that messages and prompts are made of.

Shapes follow Anthropic's Messages API (text, image, tool_use, tool_result), which is the richer of
the wire formats; every provider adapter maps from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from attrs import evolve, field, frozen


@frozen
class Text:
    """Plain text."""

    text: str


@frozen
class Image:
    """A picture. ``data`` is base64 without line breaks; sizes are in pixels, None if unknown."""

    media_type: str
    data: str
    width: int | None = None
    height: int | None = None
    ref: str = ""
    """File name in ``.tierline/images/`` (content hash + suffix), empty while unsaved."""


@frozen
class ToolUse:
    """A call that the model made. ``input`` is the parsed JSON object of arguments."""

    id: str
    name: str
    input: Mapping[str, Any] = field(factory=dict)


@frozen
class ToolResult:
    """The result of one call; belongs to the user's side of the conversation."""

    tool_use_id: str
    content: tuple[Text | Image, ...] = ()
    is_error: bool = False


@frozen
class Maker:
    """Who made a piece of reasoning. It is sent to no other model or service."""

    service: str = ""
    """The service's host, or its name where it has its own address."""
    model: str = ""


@frozen
class Reasoning:
    """A piece of a model's thinking, opaque to us; sent back only to its maker.

    ``data`` is what goes back, in the provider's own shape: a ``thinking`` or ``redacted_thinking``
    block (Messages), fields of the assistant's message such as ``reasoning_content`` (Chat
    Completions), ``extra_content`` of the call that follows it (Gemini), or a ``reasoning`` item
    (Responses). Under the strategy ``shown`` it is text for display alone, which is never sent.
    """

    strategy: str
    data: Mapping[str, Any] = field(factory=dict)
    maker: Maker = field(factory=Maker)
    prefix: str = ""
    """Hash of everything that the model had read when it made this (``context/prefix.py``)."""


Block: TypeAlias = Text | Image | ToolUse | ToolResult | Reasoning
Role: TypeAlias = Literal["user", "assistant"]


def pictures(content: Iterable[Block]) -> list[Image]:
    """The pictures among blocks, those inside tool results too."""
    found: list[Image] = []
    for block in content:
        parts = block.content if isinstance(block, ToolResult) else (block,)
        found += [part for part in parts if isinstance(part, Image)]
    return found


def with_pictures(block: Block, change: Callable[[Image], Text | Image]) -> Block:
    """The block with ``change`` made to it if it is a picture, and to those inside a result."""
    if isinstance(block, Image):
        return change(block)
    if isinstance(block, ToolResult) and any(isinstance(part, Image) for part in block.content):
        parts = (change(part) if isinstance(part, Image) else part for part in block.content)
        return evolve(block, content=tuple(parts))
    return block


def visible(block: Block) -> bool:
    """True if the block may be sent and may carry a cache marker: text with a visible character.

    Providers refuse text blocks that are empty or hold only white space or zero-width characters.
    """
    if not isinstance(block, Text):
        return True
    text = block.text
    # Fast path: the first character nearly always decides.
    return bool(text) and (text[0] not in _INVISIBLE or bool(text.strip(_INVISIBLE)))


_INVISIBLE = (
    " \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005"
    "\u2006\u2007\u2008\u2009\u200a\u200b\u200c\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)
