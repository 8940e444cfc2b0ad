"""The searchable form of a workspace: words, names and references of every file.

Data that grow with the text (words, names, references) are in ``Postings``, which may be on disk;
here are the data of each file that are always needed, and the graph. A changed file gets a new
number and its old one is dead. Dead numbers are swept out once they are many, and reused.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from itertools import chain, compress

from attrs import define, field

from tierline.context.retrieval.graph import EdgeArrays, Graph, UndirectedEdges, run_to_end
from tierline.context.retrieval.postings import ListedPostings, PostingList, Postings, References
from tierline.context.retrieval.symbol import SourceFile, module_of
from tierline.context.retrieval.words import STOP, terms, terms_of_names

WEIGHTS = {"path": 8.0, "names": 5.0, "text": 1.0}
"""BM25F: how much a word counts by where it stands (Robertson, Zaragoza 2009, section 3.6)."""
K1 = 2.5
B = 0.6
MAX_DEFINERS = 12
"""Files that define one name; beyond this, the name does not tell which is meant."""
MAX_EDGES = 64
"""Edges that are kept of each file, the heaviest."""
IMPORT_WEIGHT = 2.0
BACKWARD = 0.4
"""Weight of the edge from a definition to its users, relative to that from use to definition."""
_SWEEP = 0.3
_MAX_USES = 65_535
_MAX_HELD = 200
_HELD = ord("1")
_SCORED_AT_ONCE = 20_000
_TF = 64
_MODULE = re.compile(r"[\w$@~.][\w$@~./:\\-]*")
_IMPORT_WORDS = frozenset(
    """import from as use using require include source static type export const let pub crate
    self super function namespace""".split()  # noqa: SIM905
)


@define
class CorpusEntry:
    """One file."""

    path: str
    language: str
    lines: int
    symbols: int
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

    postings: Postings = field(factory=ListedPostings)
    patient: bool = False
    """The owner calls ``sweeping`` and ``connecting`` itself, in steps."""
    entries: list[CorpusEntry] = field(factory=list)
    by_path: dict[str, int] = field(factory=dict)
    languages: Counter[str] = field(factory=Counter)
    """Number of files in each language."""
    symbols: int = 0
    _stems: dict[str, int | set[int]] = field(factory=dict)
    """Last part of a module path (or a file's name): the files that it may mean."""
    _counts: dict[str, int] = field(factory=dict)
    """Number of living files with a word, for words looked up since the last change."""
    _held: dict[str, int] = field(factory=dict)
    """The living files of such words as bit sets: a common word may be in all files."""
    _dead: set[int] = field(factory=set)
    _swept: set[int] = field(factory=set)
    """Dead numbers that only edges still refer to."""
    _free: list[int] = field(factory=list)
    _length: float = 0.0
    _edges: UndirectedEdges | None = None
    _stale: bool = True

    def __len__(self) -> int:
        return len(self.by_path)

    # --- upkeep ----------------------------------------------------------------------------------

    def put(self, file: SourceFile, words: Mapping[str, float]) -> None:
        """Add or replace a file. ``words`` is its ``document``."""
        self.remove(file.path)
        defines = dict.fromkeys(s.name for s in file.symbols if s.kind != "heading")
        uses = {name: n for name, n in file.uses.items() if name not in defines and len(name) > 2}
        entry = CorpusEntry(
            path=file.path,
            language=file.language,
            lines=file.lines,
            symbols=len(file.symbols),
            length=sum(words.values()),
        )
        number = self._free[-1] if self._free else len(self.entries)
        self.postings.add(number, words, defines, References(uses, file.imports))
        if self._free:
            self.entries[self._free.pop()] = entry
        else:
            self.entries.append(entry)
        self.by_path[file.path] = number
        self.languages[file.language] += 1
        self.symbols += entry.symbols
        self._length += entry.length
        for stem in _stems_of(file.path):
            known = self._stems.setdefault(stem, number)
            if isinstance(known, set):
                known.add(number)
            elif known != number:
                self._stems[stem] = {known, number}
        self._changed()

    def remove(self, path: str) -> bool:
        """Forget a file. True if it was known."""
        number = self.by_path.pop(path, None)
        if number is None:
            return False
        entry = self.entries[number]
        entry.alive = False
        self.languages[entry.language] -= 1
        self.symbols -= entry.symbols
        self._length -= entry.length
        for stem in _stems_of(path):
            known = self._stems[stem]
            if isinstance(known, set):
                known.discard(number)
            if not isinstance(known, set) or not known:
                del self._stems[stem]
        self._dead.add(number)
        self._changed()
        if self.crowded and not self.patient:
            run_to_end(self.sweeping())
        return True

    @property
    def crowded(self) -> bool:
        """True if enough numbers are dead to be swept out."""
        return len(self._dead) > 64 and len(self._dead) > _SWEEP * len(self.entries)

    def sweeping(self) -> Generator[None, None, None]:
        """Drop the data of dead numbers, in steps."""
        dead = frozenset(self._dead)
        yield from self.postings.sweep(dead)
        self._dead -= dead
        self._swept |= dead
        if not self.patient:
            self._edges = None
            self._release(dead)

    def _release(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._swept.discard(number)
            self._free.append(number)

    def _changed(self) -> None:
        self._counts.clear()
        self._held.clear()
        self._stale = True

    # --- search ----------------------------------------------------------------------------------

    def search(self, query: Mapping[str, float]) -> Generator[None, None, dict[int, float]]:
        """BM25F scores of the files that hold a word of the query, by number. Made in steps: a word
        may be in all files of a large workspace.
        """
        count = len(self.by_path)
        if not count:
            return {}
        mean = max(1.0, self._length / count)
        norms = array("d", (K1 * (1 - B + B * entry.length / mean) for entry in self.entries))
        scores: dict[int, float] = {}
        for word, weight in query.items():
            yield
            for entry in self.entries[len(norms) :]:  # added meanwhile
                norms.append(K1 * (1 - B + B * entry.length / mean))
            numbers, weights = self._living(word)
            if not numbers:
                continue
            rare = math.log(1 + (count - len(numbers) + 0.5) / (len(numbers) + 0.5))
            gain = rare * min(weight, 3.0) ** 0.5
            for start in range(0, len(numbers), _SCORED_AT_ONCE):
                some = slice(start, start + _SCORED_AT_ONCE)
                for number, tf in zip(numbers[some], weights[some], strict=True):
                    score = gain * tf * (K1 + 1) / (tf + norms[number])
                    scores[number] = scores.get(number, 0.0) + score
                yield
        return scores

    def _living(self, word: str) -> PostingList:
        numbers, weights = self.postings.holding(word)
        if not self._dead:
            return numbers, weights
        entries = self.entries
        alive = [entries[number].alive for number in numbers]
        return array("I", compress(numbers, alive)), array("f", compress(weights, alive))

    def _count(self, word: str) -> int:
        found = self._counts.get(word)
        if found is None:
            if len(self._counts) >= _MAX_HELD:
                self._counts.clear()
            found = self._counts[word] = len(self._living(word)[0])
        return found

    def holds(self, word: str, number: int) -> bool:
        """True if a file holds a word."""
        held = self._held.get(word)
        if held is None:
            if len(self._held) >= _MAX_HELD:
                self._held.clear()
            marks = bytearray(b"0") * (len(self.entries) + 1)
            for known in self._living(word)[0]:
                marks[-1 - known] = _HELD
            held = self._held[word] = int(marks, 2)
        return bool(held >> number & 1)

    def definers(self, name: str) -> set[int]:
        """Files that define a name."""
        return set(self._definers([name]).get(name, ()))

    def _definers(self, names: Sequence[str]) -> dict[str, list[int]]:
        """The living files that define each name."""
        found = self.postings.defining(names)
        living = {
            name: [n for n in files if self.entries[n].alive] for name, files in found.items()
        }
        return {name: files for name, files in living.items() if files}

    def names_like(self, letters: str, limit: int) -> list[tuple[str, set[int]]]:
        """Defined names that hold these letters, with the files that define them. Names that begin
        with them come first, short ones before long ones.
        """
        names = self.postings.like(letters.casefold(), 2 * limit)
        found = self._definers(names)
        return [(name, set(found[name])) for name in names if name in found][:limit]

    def rarity(self, word: str) -> float:
        """How much a word tells files apart (inverse document frequency); 0 if no file has it."""
        count = len(self.by_path)
        held = self._count(word)
        return math.log(1 + (count - held + 0.5) / (held + 0.5)) if held else 0.0

    # --- the reference graph ---------------------------------------------------------------------

    @property
    def stale(self) -> bool:
        """True if files have changed since the edges were computed."""
        return self._stale

    def edges(self, *, fresh: bool = True) -> UndirectedEdges:
        """Edges between files, by number: from use to definition, from import to module, and, with
        less weight, back. Without ``fresh``, edges from before the last changes are returned: they
        may lead to old numbers of files (``living``).
        """
        if self._edges is None or (fresh and self._stale):
            run_to_end(self.connecting())
        assert self._edges is not None
        while len(self._edges) < len(self.entries):
            self._edges.add()
        return self._edges

    def near(self, number: int) -> EdgeArrays:
        """The edges of a file as last computed; none for a newer file."""
        return self.edges(fresh=False)[number]

    def living(self, number: int) -> int | None:
        """The present number of the file that had this number; None if it is gone."""
        entry = self.entries[number]
        return number if entry.alive else self.by_path.get(entry.path)

    def forward(self, number: int) -> dict[int, float]:
        """What one file refers to, with weights."""
        refers = self.postings.references(number)
        defined = self._definers(list(refers.uses))
        out: dict[int, float] = {}
        for name, times in refers.uses.items():
            found = defined.get(name)
            if not found or len(found) > MAX_DEFINERS:
                continue
            weight = math.sqrt(min(times, _MAX_USES)) / len(found)
            for target in found:
                if target != number:
                    out[target] = out.get(target, 0.0) + weight
        for target in self._imported(number, refers.imports):
            out[target] = out.get(target, 0.0) + IMPORT_WEIGHT
        if len(out) > MAX_EDGES:
            out = dict(sorted(out.items(), key=lambda edge: -edge[1])[:MAX_EDGES])
        return out

    def connecting(self) -> Generator[None, None, None]:
        """Compute the edges anew, in steps. Until then the old ones hold."""
        swept, size = set(self._swept), len(self.entries)
        self._stale = False
        forward = Graph()
        for number in range(size):
            out = self.forward(number) if self.entries[number].alive else {}
            forward.add((n, w) for n, w in out.items() if n < size)
            if number % 10 == 9:
                yield
        if self._edges is not None:  # the old ones that led forward make room
            self._edges = UndirectedEdges.of(forward, self._edges.backward)
        backward = yield from forward.turned(MAX_EDGES, BACKWARD)
        self._edges = UndirectedEdges.of(forward, backward)
        self._release(swept)

    def _imported(self, number: int, imports: Sequence[str]) -> Iterable[int]:
        """The files of the workspace that a file's imports mean, by the longest matching path."""
        folder = self.entries[number].path.rpartition("/")[0]
        found: set[int] = set()
        for text in imports[:200]:
            for raw in _MODULE.findall(text):
                if raw in _IMPORT_WORDS:
                    continue
                parts = [p for p in re.split(r"[./:\\]+", raw) if p and p not in ("~", "@")]
                best = self._best(parts, folder)
                if best is not None and best != number:
                    found.add(best)
        return found

    def _best(self, parts: list[str], folder: str) -> int | None:
        """The file whose module path ends with these parts, the nearest of several."""
        for drop in (0, 1):
            tail = parts[: len(parts) - drop]
            if not tail:
                return None
            known = self._stems.get(tail[-1], set())
            candidates = known if isinstance(known, set) else {known}
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
