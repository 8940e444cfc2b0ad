"""The last plan's decision on each item."""

from __future__ import annotations

from tierline.context.plan import ContextPlan


class LastPlan:
    """Written only by the composer."""

    def __init__(self) -> None:
        self._tiers: dict[str, str] = {}
        self._tokens: dict[str, int] = {}

    def keep(self, plan: ContextPlan) -> None:
        """Keep a new plan."""
        self._tiers = {entry.key: entry.tier for entry in plan.included if entry.tier}
        self._tokens = {entry.key: entry.tokens for entry in plan.included}

    def tier(self, key: str) -> str:
        """The tier of an item; empty if it is not in."""
        return self._tiers.get(key, "")

    def tokens(self, key: str) -> int:
        """Tokens of an item; 0 if it is not in."""
        return self._tokens.get(key, 0)
