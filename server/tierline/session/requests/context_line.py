"""The budget meter's line under a prompt."""

from __future__ import annotations

from tierline.context.items import Section
from tierline.context.mode import ContextMode
from tierline.context.plan import ContextPlan
from tierline.context.retrieval.cards import CARD_PREFIX


def context_line(decided: ContextPlan, mode: ContextMode) -> str:
    """``+3 cards, 2 files (1 cut) · 2.1k tokens · CTX light``."""
    files = sum(e.section is Section.FILES for e in decided.included)
    pages = sum(e.section is Section.URLS for e in decided.included)

    def having(prefix: str) -> int:
        return sum(e.key.startswith(prefix) for e in decided.included)

    counted = (
        (having("memo:"), "memo", "s"),
        (having("recall:"), "recalled", ""),
        (having(CARD_PREFIX), "card", "s"),
    )
    parts = [f"+{count} {what}{plural * (count != 1)}" for count, what, plural in counted if count]
    parts += [f"{pages} page{'s' * (pages != 1)}"] if pages else []
    cut = sum(e.section is Section.FILES and e.whole_tokens > 0 for e in decided.included)
    parts.append(f"{files} file{'s' * (files != 1)}" + (f" ({cut} cut)" if cut else ""))
    return f"{', '.join(parts)} · {short_count(decided.tokens)} tokens · CTX {mode.value}"


def short_count(tokens: int) -> str:
    """``999``, ``2.1k``, ``103k``, ``1.25M``: as the clients write sizes beside this line."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 999_500:
        digits = 1 if tokens < 99_950 else 0
        return f"{tokens / 1_000:.{digits}f}".removesuffix(".0") + "k"
    return f"{tokens / 1_000_000:.2f}".rstrip("0").rstrip(".") + "M"
