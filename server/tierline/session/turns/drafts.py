"""Keeps a draft of the reply that streams, and makes interrupted replies of drafts left behind.

A killed process loses no text that was on disk: the part of a reply that had arrived is in the
conversation again at the next start, marked as interrupted, as if the user had stopped it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from tierline.context.blocks import Block, Text, ToolResult
from tierline.history.groups import calls
from tierline.history.messages import Message, Status
from tierline.session.conversation import Conversation
from tierline.session.conversation.service import take_state
from tierline.session.state.turn import Turn, reply_content
from tierline.store.drafts import Draft, DraftOrigin, OrphanedDraft
from tierline.store.errors import StorageError

log = logging.getLogger(__name__)

PAUSE_SECONDS = 0.25
"""Interval of writing to the draft while text arrives; the first piece is written at once."""
SHARE = 10
"""Writing takes at most one part in this many of the time: on a slow disk it happens less often."""
NOTE = "Tierline was ended while this reply came. This is what there was of it; Retry asks again."
NOT_RUN = "Not run: Tierline was ended before the reply was complete."


class DraftService:
    """One per session, since only one reply streams at a time."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._origin: DraftOrigin | None = None
        self._draft: Draft | None = None
        self._work: asyncio.Task[None] | None = None
        self._writing: asyncio.Future[None] | None = None
        self._grown = False

    # --- while a reply comes ---------------------------------------------------------------------

    def begin(self, turn: Turn, plan_id: str, strategy: str) -> None:
        """Called when a request is sent: its reply gets a draft with the first text."""
        conversation = self._conversation
        turn.round.reply_id = conversation.store.new_id()
        self._draft = None
        self._origin = DraftOrigin(
            message_id=turn.round.reply_id,
            session_id=conversation.session_id,
            group_id=turn.group_id,
            branch_id=conversation.branch,
            timestamp=conversation.store.timestamp(),
            strategy=strategy,
            plan_id=plan_id,
            keeps_state=conversation.keeps_state(),
        )

    def on_text(self, turn: Turn) -> None:
        """Called when a part of the reply came."""
        self._grown = True
        if (self._work is None or self._work.done()) and self._origin is not None:
            self._work = asyncio.ensure_future(self._keep(turn, self._origin))

    async def record(
        self, turn: Turn, content: tuple[Block, ...], **facts: Any
    ) -> tuple[Message, str]:
        """Write the reply to the log, then delete the draft. Returns what
        ``add_assistant`` does.
        """
        await self._stop()
        draft = self._draft
        # Another process has recovered the draft and used its id: then both replies are kept.
        ours = draft is None or await asyncio.to_thread(draft.ours)
        message, problem = await self._conversation.add_assistant(
            turn.group_id, content, identifier=turn.round.reply_id if ours else "", **facts
        )
        if not problem:
            await self.drop(turn)
        return message, problem

    async def drop(self, turn: Turn) -> None:
        """Delete the draft, unless the reply could not be recorded."""
        await self._stop()
        draft, self._draft = self._draft, None
        if draft is not None and not turn.round.recorded:
            await asyncio.to_thread(draft.discard)

    async def _stop(self) -> None:
        self._origin, self._grown = None, False
        if self._work is not None:
            self._work.cancel()
        if self._writing is not None and not self._writing.done():
            await asyncio.wait([self._writing])

    async def _keep(self, turn: Turn, origin: DraftOrigin) -> None:
        while self._grown:
            self._grown = False
            began = time.monotonic()
            come = turn.round.partial, turn.round.opaque
            self._writing = asyncio.ensure_future(asyncio.to_thread(self._write, origin, *come))
            await asyncio.shield(self._writing)
            await asyncio.sleep(max(PAUSE_SECONDS, SHARE * (time.monotonic() - began)))

    def _write(self, origin: DraftOrigin, text: str, blocks: tuple[Block, ...]) -> None:
        if self._draft is None:
            self._draft = self._conversation.store.drafts.begin(origin)
        if self._draft is not None:
            self._draft.write(text, blocks, time.monotonic())

    # --- what others left ------------------------------------------------------------------------

    async def recover(self) -> bool:
        """Record the partial replies of dead processes. True if there were any."""
        try:
            return await asyncio.to_thread(self._recover)
        except StorageError as error:
            log.warning("An unfinished reply was not written down: %s", error)
            return False

    def _recover(self) -> bool:
        store = self._conversation.store
        found = False
        with store.drafts.orphaned() as drafts:
            for left in drafts:
                if left.origin is None:
                    left.set_aside()
                    continue
                if not self._settled(left.origin) and (messages := self._messages(left)):
                    store.append_all(messages, durable=True)
                    found = True
                left.discard()
        return found

    def _settled(self, origin: DraftOrigin) -> bool:
        """True if the log has the reply, or the user deleted its session."""
        store = self._conversation.store
        if any(m.id == origin.message_id for m in store.iter_messages(origin.session_id)):
            return True
        return store.timeline(origin.session_id).deleted

    def _messages(self, left: OrphanedDraft) -> list[Message]:
        """The partial reply, and a result for each of its calls that says it was not run."""
        origin, store = left.origin, self._conversation.store
        content = reply_content(left.text, left.blocks)
        if origin is None or not content:
            return []
        unfinished = None
        if origin.keeps_state:
            content, unfinished = take_state(content)
        facts = {"plan_id": origin.plan_id, "note": NOTE, "unfinished_state": unfinished}
        reply = Message(
            id=origin.message_id,
            session_id=origin.session_id,
            group_id=origin.group_id,
            timestamp=origin.timestamp,
            role="assistant",
            content=content,
            branch_id=origin.branch_id,
            status=Status.INTERRUPTED,
            parsing_strategy=origin.strategy,
            meta={name: value for name, value in facts.items() if value},
        )
        results = [
            Message(
                id=store.new_id(),
                session_id=origin.session_id,
                group_id=origin.group_id,
                timestamp=store.timestamp(),
                role="tool",
                content=(ToolResult(call.id, (Text(NOT_RUN),), True),),
                branch_id=origin.branch_id,
                parsing_strategy=origin.strategy,
                meta={"tool": call.name, "interrupted": True},
            )
            for call in calls(reply)
        ]
        return [reply, *results]
