"""From the items of a plan to a prompt: stable parts first, what changes every time last.

The order of bytes decides what a provider's cache can reuse: instructions, then what changes
rarely, then the conversation, which only grows, then this turn's prompt, and behind its breakpoint
whatever holds for this request alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import evolve, field, frozen

from tierline.context.blocks import Text, visible
from tierline.context.items import Item, Section
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec, Ttl

BASE_ACKNOWLEDGEMENT = "I have read the files and will use them as they stand."
_SYSTEM = frozenset({Section.SYSTEM, Section.MEMOS, Section.STATE})
_BASE = frozenset({Section.SYMBOLS, Section.FILES, Section.URLS})
MAX_MARKS = 4


@frozen
class Frame:
    """What a request needs besides its items."""

    model: str
    max_output_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    cache_key: str = ""
    ttl: Ttl = "5m"
    explicit_markers: bool = False
    min_cacheable_tokens: int = 0
    active_group: str = ""
    tail: tuple[PromptBlock, ...] = field(default=())
    """Blocks behind the prompt that hold for this request alone."""


def lay_out(items: Sequence[Item], frame: Frame, count: Callable[[object], int]) -> Prompt:
    """A prompt with at most four breakpoints, none on a prefix too short to be cached."""
    stable = [item for item in items if not item.volatile]
    system = tuple(
        PromptBlock(Text(item.text), item.key) for item in stable if item.section in _SYSTEM
    )
    messages: list[PromptMessage] = []
    base = [item for item in stable if item.section in _BASE]
    if base:
        messages += [
            PromptMessage("user", tuple(PromptBlock(Text(i.text), i.key) for i in base)),
            PromptMessage("assistant", (PromptBlock(Text(BASE_ACKNOWLEDGEMENT), "base:ack"),)),
        ]
    base_end = len(messages)
    previous_end = -1
    for item in stable:
        if item.section not in (Section.HISTORY, Section.SUMMARIES, Section.PROMPT):
            continue
        if item.group != frame.active_group:
            previous_end = _last_user(item.messages, len(messages), previous_end)
        messages += item.messages
    prompt_end = len(messages) - 1
    volatile = [PromptBlock(Text(i.text), i.key) for i in items if i.volatile]
    marked = Prompt(
        model=frame.model,
        system=system,
        messages=tuple(messages),
        tools=frame.tools,
        max_output_tokens=frame.max_output_tokens,
        cache_key=frame.cache_key,
    )
    if frame.explicit_markers:
        places = [base_end - 2 if base else -1, previous_end, prompt_end]
        marked = _mark(marked, places, frame, count)
    return _with_tail(marked, (*volatile, *frame.tail))


def _last_user(messages: Iterable[PromptMessage], start: int, known: int) -> int:
    """Index of the last user message: where the request that asked for the reply ended."""
    for offset, message in enumerate(messages):
        if message.role == "user":
            known = start + offset
    return known


def _mark(
    prompt: Prompt, places: Sequence[int], frame: Frame, count: Callable[[object], int]
) -> Prompt:
    """Breakpoints after the system part and after the messages at ``places``."""
    messages = list(prompt.messages)
    sizes = [count(message) for message in messages]
    head = sum(map(count, prompt.tools)) + sum(map(count, prompt.system))
    system = prompt.system
    marks = 0
    wanted = sorted({place for place in places if 0 <= place < len(messages)})
    if system and head >= frame.min_cacheable_tokens and visible(system[-1].block):
        system = (*system[:-1], evolve(system[-1], mark=frame.ttl))
        marks += 1
    for place in wanted[-(MAX_MARKS - marks) :]:
        if head + sum(sizes[: place + 1]) < frame.min_cacheable_tokens:
            continue
        messages[place] = _mark_last(messages[place], frame.ttl)
    return evolve(prompt, system=system, messages=tuple(messages))


def _mark_last(message: PromptMessage, ttl: Ttl) -> PromptMessage:
    for place in reversed(range(len(message.blocks))):
        if visible(message.blocks[place].block):
            blocks = list(message.blocks)
            blocks[place] = evolve(blocks[place], mark=ttl)
            return evolve(message, blocks=tuple(blocks))
    return message


def _with_tail(prompt: Prompt, tail: Sequence[PromptBlock]) -> Prompt:
    """Put what is volatile behind everything else, into the last user message."""
    blocks = tuple(block for block in tail if visible(block.block))
    if not blocks:
        return prompt
    messages = list(prompt.messages)
    if messages and messages[-1].role == "user":
        messages[-1] = evolve(messages[-1], blocks=(*messages[-1].blocks, *blocks))
    else:
        messages.append(PromptMessage("user", blocks))
    return evolve(prompt, messages=tuple(messages))
