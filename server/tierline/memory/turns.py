"""Turns as the memory uses them: text, tool output, failure."""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TypeAlias

import attrs
from attrs import define, field, frozen

from tierline.context.blocks import Text, ToolResult, ToolUse, visible
from tierline.context.prompt import PromptMessage
from tierline.history.extract import LineKind, digest, standing_rules
from tierline.history.groups import Group, content_hash, groups, is_prompt, to_prompt
from tierline.history.ids import epoch_ms
from tierline.history.messages import Message, Status
from tierline.history.names import file_names, identifiers
from tierline.history.parser import full_text, text_of
from tierline.memory.words import terms

Count: TypeAlias = Callable[[Sequence[PromptMessage]], int]

_MARKED = ("important:", "wichtig:", "remember:", "note:")


@frozen
class MemoryTurn:
    """One turn. Token counts are those of the messages as they are rendered.

    Expensive properties are computed when they are asked for: most turns are only counted.
    """

    id: str
    messages: tuple[Message, ...]
    sha256: str
    prompt: str
    text: str
    """All text of the turn, for searching."""
    when: float
    """Minutes since 1970."""
    prompt_tokens: int
    """Tokens of the prompt alone, the only part that decisions may depend on."""
    talk_tokens: int
    """Tokens of prompt and replies: working memory."""
    tool_tokens: int
    """Tokens of calls and results: volatile memory."""
    important: bool = False
    dead_end: bool = False
    """It was stopped or failed."""

    @property
    def tokens(self) -> int:
        """Tokens of the whole turn."""
        return self.talk_tokens + self.tool_tokens

    @property
    def message_ids(self) -> tuple[str, ...]:
        """Ids of its messages, the sources of summaries made from it."""
        return tuple(message.id for message in self.messages)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The stems of its text."""
        return frozenset(terms(self.text[:_LOOKED_AT]))

    @cached_property
    def line_terms(self) -> tuple[frozenset[str], ...]:
        """The stems of its text, line by line."""
        return tuple(frozenset(terms(line)) for line in self.text[:_SEARCHED].splitlines())

    @cached_property
    def files(self) -> frozenset[str]:
        """Files that it names."""
        return frozenset(file_names(self.text[:_LOOKED_AT]))

    @cached_property
    def names(self) -> frozenset[str]:
        """Files and identifiers that it mentions."""
        return self.files | frozenset(identifiers(self.text[:_LOOKED_AT]))

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """Errors and, behind an arrow, what fixed them."""
        return digest(self.messages).of(LineKind.ERROR)

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """Rules that its prompt lays down for what follows."""
        return tuple(rule for m in self.messages if is_prompt(m) for rule in standing_rules(m))


_LOOKED_AT = 20_000
"""Characters of a turn whose stems are taken."""
_SEARCHED = 60_000
"""Characters of a turn whose stems are taken line by line."""


def is_summary(messages: Sequence[Message]) -> bool:
    """Whether these are a summary that compaction put in place of turns."""
    return bool(messages) and all(message.meta.get("summary") for message in messages)


def look(group: Group, count: Count, before: float = 0.0) -> MemoryTurn:
    """A group of messages as a turn. ``before``: the last turn's, in minutes since 1970."""
    messages = group.messages
    prompts = [m for m in messages if is_prompt(m)]
    prompt = "\n".join(text_of(m.content) for m in prompts)
    text = "\n".join(full_text(m.content) for m in messages)
    total = count([to_prompt(m) for m in messages])
    spoken = spoken_only(messages)
    talk = (
        total
        if len(spoken) == len(messages) and spoken == messages
        else count([to_prompt(m) for m in spoken])
    )
    marked = any(m.meta.get("important") for m in messages)
    if prompt.strip().lower().startswith(_MARKED):
        marked = True
    return MemoryTurn(
        id=group.id,
        messages=messages,
        sha256=content_hash(messages),
        prompt=prompt,
        text=text,
        when=begun(messages, before),
        prompt_tokens=count([to_prompt(m) for m in prompts]) if prompts else 0,
        talk_tokens=min(talk, total),
        tool_tokens=max(total - talk, 0),
        important=marked,
        dead_end=any(m.status in (Status.INTERRUPTED, Status.ERROR) for m in messages),
    )


@define
class TurnCache:
    """Cached ``MemoryTurn``s of one conversation. Not thread-safe."""

    _known: dict[str, MemoryTurn] = field(factory=dict)

    def turns(self, conversation: Sequence[Message], count: Count) -> list[MemoryTurn]:
        """The turns of a conversation without system messages."""
        looked: dict[str, MemoryTurn] = {}
        made: list[MemoryTurn] = []
        before = 0.0
        for group in groups(conversation):
            key = f"{group.id}:{len(group.messages)}:{group.messages[-1].id}"
            key += f":{group.messages[-1].status}"
            turn = self._known.get(key) or look(group, count, before)
            looked[key] = turn
            made.append(turn)
            before = turn.when
        self._known = looked
        return made


def spoken_only(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The turn without its tool calls and results: they go together or stay together."""
    kept: list[Message] = []
    for message in messages:
        if not any(isinstance(b, ToolUse | ToolResult) for b in message.content):
            kept.append(message)
            continue
        said = tuple(b for b in message.content if isinstance(b, Text) and visible(b))
        if said and message.role != "tool":
            kept.append(attrs.evolve(message, content=said, status=Status.OK))
    return tuple(kept)


_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|([+-])(\d\d):?(\d\d))?"
)


def minutes(timestamp: str) -> float | None:
    """Minutes since 1970 of an ISO 8601 timestamp (UTC if it names no zone); None if it is none."""
    match = _ISO.match(timestamp)
    if match is None:
        return None
    year, month, day, hour, minute = (int(match[i]) for i in range(1, 6))
    if not (year and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    shift = 0
    if match[7]:
        shift = (int(match[8]) * 60 + int(match[9])) * (-1 if match[7] == "+" else 1)
    return timegm((year, month, day, hour, minute, 0)) // 60 + shift + int(match[6] or 0) / 60


def begun(messages: Iterable[Message], default: float = 0.0) -> float:
    """When messages began, in minutes since 1970, by the first timestamp or id that has a time."""
    for message in messages:
        when = minutes(message.timestamp)
        if when is None and (ms := epoch_ms(message.id)) is not None:
            when = ms / 60_000
        if when is not None:
            return when
    return default
