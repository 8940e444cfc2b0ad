"""How much of a request is outdated: old versions of documents, differences that were replaced, and
removed documents.

Rent or buy weighs the cost of carrying such text. It can also mislead: a model that reads three
versions of a line may use the wrong one. So there is a limit, whatever a rewrite costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field

from tierline.context.items import Item
from tierline.context.tiers.base import PieceKind
from tierline.context.tiers.logstate import BaseVersion, LogEntry

LIMIT = 0.12
"""Share of a request that may be outdated when a turn begins. Within a turn nothing is rewritten
and its edits add to the share, which stays below 15 % in nearly every request.
"""
WORST = 1.25
"""What a turn's edits may make of it, in limits: 15 %."""
MAX_DIFFERENCES = 8
"""Differences to one document that a request may have when a turn begins."""


def too_much(
    base: Sequence[BaseVersion],
    updates: Sequence[LogEntry],
    docs: Iterable[Item],
    texts: Mapping[str, str],
    *,
    total: int,
    limit: float,
    part: float = 1.0,
) -> bool:
    """True if a request of ``total`` tokens with this base and these updates would have more
    outdated text than ``part`` of the limits. ``limit`` is the share; 1 or more switches both
    limits off. The share is no matter where documents are so small a part that the turn's edits
    cannot bring it to the worst, were all of them outdated at its end.
    """
    if limit >= 1:
        return False
    differences = Counter(entry.key for entry in updates if entry.kind is PieceKind.DELTA)
    if max(differences.values(), default=0) > part * MAX_DIFFERENCES:
        return True
    shown = sum(one.tokens for one in base) + sum(entry.tokens for entry in updates)
    if shown <= WORST * limit * total:
        return False
    return outdated(base, updates, docs, texts) > part * limit * total


def outdated(
    base: Iterable[BaseVersion],
    updates: Iterable[LogEntry],
    docs: Iterable[Item],
    texts: Mapping[str, str],
) -> float:
    """Tokens in base and updates that are not a document's current text.

    ``docs`` are the documents in their current versions, ``texts`` the rendered texts by their
    hash.
    """
    now = {doc.key: doc for doc in docs}
    shown: dict[str, _Shown] = {}
    for entry in base:
        shown[entry.key] = _Shown(entry.tokens, entry.sha, texts.get(entry.sha, ""))
    for update in updates:
        shown.setdefault(update.key, _Shown()).update(update, texts)
    return sum(one.dead(now.get(key)) for key, one in shown.items())


@define
class _Shown:
    """The texts of one document in a request: its newest whole text, and everything around it."""

    tokens: int = 0
    sha: str = ""
    text: str = ""
    before: float = 0.0
    """Tokens before the newest whole text."""
    after: list[LogEntry] = field(factory=list)

    def update(self, entry: LogEntry, texts: Mapping[str, str]) -> None:
        """Add one more update."""
        if entry.kind is not PieceKind.FULL:
            self.after.append(entry)
            return
        self.before += self.tokens + sum(e.tokens for e in self.after)
        self.tokens, self.sha = entry.tokens, entry.sha
        self.text, self.after = texts.get(entry.sha, entry.text), []

    def dead(self, doc: Item | None) -> float:
        """Tokens of the document that are outdated."""
        if doc is None:
            return self.before + self.tokens + sum(entry.tokens for entry in self.after)
        if doc.sha256 == self.sha and not self.after:
            return self.before
        lines = Counter(doc.text.splitlines())
        kept = sum((Counter(self.text.splitlines()) & lines).values())
        stale = self.tokens * (1 - kept / max(self.text.count("\n") + 1, 1))
        return self.before + max(stale, 0.0) + sum(_dead(entry, lines) for entry in self.after)


def _dead(entry: LogEntry, lines: Mapping[str, int]) -> float:
    """Tokens of an update, without the lines that it added and that are still current."""
    alive = sum(len(row) for row in entry.text.splitlines() if row[:1] == "+" and row[1:] in lines)
    return entry.tokens * (1 - alive / max(len(entry.text), 1))
