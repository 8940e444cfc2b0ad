"""A list of the session that each window on it holds in memory.

Each event of the log holds the whole list. So a window that writes its own list blindly would undo
a change that another one has just made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from attrs import define, field

from tierline.history.actions import Action
from tierline.history.timeline import Timeline
from tierline.session.conversation.service import Conversation


@define(eq=False, repr=False, slots=False)
class SharedList:
    """Merges the changes of several windows. For one caller at a time."""

    _conversation: Conversation
    _read: Callable[[Timeline], Sequence[Any]]
    """The list in a timeline."""
    _action: Callable[[Iterable[Any]], Action]
    """The event that stores a list."""
    _key: Callable[[Any], Hashable]
    """What identifies an entry."""
    _session: str = field(default="", init=False)
    _seen: Sequence[Any] = field(default=(), init=False)

    def set_known(self, listed: Sequence[Any]) -> None:
        """Note that this window now holds this list, which was in the log."""
        self._session, self._seen = self._conversation.session_id, tuple(listed)

    def changed_elsewhere(self) -> Sequence[Any] | None:
        """The list, if another window has changed it since this one wrote it or called
        ``set_known``; else None.
        """
        now = self._conversation.timeline()
        listed = tuple(self._read(now))
        if now.session_id != self._session:
            self._session, self._seen = now.session_id, listed
        return listed if listed != self._seen else None

    async def write(self, ours: Sequence[Any]) -> tuple[Sequence[Any], str]:
        """Store this window's list, merged with changes that others have made since it was last
        read. Returns the merged list, and a sentence for the user if it could not be written.
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
        # Not the log's current list: it may have a newer change, which this window has not seen.
        self._session = event.session_id
        self._seen = tuple(event.data[event.kind])  # an event names its list after its kind
        return result, problem


T = TypeVar("T")


def merged(
    before: Sequence[T],
    ours: Sequence[T],
    theirs: Sequence[T],
    key: Callable[[T], Hashable],
) -> Sequence[T]:
    """``before`` with the changes of ``ours`` and of ``theirs``.

    Entries that either added are in, entries that either removed are out, and ``ours`` wins where
    both changed one. The order is theirs where nothing is new to them, so that the result is
    ``ours`` itself if they changed nothing.
    """
    if list(theirs) == list(before):
        return ours
    was, mine = {key(e): e for e in before}, {key(e): e for e in ours}
    kept = [
        mine[name] if name in mine and mine[name] != was.get(name) else entry
        for entry in theirs
        if (name := key(entry)) in mine or name not in was
    ]
    there = {key(entry) for entry in theirs}
    return [*kept, *(e for name, e in mine.items() if name not in there and name not in was)]
