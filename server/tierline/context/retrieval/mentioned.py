"""What a text mentions: the cards that it quotes or names, and the pins that it suggests."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tierline.context.retrieval.cards import parse_key

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_LINE = re.compile(r"^\W*suggested pins?\W*:\s*(.+)$", re.I | re.M)
_ITEM = re.compile(r"[\w@$~+.\-/\\]+(?:#[\w.$:]+)?")
MAX_SUGGESTED = 6


def mentioned(text: str, keys: Iterable[str]) -> set[str]:
    """The cards whose symbol or file a text mentions.

    A bare name counts if it is hardly a common word: at least five letters with an underscore, a
    capital or a digit, or written as code (backquotes, a call). A path must occur whole; a file
    name counts if it has an extension.
    """
    words = set(_WORD.findall(text))
    code = set()
    for part in re.findall(r"`+([^`]+)`+", text):
        code |= set(_WORD.findall(part))
    code |= set(re.findall(r"([A-Za-z_$][\w$]*)\(", text))
    found = set()
    for key in keys:
        path, symbol = parse_key(key)
        name = symbol.rpartition(".")[2]
        file = path.rpartition("/")[2]
        if symbol:
            plain = name in words and len(name) >= 5 and bool(re.search(r"[_A-Z0-9]", name))
            if plain or name in code or f"{path}#{symbol}" in text:
                found.add(key)
        elif path in text or ("." in file and len(file) > 4 and file in text):
            found.add(key)
    return found


def suggested_pins(text: str) -> list[str]:
    """Names in a reply's ``Suggested pins:`` line, as written; at most six."""
    names: list[str] = []
    for line in _LINE.findall(text):
        names += [n.strip("`.,;") for n in _ITEM.findall(line.replace("`", " "))]
    return [n for n in dict.fromkeys(names) if "." in n or "/" in n or "#" in n][:MAX_SUGGESTED]
