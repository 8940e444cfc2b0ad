"""The wire formats that messages are tagged with: their rules for ids and thinking."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


@frozen
class WireFormat:
    """What one format accepts."""

    longest_id: int = 40
    """Most characters of a call's id. OpenAI's chat endpoint refuses longer ones."""
    binds_thinking: bool = False
    """Thinking is refused unless everything before it is the same as when it was made."""
    thinking: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """Kinds of thinking that are accepted, with the fields of each; empty: any object is."""


_FORMATS = {
    "anthropic": WireFormat(
        longest_id=64,
        binds_thinking=True,
        thinking={"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)},
    )
}
_OTHER = WireFormat()


def wire_format(strategy: str) -> WireFormat:
    """The format of a ``parsing_strategy``."""
    return _FORMATS.get(strategy, _OTHER)
