"""Providers are rows: what a row says is what is done."""

from __future__ import annotations

import pytest

from tierline.providers import registry
from tierline.providers.base import ProviderError
from tierline.providers.choice import adapter
from tierline.providers.choose import ProviderSettings, choose, make
from tierline.providers.openai import OpenAIProvider
from tierline.session.models import ModelService  # noqa: F401 (the import chain must hold)


def test_every_row_has_a_module_that_makes_and_renders() -> None:
    for row in registry.SPECS:
        module = adapter(row.adapter)
        assert module.BODIES, row.name
        assert callable(module.make), row.name
    assert len(set(registry.NAMES)) == len(registry.SPECS)


@pytest.mark.parametrize("row", registry.PRESETS, ids=lambda row: row.name)
def test_a_preset_goes_to_its_own_address_with_its_own_key(row: registry.ProviderSpec) -> None:
    keys = {row.key_variable: "k-of-preset", "OPENAI_API_KEY": "k-of-openai"}
    settings = ProviderSettings(row.name)
    if "{" in row.base_url:
        with pytest.raises(ProviderError, match="address of Azure OpenAI is not complete"):
            choose(settings, keys, {}, ())
        settings = ProviderSettings(row.name, base_url="https://mine.openai.azure.com/openai/v1")
    choice = choose(settings, keys, {}, ())
    assert choice.base_url == (settings.base_url or row.base_url)
    assert choice.endpoint.key == "k-of-preset"
    assert (choice.kind, choice.strategy, choice.host) == ("openai", "openai", row.host)
    provider = make(choice)
    assert isinstance(provider, OpenAIProvider)
    assert provider.service == row.title


@pytest.mark.parametrize("row", registry.PRESETS, ids=lambda row: row.name)
def test_a_preset_asks_for_a_key_unless_it_is_a_server_of_ones_own(
    row: registry.ProviderSpec,
) -> None:
    settings = ProviderSettings(row.name, base_url="https://mine.example/v1")
    openai = {"OPENAI_API_KEY": "k-of-openai"}
    if row.own:
        assert choose(settings, openai, {}, ()).endpoint.key == "", "no other provider's key"
        return
    with pytest.raises(ProviderError, match=rf"no key for {row.title.split(' (')[0]}"):
        choose(settings, openai, {}, ())


def test_a_key_in_the_environment_alone_chooses_only_who_always_was_chosen_so() -> None:
    env = {"OPENROUTER_API_KEY": "k"}
    try:
        assert choose(ProviderSettings(), env, {}, ()).spec.name != "openrouter"
    except ProviderError as error:
        assert error.code == "unavailable"
    stored = choose(ProviderSettings(), {}, {"openrouter": "k"}, ())
    assert (stored.spec.name, stored.endpoint.key) == ("openrouter", "k")


def test_prices_of_a_host_are_found_by_its_address() -> None:
    settings = ProviderSettings("openai", base_url="https://api.groq.com/openai/v1")
    assert choose(settings, {}, {"openai": "k"}, ()).host == "groq"
    assert registry.at("https://api.deepseek.com") is registry.spec("deepseek")
    assert registry.at("http://127.0.0.1:4000/v1") is None, "anything may run there"
    assert registry.at("") is None
