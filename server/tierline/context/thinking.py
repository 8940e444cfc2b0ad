"""Which earlier thinking may be sent again.

Three things decide: its maker (only the same model at the same service gets it back), its prefix
(Anthropic refuses a block after any other bytes, "Prefix checks on thinking blocks"), and whether
it is for display alone. Invalid thinking is left out of the request; the history keeps it, since
undoing a change can make it valid again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field

from tierline.context.blocks import Block, Maker, Reasoning
from tierline.context.prefix import Prefix, bound
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage

SHOWN = "shown"
"""Strategy name of thinking that is for display alone."""
_TEXTS = ("thinking", "reasoning_content", "reasoning", "text")


@define
class Binding:
    """What the thinking of one reply is bound to: the prompt, and the model that answers."""

    prompt: Prompt
    maker: Maker
    _prefix: Prefix | None = field(default=None, init=False)

    def bind(self, strategy: str, data: Mapping[str, Any], before: Sequence[Block]) -> Reasoning:
        """A piece of thinking that came after the reply's blocks ``before``."""
        if self._prefix is None:
            self._prefix = Prefix(self.prompt)
            for message in self.prompt.messages:
                self._prefix.add(message)
        return Reasoning(strategy, data, self.maker, self._prefix.behind(before))


def keep_valid(
    prompt: Prompt, maker: Maker | None, refused: Collection[str] = ()
) -> tuple[Prompt, int]:
    """The prompt, in its strict form, without thinking that the service would not accept, and how
    many pieces were left out. Without a ``maker`` all of it is. ``refused`` are the prefixes of
    thinking that the service has refused.
    """
    if not any(_reasons(message) for message in prompt.messages):
        return prompt, 0
    prefix = Prefix(prompt)
    messages: list[PromptMessage] = []
    lost = 0
    for message in prompt.messages:
        if _reasons(message):
            blocks = _valid(message, prefix, maker, refused)
            lost += len(message.blocks) - len(blocks)
            if len(blocks) < len(message.blocks):
                message = PromptMessage(message.role, blocks)  # noqa: PLW2901
        prefix.add(message)
        messages.append(message)
    return evolve(prompt, messages=tuple(messages)), lost


def _valid(
    message: PromptMessage, prefix: Prefix, maker: Maker | None, refused: Collection[str]
) -> tuple[PromptBlock, ...]:
    kept: list[PromptBlock] = []
    for entry in message.blocks:
        block = entry.block
        if isinstance(block, Reasoning):
            if block.maker != maker or block.prefix in refused:
                continue
            if bound(block) and block.prefix != prefix.behind([before.block for before in kept]):
                continue
        kept.append(entry)
    return tuple(kept)


def _reasons(message: PromptMessage) -> bool:
    return not message.plain and any(isinstance(b.block, Reasoning) for b in message.blocks)


def readable(block: Reasoning) -> str:
    """The readable text of a piece of thinking; empty if it is encrypted."""
    summary = block.data.get("summary")
    if isinstance(summary, list):
        parts = [part.get("text") for part in summary if isinstance(part, Mapping)]
        return "\n\n".join(part for part in parts if isinstance(part, str))
    found = (block.data.get(name) for name in _TEXTS)
    return next((text for text in found if isinstance(text, str)), "")
