"""What may be spent: asks before a limit is passed, and before an unusually expensive request."""

from __future__ import annotations

from attrs import define, field

from tierline.context.tiers.request_cost import ColdReason, Forecast, input_cost
from tierline.session.caching.service import CacheService
from tierline.session.consents import ConsentDecision, ConsentService
from tierline.session.conversation import Conversation
from tierline.session.models import ModelService
from tierline.session.requests.composer import ComposedRequest
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import Turn
from tierline.store.usage import SpendingTotals

USUAL_OUTPUT = 500
"""Assumed tokens of a reply as long as the session has none."""
_WHY: dict[ColdReason, str] = {
    "first": "it is the first of this session",
    "model": "another model answers than before",
    "changed": "its beginning is another than before",
    "uncached": "this provider keeps no cache",
}


class SpendingRefused(Exception):  # noqa: N818 - the user's wish, not a failure
    """The user refused to send the request. The text names the limit."""


@define
class _Allowance:
    """An amount beyond a limit that the user has agreed to."""

    more: float = 0.0
    any: bool = False


@define
class _Limit:
    """A limit, the amount spent, and the amount that the request would add."""

    scope: str
    """``session`` or the turn's id."""
    what: str
    most: float
    spent: float
    more: float
    money: bool

    def shown(self, amount: float) -> str:
        if self.money:
            return f"${amount:.2f}"
        return f"{amount:,.0f} token{'s' * (round(amount) != 1)}"


@define
class SpendingGuard:
    """Asked before each request of a turn."""

    preferences: Preferences
    conversation: Conversation
    models: ModelService
    cache: CacheService
    consents: ConsentService
    _allowed: dict[tuple[str, str, bool], _Allowance] = field(factory=dict, init=False)
    _warned: set[str] = field(factory=set, init=False)
    """Turns for which the user was asked, and sessions for which the user is not asked again."""

    async def allow(self, turn: Turn, composed: ComposedRequest) -> None:
        """Return if the request may be sent, after asking the user if needed.

        Raises:
            SpendingRefused: the user refused.
        """
        session = self.conversation.session_id
        wants = self.preferences.settings.spending
        limited = any(
            (wants.session_cost, wants.turn_cost, wants.session_tokens, wants.turn_tokens)
        )
        facts = self.models.facts()
        tokens = composed.plan.tokens
        dearest = input_cost(tokens, 0, facts, composed.arrangement.ttl)
        asked = {session, turn.group_id} & self._warned
        warns = bool(wants.warn_cost) and dearest > wants.warn_cost and not asked
        if not limited and not warns:
            return
        found = await self.cache.forecast(composed)
        if limited:
            spent = await self.cache.spent(session)
            of_turn = await self.cache.spent(session, turn.group_id)
            for limit in self._limits(turn, found, spent, of_turn):
                if limit.spent + limit.more > limit.most + self._agreed(session, limit).more:
                    await self._ask(session, turn, limit)
        if warns and found.cold and found.cost > wants.warn_cost:
            await self._warn(session, turn, found)

    def _limits(
        self, turn: Turn, found: Forecast, spent: SpendingTotals, of_turn: SpendingTotals
    ) -> list[_Limit]:
        session = self.conversation.session_id
        wants = self.preferences.settings.spending
        output = spent.output / spent.requests if spent.requests else USUAL_OUTPUT
        prices = self.models.facts().prices_for(found.tokens)
        cost = found.cost + output * prices.output / 1_000_000
        tokens = found.tokens + output
        here, all_of_it = "this prompt", "this session"
        rows = [
            _Limit(turn.group_id, here, wants.turn_cost, of_turn.cost, cost, True),
            _Limit(turn.group_id, here, wants.turn_tokens, of_turn.tokens, tokens, False),
            _Limit("session", all_of_it, wants.session_cost, spent.cost, cost, True),
            _Limit("session", all_of_it, wants.session_tokens, spent.tokens, tokens, False),
        ]
        return [row for row in rows if row.most and not self._agreed(session, row).any]

    def _agreed(self, session: str, limit: _Limit) -> _Allowance:
        return self._allowed.setdefault((session, limit.scope, limit.money), _Allowance())

    async def _ask(self, session: str, turn: Turn, limit: _Limit) -> None:
        spent, more = limit.shown(limit.spent), limit.shown(limit.more)
        text = f"{limit.what.capitalize()} has taken {spent}; the next request takes about {more}."
        decision = await self._question(
            turn,
            f"The limit of {limit.shown(limit.most)} for {limit.what} would be passed. Go on?",
            text,
            f"Once: up to {limit.shown(limit.most)} more. Always: no limit for {limit.what}.",
        )
        if not decision.allowed:
            raise SpendingRefused(
                f"Stopped at the limit of {limit.shown(limit.most)} for {limit.what}."
            )
        agreed = self._agreed(session, limit)
        agreed.any = decision.answer == "always"
        while limit.spent + limit.more > limit.most + agreed.more:
            agreed.more += limit.most

    async def _warn(self, session: str, turn: Turn, found: Forecast) -> None:
        why = _WHY.get(found.cold, "")
        if found.cold == "expired":
            why = f"the cache has expired since the request {_ago(found.idle)} ago"
        decision = await self._question(
            turn,
            f"This request costs about ${found.cost:.2f} before the reply. Send it?",
            f"{found.tokens - found.readable:,} of {found.tokens:,} tokens are read anew, "
            f"because {why}.",
            "Taking files out or compacting the history makes it cheaper. Always: not asked again "
            "in this session.",
        )
        if not decision.allowed:
            raise SpendingRefused(
                f"Not sent: the request would have cost about ${found.cost:.2f}. Requests below "
                "`spending.warn_cost` are sent without a question."
            )
        self._warned.add(session if decision.answer == "always" else turn.group_id)

    async def _question(self, turn: Turn, title: str, text: str, detail: str) -> ConsentDecision:
        return await self.consents.ask_user(
            "spending", title, text, detail, turn_id=turn.group_id, can_remember=True
        )


def _ago(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
