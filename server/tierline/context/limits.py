"""Limits of a request: the window's arithmetic, and when history is due for compaction.

Margins are part of every comparison here, but not of displayed figures.
"""

from __future__ import annotations

import math

from attrs import field, frozen, validators

from tierline.context.models import ModelFacts

SHED_AT = 0.9
"""Share of the input limit at which files leave the request."""
COMPACTION_TRIGGER_TOKENS = 24_000
EMERGENCY_FACTOR = 2
"""History beyond this many triggers is truncated if compaction failed."""
DEFAULT_OUTPUT_TOKENS = 8_192
_OUTPUT_SHARE = 4
_FLOOR_TOKENS = 1_024
_FLOOR_SHARE = 8
_RESERVE_SHARE = 4


@frozen
class Limits:
    """The limits of one request, in tokens.

    ``max_output_tokens`` is what the reply should get; a request that needs the room lowers it as
    far as ``output_floor`` before anything is shed.
    """

    window: int = field(validator=validators.gt(0))
    """Input and output together."""
    max_input_tokens: int = field(validator=validators.gt(0))
    max_output_tokens: int = field(validator=validators.gt(0))
    margin: float = field(default=0.0, validator=validators.ge(0))
    """Error of the counts as a fraction (``TokenCounter.margin``)."""
    shed_at: float = field(default=SHED_AT, validator=[validators.gt(0), validators.le(1)])
    compaction_trigger_tokens: int = COMPACTION_TRIGGER_TOKENS
    compaction_enabled: bool = True

    @classmethod
    def of(
        cls,
        facts: ModelFacts,
        *,
        margin: float = 0.0,
        max_output_tokens: int = 0,
        thinking_tokens: int = 0,
        shed_at: float = SHED_AT,
        compaction_trigger_tokens: int = COMPACTION_TRIGGER_TOKENS,
        compaction_enabled: bool = True,
    ) -> Limits:
        """The limits of a model. ``max_output_tokens`` 0 takes a quarter of the window or 8,192,
        whichever is less; the model's own limit holds in any case. ``thinking_tokens`` come on top,
        since thinking counts into the reply's limit, as far as a quarter of the window allows.
        """
        # If the model's limit is unknown, the user's value is used as it is.
        most = facts.max_output_tokens if facts.output_known else facts.window
        wanted = max_output_tokens or min(DEFAULT_OUTPUT_TOKENS, facts.window // _OUTPUT_SHARE)
        share = max(wanted, facts.window // _OUTPUT_SHARE)
        wanted = min(wanted + thinking_tokens, share)
        return cls(
            window=facts.window,
            max_input_tokens=facts.max_input_tokens,
            max_output_tokens=max(1, min(wanted, most)),
            margin=margin,
            shed_at=shed_at,
            compaction_trigger_tokens=compaction_trigger_tokens,
            compaction_enabled=compaction_enabled,
        )

    @property
    def output_floor(self) -> int:
        """The least that the reply gets: an eighth of the window or 1,024, whichever is less."""
        return max(1, min(self.max_output_tokens, _FLOOR_TOKENS, self.window // _FLOOR_SHARE))

    @property
    def output_reserve(self) -> int:
        """Room that is kept for the reply when planning ahead: at most a quarter of the window."""
        return max(1, min(self.max_output_tokens, self.window // _RESERVE_SHARE))

    @property
    def hard(self) -> int:
        """Most input, margin included, that may be sent."""
        return min(self.max_input_tokens, self.window - self.output_floor)

    @property
    def soft(self) -> int:
        """Input, margin included, beyond which files are shed."""
        return min(math.floor(self.max_input_tokens * self.shed_at), self.hard)

    def estimate(self, tokens: int) -> int:
        """A count with the margin, rounded up."""
        return math.ceil(tokens * (1 + self.margin) - 1e-9)

    def room(self, bound: int) -> int:
        """The largest count whose estimate is within ``bound``; never negative."""
        tokens = max(0, math.floor(bound / (1 + self.margin)))
        while self.estimate(tokens + 1) <= bound:
            tokens += 1
        while tokens > 0 and self.estimate(tokens) > bound:
            tokens -= 1
        return tokens

    def output_for(self, tokens: int) -> int:
        """What the reply may get with this input, so that ``estimate + output <= window``."""
        return max(0, min(self.max_output_tokens, self.window - self.estimate(tokens)))

    @property
    def problem(self) -> str:
        """What to tell the user if settings contradict each other; the limits work all the same."""
        if self.max_output_tokens < self.window:
            return ""
        return (
            f"The reply limit of {self.max_output_tokens:,} tokens does not fit into the window "
            f"of {self.window:,}; replies get what the request leaves free."
        )


def trigger_tokens(window: int, *, tokens: int = 0, percent: float = 50.0) -> int:
    """History at which compaction is due: ``tokens`` if set, else ``percent`` of the window."""
    return tokens or max(1, int(window * percent / 100))


@frozen
class CompactionVerdict:
    """Whether history is due for compaction. True in a boolean context if it is."""

    due: bool
    history_tokens: int
    trigger_tokens: int
    """The trigger in force, after clamping."""
    reason: str

    def __bool__(self) -> bool:
        return self.due

    @property
    def percent(self) -> float:
        """How full history is, 0 to 100."""
        return min(100.0, 100 * self.history_tokens / max(1, self.trigger_tokens))


def compaction_trigger(limits: Limits) -> int:
    """The trigger, at most what leaves the reply its reserve before anything is shed."""
    latest = limits.room(limits.soft) - limits.output_reserve
    return max(1, min(limits.compaction_trigger_tokens, latest))


def should_compact(history_tokens: int, limits: Limits) -> CompactionVerdict:
    """The first layer, compaction: is history beyond its trigger?"""
    trigger = compaction_trigger(limits)
    if not limits.compaction_enabled:
        reason = "Compaction is switched off."
    elif history_tokens <= trigger:
        reason = f"History holds {history_tokens:,} of {trigger:,} tokens."
    else:
        reason = f"History holds {history_tokens:,} tokens, more than {trigger:,}."
    due = limits.compaction_enabled and history_tokens > trigger
    return CompactionVerdict(due, history_tokens, trigger, reason)
