"""Words of prompts and code: names are cut into their parts, endings folded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*|\d{2,}|[^\W\d_A-Za-z]+")
_LETTERS = re.compile(r"[^\W\d_]+")
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


GERMAN = frozenset(
    """aber als am an auch auf aus bei beim bin bis bist bitte da damit dann das dass dein deine dem
    den denn der des dich die dies diese dieser dieses dir doch du durch ein eine einem einen einer
    eines er es für gibt habe haben hast hat hier ich ihr im in ist ja jetzt kann kannst kein keine
    man mehr mein meine mich mir mit muss müssen nach nein nicht noch nun nur ob oder ohne schon
    sehr sein sich sie sind so soll sollen sollte über um und uns unser unter vom von vor war
    warum was weil welche welcher welches wenn wer werden wie wieder wir wird wo zu zum zur zwei
    zwischen""".split()  # noqa: SIM905
)
"""German stop-words, several of which are names in code (``die``, ``man``, ``war``)."""
_SURELY_GERMAN = GERMAN - STOP - {"am", "bin", "den", "des", "dir", "hat", "man", "war"}


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
    """Words and counts; ``parseHTTPHeader`` counts as ``parse``, ``http``, ``header``, too."""
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
    """The words of a prompt to search for, without stop-words (nor German ones in German)."""
    counts = terms(text)
    small = _SMALL | _GERMAN_SMALL if is_german(text) else _SMALL
    return Counter({word: n for word, n in counts.items() if word not in small and len(word) > 1})


def original_spellings(text: str) -> dict[str, str]:
    """For each word of ``terms``, its first spelling in the text."""
    written: dict[str, str] = {}
    for token in _TOKEN.findall(text):
        written.setdefault(stem(token.lower()), token)
        for part in _PART.findall(token):
            written.setdefault(stem(part.lower()), part.lower())
    return written


def identifiers(text: str) -> list[str]:
    """Possible identifiers in a prompt: dotted, with an underscore, in mixed case, or in
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


_SMALL = STOP.union(stem(word) for word in STOP)
_GERMAN_SMALL = GERMAN.union(stem(word) for word in GERMAN)


def is_german(text: str) -> bool:
    """True if a text has at least two German stop-words."""
    return len({word.lower() for word in _LETTERS.findall(text[:2000])} & _SURELY_GERMAN) > 1


@lru_cache(maxsize=100_000)
def _words(token: str) -> tuple[str, ...]:
    low = token.lower()
    parts = _PART.findall(token)
    whole = (stem(low),) if len(low) > 1 else ()
    if len(parts) < 2:
        return whole
    return (*whole, *(stem(part.lower()) for part in parts if len(part) > 1))
