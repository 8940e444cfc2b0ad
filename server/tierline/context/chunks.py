"""Cutting text where no token can cross, so that counts of the parts add up to the whole.

An edit to a long file changes a few lines; counting the file again should cost a few lines too.
tiktoken first splits text by a regular expression and never merges across its matches, so a count
is additive at every place that no match can span. For the patterns of ``cl100k_base`` and
``o200k_base`` two kinds of place qualify:

* after an ASCII letter and before an ASCII character that is neither a letter nor an apostrophe:
  every alternative that takes a letter stops there, and none looks further ahead than that
  character (an apostrophe could begin a contraction such as ``'re``);
* after a line feed and before a character that is neither white space nor a slash: white space
  that holds a line end always matches up to its last line end, and an alternative that takes
  trailing line ends continues only with line ends or, in ``o200k_base``, slashes.

``tests/property/test_counting.py`` checks this with the encoders. Which of these places are used
depends only on the text around them (content-defined chunking), so that cuts after an edit fall
where they fell before.
"""

from __future__ import annotations

import re
from itertools import islice

MIN_CHUNK = 2_048
"""Characters; shorter chunks would cost more to look up than to count."""
MAX_CHUNK = 16_384
"""Characters after which the next safe place is taken, whatever its surroundings."""
_WINDOW = 64
"""Characters before a place that decide about it. Longer than a statement: one that many functions
share would make each of them a place, and cuts after an edit would move.
"""
_MASK = 0x7F
_CANDIDATES = 400
"""Places tried per chunk; repetitive text has many that are alike."""

# One frequent letter is enough to find candidates, and several times faster to search for.
_CANDIDATE = re.compile(r"e[\x00-&(-@\[-`{-\x7f]|\n[^\s/]")
_ANY_PLACE = re.compile(r"[A-Za-z][\x00-&(-@\[-`{-\x7f]|\n[^\s/]")


def chunks(text: str) -> list[str]:
    """Split at safe places; the parts joined are the text. Most are 2,048 to 16,384 characters
    long, but text without safe places (one endless word) stays in one piece.
    """
    parts: list[str] = []
    start = 0
    end = len(text)
    while end - start > MIN_CHUNK:
        cut = _next_cut(text, start)
        if cut is None:
            break
        parts.append(text[start:cut])
        start = cut
    if start < end:
        parts.append(text[start:])
    return parts


def _next_cut(text: str, start: int) -> int | None:
    latest = start + MAX_CHUNK
    candidates = _CANDIDATE.finditer(text, start + MIN_CHUNK, latest)
    for found in islice(candidates, _CANDIDATES):
        cut = found.start() + 1
        # Python's string hash differs between processes, but chunks are compared only within one.
        if not hash(text[cut - _WINDOW : cut]) & _MASK:
            return cut
    if latest >= len(text):
        return None
    anywhere = _ANY_PLACE.search(text, latest)
    return anywhere.start() + 1 if anywhere else None
