"""A list that belongs to the session and that each window on it holds in memory.

An event of the log says the whole list. So a window that writes its own without looking would undo
what another one has done a moment before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from tierline.history.actions import Action
from tierline.history.lists import merged
from tierline.history.timeline import Timeline
from tierline.session.conversation.service import Conversation


class SharedList:
    """What of the list was written by whom. One caller at a time."""

    def __init__(
        self,
        conversation: Conversation,
        read: Callable[[Timeline], Sequence[Any]],
        action: Callable[[Iterable[Any]], Action],
        key: Callable[[Any], Hashable],
    ) -> None:
        """``read`` takes the list out of a timeline, ``action`` writes it down, ``key`` tells
        which entries are the same one.
        """
        self._conversation = conversation
        self._read, self._action, self._key = read, action, key
        self._session = ""
        self._seen: Sequence[Any] = ()

    def took(self, listed: Sequence[Any]) -> None:
        """This list, which was in the log, is the one that is held here now."""
        self._session, self._seen = self._conversation.session_id, tuple(listed)

    def news(self) -> Sequence[Any] | None:
        """The list, if somebody else has changed it since this window wrote or ``took`` it."""
        now = self._conversation.timeline()
        listed = tuple(self._read(now))
        if now.session_id != self._session:
            self._session, self._seen = now.session_id, listed
        return listed if listed != self._seen else None

    async def write(self, ours: Sequence[Any]) -> tuple[Sequence[Any], str]:
        """Write down what has become of the list here, together with what others did to it since
        it was looked at. Returns the list that holds now, and a sentence for the user if nothing
        could be written.
        """
        result = ours

        def made(now: Timeline) -> Action:
            nonlocal result
            if self._session == now.session_id:
                result = merged(self._seen, ours, self._read(now), self._key)
            return self._action(result)

        event, problem = await self._conversation.revise(made)
        if event is None:
            return ours, problem
        # Not what the log has by now: that may hold a newer change, which nobody here has seen.
        self._session = event.session_id
        self._seen = tuple(event.data[event.kind])  # an event names its list after its kind
        return result, problem
