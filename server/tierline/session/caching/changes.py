"""What a change that the user thinks of would do to the cache, and what that costs: said before."""

from __future__ import annotations

import asyncio

from attrs import evolve

from tierline import protocol as p
from tierline.context import effort
from tierline.context.effort import EFFORTS
from tierline.context.models import ModelFacts
from tierline.context.tiers.forecast import Forecast, input_cost
from tierline.session.caching.service import CacheService
from tierline.session.models import ModelService
from tierline.session.requests.composer import Composed, Composer
from tierline.session.state.preferences import Preferences

_WHAT = {"model": "Another model", "effort": "Another effort", "tools": "Other tools"}


class ChangeService:
    """Answers ``tierline/cache/forecast``. Changes nothing."""

    def __init__(
        self,
        preferences: Preferences,
        models: ModelService,
        composer: Composer,
        cache: CacheService,
    ) -> None:
        self._preferences = preferences
        self._models = models
        self._composer = composer
        self._cache = cache

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

    async def _changed(
        self, params: p.ChangeForecastParams, composed: Composed, now: Forecast, facts: ModelFacts
    ) -> tuple[ModelFacts, int]:
        """The model's facts after the change, and what can still be read."""
        match params.change:
            case "tools":
                return facts, 0
            case "effort":
                return facts, await self._after_effort(params.effort, composed, now, facts)
            case "model":
                wanted = p.ProviderSelectParams(params.provider, params.model, params.base_url)
                then, same = self._models.facts_if(wanted)
                return then, now.readable if same else 0
        return facts, now.readable

    async def _after_effort(
        self, wanted: str, composed: Composed, now: Forecast, facts: ModelFacts
    ) -> int:
        """Thinking that is switched on or off changes what Anthropic's cache is found by, behind
        tools and system. An effort alone does not.
        """
        chosen = next((known for known in EFFORTS if known == wanted), None)
        if chosen is None or not facts.explicit_markers:
            return now.readable
        modes = [effort.thinking(facts, e).mode for e in (self._preferences.effort, chosen)]
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
