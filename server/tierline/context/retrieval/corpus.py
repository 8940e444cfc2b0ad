"""The searchable form of a workspace: words, names and references of every file, compactly.

Strings are interned and kept as numbers in arrays, so that ten thousand files fit into some tens of
megabytes. A file that changes gets a new number and its old one is dead; dead ones are swept out
when they are many.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from attrs import define, field

from tierline.context.retrieval.graph import Compact
from tierline.context.retrieval.symbol import SourceFile, module_of
from tierline.context.retrieval.words import STOP, terms, terms_of_names

WEIGHTS = {"path": 8.0, "names": 5.0, "text": 1.0}
"""BM25F: how much a word counts by where it stands (Robertson, Zaragoza 2009, section 3.6)."""
K1 = 2.5
B = 0.6
MAX_DEFINERS = 12
"""A name that more files define says nothing about which one is meant."""
MAX_EDGES = 64
"""Edges of a file that are kept, the heaviest."""
IMPORT_WEIGHT = 2.0
BACKWARD = 0.4
"""Weight of the way from a definition to its users, against that from use to definition."""
_SWEEP = 0.3
_TF = 64
_MODULE = re.compile(r"[\w$@~.][\w$@~./:\\-]*")
_IMPORT_WORDS = frozenset(
    """import from as use using require include source static type export const let pub crate
    self super function namespace""".split()  # noqa: SIM905
)


@define
class CorpusEntry:
    """One file, in numbers."""

    path: str
    language: str
    lines: int
    defines: array[int]
    uses: array[int]
    counts: array[int]
    imports: tuple[str, ...]
    length: float
    """Weighted number of words (BM25F's document length)."""
    alive: bool = True


def document(file: SourceFile) -> dict[str, float]:
    """The weighted word counts of a file: what the search index stores of its text."""
    found: dict[str, float] = {}
    stem = file.path.rpartition(".")[0] or file.path
    parts = (
        (terms(stem.replace("/", " ")), WEIGHTS["path"]),
        (terms_of_names((s.name, 1) for s in file.symbols), WEIGHTS["names"]),
        (terms_of_names(file.uses.items()), WEIGHTS["text"]),
        (terms(file.words), WEIGHTS["text"]),
    )
    for counts, weight in parts:
        for word, times in counts.items():
            if word not in STOP:
                found[word] = found.get(word, 0.0) + weight * min(times, _TF)
    return found


@define
class Corpus:
    """Everything that ranks files."""

    entries: list[CorpusEntry] = field(factory=list)
    by_path: dict[str, int] = field(factory=dict)
    _names: dict[str, int] = field(factory=dict)
    _definers: dict[int, array[int]] = field(factory=dict)
    _users: dict[int, array[int]] = field(factory=dict)
    _stems: dict[str, set[int]] = field(factory=dict)
    """Last part of a module path (or a file's name): the files that it may mean."""
    _postings: dict[str, tuple[array[int], array[float]]] = field(factory=dict)
    _dead: int = 0
    _length: float = 0.0
    _edges: list[Compact] | None = None
    _stale: bool = True

    def __len__(self) -> int:
        return len(self.by_path)

    # --- upkeep ----------------------------------------------------------------------------------

    def put(self, file: SourceFile, words: Mapping[str, float]) -> None:
        """Add a file or replace what is known of it. ``words`` is its ``document``."""
        self.remove(file.path)
        number = len(self.entries)
        defines = Counter(symbol.name for symbol in file.symbols if symbol.kind != "heading")
        own = set(defines)
        used = [(name, n) for name, n in file.uses.items() if name not in own and len(name) > 2]
        entry = CorpusEntry(
            path=file.path,
            language=file.language,
            lines=file.lines,
            defines=array("I", (self._name(name) for name in defines)),
            uses=array("I", (self._name(name) for name, _ in used)),
            counts=array("H", (min(n, 65_535) for _, n in used)),
            imports=file.imports,
            length=sum(words.values()),
        )
        self.entries.append(entry)
        self.by_path[file.path] = number
        self._length += entry.length
        for name in entry.defines:
            self._definers.setdefault(name, array("I")).append(number)
        for name in entry.uses:
            self._users.setdefault(name, array("I")).append(number)
        for stem in _stems_of(file.path):
            self._stems.setdefault(stem, set()).add(number)
        for word, weight in words.items():
            numbers, weights = self._postings.setdefault(word, (array("I"), array("f")))
            numbers.append(number)
            weights.append(weight)
        self._stale = True

    def remove(self, path: str) -> bool:
        """Forget a file. True if it was known."""
        number = self.by_path.pop(path, None)
        if number is None:
            return False
        entry = self.entries[number]
        entry.alive = False
        self._length -= entry.length
        for name in entry.defines:
            self._definers[name].remove(number)
        for stem in _stems_of(path):
            self._stems[stem].discard(number)
        self._dead += 1
        self._stale = True
        if self._dead > 64 and self._dead > _SWEEP * len(self.entries):
            self._sweep()
        return True

    def _name(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _sweep(self) -> None:
        """Number the living anew and drop what belonged to the dead."""
        new: dict[int, int] = {}
        for number, entry in enumerate(self.entries):
            if entry.alive:
                new[number] = len(new)
        self.entries = [entry for entry in self.entries if entry.alive]
        self.by_path = {entry.path: place for place, entry in enumerate(self.entries)}
        self._definers = {
            name: array("I", (new[n] for n in numbers)) for name, numbers in self._definers.items()
        }
        self._stems = {stem: {new[n] for n in numbers} for stem, numbers in self._stems.items()}
        self._users = {
            name: array("I", (new[n] for n in numbers if n in new))
            for name, numbers in self._users.items()
        }
        postings: dict[str, tuple[array[int], array[float]]] = {}
        for word, (numbers, weights) in self._postings.items():
            kept = [(new[n], w) for n, w in zip(numbers, weights, strict=True) if n in new]
            if kept:
                postings[word] = (
                    array("I", (n for n, _ in kept)), array("f", (w for _, w in kept))
                )  # fmt: skip
        self._postings = postings
        self._dead = 0
        self._edges = None

    # --- search ----------------------------------------------------------------------------------

    def search(self, query: Mapping[str, float]) -> dict[int, float]:
        """BM25F scores of the files that hold a word of the query, by number."""
        count = len(self.by_path)
        if not count:
            return {}
        mean = max(1.0, self._length / count)
        scores: dict[int, float] = {}
        for word, weight in query.items():
            found = self._postings.get(word)
            if found is None:
                continue
            living = [(n, w) for n, w in zip(*found, strict=True) if self.entries[n].alive]
            if not living:
                continue
            rare = math.log(1 + (count - len(living) + 0.5) / (len(living) + 0.5))
            gain = rare * min(weight, 3.0) ** 0.5
            for number, tf in living:
                norm = K1 * (1 - B + B * self.entries[number].length / mean)
                score = gain * tf * (K1 + 1) / (tf + norm)
                scores[number] = scores.get(number, 0.0) + score
        return scores

    def holds(self, word: str, number: int) -> bool:
        """True if a file holds a word."""
        found = self._postings.get(word)
        if found is None:
            return False
        place = bisect_left(found[0], number)
        return place < len(found[0]) and found[0][place] == number

    def definers(self, name: str) -> set[int]:
        """Files that define a name."""
        number = self._names.get(name)
        return set(self._definers.get(number, ())) if number is not None else set()

    def names_like(self, letters: str, most: int) -> list[tuple[str, set[int]]]:
        """Defined names that hold these letters, with the files that define them. Names that begin
        with them come first, short ones before long ones.
        """
        wanted = letters.casefold()
        found = [
            (name, set(files))
            for name, number in self._names.items()
            if wanted in name.casefold() and (files := self._definers.get(number))
        ]
        found.sort(key=lambda one: (not one[0].casefold().startswith(wanted), len(one[0]), one[0]))
        return found[:most]

    def users(self, name: str) -> list[int]:
        """Files that use a name and do not define it."""
        number = self._names.get(name)
        found = self._users.get(number, ()) if number is not None else ()
        return [n for n in found if self.entries[n].alive]

    def rarity(self, word: str) -> float:
        """How much a word tells files apart (inverse document frequency); 0 if no file has it."""
        count = len(self.by_path)
        found = self._postings.get(word)
        held = sum(self.entries[n].alive for n in found[0]) if found else 0
        return math.log(1 + (count - held + 0.5) / (held + 0.5)) if held else 0.0

    # --- the reference graph ---------------------------------------------------------------------

    @property
    def stale(self) -> bool:
        """True if files have changed since the edges were computed."""
        return self._stale

    def edges(self, *, fresh: bool = True) -> list[Compact]:
        """Edges between files, by number: from use to definition, from import to module, and, with
        less weight, back. Without ``fresh`` those of before the last changes will do: they may lead
        to numbers of files that have another now (``living``).
        """
        if self._edges is None or (fresh and self._stale):
            self._edges = self._connected()
            self._stale = False
        self._edges.extend(Compact() for _ in range(len(self.entries) - len(self._edges)))
        return self._edges

    def living(self, number: int) -> int | None:
        """The present number of the file that had this number; None if it is gone."""
        entry = self.entries[number]
        return number if entry.alive else self.by_path.get(entry.path)

    def forward(self, number: int) -> dict[int, float]:
        """What one file refers to, with weights."""
        entry = self.entries[number]
        out: dict[int, float] = {}
        for name, times in zip(entry.uses, entry.counts, strict=True):
            found = self._definers.get(name)
            if not found or len(found) > MAX_DEFINERS:
                continue
            weight = math.sqrt(times) / len(found)
            for target in found:
                if target != number:
                    out[target] = out.get(target, 0.0) + weight
        for target in self._imported(number):
            out[target] = out.get(target, 0.0) + IMPORT_WEIGHT
        if len(out) > MAX_EDGES:
            out = dict(sorted(out.items(), key=lambda edge: -edge[1])[:MAX_EDGES])
        return out

    def _connected(self) -> list[Compact]:
        edges = [
            Compact.of(self.forward(number)) if entry.alive else Compact()
            for number, entry in enumerate(self.entries)
        ]
        backward = [Compact() for _ in self.entries]
        for number, out in enumerate(edges):
            for target, weight in out.items():
                backward[target].targets.append(number)
                backward[target].weights.append(weight)
        for number, back in enumerate(backward):
            found = list(back.items())
            if len(found) > MAX_EDGES:
                found.sort(key=lambda edge: -edge[1])
            both = dict(edges[number].items())
            for source, weight in found[:MAX_EDGES]:
                both[source] = both.get(source, 0.0) + BACKWARD * weight
            edges[number] = Compact.of(both)
        return edges

    def _imported(self, number: int) -> Iterable[int]:
        """The files of the workspace that a file's imports mean, by the longest matching path."""
        entry = self.entries[number]
        folder = entry.path.rpartition("/")[0]
        found: set[int] = set()
        for text in entry.imports[:200]:
            for raw in _MODULE.findall(text):
                if raw in _IMPORT_WORDS:
                    continue
                parts = [p for p in re.split(r"[./:\\]+", raw) if p and p not in ("~", "@")]
                best = self._best(parts, folder)
                if best is not None and best != number:
                    found.add(best)
        return found

    def _best(self, parts: list[str], folder: str) -> int | None:
        """The file whose module path ends like this one's, the nearest of several."""
        for drop in (0, 1):
            tail = parts[: len(parts) - drop]
            if not tail:
                return None
            candidates = self._stems.get(tail[-1])
            if not candidates or len(candidates) > 200:
                continue
            scored = []
            for number in candidates:
                module = module_of(self.entries[number].path).split(".")
                same = 0
                for a, b in zip(reversed(module), reversed(tail), strict=False):
                    if a != b:
                        break
                    same += 1
                near = _common(self.entries[number].path, folder)
                scored.append((same, near, -number))
            same, _, number = max(scored)
            if same >= min(len(tail), 2) or (same == 1 and len(candidates) == 1):
                return -number
        return None


def _stems_of(path: str) -> Iterable[str]:
    module = module_of(path)
    name = path.rpartition("/")[2]
    return dict.fromkeys(chain((module.rpartition(".")[2],), (name.partition(".")[0],)))


def _common(path: str, folder: str) -> int:
    same = 0
    for a, b in zip(path.split("/"), folder.split("/"), strict=False):
        if a != b:
            break
        same += 1
    return same
