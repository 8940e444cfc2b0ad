"""Context mode: how much is retrieved without being asked for."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class ContextMode(StrEnum):
    """The profile that limits automatic context."""

    OFF = "off"
    """Nothing is retrieved by itself."""
    LIGHT = "light"
    """The module map and thin cards."""
    HEAVY = "heavy"
    """Larger bodies, examples, more candidates."""

    @property
    def next(self) -> ContextMode:
        """The mode that the cycle key goes to: off, light, heavy, off."""
        modes = list(ContextMode)
        return modes[(modes.index(self) + 1) % len(modes)]

    @property
    def label(self) -> str:
        """The mode's name beside the input."""
        return f"CTX: {self.value.capitalize()}"


@frozen
class ModeLimits:
    """A mode's limits on automatic context. They do not apply to pins and files added by hand."""

    symbols: bool
    """Whether the module map and symbol cards may enter."""
    candidates: int
    """Most retrieved items."""
    retrieved_tokens: int
    """Most tokens of retrieved items together."""
    retrieved_share: float
    """Most tokens of retrieved items as a share of the model's input; the lesser limit counts."""
    card_lines: int
    """Lines of a retrieved excerpt."""
    map_tokens: int = 0
    """Most tokens of the module map."""
    map_share: float = 0.0
    """Most tokens of the module map as a share of the model's input; the lesser limit counts."""
    map_symbols: int = 0
    """Symbols that the map shows of each file."""

    def tokens(self, max_input_tokens: int) -> int:
        """Most tokens of retrieved items with this input limit."""
        return min(self.retrieved_tokens, int(max_input_tokens * self.retrieved_share))

    def map_limit(self, max_input_tokens: int) -> int:
        """Most tokens of the module map with this input limit."""
        return min(self.map_tokens, int(max_input_tokens * self.map_share))


LIMITS: dict[ContextMode, ModeLimits] = {
    ContextMode.OFF: ModeLimits(
        symbols=False, candidates=0, retrieved_tokens=0, retrieved_share=0.0, card_lines=0
    ),
    ContextMode.LIGHT: ModeLimits(
        symbols=True,
        candidates=8,
        retrieved_tokens=2_000,
        retrieved_share=0.10,
        card_lines=5,
        map_tokens=1_500,
        map_share=0.05,
        map_symbols=5,
    ),
    ContextMode.HEAVY: ModeLimits(
        symbols=True,
        candidates=12,
        retrieved_tokens=12_000,
        retrieved_share=0.25,
        card_lines=30,
        map_tokens=6_000,
        map_share=0.10,
        map_symbols=10,
    ),
}
