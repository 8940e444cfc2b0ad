"""The tiers of a request as rows, for a person: what stands where, how large, what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict, field, frozen

from tierline.context.prompt_json import block_to_json
from tierline.context.tiers.base import Arrangement, Kind, Piece, Tier
from tierline.context.tiers.shape import Shape, digest

NAMES = {
    Tier.HEAD: "Instructions",
    Tier.L0: "Most stable",
    Tier.L1: "Stable",
    Tier.L2: "Settling",
    Tier.L3: "Recent",
    Tier.ACTIVE: "Working files",
    Tier.LOG: "Conversation",
    Tier.TAIL: "This request only",
}


@frozen
class TierItem:
    """One piece in its tier. ``sha`` names its bytes."""

    key: str
    section: str
    kind: str
    tokens: int
    sha: str
    path: str = ""
    age: int = 0
    hazard: float = 0.0
    streak: int = 0
    stale: bool = False
    cached: bool = False
    """Its bytes are in what the provider has cached and this request begins with."""
    marked: bool = False
    """A breakpoint stands behind it."""
    change: str = ""
    """Since the request before: ``new``, ``edited``, ``moved``, or nothing."""


@frozen
class TierRow:
    """One tier. Sizes in tokens, by our own count."""

    tier: str
    name: str
    items: tuple[TierItem, ...] = field(factory=tuple)

    @property
    def tokens(self) -> int:
        """All of it."""
        return sum(item.tokens for item in self.items)

    @property
    def stale(self) -> int:
        """Bytes that something later replaces."""
        return sum(item.tokens for item in self.items if item.stale)

    @property
    def delta(self) -> int:
        """Updates that were appended instead of rewriting a tier."""
        return sum(item.tokens for item in self.items if item.kind != Kind.ITEM)

    @property
    def cached(self) -> int:
        """What the provider has cached of it."""
        return sum(item.tokens for item in self.items if item.cached)


def tier_rows(
    arrangement: Arrangement, sent: Shape, readable: int, before: Iterable[Mapping[str, Any]] = ()
) -> tuple[TierRow, ...]:
    """The rows of a request.

    Args:
        arrangement: what the policy decided.
        sent: the shape of the request.
        readable: how many of the shape's parts the provider has cached.
        before: items of the request before, as ``rows_to_json`` gave them, flat.
    """
    known: dict[str, list[tuple[str, str]]] = {}
    for old in before:
        known.setdefault(str(old.get("key")), []).append((str(old.get("sha")), str(old["tier"])))
    rows: dict[Tier, list[TierItem]] = {}
    cursor = 0
    for piece in arrangement.pieces:
        end, marked = _span(sent, piece.key, cursor)
        sha = _sha(piece)
        rows.setdefault(piece.tier, []).append(
            TierItem(
                key=piece.key,
                section=str(piece.section),
                kind=str(piece.kind),
                tokens=piece.tokens,
                sha=sha,
                path=piece.path,
                age=piece.age,
                hazard=round(piece.hazard, 4),
                streak=piece.streak,
                stale=piece.stale,
                cached=cursor < end <= readable,
                marked=marked,
                change=_change(known.get(piece.key), sha, str(piece.tier)) if known else "",
            )
        )
        cursor = max(cursor, end)
    return tuple(
        TierRow(str(tier), NAMES[tier], tuple(rows[tier])) for tier in Tier if tier in rows
    )


def rows_to_json(rows: Sequence[TierRow]) -> list[dict[str, Any]]:
    """The items of all rows with their tiers, as JSON values."""
    return [{"tier": row.tier} | asdict(item) for row in rows for item in row.items]


def rows_from_json(values: Iterable[Mapping[str, Any]]) -> tuple[TierRow, ...]:
    """The rows again; what makes no sense is left out."""
    rows: dict[str, list[TierItem]] = {}
    for value in values:
        facts = dict(value)
        tier = str(facts.pop("tier", ""))
        try:
            item = TierItem(**facts)
        except TypeError:
            continue
        rows.setdefault(tier, []).append(item)
    return tuple(
        TierRow(str(tier), NAMES[tier], tuple(rows[tier])) for tier in Tier if tier in rows
    )


def _span(sent: Shape, key: str, start: int) -> tuple[int, bool]:
    """Where the blocks of an item end that begin at or behind ``start``, and whether a breakpoint
    stands behind them.
    """
    parts = sent.parts
    place = next((n for n in range(start, len(parts)) if parts[n].key == key), None)
    if place is None:
        return start, False
    while place < len(parts) and parts[place].key == key:
        place += 1
    return place, bool(parts[place - 1].mark)


def _sha(piece: Piece) -> str:
    if not piece.messages:
        return digest(["", piece.text])
    return digest([[m.role, [block_to_json(b.block) for b in m.blocks]] for m in piece.messages])


def _change(known: Sequence[tuple[str, str]] | None, sha: str, tier: str) -> str:
    if known is None:
        return "new"
    if sha not in {old for old, _ in known}:
        return "edited"
    return "" if (sha, tier) in known else "moved"
