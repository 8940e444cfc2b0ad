"""Topic boundaries: where a conversation turned to something else.

Two detectors, one result. :mod:`~tierline.history.boundaries.local` needs no model,
:mod:`~tierline.history.boundaries.model` makes the prompt for one and reads its answer.
"""

from __future__ import annotations

from attrs import field, frozen, validators

CONFIDENT = 0.5
"""A boundary counts from this confidence on."""
UNSURE = (0.25, 0.75)
"""Confidence of the local detector within which the mode ``auto`` asks a model as well."""


@frozen
class TopicBoundary:
    """Where a new topic begins."""

    boundary_index: int | None = None
    """Index of the first message of the new topic; None for no boundary."""
    boundary_reason: str = ""
    confidence: float = field(
        default=0.0, validator=[validators.ge(0.0), validators.le(1.0)], converter=float
    )
    summary: str = ""
    """The topic before the boundary, if the detector names it."""

    @property
    def sure(self) -> bool:
        """True if there is a boundary that may be acted on."""
        return self.boundary_index is not None and self.confidence >= CONFIDENT


SAFE_BOUNDARY = TopicBoundary()
"""The safe default: no boundary, no confidence. Every failure of a detector means this."""


def unsure(found: TopicBoundary) -> bool:
    """True if a second opinion is worth a request (mode ``auto``)."""
    return UNSURE[0] <= found.confidence < UNSURE[1]
