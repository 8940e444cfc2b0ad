"""Calibrating token estimates by the provider's own figures.

Claude has no public tokenizer, and a local model's may not be at hand, so text is counted with a
foreign encoding times a ratio. Each reply reports the true input size; the median of the recent
ratios is robust against the odd one out (a provider that leaves cached tokens out, a request with
parts that we do not count), unlike a mean.

Some servers cut a long prompt silently and report the rest, or always report the same figure. Such
figures must not calibrate the counter, or every count would become too small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any, Literal, TypeAlias

from attrs import define, field, frozen

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


Verdict: TypeAlias = Literal["plausible", "odd", "cut", "constant"]
"""odd: too far off to learn from; cut: the prompt seems to have been truncated; constant: the same
figure for different prompts."""

_LEAST, _MOST = 0.6, 2.5
"""Bounds of reported over counted tokens. Tokenizers differ by less."""
_CUT = 0.5
_MISSING = 1_500
_CERTAIN = 1_000
"""Tokens; below this, overheads and rounding can explain any difference."""
_DIFFERENT = 0.25
_DIFFERENCE = 500
_STEP = 20
_STEP_SHARE = 0.01
_ENOUGH = 3
_AGREEING = 0.15


@define
class Plausibility:
    """Judges the reports of one model, one after the other."""

    _estimated: int = 0
    _reported: int = 0
    _constant: int = 0
    """A figure that the server reports whatever is sent; 0 if there is none."""
    _odd: list[tuple[float, int]] = field(factory=list)

    def judge(self, estimated: int, reported: int) -> Verdict:
        """The verdict on a report. ``estimated`` is our count with the ratio in force."""
        was_estimated, was_reported = self._estimated, self._reported
        self._estimated, self._reported = estimated, reported
        apart = abs(estimated - was_estimated)
        same = reported == was_reported
        if same and apart > max(_DIFFERENCE, _DIFFERENT * max(estimated, was_estimated)):
            self._constant = reported
        if reported >= _CERTAIN and reported == self._constant:
            return "constant"
        if _CERTAIN <= reported < min(_CUT * estimated, estimated - _MISSING):
            return "cut"
        unmoved = same and apart > max(_STEP, _STEP_SHARE * estimated)
        if unmoved or not _LEAST <= reported / max(1, estimated) <= _MOST:
            return "odd"
        self._odd.clear()
        return "plausible"

    def agreed(self, raw: float, reported: int) -> tuple[float, ...]:
        """Add one odd figure over our raw count. If several in a row agree in their ratio and
        differ in value, the counter was wrong: returns the logarithms of the ratios, else nothing.
        """
        if raw <= 0 or reported <= 0:
            return ()
        self._odd.append((math.log(reported / raw), reported))
        self._odd[:] = self._odd[-_ENOUGH:]
        logs = [log for log, _ in self._odd]
        figures = {figure for _, figure in self._odd}
        if len(figures) < _ENOUGH or max(logs) - min(logs) > _AGREEING:
            return ()
        self._odd.clear()
        return tuple(round(log, 6) for log in logs)
