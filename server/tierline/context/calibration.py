"""Learns how a model's tokens relate to our encoder's, from the usage that the provider reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, log
from statistics import median
from typing import Any

from attrs import define, field

KEPT = 32
"""Observations kept; older ones are forgotten, because providers change tokenizers silently."""
ENOUGH = 3
"""Observations before the ratio counts as calibrated."""
_LOWEST, _HIGHEST = 0.25, 4.0
_MIN_TOKENS = 200
"""Smaller requests are dominated by overheads and say little about the ratio."""


@define
class Calibration:
    """A robust running ratio (median of recent observations), per model.

    The median ignores up to half of the observations being wrong, such as requests in which the
    provider counted something that we do not see.
    """

    ratios: list[float] = field(factory=list)

    def observe(self, estimated: int, reported: int) -> bool:
        """Take in one request: our encoder's count and the provider's. False if it was ignored."""
        if estimated < _MIN_TOKENS or reported < _MIN_TOKENS:
            return False
        ratio = reported / estimated
        if not _LOWEST <= ratio <= _HIGHEST:
            return False
        self.ratios = [*self.ratios, ratio][-KEPT:]
        return True

    @property
    def calibrated(self) -> bool:
        """True once there is enough to go by."""
        return len(self.ratios) >= ENOUGH

    def ratio(self, prior: float) -> float:
        """The model's tokens per encoder token; ``prior`` until it is calibrated."""
        return exp(median(map(log, self.ratios))) if self.calibrated else prior

    def margin(self, prior: float) -> float:
        """Relative error to allow for: three median deviations, at least 2 %."""
        if not self.calibrated:
            return prior
        middle = self.ratio(1.0)
        spread = median(abs(ratio / middle - 1) for ratio in self.ratios)
        return min(max(0.02, 3 * spread), prior)

    def to_json(self) -> dict[str, Any]:
        """State for the next run."""
        return {"ratios": [round(ratio, 5) for ratio in self.ratios]}

    @classmethod
    def from_json(cls, value: Any) -> Calibration:
        """State of an earlier run; nonsense is dropped."""
        raw: Iterable[Any] = value.get("ratios", ()) if isinstance(value, Mapping) else ()
        kept = [
            float(ratio)
            for ratio in (raw if isinstance(raw, list) else ())
            if isinstance(ratio, int | float) and _LOWEST <= ratio <= _HIGHEST
        ]
        return cls(kept[-KEPT:])
