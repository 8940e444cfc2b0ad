"""What a session must cost at least, however its requests are ordered; independent of Tierline.

The content of a session is cut into units that any way of presenting it has to send: the system
prompt, every message in the form that it was said in, the name and every line of every file. A unit
that stays is the same unit from request to request; an edit brings new units only for the lines
that it wrote. Each unit is then sent as cheaply as a clairvoyant could, on its own: at each request
that needs it, it is read if it was kept alive, or sent plain, or written. Two things are added that
no order can spare:

* Lines that the model wrote itself, or has read with a tool, cost nothing while the message that
  has them is still sent; after that they are lines like any other.
* If somebody else changes a file while the cache is warm, either the request says so (the file's
  name, and one token for each place) or the whole file is sent anew instead of being read. The
  cheaper one is charged, once.

Orders, markers, minimum sizes, headings, fences, hashes, diffs' context and removed lines, and
reading dead bytes until they are rewritten are free. So the bound cannot be reached, only
approached; docs/tiers.md argues that it is one.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from benchmarks.cache_simulator import INPUT, READ, SECONDS, WRITE, Lifetimes

Lines: TypeAlias = Collection[str]
Held: TypeAlias = Mapping[str, Mapping[str, Lines]]


@dataclass
class Unit:
    """Something that has to be presented from one request to another, inclusive."""

    weight: float
    """Tokens."""
    first: int
    last: int
    said_in: str = ""
    """The message that holds it anyway; empty once that is no longer sent, or if there is none."""
    read_in: bool = False
    """That message has it word for word, and may be cut."""


@dataclass
class Bound:
    """Collects the units of a session."""

    times: list[float] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)
    """Least tokens for saying what others changed, by request."""
    _talk: dict[str, Unit] = field(default_factory=dict)
    _files: dict[str, tuple[list[str], list[Unit], Unit]] = field(default_factory=dict)

    def request(
        self,
        now: float,
        talk: Mapping[str, float],
        files: Mapping[str, str],
        own: Mapping[str, str],
        held: Held | None = None,
    ) -> None:
        """One request at ``now`` (seconds).

        Args:
            now: when it is sent, in seconds.
            talk: tokens of the system prompt and of every message, by an id.
            files: every file's text.
            own: for each file whose latest change is the model's own edit as proposed, the id of
                the message that holds the proposal.
            held: by file, then by id of a message: the lines of the file in it, without line ends.
        """
        place = len(self.times)
        self.times.append(now)
        self.changes.append(0.0)
        for key, tokens in talk.items():
            unit = self._talk.get(key)
            if unit is None or unit.last != place - 1:
                unit = self._talk[key] = self._unit(tokens, place)
            elif tokens < unit.weight:  # a result was cut: what was cut off ends here
                self.units.append(Unit(unit.weight - tokens, unit.first, unit.last))
                unit.weight = tokens
            unit.last = place
        shown = held or {}
        for path, text in files.items():
            there = {key: lines for key, lines in shown.get(path, {}).items() if key in talk}
            self._file(path, text, place, own.get(path, ""), talk, there)
        for path in [path for path in self._files if path not in files]:
            del self._files[path]
            self.changes[place] += _size(path)

    def cost(self, lifetimes: Lifetimes = ("5m", "1h")) -> float:
        """The bound, in the price of one input token, if writes may ask for these lifetimes."""
        gaps = tuple(b - a for a, b in zip(self.times, self.times[1:], strict=False))
        weights: dict[tuple[int, int], float] = defaultdict(float)
        for unit in self.units:
            if not unit.said_in:
                weights[unit.first, unit.last] += unit.weight
        shown = sum(
            weight * cheapest(gaps[first:last], lifetimes)
            for (first, last), weight in weights.items()
        )
        # After a longer pause everything may be new anyway, and then there is nothing to say.
        said = sum(
            tokens * INPUT
            for tokens, gap in zip(self.changes[1:], gaps, strict=True)
            if gap <= SECONDS["5m"]
        )
        return shown + said

    def _unit(self, weight: float, place: int, said_in: str = "") -> Unit:
        unit = Unit(weight, place, place, said_in)
        self.units.append(unit)
        return unit

    def _line(self, line: str, place: int, edit: str, there: Mapping[str, Lines]) -> Unit:
        if edit:
            return self._unit(_size(line), place, edit)
        said_in = next((key for key, lines in there.items() if line.rstrip("\r\n") in lines), "")
        unit = self._unit(_size(line), place, said_in)
        unit.read_in = bool(said_in)
        return unit

    def _file(
        self,
        path: str,
        text: str,
        place: int,
        edit: str,
        talk: Mapping[str, float],
        there: Mapping[str, Lines],
    ) -> None:
        lines = text.splitlines(keepends=True)
        if path not in self._files:
            units = [self._line(line, place, "", there) for line in lines]
            name = self._unit(_size(path), place)
        else:
            old_lines, old_units, name = self._files[path]
            units = old_units
            if lines != old_lines:
                units = self._changed(path, old_lines, old_units, lines, place, edit, there)
        name.last = place
        for unit, line in zip(units, lines, strict=True):
            unit.last = place
            gone = unit.read_in and line.rstrip("\r\n") not in there.get(unit.said_in, ())
            if unit.said_in and (gone or unit.said_in not in talk):
                unit.said_in, unit.first = "", place
        self._files[path] = (lines, units, name)

    def _changed(
        self,
        path: str,
        old: list[str],
        old_units: list[Unit],
        new: list[str],
        place: int,
        edit: str,
        there: Mapping[str, Lines],
    ) -> list[Unit]:
        units: list[Unit] = []
        places = 0
        kept = 0.0
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        for tag, a0, a1, b0, b1 in matcher.get_opcodes():
            if tag == "equal":
                units += old_units[a0:a1]
                kept += sum(_size(line) for line in old[a0:a1])
            else:
                places += 1
                units += [self._line(line, place, edit, there) for line in new[b0:b1]]
        if not edit:
            self.changes[place] += min(_size(path) + places, kept * (INPUT - READ))
        return units


def _size(text: str) -> float:
    return len(text.encode("utf-8")) / 4


@cache
def cheapest(gaps: tuple[float, ...], lifetimes: Lifetimes) -> float:
    """Cheapest way to present one token at a request and, after each gap, at the next one."""
    writes = [(ttl, WRITE[ttl]) for ttl in lifetimes]
    costs = {"none": INPUT, **dict(writes)}
    for gap in gaps:
        anyhow = min(costs.values())
        after = {state: anyhow + price for state, price in (("none", INPUT), *writes)}
        for ttl in lifetimes:
            if gap <= SECONDS[ttl]:
                after[ttl] = min(after[ttl], costs[ttl] + READ)
        costs = after
    return min(costs.values())
