"""How sure a token count is."""

from __future__ import annotations

from enum import StrEnum


class Accuracy(StrEnum):
    """How a count came about."""

    EXACT = "exact"
    """The model's own encoding."""
    CALIBRATED = "calibrated"
    """Another encoding, corrected by what the provider has reported."""
    ESTIMATED = "estimated"
    """Another encoding times a starting ratio, or the length alone."""
