"""Does the ranked map find the files that a commit touched, given the commit's message?

    python tests/benchmarks/retrieval_commits.py                    # this repository's history
    python tests/benchmarks/retrieval_commits.py --packages A B C   # and Debian source packages
    python tests/benchmarks/retrieval_commits.py --sources FOLDER   # and the packages in a folder

For each commit the index is at the parent's tree. Rankings of the same files see the same message:
the ranked map of the product; the same, which also knows the last ten files that earlier commits
touched, as the product knows what was edited lately; the files of the cards that the product would
put into the prompt in mode light (at most eight cards, 2,000 tokens); plain BM25 over paths and
contents (k1 1.2, b 0.75, one bag of words, the same word splitting); and chance. ``hit`` is the
share of commits of which at least one touched file is among the first k; ``recall`` the mean share
of touched files among them. Files that the commit creates cannot be found and do not count, nor
do those that the index does not hold (pictures and the like, 1 % of what commits touch here);
commits that touch more than 12 files are left out. ``--packages`` asks apt for source packages,
which must have a source list (deb-src).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.commit_sources import MAX_TOUCHED, Commit, GitHistory, PatchSeries
from benchmarks.quotes import commits_table
from tierline.context.mode import LIMITS, ContextMode
from tierline.context.retrieval.graph import run_to_end
from tierline.context.retrieval.rank import RankQuery, SignalWeights, rank_files
from tierline.context.retrieval.words import query_terms, terms
from tierline.session.retrieval.service import CANDIDATES
from tierline.session.retrieval.touchpoints import CardReader, gather
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots
from tierline.workspace.symbols.index import SymbolIndex
from tierline.workspace.symbols.places import Folder
from tierline.workspace.symbols.worker import answer

HERE = Path(__file__).resolve().parents[2]
KS = (5, 10)
RANKINGS = ("ranked map", "map, edited", "in the prompt", "BM25", "random")
PACKAGES = (
    "grub2", "imagemagick", "python-django", "mutter", "glib2.0", "ruby3.1",
)  # fmt: skip
"""Of several languages, and with many upstream commits among their patches."""


class PlainBm25:
    """The baseline: every file a bag of words, path included."""

    def __init__(self) -> None:
        self._bags: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._holders: dict[str, set[str]] = {}

    def put(self, path: str, text: str) -> None:
        self.remove(path)
        bag = terms(f"{path.replace('/', ' ')} {text}")
        self._bags[path] = bag
        self._lengths[path] = sum(bag.values())
        for word in bag:
            self._holders.setdefault(word, set()).add(path)

    def remove(self, path: str) -> None:
        for word in self._bags.pop(path, ()):
            self._holders[word].discard(path)
        self._lengths.pop(path, None)

    def ranked(self, message: str, limit: int) -> list[str]:
        count = len(self._bags)
        mean = sum(self._lengths.values()) / max(1, count)
        scores: dict[str, float] = {}
        for word in query_terms(message):
            holders = self._holders.get(word, ())
            idf = math.log(1 + (count - len(holders) + 0.5) / (len(holders) + 0.5))
            for path in holders:
                tf = self._bags[path][word]
                norm = 1.2 * (1 - 0.75 + 0.75 * self._lengths[path] / mean)
                scores[path] = scores.get(path, 0.0) + idf * tf * 2.2 / (tf + norm)
        return sorted(scores, key=lambda p: (-scores[p], p))[:limit]


def measure(
    source: Iterable[Commit], tree: Path, blend: SignalWeights | None, seed: int = 7
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """One row per commit with the places of its touched files in each ranking, and times."""
    chance = random.Random(seed)
    index: SymbolIndex | None = None
    plain = PlainBm25()
    rows: list[dict[str, Any]] = []
    lately: list[str] = []
    took: dict[str, float] = {"index": 0.0, "update": 0.0, "rank": 0.0}

    def refresh(keys: Iterable[str]) -> None:
        assert index is not None
        for key in keys:
            path = tree / key
            if key in index.corpus.by_path and path.is_file():
                plain.put(key, path.read_bytes().decode("utf-8", "replace"))
            else:
                plain.remove(key)

    for commit in source:
        if index is None:
            began = time.perf_counter()
            index = SymbolIndex([Folder("", str(tree.resolve()))], None)
            roots = Roots([str(tree.resolve())])
            reader = CardReader(Loader(roots, Buffers(dict, dict)))
            for _ in index.scan():
                pass
            took["index"] = time.perf_counter() - began
            refresh(index.corpus.by_path)
        else:
            began = time.perf_counter()
            run_to_end(index.changed([str(tree.resolve() / key) for key in commit.changed]))
            took["update"] += time.perf_counter() - began
            refresh(commit.changed)
        known = index.corpus.by_path
        touched = [path for path in commit.touched if path in known]
        if not touched or len(commit.touched) > MAX_TOUCHED or len(commit.message.split()) < 3:
            continue
        before, lately = lately, [*touched, *(p for p in lately if p not in touched)][:10]
        began = time.perf_counter()
        found = run_to_end(
            rank_files(
                index.corpus,
                RankQuery(commit.message),
                central=index.central(),
                blend=blend,
                limit=10,
            )
        )
        took["rank"] += time.perf_counter() - began
        shuffled = sorted(known)
        recent = RankQuery(commit.message, edited=tuple(before))
        edited = run_to_end(
            rank_files(index.corpus, recent, central=index.central(), blend=blend, limit=10)
        )
        rankings = {
            "ranked map": [file.path for file in found.files],
            "map, edited": [file.path for file in edited.files],
            "in the prompt": in_the_prompt(index, commit.message, reader),
            "BM25": plain.ranked(commit.message, 10),
            "random": chance.sample(shuffled, min(10, len(shuffled))),
        }
        rows.append(
            {
                "id": commit.id,
                "files": len(known),
                "touched": len(touched),
                "message": commit.message.splitlines()[0][:80],
                **{
                    name: [ranking.index(p) + 1 if p in ranking else 0 for p in touched]
                    for name, ranking in rankings.items()
                },
            }
        )
    return rows, took


def in_the_prompt(index: SymbolIndex, message: str, reader: CardReader) -> list[str]:
    """The files of the cards that the product sends with a prompt in mode light, the best first."""
    limits = LIMITS[ContextMode.LIGHT]
    found, _ = gather(
        run_to_end(answer(index, RankQuery(message), CANDIDATES, index.file)),
        limits,
        most_tokens=limits.retrieved_tokens,
        reader=reader,
        count=lambda text: len(text) // 4,
    )
    return list(dict.fromkeys(c.card.path for c in found if c.out is None))


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Hit rate and recall at each k by ranking."""
    figures: dict[str, dict[str, float]] = {}
    for name in RANKINGS:
        values: dict[str, float] = {}
        for k in KS:
            within = [[0 < place <= k for place in row[name]] for row in rows]
            values[f"hit@{k}"] = round(sum(map(any, within)) / max(1, len(rows)), 3)
            values[f"recall@{k}"] = round(
                sum(sum(w) / min(k, len(w)) for w in within) / max(1, len(rows)), 3
            )
        first = [min((p for p in row[name] if p), default=0) for row in rows]
        values["mrr@10"] = round(sum(1 / p for p in first if p) / max(1, len(rows)), 3)
        figures[name] = values
    return figures


