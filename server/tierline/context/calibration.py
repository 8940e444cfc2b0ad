"""Calibrating token estimates by the provider's own figures.

Claude has no public tokenizer, and a local model's may not be at hand, so text is counted with a
foreign encoding times a ratio. Each reply reports the true input size; the median of the recent
ratios is robust against the odd one out (a provider that leaves cached tokens out, a request with
parts that we do not count), unlike a mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any

from attrs import frozen

KEPT = 15
"""Observations kept; older ones are forgotten, because providers change tokenizers silently."""
ENOUGH = 3
"""Observations before the ratio counts as calibrated."""
_MIN_TOKENS = 100
_FARTHEST = math.log(4)
_SIGMAS = 2
_MAD_TO_SIGMA = 1.4826
MIN_MARGIN = 0.02
MAX_MARGIN = 0.5


@frozen
class Calibration:
    """The recent logarithms of reported size over raw count, oldest first."""

    samples: tuple[float, ...] = ()

    @property
    def calibrated(self) -> bool:
        """True once there are enough samples to be trusted over the starting ratio."""
        return len(self.samples) >= ENOUGH

    @property
    def ratio(self) -> float:
        """True tokens per counted token: the median of the samples, 1.0 without any.

        Rounded to one per cent, so that counts do not vary from turn to turn.
        """
        return round(math.exp(median(self.samples)), 2) if self.samples else 1.0

    @property
    def margin(self) -> float:
        """Error to allow for, as a fraction: two robust standard deviations, at least 2 %."""
        if not self.samples:
            return MAX_MARGIN
        middle = median(self.samples)
        spread = median(abs(sample - middle) for sample in self.samples)
        return min(max(_SIGMAS * _MAD_TO_SIGMA * spread, MIN_MARGIN), MAX_MARGIN)

    def observe(self, raw: float, reported: float) -> Calibration:
        """The calibration after one more reply: ``raw`` tokens were counted, ``reported`` were
        charged.

        Implausible figures (nothing reported, off by more than a factor of four) and small requests
        (under 100 tokens, where overheads dominate) change nothing.
        """
        if raw < _MIN_TOKENS or reported <= 0 or not math.isfinite(raw + reported):
            return self
        sample = math.log(reported / raw)
        if abs(sample) > _FARTHEST:
            return self
        return Calibration((*self.samples, round(sample, 6))[-KEPT:])

    def without_last(self) -> Calibration:
        """The calibration without the newest sample, which proved to be wrong."""
        return Calibration(self.samples[:-1])

    def to_json(self) -> dict[str, Any]:
        """What to persist."""
        return {"log_ratios": list(self.samples)}

    @classmethod
    def from_json(cls, value: Any) -> Calibration:
        """From persisted state, without implausible samples."""
        samples = value.get("log_ratios") if isinstance(value, Mapping) else None
        if not isinstance(samples, list):
            return cls()
        kept = [
            float(sample)
            for sample in samples
            if isinstance(sample, int | float)
            and not isinstance(sample, bool)
            and abs(sample) <= _FARTHEST
        ]
        return cls(tuple(kept[-KEPT:]))
