"""Memory levels: what is kept in full, what as a summary, and for how long.

Permanent holds standing rules and what was
marked as important; session the summaries of finished tasks; working the recent conversation, and
summaries of what the current task has compressed; volatile tool output and dead ends.
"""

from __future__ import annotations

from enum import IntEnum

from attrs import evolve, field, frozen, validators

_POSITIVE = validators.gt(0)
_PERCENT = validators.and_(validators.gt(0.0), validators.le(100.0))


class Level(IntEnum):
    """From the most lasting to the most fleeting; stored as these numbers."""

    PERMANENT = 1
    """Always in the context."""
    SESSION = 2
    WORKING = 3
    VOLATILE = 4
    """Dropped when space is needed."""

    @property
    def label(self) -> str:
        """As ``tierline stats`` prints it."""
        return self.name.capitalize()


@frozen
class Budgets:
    """Token budgets, ages in minutes, and the trigger."""

    permanent: int = field(default=2_000, validator=_POSITIVE)
    session: int = field(default=4_000, validator=_POSITIVE)
    working: int = field(default=8_000, validator=_POSITIVE)
    total: int = field(default=16_000, validator=_POSITIVE)
    """Tokens of all levels; volatile gets what the others leave."""
    session_minutes: float = field(default=30.0, validator=validators.ge(0))
    """Summaries older than this may be compressed further."""
    working_minutes: float = field(default=5.0, validator=validators.ge(0))
    """Turns older than this may be compressed."""
    trigger_percent: float = field(default=80.0, validator=_PERCENT)
    """Compression begins above this share of a budget."""
    verbatim_turns: int = field(default=2, validator=validators.ge(1))
    """Number of newest turns that are never compressed for space."""

    @property
    def trigger(self) -> float:
        """The trigger as a share, 0 to 1."""
        return self.trigger_percent / 100

    @property
    def target(self) -> float:
        """The share, 0 to 1, down to which compression goes, so that it is not due again soon and
        the prompt's beginning stays the same for many turns.
        """
        return self.trigger / 2

    def of(self, level: Level) -> int:
        """The budget of a level."""
        return {
            Level.PERMANENT: self.permanent,
            Level.SESSION: self.session,
            Level.WORKING: self.working,
            Level.VOLATILE: max(self.total - self.permanent - self.session - self.working, 0),
        }[level]

    def within(self, tokens: int) -> Budgets:
        """The same budgets, reduced in proportion to at most this many tokens in total."""
        if tokens >= self.total:
            return self
        share = max(tokens, 400) / self.total
        return evolve(
            self,
            permanent=max(int(self.permanent * share), 1),
            session=max(int(self.session * share), 1),
            working=max(int(self.working * share), 1),
            total=max(int(self.total * share), 1),
        )


@frozen
class LevelSummary:
    """A summary and its sources."""

    id: str
    level: Level
    text: str
    tokens: int
    sources: tuple[str, ...]
    """Ids of the messages that it was made from."""
    groups: tuple[str, ...]
    """The turns that it stands for, oldest first."""
    original_tokens: int
    title: str = ""
    """The first words of the task."""
    begun: float = 0.0
    """Minutes since 1970 of its first source."""
    ended: float = 0.0
    """Minutes since 1970 of its last source."""

    @property
    def ratio(self) -> float:
        """How many times shorter it is than its sources."""
        return self.original_tokens / max(self.tokens, 1)
