"""What is known of one prompt on its way."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from attrs import define, field

from tierline import protocol as p
from tierline.context.blocks import Block, Reasoning, Text, ToolUse, visible
from tierline.history.messages import Message
from tierline.history.state import StreamFilter
from tierline.providers.base import Stop, ToolCall, Usage
from tierline.session.aside import both_ends


@define
class Turn:
    """One prompt on its way. ``group_id`` is the turn's id everywhere.

    A turn takes several requests if the model calls tools; ``reply`` to ``malformed`` are those of
    the present request, ``begin_round`` forgets them.
    """

    group_id: str
    message_id: str
    text: str
    selection: str = ""
    active_uri: str = ""
    must: frozenset[str] = frozenset()
    """Keys of files without which nothing is to be sent."""
    reply: list[str] = field(factory=list)
    blocks: list[Block] = field(factory=list)
    calls: list[ToolCall] = field(factory=list)
    usage: Usage = field(factory=Usage)
    stop: Stop | None = None
    malformed: int = 0
    cancelled: bool = False
    over: bool = False
    """True once clients were told of its end."""
    rounds: int = 0
    """Requests so far, the present one included."""
    recorded: bool = False
    """True once the present round's reply is in the history."""
    reply_id: str = ""
    """The id that the present round's reply gets in the history."""
    message: Message | None = None
    """The reply as it was recorded."""
    newest_id: str = ""
    """The newest of the turn's replies in the history, of earlier rounds too."""
    open: list[ToolCall] = field(factory=list)
    """Recorded calls whose results are not in the history yet."""
    shown: list[str] = field(factory=list)
    """What of the reply clients have been given; the STATE block is not among it."""
    screen: StreamFilter | None = None
    """Hides the STATE block while the reply streams; None if none is asked for."""
    cache: p.CacheReport | None = None
    """What the provider's cache gave the present request."""
    trace: list[dict[str, Any]] = field(factory=list)
    """What was called, in order, as JSON values."""
    requests: list[dict[str, Any]] = field(factory=list)
    """The requests that have been answered, wholly or in part, as JSON values."""
    retrieval: str = ""
    """Id of the turn's retrieval set."""
    began: float = field(factory=time.time)
    asked: float = 0.0
    """When the turn, and its present request, began; seconds since the epoch."""

    @property
    def searched(self) -> str:
        """What of the prompt says what it is about."""
        return both_ends(self.text)

    @property
    def partial(self) -> str:
        """What has streamed so far of the present reply."""
        return "".join(self.reply)

    def show(self, piece: str) -> str:
        """The part of a new piece of the reply that may be shown now; may be empty."""
        text = self.screen.feed(piece) if self.screen is not None else piece
        self.shown.append(text)
        return text

    def show_rest(self) -> str:
        """What was held back of the reply because it could have become the STATE block."""
        text = self.screen.close() if self.screen is not None else ""
        self.shown.append(text)
        return text

    def begin_round(self) -> None:
        """The next request of the turn."""
        self.rounds += 1
        self.recorded, self.message = False, None
        self.reply.clear()
        self.shown.clear()
        self.blocks.clear()
        self.calls.clear()
        self.open.clear()
        self.usage, self.stop, self.malformed, self.cache = Usage(), None, 0, None

    def add_call(self, call: ToolCall) -> None:
        """A whole call came. Ids are made unique within the reply: results are found by them."""
        known = {c.id for c in self.calls}
        unique, number = call.id or "call", 2
        while unique in known:
            unique, number = f"{call.id or 'call'}_{number}", number + 1
        self.calls.append(ToolCall(unique, call.name, call.input, call.error))
        self.blocks.append(ToolUse(unique, call.name, call.input))

    def content(self) -> tuple[Block, ...]:
        """The reply's blocks; text with nothing to see in it is left out."""
        return reply_content(self.partial, self.blocks)


def reply_content(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """A reply's text among its other blocks; without what has nothing to see in it."""
    ordered = [*blocks]
    if text:
        ordered.insert(_reasoning_prefix(ordered), Text(text))
    return tuple(block for block in ordered if visible(block))


def _reasoning_prefix(blocks: Sequence[Block]) -> int:
    """Thinking comes before text, text before calls: the order in which providers take them."""
    return next((i for i, b in enumerate(blocks) if not isinstance(b, Reasoning)), len(blocks))
