"""The conversation in the form in which it was sent, and in the form that a rewrite would give it.

Sent items keep their form: a tool result its length, a message its thinking, a card its place after
the prompt that it was found for. Beside each stands what a rewrite would make of it, so that the
decision about rewrites knows what they save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from tierline.context.blocks import Text
from tierline.context.items import Item, MessageForm, PromptNote, Section
from tierline.context.prefix import bound
from tierline.context.transcript import Transcript
from tierline.history.groups import AtomCache, atomic, atoms_of, results
from tierline.history.messages import Message
from tierline.history.truncation import DEFAULTS, TruncationLimits, limits, shorten


@define
class FormCache:
    """Atoms of the last request in both forms; an unchanged atom stays the same item."""

    sent: AtomCache = field(factory=dict)
    anew: AtomCache = field(factory=dict)

    def clear(self) -> None:
        """Forget everything."""
        self.sent.clear()
        self.anew.clear()


@frozen
class RenderedHistory:
    """A conversation, ready to be planned."""

    items: tuple[Item, ...]
    """Messages as they were sent, with the notes of earlier turns in their places."""
    tail: tuple[Item, ...]
    """Items for this prompt alone. One that was sent before stands where it was sent."""
    anew: Mapping[str, Item | None]
    """For items that a rewrite would change, by key: the rewritten item, or None if it
    would leave.
    """


@frozen
class _Style:
    """One way to write messages down."""

    allowed: TruncationLimits
    """Characters of tool results."""
    bare: frozenset[str]
    """Ids of messages that go without their thinking."""

    def write(self, message: Message) -> Message:
        """The message in this style."""
        if message.id in self.allowed:
            message = shorten(message, self.allowed[message.id])
        if message.id in self.bare:
            content = tuple(block for block in message.content if not bound(block))
            message = evolve(message, content=content)
        return message

    def form(self, atom: tuple[Message, ...]) -> MessageForm | None:
        """The form to store, by which the messages can be written in the same way again."""
        allowed = tuple((m.id, self.allowed[m.id]) for m in atom if m.id in self.allowed)
        bare = tuple(m.id for m in atom if m.id in self.bare)
        return MessageForm(allowed, bare) if allowed or bare else None


def write(
    messages: Sequence[Message],
    tail: Sequence[Item],
    transcript: Transcript,
    *,
    group_id: str,
    count: Callable[[Any], int],
    known: FormCache,
) -> RenderedHistory:
    """Put a conversation into the form in which it was sent; new messages get the form that is due.

    ``tail`` are volatile texts. One that is in the conversation already, word for word, is not sent
    again; the user's selection holds for its own prompt only.
    """
    long = {m.id for m in messages if not m.plain and _long(m)}
    allowed = limits(messages, group_id=group_id)
    due = {name: allowed[name] for name in allowed if name in long}
    kept = {name: transcript.limits.get(name, due[name]) for name in due}
    thinking = frozenset(m.id for m in messages if not m.plain and any(map(bound, m.content)))
    as_sent = _Style(kept, transcript.bare & thinking)
    fresh = _Style(due, thinking)
    said = [as_sent.write(m) for m in messages]
    parts = atomic(said)
    history = atoms_of(parts, count=count, group_id=group_id, known=known.sent, form=as_sent.form)
    anew = _anew(messages, parts, fresh, group_id, count, known.anew)
    there = {item.key for item in history}
    standing = [note for note in transcript.notes if note.after in there]
    tail, used = _found(tail, standing, group_id)
    anew |= {i.key: evolve(i, note=None, volatile=True, group="", depends=i.depends[:-1])
             for i in tail if i.note is not None}  # fmt: skip
    spent: dict[str, list[Item]] = {}
    for note in standing:
        if note.number not in used:
            item = _spent(note, count)
            anew[item.key] = None
            spent.setdefault(note.after, []).append(item)
    placed = (one for item in history for one in (item, *spent.get(item.key, ())))
    return RenderedHistory(tuple(placed), tuple(tail), anew)


def _long(message: Message) -> bool:
    """True if a result is longer than its shortest form, so that there is a choice."""
    return any(
        sum(len(b.text) for b in result.content if isinstance(b, Text)) > DEFAULTS.inactive
        for result in results(message)
    )


def _anew(
    messages: Sequence[Message],
    parts: Iterable[tuple[Message, ...]],
    fresh: _Style,
    group_id: str,
    count: Callable[[Any], int],
    known: AtomCache,
) -> dict[str, Item | None]:
    """The items that a rewrite would change. They are mostly few, so only those are made."""
    other = {
        message.id: fresh.write(message)
        for message in messages
        if message.id in fresh.allowed or message.id in fresh.bare
    }
    changed = [
        written for atom in parts if (written := tuple(other.get(m.id, m) for m in atom)) != atom
    ]
    items = atoms_of(changed, count=count, group_id=group_id, known=known, form=fresh.form)
    return {item.key: item for item in items}


def _found(
    tail: Iterable[Item], standing: Iterable[PromptNote], group_id: str
) -> tuple[list[Item], set[int]]:
    """The tail, with each text that is in the conversation already marked with its place there, and
    the numbers of the notes that were found so.
    """
    newest = {(note.key, note.sha256): note for note in standing}
    items: list[Item] = []
    used: set[int] = set()
    for item in tail:
        note = newest.get((item.key, item.sha256)) if item.volatile else None
        if note is None or (item.section is Section.PROMPT and note.group != group_id):
            items.append(item)
            continue
        used.add(note.number)
        items.append(
            evolve(
                item,
                note=note,
                volatile=False,
                group=note.group,
                depends=(*item.depends, note.after),
            )
        )
    return items, used


def _spent(note: PromptNote, count: Callable[[Any], int]) -> Item:
    """The item of a note that is no longer needed: it stays in the conversation until a rewrite."""
    return Item.of_text(
        note.name,
        Section.HISTORY,
        note.text,
        count(note.text),
        group=note.group,
        depends=(note.after,),
        origin=note.origin,
        note=note,
    )