def fetch(packages: Sequence[str], folder: Path) -> list[Path]:
    """Source packages by the system's package client. Those that it does not have are skipped."""
    for package in packages:
        ended = subprocess.run(
            ["apt-get", "source", "--download-only", "-qq", package],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ended.returncode:
            print(f"{package}: not to be had", file=sys.stderr)
    return sorted(folder.glob("*.dsc"))


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Measure every source in one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="with the default source packages")
    parser.add_argument("--packages", nargs="*", default=[])
    parser.add_argument("--sources", type=Path, help="a folder with downloaded source packages")
    parser.add_argument("--repository", type=Path, default=HERE)
    parser.add_argument("--rows", type=Path, help="write a row per commit here (JSON)")
    parser.add_argument("--half", choices=("even", "odd"), help="every other commit only")
    parser.add_argument("--blend", type=json.loads, default={}, help="other weights, as JSON")
    options = parser.parse_args(list(arguments))
    blend = SignalWeights(**options.blend)
    everything: list[dict[str, Any]] = []
    by_source: list[dict[str, Any]] = []

    def take(name: str, source: Iterable[Commit], tree: Path) -> None:
        rows, took = measure(source, tree, blend)
        if options.half:
            rows = [r for n, r in enumerate(rows) if n % 2 == (options.half == "odd")]
        if not rows:
            return
        everything.extend({"source": name, **row} for row in rows)
        by_source.append(_row(name, rows, max(r["files"] for r in rows)))
        print(name, len(rows), summary(rows)["ranked map"], took, file=sys.stderr)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "own").mkdir()
        history = GitHistory(options.repository, folder / "own")
        take("this repository", history, history.tree)
        packages = options.packages or (PACKAGES if options.full else ())
        if packages:
            (folder / "dl").mkdir()
        found = fetch(packages, folder / "dl") if packages else []
        if options.sources:
            found += sorted(options.sources.glob("*.dsc"))
        for number, description in enumerate(found):
            place = folder / str(number)
            place.mkdir()
            try:
                series = PatchSeries(description, place)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{description.stem} was not unpacked: {error}", file=sys.stderr)
                continue
            take(series.name, series, series.tree)
            subprocess.run(["rm", "-rf", str(place)], check=False)
    if options.rows:
        options.rows.write_text(json.dumps(everything, indent=1), encoding="utf-8")
    figures = summary(everything)
    return {
        "commits": len(everything),
        "sources": len(by_source),
        **{name.replace(" ", "_"): values for name, values in figures.items()},
        "by_source": [*by_source, _row("all", everything, 0)],
    }


def table(figures: dict[str, Any]) -> str:
    """Sources by rankings, as Markdown."""
    return commits_table(figures)


def _row(name: str, rows: Sequence[dict[str, Any]], files: int) -> dict[str, Any]:
    figures = summary(rows)
    row: dict[str, Any] = {"source": name, "commits": len(rows), "files": files}
    for k in KS:
        for measure_name in (f"hit@{k}", f"recall@{k}"):
            for ranking in RANKINGS:
                row[f"{ranking} {measure_name}"] = figures[ranking][measure_name]
    return row


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:]), indent=1))
