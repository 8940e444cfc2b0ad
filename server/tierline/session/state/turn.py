"""The running turn and its state, and the queue of waiting ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from tierline import protocol as p
from tierline.context.blocks import Block, Reasoning, Text, ToolUse, visible
from tierline.context.thinking import SHOWN, Binding, readable
from tierline.errors import TierlineError
from tierline.history.messages import Message
from tierline.history.state import StreamFilter
from tierline.providers.base import Stop, ToolCall, Usage
from tierline.session.texts import both_ends


@define
class Round:
    """One request of a turn, its reply so far, and the calls in it."""

    reply: list[str] = field(factory=list)
    """Pieces of the reply's text."""
    blocks: list[Block] = field(factory=list)
    """Whole blocks of the reply, in order; text that other blocks followed is among them."""
    binding: Binding | None = None
    """What the reply's thinking is bound to."""
    thought: list[str] = field(factory=list)
    """Pieces of thinking that are not in a whole block yet."""
    thinking_since: float = 0.0
    """Start of the current thinking, by the monotonic clock; 0 if there is none."""
    thinking_seconds: float = 0.0
    closed: int = 0
    """Pieces of ``reply`` that are in ``blocks``."""
    calls: list[ToolCall] = field(factory=list)
    usage: Usage = field(factory=Usage)
    call_ids: set[str] = field(factory=set)
    """Ids of the calls of all the turn's rounds."""
    stop: Stop | None = None
    malformed: int = 0
    recorded: bool = False
    """True once the round's reply is in the history."""
    reply_id: str = ""
    """The id that the round's reply gets in the history."""
    message: Message | None = None
    """The reply as it was recorded."""
    open: list[ToolCall] = field(factory=list)
    """Recorded calls whose results are not in the history yet."""
    shown: list[str] = field(factory=list)
    """Pieces of the reply that clients got, without the STATE block."""
    screen: StreamFilter | None = None
    """Hides the STATE block while the reply streams; None if none is asked for."""
    cache: p.CacheReport | None = None
    """The cache report of the request."""
    standing: Mapping[str, tuple[int, ...]] = field(factory=dict)
    """Characters of each tool result that the request had, by message."""
    asked: float = 0.0
    """When the request was sent, in seconds since the epoch."""

    @property
    def partial(self) -> str:
        """The reply's text so far."""
        return "".join(self.reply)

    def show(self, piece: str) -> str:
        """The part of a new piece of the reply that may be shown now; may be empty."""
        text = self.screen.feed(piece) if self.screen is not None else piece
        self.shown.append(text)
        return text

    def show_rest(self) -> str:
        """The text that was held back because it could have become the STATE block."""
        text = self.screen.close() if self.screen is not None else ""
        self.shown.append(text)
        return text

    def add_call(self, call: ToolCall, strategy: str) -> None:
        """Add a whole call. Ids are made unique within the turn: results are found by them, and
        some services number calls anew in each reply.
        """
        known = self.call_ids
        unique, number = call.id or "call", 2
        while unique in known:
            unique, number = f"{call.id or 'call'}_{number}", number + 1
        known.add(unique)
        self.calls.append(ToolCall(unique, call.name, call.input, call.error))
        if call.signature:
            self.add_reasoning(strategy, call.signature)
        self._close_text()
        self.blocks.append(ToolUse(unique, call.name, call.input))

    def think(self, text: str) -> None:
        """Add a piece of thinking."""
        self.thought.append(text)
        self.thinking_since = self.thinking_since or time.monotonic()

    def was_thinking(self) -> str:
        """Turn all text since the last whole block into thinking. Returns that text."""
        text = "".join(self.reply[self.closed :])
        del self.reply[self.closed :]
        self.shown.clear()
        self.thought.append(text)
        return text

    def stop_thinking(self) -> None:
        """End the current thinking."""
        if self.thinking_since:
            self.thinking_seconds += time.monotonic() - self.thinking_since
            self.thinking_since = 0.0

    def add_reasoning(self, strategy: str, data: Mapping[str, Any]) -> None:
        """Add a whole block of thinking, which must be sent back."""
        self._close_text()
        if self.binding is not None:
            block = self.binding.bind(strategy, data, self.blocks)
            self.blocks.append(block)
            if readable(block):
                self.thought.clear()

    @property
    def opaque(self) -> tuple[Block, ...]:
        """The reply's blocks so far without its text."""
        return tuple(block for block in self.blocks if not isinstance(block, Text))

    def content(self) -> tuple[Block, ...]:
        """The reply's blocks, without invisible text."""
        shown = Reasoning(SHOWN, {"text": "".join(self.thought)})
        before = (shown,) if visible(Text(shown.data["text"])) else ()
        return reply_content("".join(self.reply[self.closed :]), (*before, *self.blocks))

    def _close_text(self) -> None:
        text, self.closed = "".join(self.reply[self.closed :]), len(self.reply)
        if text:
            _insert(self.blocks, text)


