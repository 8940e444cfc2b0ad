"""The cache outcome of a request."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How much of the part that had been sent before was read from the cache."""

    HIT = "hit"
    """Everything that was left in the cache was read."""
    PARTIAL = "partial"
    """Some of it was read."""
    MISS = "miss"
    """None of it was read."""
    FIRST = "first"
    """Nothing had been sent before."""
    UNKNOWN = "unknown"
    """The provider did not report it."""
    UNCACHED = "uncached"
    """There is no cache, or the prompt is too small for it."""
