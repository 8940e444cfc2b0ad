"""The budget meter's line under a prompt (seed 003, "Budget Meter")."""

from __future__ import annotations

from tierline.context.items import Section
from tierline.context.mode import ContextMode
from tierline.context.plan import ContextPlan


def context_line(decided: ContextPlan, mode: ContextMode) -> str:
    """``+1 card · 2 files · 2.1k tokens · CTX light``."""
    files = [e for e in decided.included if e.section is Section.FILES]
    recalled = sum(e.key.startswith("recall:") for e in decided.included)
    cards = [
        e
        for e in decided.included
        if e.section in (Section.RETRIEVED, Section.SYMBOLS) and not e.key.startswith("recall:")
    ]
    parts = []
    memos = sum(e.key.startswith("memo:") for e in decided.included)
    if memos:
        parts.append(f"+{memos} memo{'s' * (memos != 1)}")
    if recalled:
        parts.append(f"+{recalled} recalled")
    if cards:
        parts.append(f"+{len(cards)} card{'s' * (len(cards) != 1)}")
    parts.append(f"{len(files)} file{'s' * (len(files) != 1)}")
    parts.append(f"{short(decided.tokens)} tokens")
    return " · ".join([*parts, f"CTX {mode.value}"])


def short(tokens: int) -> str:
    """``999``, ``2.1k``."""
    return f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