@define
class Turn:
    """One turn. ``group_id`` is its id everywhere.

    It takes several requests if the model calls tools: ``round`` is the current one.
    """

    group_id: str
    message_id: str
    text: str
    active_uri: str = ""
    editor_text: str = ""
    """What the user is looking at or has selected, in words for the model."""
    attached: Sequence[p.Attachment] = ()
    """Attachments of the prompt."""
    required_files: frozenset[str] = frozenset()
    """Keys of files without which nothing may be sent."""
    steer: bool = False
    """It waits to be added to the running turn at its next step."""
    cancelled: bool = False
    finished: bool = False
    """True once clients were told of its end."""
    rounds: int = 0
    """Requests so far, the current one included."""
    newest_id: str = ""
    """The newest of the turn's replies in the history, of earlier rounds too."""
    trace: list[dict[str, Any]] = field(factory=list)
    """The tool calls, in order, as JSON values."""
    requests: list[dict[str, Any]] = field(factory=list)
    """The requests that were answered, wholly or in part, as JSON values."""
    retrieval: str = ""
    """Id of the turn's retrieval set."""
    began: float = field(factory=time.time)
    """Seconds since the epoch."""
    call_ids: set[str] = field(factory=set)
    """Ids of the calls of all rounds."""
    round: Round = field(factory=Round)
    """The current request; ``begin_round`` begins another."""

    @property
    def search_text(self) -> str:
        """The part of the prompt that is used to find what it is about."""
        return both_ends(self.text)

    def begin_round(self) -> None:
        """Begin the next request of the turn."""
        self.rounds += 1
        self.round = Round(call_ids=self.call_ids)

    def record(self, message: Message) -> None:
        """Note that the current reply is in the history; its calls wait for their results."""
        self.round.recorded, self.round.message = True, message
        self.round.open = list(self.round.calls)
        self.newest_id = message.id


def reply_content(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """A reply's last text among its other blocks, without invisible blocks."""
    ordered = [*blocks]
    if text:
        _insert(ordered, text)
    return tuple(block for block in ordered if visible(block))


def _insert(blocks: list[Block], text: str) -> None:
    """Insert a text after earlier blocks but before calls, as providers accept them."""
    place = next((i for i, b in enumerate(blocks) if isinstance(b, ToolUse)), len(blocks))
    blocks.insert(place, Text(text))


@define
class TurnQueue:
    """Written by ``turns/turn.py`` and ``turns/waiting_prompts.py``; read by all parts."""

    current: Turn | None = None
    """The turn that runs."""
    waiting: deque[Turn] = field(factory=deque)
    paused: bool = False
    """True while waiting prompts are rewritten: none of them may begin."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Ids of turns that have not begun; their prompts are in no request yet."""
        return tuple(turn.group_id for turn in self.waiting)

    @property
    def idle(self) -> bool:
        """True while no turn runs and none waits."""
        return self.current is None and not self.waiting

    def contains(self, group_id: str) -> bool:
        """True if this turn runs or waits."""
        running = self.current is not None and self.current.group_id == group_id
        return running or group_id in self.groups

    def require_quiet(self) -> None:
        """Check that no reply streams; a prompt may wait.

        Raises:
            TierlineError: ``conflict`` while a reply streams.
        """
        if self.current is not None:
            raise TierlineError(
                "conflict", "A reply is still streaming.", "Stop it first, or wait for its end."
            )

    def require_idle(self) -> None:
        """Raises:
        TierlineError: ``conflict`` while a reply streams or a prompt waits.
        """
        self.require_quiet()
        if self.waiting:
            raise TierlineError(
                "conflict",
                "A prompt waits to be sent.",
                "Stop it first, or wait for the end of its reply.",
            )
