"""What a session must cost at least, however its requests are ordered; independent of Tierline.

The content of a session is cut into units that any way of presenting it has to send: the system
prompt, every message, every line of every file version. A unit that stays is the same unit from
request to request; an edit brings new units only for the lines that it wrote. Lines that the model
wrote itself cost nothing here, as the model's message holds them already.

Each unit is then sent as cheaply as a clairvoyant could, on its own: at each request that needs it,
it is read if it was kept alive, or sent plain, or written for five minutes or an hour. Orders,
markers, minimum sizes, headings, diffs' context lines and all dead bytes are free. The sum over all
units is the bound; see docs/tiers.md.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache

from benchmarks.cache_simulator import INPUT, READ, SECONDS, WRITE


@dataclass
class Unit:
    """Something that has to be presented from one request to another, inclusive."""

    weight: float
    first: int
    last: int


@dataclass
class Bound:
    """Collects the units of a session."""

    times: list[float] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    _talk: dict[str, Unit] = field(default_factory=dict)
    _files: dict[str, tuple[list[str], list[Unit]]] = field(default_factory=dict)

    def request(
        self, now: float, talk: dict[str, str], files: dict[str, str], own: frozenset[str]
    ) -> None:
        """One request: the messages by an id, the files as they are. ``own`` names the files whose
        latest change the model itself made, as proposed.
        """
        place = len(self.times)
        self.times.append(now)
        for key, text in talk.items():
            unit = self._talk.get(key)
            if unit is None or unit.last != place - 1:
                unit = self._unit(len(text.encode("utf-8")) / 4, place)
                self._talk[key] = unit
            unit.last = place
        for path, text in files.items():
            self._file(path, text, place, path in own)
        for path in [path for path in self._files if path not in files]:
            del self._files[path]

    def cost(self) -> float:
        """The bound, in the price of one input token."""
        weights: dict[tuple[int, int], float] = defaultdict(float)
        for unit in self.units:
            weights[unit.first, unit.last] += unit.weight
        gaps = tuple(b - a for a, b in zip(self.times, self.times[1:], strict=False))
        return sum(weight * cheapest(gaps[first:last]) for (first, last), weight in weights.items())

    def _unit(self, weight: float, place: int) -> Unit:
        unit = Unit(weight, place, place)
        self.units.append(unit)
        return unit

    def _file(self, path: str, text: str, place: int, own: bool) -> None:
        lines = text.splitlines(keepends=True)
        old_lines, old_units = self._files.get(path, ([], []))
        if lines == old_lines:
            units = old_units
        else:
            units = []
            matcher = difflib.SequenceMatcher(None, old_lines, lines, autojunk=False)
            for tag, a0, a1, b0, b1 in matcher.get_opcodes():
                if tag == "equal":
                    units += old_units[a0:a1]
                else:
                    units += [
                        self._unit(0.0 if own else len(line.encode("utf-8")) / 4, place)
                        for line in lines[b0:b1]
                    ]
        for unit in units:
            unit.last = place
        self._files[path] = (lines, units)


@cache
def cheapest(gaps: tuple[float, ...]) -> float:
    """Cheapest way to present one token at a request and, after each gap, at the next one."""
    costs = {"none": INPUT, **WRITE}
    for gap in gaps:
        after: dict[str, float] = {}
        anyhow = min(costs.values())
        for state, price in (("none", INPUT), *WRITE.items()):
            after[state] = anyhow + price
        for state, seconds in SECONDS.items():
            if gap <= seconds:
                after[state] = min(after[state], costs[state] + READ)
        costs = after
    return min(costs.values())
