"""Items: everything that can enter a prompt, in one shape."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Any

from attrs import frozen

from tierline.context.prompt import PromptMessage
from tierline.context.text import sha256


class Section(StrEnum):
    """The budget's sections; their token counts sum to the total."""

    TOOLS = "tools"
    SYSTEM = "system"
    INSTRUCTIONS = "instructions"
    MEMOS = "memos"
    STATE = "state"
    SYMBOLS = "symbols"
    FILES = "files"
    URLS = "urls"
    RETRIEVED = "retrieved"
    SUMMARIES = "summaries"
    HISTORY = "history"
    PROMPT = "prompt"


class Pin(StrEnum):
    """How firmly an item is held: by the user, by a lease, for this turn, or not."""

    STICKY = "sticky"
    LEASED = "leased"
    EPHEMERAL = "ephemeral"
    NONE = "none"


@frozen
class PromptNote:
    """A text that was sent for one prompt alone: a card, a memo, a selection. It stays where it was
    sent, after an item of the conversation, until bytes are rewritten anyway.
    """

    after: str
    """Key of the item of the conversation after which it is sent."""
    key: str
    """Its own key when it was sent."""
    section: Section
    text: str
    group: str
    """The turn for which it was sent."""
    origin: str = ""
    number: int = 0
    """Its place among all notes of the conversation, in the order in which they were sent."""

    @cached_property
    def sha256(self) -> str:
        """Hash of the text, as ``Item.sha256``."""
        return sha256(self.text)

    @property
    def name(self) -> str:
        """A name unique in the conversation: the same text may be sent again for another prompt."""
        return f"{self.after}+{self.key}+{self.sha256[:8]}"


@frozen
class MessageForm:
    """The form in which the messages of an item were written, where there are several."""

    limits: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Message id and the characters that each of its tool results was allowed."""
    bare: tuple[str, ...] = ()
    """Ids of messages whose thinking is no longer sent."""


@frozen
class Item:
    """A candidate for the prompt: the smallest unit that may be included, moved or dropped.

    A text item fills ``text``; a history atom (a tool call with its result, or a whole turn) fills
    ``messages``. ``tokens`` is the count of the item as it is rendered, wrapper included.
    """

    key: str
    section: Section
    sha256: str
    """Hash of the content as rendered; two items with one key and one hash are interchangeable."""
    tokens: int
    text: str = ""
    messages: tuple[PromptMessage, ...] = ()
    priority: int = 50
    """0 (dropped first) to 100 (dropped last)."""
    pin: Pin = Pin.NONE
    required: bool = False
    """True for items that can never be shed: system head, tools, the prompt being answered."""
    volatile: bool = False
    """True for items that hold for this prompt alone (selection, cards, memos): sent after it."""
    group: str = ""
    """History: the turn's group id; the group's atoms may be dropped one by one."""
    depends: tuple[str, ...] = ()
    """Keys of the items that this one needs: without them it is left out."""
    origin: str = ""
    """Where it comes from, in words for a person (``added by you``, ``BM25 rank 2``)."""
    path: str = ""
    """Files: workspace-relative POSIX path, root-qualified in multi-root workspaces."""
    whole_tokens: int = 0
    """Tokens of the whole, if only a part is sent; else 0."""
    note: PromptNote | None = None
    """Set for a text that was sent for an earlier prompt and is still in its place."""
    form: MessageForm | None = None
    """History: the form of its messages, if there were several."""

    @classmethod
    def of_text(cls, key: str, section: Section, text: str, tokens: int, **more: Any) -> Item:
        """An item that is this text, ``tokens`` long; ``more`` are further fields by name."""
        return cls(key, section, sha256(text), tokens, text, **more)

    @cached_property
    def memo(self) -> dict[str, Any]:
        """A cache of values computed from this item alone, by name. A conversation has thousands of
        items, and from one request to the next nearly all are the same objects.
        """
        return {}

    @cached_property
    def identity(self) -> str:
        """Everything that a plan's id depends on; the content by its hash."""
        return "\0".join(
            (self.key, self.section, self.sha256, str(self.tokens), str(self.priority), self.pin,
             "!" * self.required, "~" * self.volatile, self.group, self.path, self.origin,
             *self.depends, *([f"<{self.whole_tokens}"] if self.whole_tokens else ()))
        )  # fmt: skip
