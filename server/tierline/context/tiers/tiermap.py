"""The tiers of a request as rows for the user: items, sizes, changes.

The parts that no policy places (tool definitions, headings and frames) have no piece in an
arrangement, but take tokens, and the definitions are the first bytes of every cached prefix.
Without them the rows would add up to less than the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict, evolve, field, frozen

from tierline.context.items import Section
from tierline.context.plan import FRAME_KEY
from tierline.context.prompt_json import block_to_json
from tierline.context.tiers.base import Arrangement, Piece, PieceKind, Tier
from tierline.context.tiers.shape import TOOL_PREFIX, Shape, digest

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
    """One piece in its tier. ``sha``: hash of its bytes."""

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
    """Its bytes are in the cached prefix of this request."""
    marked: bool = False
    """A breakpoint follows it."""
    change: str = ""
    """Change since the previous request: ``new``, ``edited``, ``moved``, or empty."""


@frozen
class TierRow:
    """One tier. Sizes in tokens, by our own count."""

    tier: str
    name: str
    items: tuple[TierItem, ...] = field(factory=tuple)

    @property
    def tokens(self) -> int:
        """Tokens of the tier."""
        return sum(item.tokens for item in self.items)

    @property
    def stale(self) -> int:
        """Tokens that a later piece replaces."""
        return sum(item.tokens for item in self.items if item.stale)

    @property
    def delta(self) -> int:
        """Tokens of updates that were appended instead of rewriting a tier."""
        return sum(item.tokens for item in self.items if item.kind != PieceKind.ITEM)

    @property
    def cached(self) -> int:
        """Tokens of the tier in the cached prefix."""
        return sum(item.tokens for item in self.items if item.cached)


def tier_rows(
    arrangement: Arrangement, sent: Shape, readable: int, before: Iterable[Mapping[str, Any]] = ()
) -> tuple[TierRow, ...]:
    """The rows of a request.

    Args:
        arrangement: the policy's result.
        sent: the shape of the request.
        readable: how many of the shape's parts the provider has cached.
        before: items of the previous request from ``rows_to_json``, flat.
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
    """The rows of JSON values; invalid ones are left out."""
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
    """The end of an item's blocks from ``start`` on, and whether a breakpoint follows them."""
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


TOOLS_KEY = "tools"


def with_top(
    rows: Sequence[TierRow],
    sent: Shape,
    tokens: int,
    tools: int,
    readable: int,
    before: Iterable[Mapping[str, Any]] = (),
) -> tuple[TierRow, ...]:
    """The rows with the tool definitions first and the form's tokens last in the head.

    Args:
        rows: the result of ``tier_rows``.
        sent: the shape of the request.
        tokens: the whole request's, as the budget counts it; the rest is the form's.
        tools: tokens of the definitions.
        readable: how many of the shape's parts the provider has cached.
        before: items of the previous request, flat.
    """
    first = _tools(sent, tools, readable)
    old = {str(one.get("sha")) for one in before if one.get("key") == TOOLS_KEY}
    if old and first:
        first = [evolve(one, change="" if one.sha in old else "edited") for one in first]
    left = tokens - tools - sum(row.tokens for row in rows)
    # The form is around everything; its first bytes come before the readable prefix.
    form = TierItem(
        FRAME_KEY, str(Section.SYSTEM), str(PieceKind.ITEM), left, "", cached=readable > 0
    )
    last = [form] if left > 0 else []
    if not first and not last:
        return tuple(rows)
    head, rest = TierRow(str(Tier.HEAD), NAMES[Tier.HEAD]), list(rows)
    if rest and rest[0].tier == Tier.HEAD:
        head = rest.pop(0)
    return (evolve(head, items=(*first, *head.items, *last)), *rest)


def _tools(sent: Shape, tokens: int, readable: int) -> list[TierItem]:
    if not tokens:
        return []
    parts = [part for part in sent.parts if part.key.startswith(TOOL_PREFIX)]
    return [
        TierItem(
            TOOLS_KEY,
            str(Section.TOOLS),
            str(PieceKind.ITEM),
            tokens,
            digest([part.sha for part in parts]),
            cached=0 < len(parts) <= readable,
            marked=any(part.mark for part in parts),
        )
    ]
