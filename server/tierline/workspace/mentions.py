"""``@path`` mentions in a prompt."""

from __future__ import annotations

import re
from bisect import bisect_right

from attrs import frozen

_CODE = re.compile(
    r"^(`{3,}|~{3,}).*?(?:^\1[`~]*[ \t]*$|\Z)|(`+)(?!`).+?(?<!`)\2(?!`)", re.M | re.S
)
_AT = re.compile(r"(?:(?<=^)|(?<=[\s(\[{<,;:\"'“”‘’«»、。，（「]))@(?=\S)", re.M)
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)+)"')
_BARE = re.compile(r"(?:\\[ \t]|[^\s\"`])+")
_TRAILING = ".,;:!?'\"”’»>、。，"
_PAIRS = {")": "(", "]": "[", "}": "{"}


@frozen
class Mention:
    """A file that the prompt names: its path with escapes undone, and where it stands.

    ``text[start:end]`` is the mention as written, with the ``@``.
    """

    path: str
    start: int
    end: int


def mentions(text: str) -> list[Mention]:
    """All mentions outside code: ``@src/a.py``, ``@"My Docs/a.md"``, ``@My\\ Docs/a.md``.

    A backslash before a blank escapes it; any other backslash stays (Windows paths). Punctuation
    after a bare path belongs to the sentence. Brackets in names are literal. Whether the file
    exists is for the caller to find out: ``@property`` in prose is a mention too.
    """
    skipped = [match.span() for match in _CODE.finditer(text)] if "`" in text or "~" in text else []
    found: list[Mention] = []
    begins = [begin for begin, _ in skipped]
    for at in _AT.finditer(text):
        start = at.start()
        code = bisect_right(begins, start) - 1
        if code >= 0 and start < skipped[code][1]:
            continue
        if quoted := _QUOTED.match(text, at.end()):
            path = re.sub(r'\\(["])', r"\1", quoted[1])
            found.append(Mention(path, start, quoted.end()))
        elif bare := _BARE.match(text, at.end()):
            raw = _trim(bare[0])
            if raw:
                path = re.sub(r"\\([ \t])", r"\1", raw)
                found.append(Mention(path, start, at.end() + len(raw)))
    return found


def _trim(raw: str) -> str:
    while raw:
        last = raw[-1]
        unbalanced = last in _PAIRS and raw.count(last) > raw.count(_PAIRS[last])
        if last not in _TRAILING and not unbalanced:
            break
        raw = raw[:-1]
    return raw
