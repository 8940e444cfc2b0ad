"""Choosing a model: the server's own list or the table's, and keys that are tried before use."""

from __future__ import annotations

import pytest

from lsp.conftest import Start
from tierline import protocol as p
from wire.servers import Kind, Reply, wire_server


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_the_servers_own_list_comes_with_what_is_known_of_each_model(
    start: Start, kind: Kind
) -> None:
    with wire_server(kind, [Reply()]) as model:
        editor = await start(model)
        found = await editor.ask("provider/models", p.ModelsParams(kind))
        assert (found.source, [card.name for card in found.models]) == ("server", ["mock-a"])
        card = found.models[0]
        assert not card.known or kind == "anthropic"
        assert model.requests == [], "no prompt is sent for a list"


async def test_without_a_key_the_table_lists_what_is_sold(start: Start) -> None:
    editor = await start()
    found = await editor.ask("provider/models", p.ModelsParams("gemini"))
    assert found.source == "table"
    assert "no key for Google Gemini" in found.notice
    flash = next(card for card in found.models if card.name == "gemini-3.5-flash")
    assert flash.known
    assert (flash.max_input_tokens, flash.price_input, flash.pictures, flash.thinking) == (
        1_048_576, 1.5, True, "can",
    )  # fmt: skip
    assert "1,048,576 tokens · $1.50 in" in flash.summary


async def test_presets_are_listed_with_address_and_key(start: Start) -> None:
    editor = await start()
    listed = await editor.ask("provider/list")
    presets = {preset.name: preset for preset in listed.presets}
    for name in ("openrouter", "gemini", "deepseek", "mistral", "groq", "xai", "azure", "ollama",
                 "lmstudio", "llamacpp", "vllm", "litellm"):  # fmt: skip
        assert presets[name].base_url.startswith("http"), name
    assert presets["ollama"].own
    assert {info.name for info in listed.providers} >= {"anthropic", "openai", "local"}
    assert not presets.keys() & {info.name for info in listed.providers}, "not set up yet"


async def test_a_key_is_tried_and_what_comes_of_it_is_one_clear_sentence(start: Start) -> None:
    with wire_server("openai", [Reply()]) as model:
        editor = await start()
        good = p.KeyCheckParams("openai", "k", model.url)
        found = await editor.ask("provider/checkKey", good)
        assert (found.outcome, found.models) == ("ok", ["mock-a"])
        assert model.others[-1].headers["authorization"] == "Bearer k"
        assert model.requests == []
        # OpenRouter lists its models to everybody: the key is tried elsewhere.
        elsewhere = p.KeyCheckParams("openrouter", "k", model.url)
        assert (await editor.ask("provider/checkKey", elsewhere)).outcome == "unknown"
        url = model.url
    gone = await editor.ask("provider/checkKey", p.KeyCheckParams("openai", "k", url))
    assert gone.outcome == "unreachable"
    assert "cannot be reached" in gone.message
    bad = await editor.ask("provider/checkKey", p.KeyCheckParams("openai", "k…cut", url))
    assert bad.outcome == "refused"
    assert "no key has" in bad.message


async def test_a_refused_key_says_so(start: Start) -> None:
    with wire_server("openai", [Reply()]) as model:
        model.list_status = 401
        editor = await start()
        params = p.KeyCheckParams("mistral", "wrong", model.url)
        found = await editor.ask("provider/checkKey", params)
        assert found.outcome == "refused"
        assert found.message == (
            "Mistral did not accept the key (HTTP 401). Check the key, or set another one."
        )
        assert "wrong" not in found.message


async def test_a_server_that_was_found_here_is_asked_without_a_key(start: Start) -> None:
    with wire_server("openai", [Reply()]) as model:
        editor = await start(model)
        found = await editor.ask("provider/models", p.ModelsParams("Ollama", model.url))
        assert [card.name for card in found.models] == ["mock-a"]
        assert "test-key-of-nobody" not in str(model.others[-1].headers)
