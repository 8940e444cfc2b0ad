"""The identity of a message's prefix: a hash over tools, system and earlier messages.

A thinking block is bound to everything that the model had read when it made it (Anthropic,
"Preserved thinking"). Such a block may be sent again only after the same bytes.

How to use it: keep the hash of the whole prompt (``end_of``) with the thinking of its reply. Before
a later prompt is sent, walk through its messages with a ``Prefix``: at a message of the assistant
compare ``now`` with the hash of its thinking, leave the thinking out if they differ, and ``add``
the message as it will be sent. As thinking that was left out is not added, later thinking that was
made after it is left out as well, and thinking that was made without it is kept.

Take the hash of the prompt in its strict form (``context/strict.py``), which is what adapters
render. Cache marks are not part of it: they do not change what the model reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from attrs import frozen

from tierline.context.blocks import Block, Image, Reasoning, ToolResult
from tierline.context.formats import wire_format
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.prompt_json import block_to_json, encode

_DIGITS = 32
_MEMO = "prefix"


class Prefix:
    """The hash of a growing prompt, message by message."""

    def __init__(self, prompt: Prompt) -> None:
        """Begin with the tools and the system of a prompt; its messages are added one by one."""
        tools = sorted(prompt.tools, key=lambda tool: (not tool.builtin, tool.name))
        head = [[tool.name, tool.description, tool.input_schema] for tool in tools]
        self._now = hashlib.sha256(encode([head, _blocks(prompt.system)])).digest()

    @property
    def now(self) -> str:
        """The hash of everything so far, in hexadecimal digits."""
        return self._now.hex()[:_DIGITS]

    def behind(self, blocks: Sequence[Block]) -> str:
        """The hash of everything so far and the first blocks of the next message."""
        if not blocks:
            return self.now
        shapes = encode([_shape(block) for block in blocks])
        return hashlib.sha256(self._now + shapes).hexdigest()[:_DIGITS]

    def add(self, message: PromptMessage) -> None:
        """Add a message as it will be sent."""
        self._now = hashlib.sha256(self._now + _digest(message)).digest()


@frozen
class PrefixEnd:
    """Where a prompt ended."""

    messages: int
    """Number of its messages."""
    blocks: int
    """Blocks of the last one: a later prompt may add to it."""
    prefix: str
    """Hash of the whole prompt."""


def end_of(prompt: Prompt) -> PrefixEnd:
    """Where a prompt ends."""
    last = len(prompt.messages[-1].blocks) if prompt.messages else 0
    return PrefixEnd(len(prompt.messages), last, _begin(prompt, len(prompt.messages), last))


def continues(prompt: Prompt, end: PrefixEnd) -> bool:
    """True if a prompt begins with all of the earlier one that ended at ``end``."""
    if len(prompt.messages) < end.messages:
        return False
    return _begin(prompt, end.messages, end.blocks) == end.prefix


def _begin(prompt: Prompt, messages: int, blocks: int) -> str:
    prefix = Prefix(prompt)
    for message in prompt.messages[: max(messages - 1, 0)]:
        prefix.add(message)
    if messages:
        last = prompt.messages[messages - 1]
        whole = len(last.blocks) == blocks
        prefix.add(last if whole else PromptMessage(last.role, last.blocks[:blocks]))
    return prefix.now


def bound(block: Block) -> bool:
    """True for thinking that becomes invalid if anything before it changes."""
    return isinstance(block, Reasoning) and wire_format(block.strategy).binds_thinking


def _digest(message: PromptMessage) -> bytes:
    """A message's own hash, cached in it: most messages of a long conversation do not change."""
    found: bytes | None = message.memo.get(_MEMO)
    if found is None:
        shape = [message.role, _blocks(message.blocks)]
        found = message.memo[_MEMO] = hashlib.sha256(encode(shape)).digest()
    return found


def _blocks(blocks: Iterable[PromptBlock]) -> list[object]:
    return [_shape(entry.block) for entry in blocks]


def _shape(block: Block) -> object:
    """The part of a block that the model sees: of a picture neither its file name nor its size."""
    if isinstance(block, ToolResult):
        return [block.tool_use_id, block.is_error, [_shape(part) for part in block.content]]
    if isinstance(block, Image):
        return [block.media_type, block.data]
    return block_to_json(block)
