"""Symbol cards and touchpoints: a symbol in a few lines, as a hook to ask for more; which of them a
text quotes or names, and the pins that it suggests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import field, frozen

from tierline.context.display import shown_name
from tierline.context.fences import fence_for, render_path
from tierline.context.retrieval.symbol import Symbol, module_of

CARD_PREFIX = "card:"
SNIPPET_LINES = 5
"""Lines of a card's snippet."""
MAX_LINE = 200


@frozen
class Card:
    """A card of a symbol, or of the head of a file without symbols."""

    path: str
    line: int
    end: int
    symbol: str = ""
    """Qualified name; empty for a file."""
    kind: str = ""
    signature: str = ""
    doc: str = ""
    attributes: tuple[str, ...] = field(default=())
    why: str = ""

    @property
    def key(self) -> str:
        """Key of the card as an item."""
        return card_key(self.path, self.symbol)

    @property
    def title(self) -> str:
        """``path#symbol``, its name for the user and the model."""
        return f"{self.path}#{self.symbol}" if self.symbol else self.path


def card_key(path: str, symbol: str = "") -> str:
    """``card:src/a.py#Plan.entry``."""
    return f"{CARD_PREFIX}{path}#{symbol}" if symbol else f"{CARD_PREFIX}{path}"


def card_of(path: str, symbol: Symbol, why: str = "") -> Card:
    """The card of a symbol."""
    return Card(
        path=path,
        line=symbol.line,
        end=symbol.end,
        symbol=symbol.qualified,
        kind=symbol.kind,
        signature=symbol.signature,
        doc=symbol.doc,
        attributes=symbol.attributes,
        why=why,
    )


def parse_key(key: str) -> tuple[str, str]:
    """Path and symbol of a card's key or title."""
    path, _, symbol = key.removeprefix(CARD_PREFIX).partition("#")
    return path, symbol


def render(card: Card, lines: Sequence[str], *, limit: int = SNIPPET_LINES) -> str:
    """A card as the model sees it: path, module, signature, doc comment, attributes, snippet, why.

    ``lines`` are the lines of the current text from the card's first line on.
    """
    body = [_cut(line) for line in lines[: max(0, min(limit, card.end - card.line + 1))]]
    while body and not body[-1].strip():
        body.pop()
    head = f"[Code found for this prompt] {render_path(card.path)}:{card.line}"
    module = shown_name(module_of(card.path))
    parts = [f"{head} · {module}{'.' + shown_name(card.symbol) if card.symbol else ''}"]
    parts += [a for a in card.attributes if not any(a in line for line in body)]
    if card.signature and not (body and card.signature[:40] in " ".join(body)):
        parts.append(card.signature)
    if card.doc and card.doc[:40] not in " ".join(body):
        parts.append(f"“{card.doc}”")
    if body:
        text = "\n".join(body)
        fence = fence_for(text)
        rest = card.end - card.line + 1 - len(body)
        parts += [fence, text, fence]
        if rest > 0:
            parts.append(f"({rest} more {'line' if rest == 1 else 'lines'})")
    if card.why:
        parts.append(f"Why: {card.why}.")
    return "\n".join(parts)


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"


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
