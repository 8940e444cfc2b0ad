"""Measure the scanner on shapes that its rules were not written from; ``--write`` the table.

PYTHONPATH=tests python -m support.secrettable --write      # docs/security.md, between its marks
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from attrs import frozen

from support.secretshapes import KEYS, NAMED, harmless, planted
from tierline.workspace.secrets import find

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
BEGIN, END = (
    "<!-- secret table: support.secrettable -->",
    "<!-- end of the secret table -->",
)


@frozen
class Measured:
    """Counts over planted keys and look-alikes."""

    planted: int
    found: int
    harmless: int
    wrong: list[str]
    missed: Counter[str]
    leaks: list[str]
    """Keys of which a piece of eight characters or more stays in the text."""

    @property
    def recall(self) -> float:
        return self.found / self.planted

    @property
    def precision(self) -> float:
        return self.found / (self.found + len(self.wrong))


def measure() -> Measured:
    """A key is found if it is covered but for its documented prefix; whatever is found in a
    look-alike is wrong.
    """
    total = found = count = 0
    wrong, missed, leaks = [], Counter[str](), []
    for name, text, start, end in planted():
        total += 1
        hits = [h for h in find(text) if h.start < end and h.end > start]
        if not hits:
            missed[name] += 1
            continue
        found += 1
        left = max((hits[0].start - start, end - hits[-1].end))
        if "://" not in text[start:end] and "BEGIN" not in text and left > 16:
            leaks.append(f"{name}: {text[start:end]}")
    for kind, text in harmless():
        count += 1
        wrong += [f"{kind}: {text[h.start : h.end][:60]!r} as {h.kind}" for h in find(text)]
    return Measured(total, found, count, wrong, missed, leaks)


def table(measured: Measured) -> str:
    """The paragraph for the page."""
    rows = [
        "| | number |", "| --- | ---: |",
        f"| shapes of keys, each in ten surroundings | {len(KEYS)} |",
        f"| shapes that only their names give away | {len(NAMED)} |",
        f"| keys planted | {measured.planted:,} |",
        f"| of them found (recall) | {measured.found:,} ({measured.recall:.1%}) |",
        f"| look-alikes | {measured.harmless:,} |",
        f"| places wrongly taken for a key | {len(measured.wrong):,} |",
        f"| precision | {measured.precision:.1%} |",
    ]  # fmt: skip
    often = sorted(name for name, times in measured.missed.items() if times > 1)
    said = f"Missed more than once: {', '.join(often)}." if often else "No shape is missed twice."
    return "\n".join([*rows, "", said])


def main() -> None:
    measured = measure()
    if "--write" in sys.argv:
        text = PAGE.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        PAGE.write_text(
            f"{before}{BEGIN}\n\n{table(measured)}\n\n{END}{rest.split(END)[1]}", encoding="utf-8"
        )
    else:
        sys.stdout.write(f"{table(measured)}\n")
        sys.stdout.write(
            "\n".join([*measured.wrong, *map(str, measured.missed.items()), *measured.leaks]) + "\n"
        )


if __name__ == "__main__":
    main()
