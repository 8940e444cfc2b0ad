"""Text that is safe to send: whole characters, one kind of line end, one hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# Characters that continue the one before them: variation selectors, joiners, combining marks,
# skin tones, tags and keycaps. A cut in front of one of these would change the character shown.
_JOINER = "\u200d"
_CONTINUES = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u200d\u20d0-\u20ff\u302a-\u302f"
    "\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
_MAX_CLUSTER_LENGTH = 32


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and every lone half replaced by U+FFFD.

    JSON may carry half of an emoji (``"\\ud83d"``) and editors cut by UTF-16 units, so such text
    occurs; it cannot be encoded as UTF-8 and would make every later request invalid.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    joined = _PAIR.sub(lambda m: m[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _SURROGATE.sub("\ufffd", joined)


def normalise(text: str) -> str:
    """Well-formed text with line ends as ``\\n`` and without a byte order mark.

    An editor's buffer and the file on disk may differ in these but not in meaning. This form is
    compared, counted, hashed and sent.
    """
    text = well_formed(text)
    if text.startswith("\ufeff"):
        text = text[1:]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def sha256(text: str) -> str:
    """Hexadecimal SHA-256 of the text as UTF-8; lone surrogates count as U+FFFD."""
    return hashlib.sha256(well_formed(text).encode()).hexdigest()


def clip(text: str, limit: int) -> str:
    """At most the first ``limit`` characters (code points), never ending inside a character.

    An emoji with its skin tone, a flag, a letter with its accent stay whole: the cut moves to the
    left, by at most 32 code points.
    """
    if limit <= 0:
        return ""
    if len(text) <= limit:
        return well_formed(text)
    text = well_formed(text[: limit + _MAX_CLUSTER_LENGTH])
    cut = min(limit, len(text))
    floor = max(cut - _MAX_CLUSTER_LENGTH, 0)
    place = cut
    while place > floor and _inside(text, place):
        place -= 1
    return text[:place] if place > floor or floor == 0 else text[:cut]


def clip_end(text: str, limit: int) -> str:
    """At most the last ``limit`` characters, never beginning inside a character."""
    if limit <= 0:
        return ""
    if len(text) <= limit:
        return well_formed(text)
    text = well_formed(text[-(limit + _MAX_CLUSTER_LENGTH) :])
    place = max(len(text) - limit, 0)
    ceiling = min(place + _MAX_CLUSTER_LENGTH, len(text))
    start = place
    while start < ceiling and _inside(text, start):
        start += 1
    return text[start:]


def _inside(text: str, place: int) -> bool:
    """True if a cut before ``text[place]`` would fall inside one visible character."""
    if place <= 0 or place >= len(text):
        return False
    if _CONTINUES.match(text[place]) or text[place - 1] == _JOINER:
        return True
    if _is_flag(text[place]) and _is_flag(text[place - 1]):
        first = place
        while first > 0 and _is_flag(text[first - 1]):
            first -= 1
        return (place - first) % 2 == 1
    return False


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Lengths of the common beginning of two sequences, and of the common end of what follows."""
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail
