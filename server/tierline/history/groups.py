"""Groups and atoms: the units in which history is selected, shed and sent.

A group is one turn: the user's message, the model's calls with their results, the closing reply. An
atom is the smallest part that may be dropped: one message, or a call with all its results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs
from attrs import frozen

from tierline.context.blocks import Block, Text, ToolResult, ToolUse
from tierline.context.items import Item, MessageForm, Section
from tierline.context.prompt import PromptBlock, PromptMessage
from tierline.history.codec import encode_content
from tierline.history.messages import Message
from tierline.history.parser import UNNAMED

Count = Callable[[Sequence[PromptMessage]], int]
"""Counts the tokens of messages as they are rendered."""


@frozen
class Group:
    """One turn: its id and its messages in chronological order."""

    id: str
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """The turn's snapshot weight: that of its newest message that has one."""
        return next((m.tokens for m in reversed(self.messages) if m.tokens), 0)


def calls(message: Message) -> tuple[ToolUse, ...]:
    """The tool calls in a message."""
    return tuple(b for b in message.content if isinstance(b, ToolUse))


def results(message: Message) -> tuple[ToolResult, ...]:
    """The tool results in a message."""
    return tuple(b for b in message.content if isinstance(b, ToolResult))


def is_prompt(message: Message) -> bool:
    """True for a message that the user wrote, as opposed to one that carries tool results."""
    return message.role == "user" and not results(message)


def with_groups(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Give every message a group. Where a record has none, a prompt begins a turn."""
    grouped: list[Message] = []
    current: dict[str, str] = {}
    for message in messages:
        group = message.group_id
        if not group:
            previous = current.get(message.session_id, "")
            group = message.id if is_prompt(message) or not previous else previous
        current[message.session_id] = group
        grouped.append(message if message.group_id else attrs.evolve(message, group_id=group))
    return tuple(grouped)


def link_results(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Find the call of every result that names only its function (Gemini has no call ids).

    Answers come in the order of their calls, so the oldest open call of that name is meant.
    """
    linked: list[Message] = []
    open_calls: dict[str, list[ToolUse]] = {}
    for message in messages:
        queue = open_calls.setdefault(message.session_id, [])
        content: list[Block] = []
        for block in message.content:
            if isinstance(block, ToolUse):
                queue.append(block)
            if not isinstance(block, ToolResult):
                content.append(block)
                continue
            result = _linked(block, queue)
            queue[:] = [c for c in queue if c.id != result.tool_use_id]
            content.append(result)
        changed = tuple(content)
        linked.append(
            message if changed == message.content else attrs.evolve(message, content=changed)
        )
    return tuple(linked)


def _linked(result: ToolResult, open_calls: Iterable[ToolUse]) -> ToolResult:
    if not result.tool_use_id.startswith(UNNAMED):
        return result
    name = result.tool_use_id.removeprefix(UNNAMED)
    call = next((c for c in open_calls if not name or c.name == name), None)
    return result if call is None else attrs.evolve(result, tool_use_id=call.id)


def groups(messages: Iterable[Message]) -> tuple[Group, ...]:
    """Messages by group. Groups stand in the order of their first message; each is contiguous, so
    that a reply which came after the next prompt was queued still stands by its own prompt.
    """
    found: dict[str, list[Message]] = {}
    for message in messages:
        found.setdefault(message.group_id, []).append(message)
    return tuple(Group(group, tuple(members)) for group, members in found.items())


def atomic(messages: Sequence[Message]) -> tuple[tuple[Message, ...], ...]:
    """Cut messages into atoms: a message with calls takes all that follow until the last of its
    results has come, at most to the end of its group.
    """
    atoms: list[list[Message]] = []
    waiting: set[str] = set()
    group = ""
    for message in messages:
        answered = {r.tool_use_id for r in results(message)}
        asked = {c.id for c in calls(message)}
        if atoms and message.group_id == group and (waiting & answered):
            atoms[-1].append(message)
            waiting = (waiting - answered) | asked
        else:
            atoms.append([message])
            waiting = asked
        group = message.group_id
    return tuple(tuple(atom) for atom in atoms)


def to_prompt(message: Message) -> PromptMessage:
    """A message in the neutral prompt; results belong to the user side, and so do system notes."""
    key = f"history:{message.id}"
    role = "assistant" if message.role == "assistant" else "user"
    blocks: tuple[Block, ...] = message.content
    if message.role == "system":
        blocks = tuple(
            Text(f"<system-note>\n{b.text}\n</system-note>") if isinstance(b, Text) else b
            for b in blocks
        )
    return PromptMessage(
        "assistant" if role == "assistant" else "user", tuple(PromptBlock(b, key) for b in blocks)
    )


AtomCache = dict[str, tuple[tuple[Message, ...], Item]]
"""Atoms of the last request by the id of their first message, with the items made of them."""


def atoms_of(
    parts: Iterable[tuple[Message, ...]],
    *,
    count: Count,
    group_id: str = "",
    priority: int = 50,
    known: AtomCache | None = None,
    form: Callable[[tuple[Message, ...]], MessageForm | None] = lambda _atom: None,
) -> tuple[Item, ...]:
    """History items for the planner, oldest first, keyed ``history:<id of the first message>``.

    The user's message of the turn ``group_id`` is required: it is never shed. ``known`` is the
    cache that the previous call with the same ``count`` and ``priority`` filled: an unchanged atom
    stays the same item. ``form`` gives the form in which an atom's messages are written.
    """
    items: list[Item] = []
    made: AtomCache = {}
    for atom in parts:
        first = atom[0]
        old = known.get(first.id) if known else None
        required = bool(group_id) and first.group_id == group_id and is_prompt(first)
        if old is not None and old[0] == atom:
            item = old[1]
        else:
            item = _item(atom, count, priority, form(atom))
        if item.required is not required:
            item = attrs.evolve(item, required=required)
        items.append(item)
        made[first.id] = (atom, item)
    if known is not None:
        known.clear()
        known.update(made)
    return tuple(items)


def _item(atom: tuple[Message, ...], count: Count, priority: int, form: MessageForm | None) -> Item:
    first = atom[0]
    key = f"history:{first.id}"
    rendered = tuple(_keyed(to_prompt(m), key) for m in atom)
    return Item(
        key=key,
        section=Section.HISTORY,
        sha256=content_hash(atom),
        tokens=count(rendered),
        messages=rendered,
        priority=priority,
        group=first.group_id,
        origin=f"conversation, {first.role}, {first.timestamp}".rstrip(", "),
        form=form,
    )


def _keyed(message: PromptMessage, key: str) -> PromptMessage:
    return PromptMessage(message.role, tuple(attrs.evolve(b, key=key) for b in message.blocks))


def content_hash(messages: Iterable[Message]) -> str:
    """SHA-256 over roles and contents, as they would be sent."""
    shape = [[m.role, encode_content(m.content)] for m in messages]
    text = json.dumps(shape, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def snapshot_tokens(usage: Mapping[str, int]) -> int:
    """Tokens of a request: its prompt plus its completion."""
    return max(usage.get("input_tokens", 0), 0) + max(usage.get("output_tokens", 0), 0)
