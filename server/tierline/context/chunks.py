"""Cuts text where no token can cross, so that an edit is counted again only where it happened.

tiktoken first splits text by a regular expression and then encodes each piece by itself. Both
expressions that we ship (o200k_base, cl100k_base) let a newline be followed inside one piece only
by white space or, in o200k_base, by a slash. So a line break before any other character is always
a piece boundary, and counts of the parts add up to the count of the whole. A property test holds
this against whole-text counting.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

MIN_CHARS = 2_048
MAX_CHARS = 65_536
_MASK = 0x3F
"""A cut after one line in 64 on average, chosen by the line's content: text that is inserted or
removed moves no cut but those beside it (content-defined chunking)."""


def chunks(text: str) -> Iterator[str]:
    """Parts of ``text`` in order; their token counts sum to that of the text."""
    if len(text) <= MIN_CHARS:
        if text:
            yield text
        return
    start = place = 0
    length = len(text)
    while (end := text.find("\n", place) + 1) > 0 and end < length:
        size = end - start
        if size >= MIN_CHARS and _safe(text[end]):
            line = text[max(place, end - 256) : end]
            chosen = not zlib.crc32(line.encode("utf-8", "replace")) & _MASK
            if chosen or size >= MAX_CHARS:
                yield text[start:end]
                start = end
                place = min(start + MIN_CHARS, length)
                continue
        place = end
    yield text[start:]


def _safe(following: str) -> bool:
    return not following.isspace() and following != "/"
