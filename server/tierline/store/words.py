"""Words for full-text search: how text is prepared for the index, and queries for it.

SQLite's ``unicode61`` takes a run of Chinese, Japanese or Korean as one word. Here such runs are
indexed as overlapping pairs of characters, and text of other scripts glued to them stands alone, so
that parts are found. A query never reaches FTS5's own syntax: it is cut into
words, and each is quoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_CJK}]+")
_TOKEN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"\S+")
MAX_WORDS = 32
"""Words of a query that are used; the rest of a pasted page is ignored."""


def index_text(text: str) -> str:
    """Text as it is given to the word index."""
    if text.isascii():
        return text
    return _RUN.sub(_pairs, text)


def query_words(query: str) -> tuple[str, ...]:
    """The blank-separated words of a query, each of which must occur in a hit."""
    normal = unicodedata.normalize("NFC", query)
    return tuple(dict.fromkeys(w.casefold() for w in _WORD.findall(normal)))[:MAX_WORDS]


def contains(text: str, words: tuple[str, ...]) -> bool:
    """True if each word occurs literally in any case: what a hit is in every search."""
    folded = text.casefold()
    return all(word in folded for word in words)


def match_tokens(words: tuple[str, ...], *, prefix: bool) -> str:
    """An FTS5 expression for the word index; empty if the words hold nothing to look up.

    With ``prefix``, the last part of each word may be the beginning of a longer one.
    """
    terms: list[str] = []
    for word in words:
        parts = _TOKEN.findall(index_text(word))
        for place, part in enumerate(parts):
            open_end = prefix and place == len(parts) - 1 and (len(part) > 2 or not part.isascii())
            terms.append(f'"{part}"*' if open_end else f'"{part}"')
    return " AND ".join(dict.fromkeys(terms))


def match_any(words: Iterable[str]) -> str:
    """An FTS5 expression that any of the words satisfies; for ranking by relevance."""
    terms: list[str] = []
    for word in words:
        parts = [f'"{p}"' for p in _TOKEN.findall(index_text(word))]
        if parts:
            terms.append(" AND ".join(parts) if len(parts) == 1 else f"({' AND '.join(parts)})")
    return " OR ".join(dict.fromkeys(terms))


def tokens(text: str) -> list[str]:
    """The parts of a text that the word index holds, spelled as they are there."""
    return _TOKEN.findall(text)


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    pairs = [run[i : i + 2] for i in range(len(run))]  # the last is a single character
    return f" {' '.join(pairs)} "
