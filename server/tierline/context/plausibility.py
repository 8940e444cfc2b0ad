"""Whether a provider's figure for a request is plausible, compared with our own count.

Some servers cut a long prompt silently and report the rest, or always report the same figure. Such
figures must not calibrate the counter, or every count would become too small.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from attrs import define, field

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
