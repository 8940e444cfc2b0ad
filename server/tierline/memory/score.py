"""How important a piece of memory is now."""

from __future__ import annotations

from attrs import field, frozen

RECENCY, REFERENCES, RELEVANCE, EXPLICIT = 0.3, 0.2, 0.4, 0.1
"""Weights of the four parts."""


def recency(minutes: float) -> float:
    """``1 / (1 + minutes_since_created)``; 1 for what is new, and for a clock that went back."""
    return 1 / (1 + max(minutes, 0.0))


def references(later: int, total: int) -> float:
    """``times_mentioned_later / total_mentions``; 0 if it is never mentioned."""
    return min(max(later, 0) / total, 1.0) if total > 0 else 0.0


@frozen
class Score:
    """The four parts, each 0 to 1."""

    recency: float = 0.0
    references: float = 0.0
    relevance: float = 0.0
    """Similarity of the content to the current task, by words."""
    explicit: float = field(default=0.0)
    """1 if it was marked as important."""

    @property
    def total(self) -> float:
        """The weighted sum, 0 to 1."""
        return (
            RECENCY * self.recency
            + REFERENCES * self.references
            + RELEVANCE * self.relevance
            + EXPLICIT * self.explicit
        )
