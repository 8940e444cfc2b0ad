"""Topic boundaries: where a conversation turned to something else.

Two detectors, one result. :mod:`~tierline.history.boundaries.local` needs no model,
:mod:`~tierline.history.boundaries.model` makes the prompt for one and reads its answer.
"""

from __future__ import annotations

from tierline.history.boundaries.base import SAFE_BOUNDARY, TopicBoundary, unsure

__all__ = ["SAFE_BOUNDARY", "TopicBoundary", "unsure"]
