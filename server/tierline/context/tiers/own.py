"""The model's own edits that no update repeats: what the call's result says of them is enough.

A result that names the versions before and after changes the file from the one to the other, where
it stands in the conversation. So base, updates and results in their order give every current text.
Where a file says another version at that place, the result changes nothing: it was read before the
file came into the request, or a rewrite has put the text after it into the base.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from attrs import define, field, frozen

from tierline.context.blocks import Text, ToolResult
from tierline.context.items import Item
from tierline.context.tiers.base import AppliedEdit
from tierline.context.tiers.logstate import Logged

_TOLD = re.compile(r"Applied as proposed \([0-9a-f]{8} to [0-9a-f]{8}\): ")


def told(path: str, versions: tuple[str, str]) -> str:
    """The result of an edit that was applied as proposed. ``versions`` are the names of the file's
    text before and after (``updates.version``).
    """
    return f"Applied as proposed ({versions[0]} to {versions[1]}): {path}."


@define
class Known:
    """What the model has at a place of the conversation: versions by key."""

    have: Container[str]
    """Versions of which the text is at hand."""
    now: dict[str, str] = field(factory=dict)
    whole: dict[str, str] = field(factory=dict)
    """The newest ones that a difference can start from. One that was followed by a change before
    any request was sent is not among them.
    """

    def take(self, key: str, sha: str) -> None:
        """A text says another version from here on; an empty one: it was taken away."""
        if not sha:
            self.now.pop(key, None)
            self.whole.pop(key, None)
            return
        self.now[key] = sha
        if sha in self.have:
            self.whole[key] = sha


@frozen
class OwnEdits:
    """Edits that were applied as proposed, by the item of the conversation that proposes them."""

    by_item: Mapping[str, Mapping[str, AppliedEdit]]
    """By item and by the id of the call."""

    @classmethod
    def of(cls, edits: Iterable[AppliedEdit]) -> OwnEdits:
        """Of the edits of a conversation."""
        found: dict[str, dict[str, AppliedEdit]] = {}
        for edit in edits:
            found.setdefault(edit.history, {})[edit.reference] = edit
        return cls(found)

    def told(self, item: Item) -> Iterator[AppliedEdit]:
        """The edits of which this item holds a result that stands for an update."""
        edits = self.by_item.get(item.key)
        if not edits:
            return
        for message in item.messages:
            for block in (b.block for b in message.blocks):
                if isinstance(block, ToolResult) and (edit := edits.get(block.tool_use_id)):
                    said = block.content[0] if block.content else None
                    if isinstance(said, Text) and _TOLD.match(said.text):
                        yield edit

    def among(self, items: Sequence[Item]) -> list[tuple[int, Item]]:
        """The items that may hold such a result, with their places."""
        if not self.by_item:
            return []
        return [(n, item) for n, item in enumerate(items) if item.key in self.by_item]

    def follow(self, known: Known, items: Iterable[tuple[int, Item]]) -> None:
        """Bring ``known`` to where it is behind the items."""
        for _, item in items:
            for edit in self.told(item):
                if known.now.get(edit.item) == edit.before:
                    known.take(edit.item, edit.after)

    def read(
        self,
        known: Known,
        updates: Iterable[tuple[int, Logged]],
        items: Iterable[tuple[int, Item]],
    ) -> None:
        """Bring ``known`` to where it is behind the log: ``updates`` with their places in it, and
        ``items`` with theirs in the conversation.
        """
        waiting = list(items)
        for number, (place, entry) in enumerate(updates):
            before = [one for one in waiting if one[0] < place - number]
            self.follow(known, before)
            waiting = waiting[len(before) :]
            known.take(entry.key, entry.sha)
        self.follow(known, waiting)
