"""What other windows and tools write to the conversation that is open here is shown here, too."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tierline import protocol as p
from tierline.errors import TierlineError
from tierline.history.messages import Status
from tierline.history.timeline import Timeline
from tierline.session.conversation import Conversation
from tierline.session.events import EventBus
from tierline.session.state.turn import TurnQueue

LOOK_SECONDS = 1.0
"""How often the log is asked."""
PATIENCE_LOOKS = 120
"""So often nothing new of a turn elsewhere is waited for; then it is shown as it is."""


class ExternalChangesService:
    """Asks the log now and then, and tells clients to ask for the state. Not in the middle of a
    turn here, nor of one elsewhere: a prompt whose reply is still to come would be offered for a
    retry.
    """

    def __init__(self, bus: EventBus, queue: TurnQueue, conversation: Conversation) -> None:
        self._bus = bus
        self._queue = queue
        self._conversation = conversation
        self._store = conversation.store
        self._task: asyncio.Task[None] | None = None
        self._told = self._seen = ("", 0)
        """The session, and how much of it somebody else has written."""
        self._looks = 0
        self._gone = ""
        """The session that was said to be deleted."""

    def start(self) -> None:
        """Begin with the session as it is now."""
        self._told = self._now()
        self._task = asyncio.ensure_future(self._follow())

    def close(self) -> None:
        """Stop asking."""
        if self._task is not None:
            self._task.cancel()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with suppress(OSError, TierlineError):  # the log is away for now
                await self.look()

    async def look(self) -> bool:
        """Tell clients if somebody else has changed the conversation. True if they were told."""
        if not self._queue.idle or self._conversation.opening:
            return False
        timeline = await asyncio.to_thread(self._store.timeline)
        now = self._now()
        if now[0] != self._told[0]:
            self._told = (now[0], 0)  # opened here, with all that was in it by then
        if now == self._told or not self._queue.idle or timeline.session_id not in ("", now[0]):
            return False
        self._looks = self._looks + 1 if now == self._seen else 0
        self._seen = now
        if self._looks < PATIENCE_LOOKS and await asyncio.to_thread(self._goes_on, timeline):
            return False
        self._told = now
        self._bus.publish(p.StateChanged(reason="another window"))
        self._bus.context_changed(files=True)
        if timeline.deleted and self._gone != now[0]:
            self._bus.notice(
                "info",
                "This session was deleted in another window. Your next prompt brings it back.",
                "deleted_elsewhere",
            )
        self._gone = now[0] if timeline.deleted else ""
        return True

    def _now(self) -> tuple[str, int]:
        return self._conversation.session_id, self._store.strange

    def _goes_on(self, timeline: Timeline) -> bool:
        """True if the newest turn has no end yet and may get one."""
        shown = timeline.visible()
        ended = not shown or (
            shown[-1].role in ("assistant", "system") and shown[-1].status is not Status.TOOL_CALL
        )
        return not ended and self._store.drafts.others_running()
