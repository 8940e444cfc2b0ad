"""The working copy: the conversation in memory that requests are assembled from.

Seed 004, "Conversation History (In-Memory)": separate from the persistent log, which keeps all;
compaction and loading a session replace it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tierline.context.blocks import Block, Text
from tierline.history.groups import Count, to_prompt
from tierline.history.messages import HistoryRole, Message

Content = str | tuple[Block, ...]


class ContextHistory:
    """The seed's operations on the list of messages.

    ``make`` gives a new message its id, session, group and time; ``count`` counts tokens; ``purge``
    is told whenever ``history:*`` entries of the stability policy have lost their meaning.
    """

    def __init__(
        self,
        *,
        make: Callable[[HistoryRole, tuple[Block, ...]], Message],
        count: Count,
        purge: Callable[[], None] = lambda: None,
    ) -> None:
        self._make = make
        self._count = count
        self._purge = purge
        self._messages: list[Message] = []
        self._tokens: int | None = 0

    def add_message(self, role: HistoryRole, content: Content) -> Message:
        """Append one message and return it."""
        message = self._make(role, _blocks(content))
        self.append(message)
        return message

    def append(self, message: Message) -> None:
        """Append a message that exists already (it has just been logged)."""
        self._messages.append(message)
        self._tokens = None

    def add_exchange(self, user: Content, assistant: Content) -> tuple[Message, Message]:
        """Append a prompt and its reply together: both or, if one cannot be made, neither."""
        pair = (self._make("user", _blocks(user)), self._make("assistant", _blocks(assistant)))
        self._messages += pair
        self._tokens = None
        return pair

    def get_history(self) -> list[Message]:
        """A copy: changing it changes nothing here (messages themselves are immutable)."""
        return list(self._messages)

    def set_history(self, messages: Iterable[Message]) -> None:
        """Replace everything: after compaction, undo, or loading a session."""
        self._messages = list(messages)
        self._tokens = None

    def clear_history(self) -> None:
        """Empty the list and purge its entries from the stability policy."""
        self._messages = []
        self._tokens = 0
        self._purge()

    def reregister_history_items(self) -> None:
        """Purge the stability policy's entries but keep the messages: after compaction they come
        back as fresh items.
        """
        self._purge()

    def history_token_count(self) -> int:
        """Tokens of the history as it would be rendered now."""
        if self._tokens is None:
            self._tokens = self._count([to_prompt(m) for m in self._messages])
        return self._tokens


def _blocks(content: Content) -> tuple[Block, ...]:
    return (Text(content),) if isinstance(content, str) else content
