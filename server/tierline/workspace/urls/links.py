"""Links in a prompt."""

from __future__ import annotations

import re

_CODE = re.compile(
    r"^(`{3,}|~{3,}).*?(?:^\1[`~]*[ \t]*$|\Z)|(`+)(?!`).+?(?<!`)\2(?!`)", re.M | re.S
)
_LINK = re.compile(r"(?<![\w@/.-])https?://[^\s<>\"`\x00-\x20\x7f]+", re.I)
_TRAILING = ".,;:!?'*_~’”»、。，"
_PAIRS = {")": "(", "]": "[", "}": "{"}


def links(text: str) -> list[str]:
    """Web addresses in a text, outside code, without the punctuation of the sentence around them.

    Each once, in order.
    """
    found: dict[str, None] = {}
    for match in _LINK.finditer(_CODE.sub(" ", text) if "`" in text or "~" in text else text):
        link = match[0]
        while link and (
            link[-1] in _TRAILING
            or (link[-1] in _PAIRS and link.count(link[-1]) > link.count(_PAIRS[link[-1]]))
        ):
            link = link[:-1]
        found.setdefault(link)
    return list(found)
