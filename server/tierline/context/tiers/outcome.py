"""What a provider's cache gave a request."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What became of the part that had been sent before."""

    HIT = "hit"
    """All that was left in the cache was read."""
    PARTIAL = "partial"
    """Some of it."""
    MISS = "miss"
    """Nothing of it."""
    FIRST = "first"
    """Nothing had been sent before."""
    UNKNOWN = "unknown"
    """The provider did not say."""
    UNCACHED = "uncached"
    """There is no cache, or what was sent is too small for it."""
