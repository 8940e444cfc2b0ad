"""What do prompts bring that name code, only hint at it, or have nothing to do with it?

    python tests/benchmarks/retrieval_prompts.py
    python tests/benchmarks/retrieval_prompts.py --show    # every prompt that went wrong

The index is of the server's own source (``server/tierline``), whose words are those of everyday
English more often than most. Each prompt says which files answer it; none for prompts that need no
code. ``recall``: share of prompts with a card of one of those files; ``precision``: share of cards
that are of those files or of files beside them in the reference graph; ``quiet``: share of prompts
that bring nothing. ``undecided`` is the same without the decision whether a prompt is about code.
The words and thresholds of that decision were chosen with the first set in view; the prompts that
are ``held out`` were written afterwards and measured once.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from tierline.context.mode import LIMITS, ContextMode
from tierline.context.retrieval.graph import run_to_end
from tierline.context.retrieval.rank import RankQuery
from tierline.session.retrieval.service import CANDIDATES
from tierline.session.retrieval.touchpoints import CardReader, gather
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots
from tierline.workspace.symbols.index import SymbolIndex
from tierline.workspace.symbols.places import Folder
from tierline.workspace.symbols.worker import answer

HERE = Path(__file__).resolve().parents[2]
KINDS = ("named", "hint", "none")
PROMPTS = Path(__file__).with_name("retrieval_prompts.json")


@frozen
class Prompt:
    """A prompt and the files that answer it; none if it needs no code."""

    kind: str
    text: str
    files: tuple[str, ...]


def prompts(*, held_out: bool = False) -> list[Prompt]:
    """The labelled prompts, kind by kind."""
    value = json.loads(PROMPTS.read_text(encoding="utf-8"))
    value = value["held_out"] if held_out else value
    return [
        Prompt(kind, text, tuple(files))
        for kind in KINDS
        for text, *files in (row if isinstance(row, list) else [row] for row in value[kind])
    ]


class Measure:
    """The files of the cards that each prompt would bring in mode light."""

    def __init__(self, tree: Path) -> None:
        self.index = SymbolIndex([Folder("", str(tree.resolve()))], None)
        for _ in self.index.scan():
            pass
        self.reader = CardReader(Loader(Roots([str(tree.resolve())]), Buffers(dict, dict)))

    def cards(self, text: str, *, decide: bool = True) -> list[str]:
        """Paths of the cards' files, one per card."""
        limits = LIMITS[ContextMode.LIGHT]
        found = run_to_end(answer(self.index, RankQuery(text), CANDIDATES, self.index.file))
        if not decide:
            found["code"] = True
        candidates, _ = gather(
            found,
            limits,
            most_tokens=limits.retrieved_tokens,
            reader=self.reader,
            count=lambda card: len(card) // 4,
        )
        return [c.card.path for c in candidates if c.out is None]

    def beside(self, paths: Iterable[str]) -> set[str]:
        """These files and their neighbours in the reference graph."""
        corpus = self.index.corpus
        edges = corpus.edges()
        numbers = {corpus.by_path[path] for path in paths}
        near = numbers.union(*(edges[number] for number in numbers))
        return {corpus.entries[number].path for number in near}


def figures(measure: Measure, wanted: Sequence[Prompt], *, decide: bool) -> dict[str, float]:
    """Recall, precision and quiet of some prompts of one kind."""
    hit = cards = right = quiet = 0
    for prompt in wanted:
        found = measure.cards(prompt.text, decide=decide)
        quiet += not found
        cards += len(found)
        if prompt.files:
            hit += bool(set(found) & set(prompt.files))
            right += sum(path in measure.beside(prompt.files) for path in found)
    return {
        "prompts": len(wanted),
        "cards": round(cards / max(1, len(wanted)), 2),
        "recall": round(hit / max(1, len(wanted)), 3),
        "precision": round(right / cards, 3) if cards else 1.0,
        "quiet": round(quiet / max(1, len(wanted)), 3),
    }


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Measure every kind, before and after the decision, all and held out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="no difference here")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    options = parser.parse_args(list(arguments))
    measure = Measure(HERE / "server" / "tierline")
    rows, others = prompts(), prompts(held_out=True)
    result: dict[str, Any] = {}
    for kind in KINDS:
        mine = [row for row in rows if row.kind == kind]
        held = [row for row in others if row.kind == kind]
        result[kind] = {
            "undecided": figures(measure, [*mine, *held], decide=False),
            "chosen with": figures(measure, mine, decide=True),
            "held out": figures(measure, held, decide=True),
        }
    if options.show:
        for row in (*rows, *others):
            found = measure.cards(row.text)
            if bool(found) != bool(row.files) or (row.files and not set(found) & set(row.files)):
                print(f"{row.kind}: {row.text}\n    {found or 'nothing'}")
    return {"files": len(measure.index.corpus), "kinds": result}


if __name__ == "__main__":
    import sys

    print(json.dumps(main(sys.argv[1:]), indent=1))
