"""Candidate touchpoints: ranked files and symbols become cards with excerpts, within limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import evolve

from tierline.context.items import Item, Pin, Section
from tierline.context.mode import ModeLimits
from tierline.context.retrieval.cards import Card, card_of, render
from tierline.context.retrieval.sets import Candidate, Exclusion
from tierline.context.retrieval.symbol import Symbol
from tierline.workspace.load_results import LoadedFile
from tierline.workspace.loader import Loader

MIN_SCORE = 0.22
"""Least share of the best file's score; files below it have too little to do with the prompt."""
MIN_HOP_SCORE = 0.3
MEANT = 0.2
"""Bonus for a file whose names contain the prompt's words."""
MIN_WORDS = 2
"""Words of the prompt that a file must contain, unless the prompt names it or has fewer."""
SECOND = 0.6
"""A further symbol of a file needs this share of the best one's score."""
PER_FILE = 2
FURTHER = 0.3
"""Share of the file's score that each further symbol loses, so that another file comes first unless
it is much weaker. Chosen by the commit benchmark on two repositories, confirmed on a third
(docs/retrieval.md).
"""


class CardReader:
    """Renders cards from current text: the editor's buffer, else the disk, without secrets."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def render(self, card: Card, limit: int) -> str | None:
        """A card with its excerpt; None if its file cannot be sent or its symbol no
        longer exists.
        """
        found = self._located(card)
        if found is None:
            return None
        placed, lines = found
        return render(placed, lines[placed.line - 1 :], limit=limit)

    def body(self, card: Card, limit: int) -> str | None:
        """A symbol's whole text, up to ``limit`` lines; None as in ``render``."""
        found = self._located(card)
        if found is None:
            return None
        placed, lines = found
        placed = evolve(placed, end=min(placed.end, len(lines)), doc="", signature="")
        return render(placed, lines[placed.line - 1 :], limit=limit)

    def source(self, card: Card, limit: int) -> tuple[Card, str] | None:
        """The current place and text of a symbol; None as in ``render``."""
        found = self._located(card)
        if found is None:
            return None
        placed, lines = found
        placed = evolve(placed, end=min(placed.end, len(lines), placed.line + limit - 1))
        return placed, "\n".join(lines[placed.line - 1 : placed.end]) + "\n"

    def _located(self, card: Card) -> tuple[Card, list[str]] | None:
        loaded = self._loader.load(card.path)
        if not isinstance(loaded, LoadedFile):
            return None
        lines = loaded.content.text.split("\n")
        placed = locate(card, lines)
        return (placed, lines) if placed is not None else None


def locate(card: Card, lines: list[str]) -> Card | None:
    """The card at its symbol's current place: the nearest line with its name. None if there is
    none.

    The index knows the text on disk; the buffer may differ.
    """
    if not card.symbol:
        return evolve(card, end=max(1, min(card.end, len(lines))))
    name = re.split(r"[.]", card.symbol)[-1] if card.kind != "heading" else card.symbol
    name = name.rpartition(".")[2] if card.kind == "heading" and "." in name else name
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    first = card.line - 1
    span = card.end - card.line
    head = lines[first : first + min(span, 12) + 1]
    if any(word.search(line) for line in head):
        return evolve(card, end=min(card.end, len(lines)))
    hits = [n for n, line in enumerate(lines) if word.search(line)]
    if not hits:
        return None
    place = min(hits, key=lambda n: (abs(n - first), n))
    return evolve(card, line=place + 1, end=min(place + 1 + span, len(lines)))


def gather(
    answer: Mapping[str, Any],
    limits: ModeLimits,
    *,
    most_tokens: int,
    reader: CardReader,
    count: Callable[[str], int],
    in_context: frozenset[str] = frozenset(),
    held: frozenset[str] = frozenset(),
) -> tuple[list[Candidate], list[Item]]:
    """The candidates of an index's answer, best first, and the items of those that are in.

    ``most_tokens`` is for all items together. There are none if the prompt is not about code.
    """
    candidates: list[Candidate] = []
    items: list[Item] = []
    used = 0
    words = sum(rarity > 0 for rarity in answer.get("rarity", {}).values())
    code = bool(answer.get("code", True))
    cards = sorted(_cards(answer, words, in_context, held, code), key=lambda c: -c[1])  # stable
    for card, score, hop, judged in cards:
        out, tokens = judged, 0
        if out is None and len(items) >= limits.candidates:
            out = Exclusion.LIMIT
        if out is None:
            text = reader.render(card, limits.card_lines)
            tokens = count(text) if text is not None else 0
            if text is None:
                out = Exclusion.CHANGED if card.symbol else Exclusion.UNREADABLE
            elif used + tokens > most_tokens:
                out = Exclusion.LIMIT
            else:
                used += tokens
                items.append(_item(card, text, tokens))
        candidates.append(Candidate(card, score, card.path, hop, tokens, out))
    return candidates, items


def _item(card: Card, text: str, tokens: int) -> Item:
    return Item.of_text(
        card.key,
        Section.RETRIEVED,
        text,
        tokens,
        priority=30,
        pin=Pin.EPHEMERAL,
        volatile=True,
        origin=card.why,
    )


def _cards(
    answer: Mapping[str, Any],
    words: int,
    in_context: frozenset[str],
    held: frozenset[str],
    code: bool,
) -> Iterator[tuple[Card, float, bool, Exclusion | None]]:
    """Cards with their scores, file by file, and the reason for those that are out already."""
    for file in answer.get("files", ()):
        path, score, hop = str(file["path"]), float(file["score"]), bool(file["hop"])
        score += MEANT * bool(file.get("meant"))
        out = Exclusion.IN_CONTEXT if path in in_context else None
        if out is None and not file["named"]:
            least = MIN_HOP_SCORE if hop else MIN_SCORE
            meant = file.get("meant", False)
            few = file["matched"] < min(MIN_WORDS, words) and not (hop or meant)
            unsaid = not file["why"]
            out = Exclusion.WEAK if few or unsaid or score < least or not code else None
        best = 0.0
        found = False
        for place, (row, strength, reason) in enumerate(file["symbols"]):
            symbol = Symbol.of(row)
            if strength <= 0.5 and not (place == 0 and hop):
                continue
            best = best or strength
            mine = out
            if mine is None and place and (place >= PER_FILE or strength < SECOND * best):
                mine = Exclusion.SAME_FILE
            card = card_of(path, symbol, _why(file["why"], reason))
            if mine is None and card.key in held:
                mine = Exclusion.HELD
            yield card, round(score * max(0.05, 1 - FURTHER * place), 4), hop, mine
            found = True
        if not found:
            card = Card(path=path, line=1, end=max(1, int(file["lines"])), kind="file")
            yield evolve(card, why=_why(file["why"], "")), score, hop, out


def _why(file: list[str], symbol: str) -> str:
    return "; ".join(dict.fromkeys([*([symbol] if symbol else []), *file[:2]]))
