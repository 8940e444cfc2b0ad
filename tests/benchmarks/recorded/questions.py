"""Questions made mechanically from what was said, and whether a request holds their answers.

What is asked is prose: code in fences and numbered lines of listings are left out, as nobody asks
for a line's number again. A question is a sentence (or an error's line) with one thing taken out: a
name of code, a value, the choice in a decision, an error's message. A request answers it if
somewhere in it the thing stands near most of the sentence's other words; the question itself does
not count. So a file that happens to hold the name elsewhere is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

GAP = "____"
NEAR = 700
"""Characters around an answer in which the sentence's words are looked for."""
SHARE = 0.6
"""Of the words, so many must stand there."""
_NAME = re.compile(
    r"`([^`\n]{3,60})`|\b([a-z]\w*_\w+|[a-z]+[A-Z]\w+|\w+\.(?:py|js|ts|md|css|html))\b"
)
_VALUE = re.compile(r"(?<![\w.])(\d{2,}(?:\.\d+)?%?|\d+\.\d+(?:\.\d+)?)(?![\w.])")
_ERROR = re.compile(r"^.{0,80}?\b(\w*(?:Error|Exception|Warning))\b:? (.{8,160})$")
_DECISION = re.compile(
    r"\b(instead|rather|decided|let's use|we(?:'ll| will)|should use|use the)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LISTED = re.compile(
    r"(?m)^[ \t]*(?:\d+ ?[│█|⋮].*|File \"[^\"]+\", line \d+.*|[\w./\\-]+\.\w+:\d+(?::.*)?)$"
)
"""A line of a listing with its number, or a place in a file: code without a fence."""
_COMMON = frozenset(
    [
        "this",
        "that",
        "with",
        "from",
        "have",
        "will",
        "your",
        "into",
        "when",
        "what",
        "which",
        "then",
        "than",
        "them",
        "they",
        "there",
        "here",
        "also",
        "only",
        "some",
        "more",
        "most",
        "make",
        "made",
        "uses",
        "used",
        "using",
        "been",
        "being",
        "does",
        "done",
        "just",
        "like",
        "need",
        "each",
        "other",
        "code",
        "file",
        "line",
        "lines",
        "user",
        "name",
        "should",
        "would",
        "could",
    ]
)


@frozen
class Question:
    """``kind``: ``name``, ``value``, ``decision`` or ``error``."""

    kind: str
    text: str
    answer: str
    words: frozenset[str]


def questions(texts: Iterable[str]) -> list[Question]:
    """What can be asked about texts: each answer once, at most one question a sentence."""
    found: dict[tuple[str, str], Question] = {}
    for text in texts:
        prose = re.sub(r"(?ms)^ {0,3}(`{3,}).*?^ {0,3}\1[ \t]*$", "\n", text)
        prose = _LISTED.sub("", prose)
        for sentence in _SENTENCE.split(prose):
            plain = " ".join(sentence.split()).strip("-*#> ")
            for question in _of(plain):
                if len(question.words) >= 3:
                    found.setdefault((question.kind, question.answer), question)
                    break
    return list(found.values())


def _of(sentence: str) -> Iterator[Question]:
    if not 25 <= len(sentence) <= 300:
        return
    if error := _ERROR.match(sentence):
        yield _made("error", sentence, error[2].strip(), f"What did the {error[1]} say?")
        return
    names = [m[1] or m[2] for m in _NAME.finditer(sentence)]
    decided = bool(_DECISION.search(sentence))
    if names:
        kind = "decision" if decided else "name"
        yield _made(kind, sentence, max(names, key=len))
    if value := _VALUE.search(sentence):
        yield _made("value", sentence, value[1])


def _made(kind: str, sentence: str, answer: str, asked: str = "") -> Question:
    rest = sentence.replace(answer, GAP)
    words = frozenset(w.lower() for w in _WORD.findall(rest)) - _COMMON
    return Question(
        kind, asked or f"Earlier we said: {rest} - what stands in the gap?", answer, words
    )


def answered(question: Question, texts: Sequence[str]) -> bool:
    """Whether one of the texts holds the answer where the question's words are."""
    for text in texts:
        start = text.find(question.answer)
        while start >= 0:
            around = text[max(0, start - NEAR) : start + len(question.answer) + NEAR].lower()
            hits = sum(word in around for word in question.words)
            if hits >= SHARE * len(question.words):
                return True
            start = text.find(question.answer, start + 1)
    return False
