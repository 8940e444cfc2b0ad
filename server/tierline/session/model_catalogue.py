"""Models to choose from (the server's own list if it can be reached, else the table's), and
checking keys before they are stored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Literal

from attrs import define, evolve

from tierline import protocol as p
from tierline.context import model_texts
from tierline.context.images import ImageRule
from tierline.context.models import ModelFacts, ModelTable
from tierline.errors import TierlineError
from tierline.providers.base import OfferedModel, Provider, ProviderError
from tierline.providers.choice import ProviderChoice
from tierline.providers.choose import ProviderSettings, choose, make
from tierline.providers.registry import COMPATIBLE, PRESETS, ProviderSpec, spec

_REFUSED = frozenset({"auth"})
_ADDRESS = re.compile(r"https?://[^\s/?#]")
_UNREACHED = frozenset({"network", "stalled", "unavailable", "overloaded", "rate_limited"})


@define(eq=False, repr=False, slots=False)
class ModelCatalogue:
    """Asks services for their lists; never sends a prompt."""

    _table: ModelTable
    _settings: Callable[[], ProviderSettings]
    _secrets: Mapping[str, str]

    async def models(self, params: p.ModelsParams) -> p.ModelsResult:
        """The models of a provider, with facts about each.

        Raises:
            TierlineError: ``not_found``: there is no such provider; ``no_provider``: it cannot be
                reached, and the table has none of its models.
        """
        row = self._row(params.provider, params.base_url)
        notice, listed, choice = "", list[OfferedModel](), None
        try:
            choice = self._choice(row, params.base_url, self._secrets)
            if spec(params.provider) is None:  # a server found on this machine gets no key
                choice = evolve(choice, endpoint=evolve(choice.endpoint, key=""))
            listed = await _listed(choice)
        except ProviderError as error:
            notice = f"{error.message} {error.advice}".strip()
        source: Literal["server", "table"] = "server" if listed else "table"
        names = listed or [
            OfferedModel(name) for name in self._table.public.vendors.get(row.vendor, ())
        ]
        if not names:
            raise TierlineError(
                "no_provider",
                notice or f"{row.title} lists no models.",
                "Type the model's name instead." if not notice else "",
            )
        host = choice.host if choice is not None else row.host
        cards = [self._card(one, row.adapter, host) for one in names]
        return p.ModelsResult(row.name, row.title, cards, source, notice)

    async def check(self, params: p.KeyCheckParams) -> p.KeyCheckResult:
        """Try a key with one cheap request.

        Raises:
            TierlineError: ``not_found``: there is no such provider.
        """
        row = self._row(params.provider, params.base_url)
        try:
            choice = self._choice(row, params.base_url, {row.name: params.key})
            found = await _listed(choice, row.key_path)
        except ProviderError as error:
            if error.code in _REFUSED:
                return p.KeyCheckResult("refused", f"{error.message} {error.advice}")
            if error.code in _UNREACHED:
                return p.KeyCheckResult("unreachable", f"{error.message} {error.advice}")
            return p.KeyCheckResult("unknown", f"{row.title} was reached; the key was not tried.")
        return p.KeyCheckResult("ok", f"{row.title} accepts the key.", [one.name for one in found])

    def _row(self, name: str, base_url: str) -> ProviderSpec:
        row = spec(name) or (COMPATIBLE if base_url else None)
        if row is None or not row.key_variable:
            raise TierlineError(
                "not_found", f"There is no provider {name!r} with a list of models."
            )
        return row

    def _choice(
        self, row: ProviderSpec, base_url: str, secrets: Mapping[str, str]
    ) -> ProviderChoice:
        if base_url and not _ADDRESS.match(base_url):
            raise TierlineError(
                "invalid_params",
                f"{base_url[:200]!r} is no address.",
                "Begin it with http:// or https://.",
            )
        settings = self._settings()
        own = settings.base_url if settings.kind == row.name else ""
        settings = evolve(settings, kind=row.name, model="", base_url=base_url or own)
        return choose(settings, os.environ, secrets, ())

    def _card(self, one: OfferedModel, adapter: str, host: str) -> p.ModelCard:
        facts = self._table.facts(one.name, provider=adapter, host=host, reported_window=one.window)
        return card(facts)


def presets() -> list[p.PresetInfo]:
    """Providers that can be set up beside those that always show."""
    return [
        p.PresetInfo(row.name, row.title, row.base_url, row.key_prefix, row.own) for row in PRESETS
    ]


def card(facts: ModelFacts) -> p.ModelCard:
    """The facts about a model, for clients."""
    prices = facts.prices
    pictures = None
    if facts.image_rule is ImageRule.NONE:
        pictures = False
    elif facts.sees or facts.image_rule is not ImageRule.UNKNOWN:
        pictures = True
    return p.of(
        p.ModelCard,
        facts,
        known=facts.limit_source != "default",
        summary=model_texts.summary(facts),
        details=model_texts.details(facts, short=True),
        price_input=prices.input or None,
        price_output=prices.output or None,
        price_cached=prices.read or None,
        pictures=pictures,
        thinking=facts.reasoning,
    )


async def _listed(choice: ProviderChoice, path: str = "") -> list[OfferedModel]:
    """The models that the service lists. ``path``: what to ask instead, if the list
    needs no key.
    """
    provider: Provider = make(choice)
    try:
        return await provider.listed(path)
    finally:
        await provider.close()
