"""Words of prompts and code: names are cut into their parts, endings folded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*|\d{2,}|[^\W\d_A-Za-z]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d{2,}|[^\x00-\x7f]+")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*")
STOP = frozenset(
    """a about above add added after again all also always an and any are as at be because
    been before being below between both but by can cannot could did do does doing done down
    during each else etc even every few for from further get gets had has have having he her
    here hers him his how i if in instead into is it its itself just let lets like ll make
    makes me more most must my no nor not now of off on once one only or other our out over
    own per please re same say says she should show since so some still such than that the
    their them then there these they this those through to too two under until up us use used
    uses using very via was we were what when where which while who whom why will with without
    would yet you your""".split()  # noqa: SIM905
)


def stem(word: str) -> str:
    """A word without its commonest English endings; coarse, the same for prompts and code."""
    if len(word) > 4 and word.isascii():
        for ending, instead in (
            ("ies", "y"), ("sses", "ss"), ("ing", ""), ("edly", ""), ("ed", ""), ("es", ""),
            ("s", ""),
        ):  # fmt: skip
            if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
                word = word[: -len(ending)] + instead
                break
    return word.removesuffix("e") if len(word) > 4 else word


def terms(text: str) -> Counter[str]:
    """The words of a text with their counts: ``parseHTTPHeader`` counts as a whole and as
    ``parse``, ``http``, ``header``.
    """
    counts: Counter[str] = Counter()
    for token, times in Counter(_TOKEN.findall(text)).items():
        for word in _words(token):
            counts[word] += times
    return counts


def terms_of_names(names: Iterable[tuple[str, int]]) -> Counter[str]:
    """The words of identifiers, each given with how often it occurs."""
    counts: Counter[str] = Counter()
    for name, times in names:
        for token in _TOKEN.findall(name):
            for word in _words(token):
                counts[word] += times
    return counts


def query_terms(text: str) -> Counter[str]:
    """The words that a prompt searches for; stop-words never search."""
    counts = terms(text)
    return Counter({word: n for word, n in counts.items() if word not in STOP and len(word) > 1})


def identifiers(text: str) -> list[str]:
    """What may be names of code in a prompt: dotted, with an underscore, in mixed case, or in
    backquotes. In the order of their first occurrence.
    """
    quoted = set(_IDENTIFIER.findall(" ".join(re.findall(r"`([^`\n]+)`", text))))
    found = []
    for name in dict.fromkeys(_IDENTIFIER.findall(text)):
        inner = name.strip("_$")
        if (
            name in quoted
            or "_" in inner
            or "." in inner
            or "::" in name
            or "#" in name
            or re.search(r"[a-z0-9][A-Z]", inner)
        ):
            found.append(name)
    return found


@lru_cache(maxsize=100_000)
def _words(token: str) -> tuple[str, ...]:
    low = token.lower()
    parts = _PART.findall(token)
    whole = (stem(low),) if len(low) > 1 else ()
    if len(parts) < 2:
        return whole
    return (*whole, *(stem(part.lower()) for part in parts if len(part) > 1))
