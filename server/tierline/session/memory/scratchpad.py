"""The scratchpad of the session: for the user, and as the model's tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tierline import protocol as p
from tierline.context.text import sha256
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.scratchpad import MAX_CHARACTERS, manage
from tierline.session.conversation import Conversation
from tierline.session.events import EventBus


class ScratchpadService:
    """Free text of the session. Each version is an event in the log, so none is ever lost."""

    def __init__(self, bus: EventBus, conversation: Conversation) -> None:
        self._bus = bus
        self._conversation = conversation

    @property
    def text(self) -> str:
        """The current scratchpad."""
        return self._conversation.timeline().scratchpad

    async def get(self, _params: p.NoParams) -> p.Scratchpad:
        """Read it."""
        return self._result()

    async def set(self, params: p.ScratchpadSetParams) -> p.Scratchpad:
        """Replace it. With ``version``, only if nobody changed it since that one was read.

        Raises:
            TierlineError: ``invalid_params`` if it is too long; ``conflict`` if ``version`` is
                outdated.
        """
        if len(params.text) > MAX_CHARACTERS:
            raise TierlineError(
                "invalid_params",
                f"The scratchpad holds {MAX_CHARACTERS:,} characters, not {len(params.text):,}.",
                "Shorten it; the one before was kept.",
            )

        def text(now: str) -> str:
            if params.version and params.version != _version(now):
                raise TierlineError(
                    "conflict",
                    "The scratchpad was changed meanwhile, by the model or in another window.",
                    "Read it again, then save your change.",
                )
            return manage("", {"action": "update", "content": params.text}).text

        return await self._store(text)

    async def append(self, params: p.ScratchpadAppendParams) -> p.Scratchpad:
        """Add to its end.

        Raises:
            TierlineError: ``invalid_params`` if it would be too long.
        """

        def text(now: str) -> str:
            outcome = manage(now, {"action": "append", "content": params.text})
            if outcome.error:
                raise TierlineError(
                    "invalid_params",
                    f"The scratchpad holds {MAX_CHARACTERS:,} characters; this would not fit.",
                    "Shorten it first.",
                )
            return outcome.text

        return await self._store(text)

    async def tool(self, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """A ``manage_scratchpad`` call: the answer for the model, and whether the call failed."""
        outcome = manage(self.text, arguments)
        if not outcome.changed:
            return outcome.answer, outcome.error

        def text(now: str) -> str:
            nonlocal outcome
            outcome = manage(now, arguments)  # another window may have just written
            return outcome.text

        try:
            await self._store(text)
        except TierlineError as error:
            return f"Nothing done: {error.message}", True
        return outcome.answer, outcome.error

    async def _store(self, text: Callable[[str], str]) -> p.Scratchpad:
        """Store the result of ``text`` on the current scratchpad. Passes on what it raises."""
        if text(self.text) != self.text:
            _, problem = await self._conversation.revise(
                lambda now: actions.scratchpad(text(now.scratchpad))
            )
            if problem:
                raise TierlineError("storage", problem, "Nothing was changed.")
            self._bus.publish(p.NotesChanged("scratchpad"))
            self._bus.context_changed()
        return self._result()

    def _result(self) -> p.Scratchpad:
        return p.Scratchpad(text=self.text, version=_version(self.text))


def _version(text: str) -> str:
    return sha256(text)[:16]
