"""Refusals about thinking, learnt from services' answers and kept for this process."""

from __future__ import annotations

from attrs import define, field

from tierline.context.blocks import Maker, Reasoning
from tierline.context.prompt import Prompt, Thinking

INVALID = (
    "The service does not accept earlier thinking any more; it was left out, and the request was "
    "sent once more."
)
MISSING = (
    "The service wants the thinking that belongs to each tool call; calls of other models were "
    "left out, and the request was sent once more."
)
UNKNOWN = (
    "The service does not know how it was asked to think; the request was sent once more without."
)


@define
class ThinkingRefusals:
    """One per session."""

    refused: set[str] = field(factory=set)
    """Refused thinking, by the hash of its prefix."""
    _demanding: set[Maker] = field(factory=set)
    _silent: set[Maker] = field(factory=set)
    _keeping: set[Maker] = field(factory=set)

    def learn(self, code: str, prompt: Prompt, maker: Maker) -> str:
        """Learn from a refusal of this prompt. Returns a sentence on what is done about it; empty
        if nothing can be.
        """
        match code:
            case "thinking_invalid":
                bound = {
                    entry.block.prefix
                    for message in prompt.messages
                    for entry in message.blocks
                    if isinstance(entry.block, Reasoning)
                }
                new = not bound <= self.refused
                self.refused |= bound
                return INVALID if new else ""
            case "thinking_missing":
                return MISSING if _added(self._demanding, maker) else ""
            case "thinking_unknown" if prompt.thinking.drop:
                return UNKNOWN if _added(self._keeping, maker) else ""
            case "thinking_unknown" if prompt.thinking != Thinking():
                return UNKNOWN if _added(self._silent, maker) else ""
        return ""

    def requires_thinking(self, maker: Maker) -> bool:
        """True if the service refuses calls without the thinking that led to them."""
        return maker in self._demanding

    def accepts_thinking(self, maker: Maker) -> bool:
        """False if the service refuses to be told how to think."""
        return maker not in self._silent

    def accepts_drop(self, maker: Maker) -> bool:
        """False if the service does not know the option to leave out thinking that is bound
        elsewhere.
        """
        return maker not in self._keeping


def _added(to: set[Maker], maker: Maker) -> bool:
    new = maker not in to
    to.add(maker)
    return new
