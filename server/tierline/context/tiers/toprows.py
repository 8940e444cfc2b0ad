"""Rows for parts of a request that no policy places: tool definitions, headings and frames.

They have no piece in an arrangement, but take tokens, and the definitions are the first bytes of
every cached prefix. Without them the rows would add up to less than the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from tierline.context.items import Section
from tierline.context.plan import FRAME_KEY
from tierline.context.tiers.base import PieceKind, Tier
from tierline.context.tiers.shape import TOOL_PREFIX, Shape, digest
from tierline.context.tiers.tiermap import NAMES, TierItem, TierRow

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
    return _in_head(rows, first, [form] if left > 0 else [])


def with_known_tools(rows: Sequence[TierRow], sent: Shape | None) -> tuple[TierRow, ...]:
    """The rows of a stored request. For older ones, stored without the tool definitions, the sizes
    come from the shape; whether they were cached is then unknown.
    """
    if sent is None or not rows or any(i.key == TOOLS_KEY for row in rows for i in row.items):
        return tuple(rows)
    return _in_head(rows, _tools(sent, None, 0), [])


def _tools(sent: Shape, tokens: int | None, readable: int) -> list[TierItem]:
    parts = [part for part in sent.parts if part.key.startswith(TOOL_PREFIX)]
    size = sum(part.tokens for part in parts) if tokens is None else tokens
    if not size:
        return []
    return [
        TierItem(
            TOOLS_KEY,
            str(Section.TOOLS),
            str(PieceKind.ITEM),
            size,
            digest([part.sha for part in parts]),
            cached=0 < len(parts) <= readable,
            marked=any(part.mark for part in parts),
        )
    ]


def _in_head(
    rows: Sequence[TierRow], first: Sequence[TierItem], last: Sequence[TierItem]
) -> tuple[TierRow, ...]:
    if not first and not last:
        return tuple(rows)
    head, rest = TierRow(str(Tier.HEAD), NAMES[Tier.HEAD]), list(rows)
    if rest and rest[0].tier == Tier.HEAD:
        head = rest.pop(0)
    return (evolve(head, items=(*first, *head.items, *last)), *rest)
