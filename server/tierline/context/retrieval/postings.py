"""The inverted index of a corpus: its interface, and an implementation in memory.

Entries may name dead files, which callers must skip. ``sweep`` removes them.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from attrs import define, field, frozen

PostingList: TypeAlias = tuple[Sequence[int], Sequence[float]]
"""Numbers of files, and the weight of a word in each."""


@frozen
class References:
    """What a file refers to: names with how often it uses them, and imports as written."""

    uses: Mapping[str, int] = field(factory=dict)
    imports: tuple[str, ...] = ()


class Postings(Protocol):
    """Words, names and references by the numbers of files."""

    def add(
        self, number: int, words: Mapping[str, float], defines: Iterable[str], refers: References
    ) -> None:
        """Add a file under an unused number."""

    def holding(self, word: str) -> PostingList:
        """The files that hold a word."""

    def defining(self, names: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """The files that define each name, for names that are defined."""

    def references(self, number: int) -> References:
        """What a file refers to."""

    def like(self, letters: str, limit: int) -> list[str]:
        """Names with these letters (case-folded): those that begin so first, then short ones."""

    def sweep(self, dead: Container[int]) -> Iterator[None]:
        """Forget these files, in steps."""


@define
class ListedPostings:
    """Postings in memory, for small short-lived corpora."""

    _words: dict[str, tuple[array[int], array[float]]] = field(factory=dict)
    _names: dict[str, array[int]] = field(factory=dict)
    _refers: dict[int, References] = field(factory=dict)

    def add(
        self, number: int, words: Mapping[str, float], defines: Iterable[str], refers: References
    ) -> None:
        """See ``Postings``."""
        for word, weight in words.items():
            numbers, weights = self._words.setdefault(word, (array("I"), array("f")))
            numbers.append(number)
            weights.append(weight)
        for name in defines:
            self._names.setdefault(name, array("I")).append(number)
        self._refers[number] = refers

    def holding(self, word: str) -> PostingList:
        """See ``Postings``."""
        return self._words.get(word, ((), ()))

    def defining(self, names: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """See ``Postings``."""
        return {name: found for name in names if (found := self._names.get(name))}

    def references(self, number: int) -> References:
        """See ``Postings``."""
        return self._refers.get(number, References())

    def like(self, letters: str, limit: int) -> list[str]:
        """See ``Postings``."""
        return in_order((name for name in self._names if letters in name.casefold()), letters)[
            :limit
        ]

    def sweep(self, dead: Container[int]) -> Iterator[None]:
        """See ``Postings``."""
        for word, (numbers, weights) in list(self._words.items()):
            kept = [(n, w) for n, w in zip(numbers, weights, strict=True) if n not in dead]
            if not kept:
                del self._words[word]
            elif len(kept) < len(numbers):
                self._words[word] = (
                    array("I", (n for n, _ in kept)),
                    array("f", (w for _, w in kept)),
                )
        for name, files in list(self._names.items()):
            if left := [n for n in files if n not in dead]:
                self._names[name] = array("I", left)
            else:
                del self._names[name]
        self._refers = {n: refers for n, refers in self._refers.items() if n not in dead}
        yield


def in_order(names: Iterable[str], letters: str) -> list[str]:
    """Names in the order of ``Postings.like``."""
    return sorted(names, key=lambda n: (not n.casefold().startswith(letters), len(n), n))
