"""What a planned change would do to the cache and what that costs, said before the change."""

from __future__ import annotations

import asyncio

from attrs import define, evolve

from tierline import protocol as p
from tierline.config import Settings
from tierline.context import effort
from tierline.context.effort import EFFORTS, Effort
from tierline.context.models import ModelFacts
from tierline.context.tiers.request_cost import Forecast, input_cost
from tierline.session.caching.service import CacheService
from tierline.session.consents import ConsentService
from tierline.session.models import ModelService
from tierline.session.requests.composer import ComposedRequest, Composer
from tierline.session.state.preferences import Preferences

_WHAT = {"model": "Another model", "effort": "Another effort", "tools": "Other tools"}


@define(eq=False, repr=False, slots=False)
class ChangeService:
    """Answers ``tierline/cache/forecast``, and warns before a change is paid for."""

    _preferences: Preferences
    _models: ModelService
    _composer: Composer
    _cache: CacheService
    _consents: ConsentService

    async def forecast(self, params: p.ChangeForecastParams) -> p.ChangeForecast:
        """The next request without the change and with it."""
        composed = await self._composer.preview()
        now = await self._cache.forecast(composed)
        left = await asyncio.to_thread(self._cache.seconds_left)
        facts = self._models.facts()
        then, readable = await self._changed(params, composed, now, facts)
        cost_then = input_cost(now.tokens, readable, then, composed.arrangement.ttl)
        most = self._preferences.settings.spending.warn_change_cost
        lost = max(now.readable - readable, 0)
        warn = bool(lost and most and cost_then - now.cost > most)
        return p.ChangeForecast(
            tokens=now.tokens,
            readable_tokens=now.readable,
            readable_then=readable,
            cost=round(now.cost, 6),
            cost_then=round(cost_then, 6),
            seconds_left=left,
            warn=warn,
            sentence=_sentence(params, now, lost, cost_then),
        )

    async def agreed(self, params: p.ChangeForecastParams) -> bool:
        """Whether the change may be made; the user is asked if it loses much of the cache."""
        found = await self.forecast(params)
        if not found.warn:
            return True
        decision = await self._consents.ask_user(
            "spending",
            "This change loses what the cache holds. Make it?",
            found.sentence,
            "A new session, or the end of this task, is a cheaper moment for it.",
        )
        return decision.allowed

    async def after(self, was: Settings) -> str:
        """A sentence about the loss of cache by settings that have just changed, before a request
        pays for it; empty if the loss is small.
        """
        now = self._preferences.settings
        if (was.provider, was.tools) == (now.provider, now.tools):
            return ""
        composed = await self._composer.preview()
        found = await self._cache.forecast(composed)
        facts, best = self._models.facts(), found.best
        if found.cold == "model":
            if await asyncio.to_thread(self._cache.seconds_left) <= 0:
                return ""
            best = 0.0
        elif found.cold != "changed":
            past = self._preferences.effort_now or was.provider.effort
            wanted = self._preferences.effort
            readable = await self._after_effort(past, wanted, composed, found, facts)
            cost = input_cost(found.tokens, readable, facts, composed.arrangement.ttl)
            found, best = evolve(found, readable=readable, cost=cost), found.cost
        most = now.spending.warn_change_cost
        if not most or found.cost - best <= most:
            return ""
        instead = f" instead of ${best:.2f}" if best else ""
        return (
            f"With these settings the next request reads {found.tokens - found.readable:,} tokens "
            f"anew, for about ${found.cost:.2f}{instead}. Set back before it is sent, they lose "
            "nothing."
        )

    async def _changed(
        self,
        params: p.ChangeForecastParams,
        composed: ComposedRequest,
        now: Forecast,
        facts: ModelFacts,
    ) -> tuple[ModelFacts, int]:
        """The model's facts after the change, and what can still be read."""
        match params.change:
            case "tools":
                return facts, 0
            case "effort":
                past = self._preferences.effort
                return facts, await self._after_effort(past, params.effort, composed, now, facts)
            case "model":
                wanted = p.ProviderSelectParams(params.provider, params.model, params.base_url)
                then, same = self._models.facts_if(wanted)
                return then, now.readable if same else 0
        return facts, now.readable

    async def _after_effort(
        self, was: Effort, wanted: str, composed: ComposedRequest, now: Forecast, facts: ModelFacts
    ) -> int:
        """Switching thinking on or off invalidates Anthropic's cache after tools and system.
        Another effort does not.
        """
        chosen = next((known for known in EFFORTS if known == wanted), None)
        if chosen is None or not facts.explicit_markers:
            return now.readable
        modes = [effort.thinking(facts, e).mode for e in (was, chosen)]
        if modes[0] == modes[1]:
            return now.readable
        head = evolve(composed, prompt=evolve(composed.prompt, messages=()))
        return min(now.readable, (await self._cache.forecast(head)).readable)


def _sentence(params: p.ChangeForecastParams, now: Forecast, lost: int, cost_then: float) -> str:
    if not params.change:
        return f"{now.readable:,} of {now.tokens:,} tokens should come from the cache."
    what = _WHAT[params.change]
    if not lost:
        return f"{what} loses nothing of the cache."
    cost = f", for about ${cost_then:.2f} instead of ${now.cost:.2f}" if cost_then else ""
    return f"{what} reads {lost:,} tokens anew that the cache holds now{cost}."
