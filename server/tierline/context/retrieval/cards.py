"""Symbol cards and touchpoints: a symbol in a few lines, as a hook to ask for more."""

from __future__ import annotations

from collections.abc import Sequence

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
