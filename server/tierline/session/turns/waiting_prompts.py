"""The waiting prompts: listing, changing, moving, removing them, or adding them to the running
turn.

A prompt is in the log before it waits. The log is append-only and gives the order of the
conversation, so a changed or moved prompt is written again together with those after it, and the
old ones are removed by an event.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from attrs import define, evolve, field

from tierline import protocol as p
from tierline.context.blocks import Block, Image, Text, visible
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.session.conversation import Conversation
from tierline.session.conversation.ordering import in_order, shield
from tierline.session.events import EventBus
from tierline.session.mentions.service import MentionService
from tierline.session.state.turn import Turn, TurnQueue
from tierline.session.texts import redacted


@define(eq=False, repr=False, slots=False)
class WaitingPrompts:
    """The queue as clients see and change it."""

    _bus: EventBus
    _queue: TurnQueue
    _conversation: Conversation
    _mentions: MentionService
    _told: list[p.QueuedPrompt] = field(factory=list, init=False)
    wake: Callable[[], None] = field(default=lambda: None, init=False)
    """Called when a prompt may begin again."""

    # --- requests --------------------------------------------------------------------------------

    async def listed(self, _params: p.NoParams) -> p.QueueResult:
        """The prompts that wait, the next one first."""
        return p.QueueResult(self.shown())

    @in_order
    async def change(self, params: p.QueueChangeParams) -> p.QueueResult:
        """Change a prompt's text; its pictures and attachments stay.

        Raises:
            TierlineError: ``empty_prompt``; ``conflict`` if it is being answered; ``not_found``.
        """
        self._place(params.turn_id)
        text, notices = await redacted(params.text)
        if not visible(Text(text)):
            raise TierlineError("empty_prompt", "There is nothing to send.", "Remove it instead.")
        named = await self._mentions.take(p.ChatSendParams(text, mentions="text"), text)
        for notice in dict.fromkeys((*notices, *named.notices)):
            self._bus.notice("warning", notice)
        # The turn may have begun while the file was read.
        place = self._place(params.turn_id)
        order = list(self._queue.waiting)[place:]
        attached = named.beside(order[0].attached)
        return await self._rewrite(
            place, [evolve(order[0], text=text, attached=attached), *order[1:]]
        )

    @in_order
    async def move(self, params: p.QueueMoveParams) -> p.QueueResult:
        """Move a prompt to another place."""
        place = self._place(params.turn_id)
        to = min(max(params.to, 0), len(self._queue.waiting) - 1)
        order = list(self._queue.waiting)
        order.insert(to, order.pop(place))
        first = min(place, to)
        return await self._rewrite(first, order[first:])

    @in_order
    async def remove(self, params: p.QueueParams) -> p.QueueResult:
        """Remove a prompt: it is no longer sent or shown."""
        turn = self._queue.waiting[self._place(params.turn_id)]
        self._queue.waiting.remove(turn)
        await self._forget([turn])
        return self._changed()

    @in_order
    async def steer(self, params: p.QueueSteerParams) -> p.QueueResult:
        """Set whether a prompt is added to the running turn at its next step."""
        self._queue.waiting[self._place(params.turn_id)].steer = params.steer
        return self._changed()

    # --- for the turn ----------------------------------------------------------------------------

    async def add_steered(self, turn: Turn) -> None:
        """Called between two steps: add the prompts that the user wants in this turn."""
        if not any(waiting.steer for waiting in self._queue.waiting):
            return
        async with self._conversation.changes:
            await shield(self._reach(turn))

    async def _reach(self, turn: Turn) -> None:
        for said in [waiting for waiting in self._queue.waiting if waiting.steer]:
            message = self._conversation.find(said.message_id)
            written = await self._conversation.add_again(message, group_id=turn.group_id)
            turn.attached = (*turn.attached, *said.attached)
            self._queue.waiting.remove(said)
            await self._forget([said])
            shown = self._conversation.show(written.id)
            self._bus.publish(p.MessageAdded(turn.group_id, shown))
        self._changed()

    def shown(self) -> list[p.QueuedPrompt]:
        """The prompts that wait, as clients see them."""
        if not self._queue.waiting:
            return []
        # Once for all of them: the whole conversation is looked through.
        contents = {message.id: message.content for message in self._conversation.visible()}
        return [_shown(turn, contents.get(turn.message_id, ())) for turn in self._queue.waiting]

    def publish(self) -> None:
        """Publish the queue to the clients."""
        shown = self.shown()
        if shown != self._told:
            self._told = shown
            self._bus.publish(p.QueueChanged(shown))

    def _changed(self) -> p.QueueResult:
        self.publish()
        self._bus.context_changed()
        return p.QueueResult(self.shown())

    def _place(self, turn_id: str) -> int:
        groups = self._queue.groups
        if turn_id in groups:
            return groups.index(turn_id)
        if self._queue.contains(turn_id):
            raise TierlineError("conflict", "This prompt is answered already.", "Stop it first.")
        raise TierlineError("not_found", "This prompt does not wait any more.", "Reload the chat.")

    async def _rewrite(self, first: int, order: Sequence[Turn]) -> p.QueueResult:
        """Write the prompts from a place on again, in this order."""
        await self._paused(self._written(first, order))
        return self._changed()

    async def _paused(self, work: Awaitable[None]) -> None:
        self._queue.paused = True
        try:
            await work
        finally:
            self._queue.paused = False
            self.wake()

    async def _written(self, first: int, order: Sequence[Turn]) -> None:
        made = []
        for turn in order:
            message = self._conversation.find(turn.message_id)
            written = await self._conversation.add_again(
                message, text=turn.text, attached=turn.attached
            )
            made.append(evolve(turn, group_id=written.group_id, message_id=written.id))
        before = list(self._queue.waiting)
        self._queue.waiting.clear()
        self._queue.waiting.extend([*before[:first], *made])
        await self._forget(order)

    async def _forget(self, turns: Sequence[Turn]) -> None:
        action = actions.remove_all(turn.group_id for turn in turns)
        if problem := await self._conversation.act(action):
            self._bus.notice("error", problem, "storage")


def _shown(turn: Turn, content: Sequence[Block]) -> p.QueuedPrompt:
    """``content`` is empty if the prompt was undone meanwhile."""
    images = sum(isinstance(block, Image) for block in content)
    return p.QueuedPrompt(turn.group_id, turn.message_id, turn.text, images, turn.steer)
