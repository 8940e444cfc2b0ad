"""A model is found by whatever name a gateway, a cloud or a local server gives it."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tierline.context import model_texts
from tierline.context.limits import Limits
from tierline.context.modellist import PublicList, begins, plain, shorter
from tierline.context.models import ModelTable
from tierline.session.counting import make_counters

TABLE = make_counters(Path()).table


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-5-5", "anthropic/claude-sonnet-5.5", "claude-sonnet-5-5@20261001",
        "bedrock/eu.anthropic.claude-sonnet-5-5-v1:0",
        "us.anthropic.claude-sonnet-5-5-20261001-v2:0",
        "vertex_ai/claude-sonnet-5-5@20261001", "openrouter/anthropic/claude-sonnet-5.5:beta",
        "CLAUDE-SONNET-5-5", "claude-sonnet-5-5-latest", "databricks-claude-sonnet-5-5",
    ],
)  # fmt: skip
def test_every_name_of_a_claude_finds_its_prices_and_its_cache_rule(name: str) -> None:
    facts = TABLE.facts(name, provider="openai")
    assert (facts.window, facts.caching, facts.min_cacheable_tokens) == (1_000_000, "explicit", 512)
    assert (facts.prices.input, facts.prices.read) == (2.0, 0.1)


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("models/gemini-3.5-flash", 1_048_576), ("google/gemini-2.5-pro-preview-06-05", 1_048_576),
        ("gemini/gemini-3.5-flash", 1_048_576), ("qwen/qwen3-coder:free", 262_144),
        ("qwen3:8b", 40_960), ("qwen3:8b-q4_K_M", 40_960), ("Qwen/Qwen3-8B-AWQ", 40_960),
        ("qwen3-8b-instruct-Q4_K_M.gguf", 40_960), ("gpt-oss:20b", 131_072),
        ("openai/gpt-oss-120b", 131_072), ("deepseek/deepseek-v3.2", 163_840),
        ("deepseek-v4-pro-0901", 1_000_000), ("accounts/fireworks/models/deepseek-v3p2", 163_840),
        ("moonshotai/kimi-k2.6", 262_144), ("z-ai/glm-5.3", 1_000_000), ("x-ai/grok-4.7", 500_000),
        ("us.meta.llama3-3-70b-instruct-v1:0", 128_000), ("llama3.2:latest", 60_000),
        ("mistralai/devstral-medium", 256_000), ("MiniMaxAI/MiniMax-M3", 1_000_000),
        ("hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M", 40_960),
    ],
)  # fmt: skip
def test_common_models_are_known_by_the_names_that_servers_give_them(
    name: str, window: int
) -> None:
    facts = TABLE.facts(name, provider="openai")
    assert facts.limit_source == "table"
    assert facts.max_input_tokens == window


@pytest.mark.parametrize("name", ["nobody-knows", "glm-5.9", "default", "", "gemini-9", "gpt"])
def test_a_name_that_is_none_of_these_is_not_guessed_at(name: str) -> None:
    facts = TABLE.facts(name, provider="openai", default_window=20_000)
    assert (facts.limit_source, facts.sure, facts.window) == ("default", False, 20_000)
    assert "nobody knows" in model_texts.summary(facts)


def test_another_version_is_another_model() -> None:
    assert begins("glm5-air", "glm5")
    assert not begins("glm5-3", "glm5")
    assert not begins("glm52", "glm5")
    assert list(shorter(plain("gemini-2.5-pro-preview-06-05"))) == [
        "gemini2-5-pro-preview-06-05", "gemini2-5-pro-preview", "gemini2-5-pro",
    ]  # fmt: skip
    assert plain("deepseek-v3") != plain("deepseek")


def test_a_name_of_which_only_the_beginning_is_known_says_so() -> None:
    facts = TABLE.facts("deepseek-r1:14b", provider="openai")
    assert not facts.sure
    assert "deepseek-r1" in facts.note


def test_weights_cost_what_their_host_takes_and_nothing_on_ones_own_machine() -> None:
    assert TABLE.facts("openai/gpt-oss-120b", host="groq").prices.input > 0
    assert TABLE.facts("openai/gpt-oss-120b").prices.input == 0
    assert TABLE.facts("qwen3:8b").prices.input == 0


def test_a_dearer_kind_of_a_model_has_its_own_prices_though_a_row_names_its_beginning() -> None:
    plain_one, pro = TABLE.facts("gpt-5.5"), TABLE.facts("gpt-5.5-pro")
    assert pro.prices.input > 4 * plain_one.prices.input
    assert pro.max_input_tokens == plain_one.max_input_tokens
    assert TABLE.facts("gpt-5.6-cyber").max_input_tokens < TABLE.facts("gpt-5.6").max_input_tokens


def test_rows_of_the_package_and_the_user_stand_above_the_list() -> None:
    data: dict[str, Any] = {
        "columns": ["input", "output", "price_input", "price_output", "flags"],
        "vendors": {"acme": ["big-2"]},
        "models": {"big2": [100_000, 9_000, 1.0, 2.0, "rc"], "small": [5_000]},
    }
    rows = [{"match": "family:x", "family": "openai", "window": 7}, {"match": "big*", "ratio": 2.0}]
    table = ModelTable(rows, [{"match": "small", "window": 6_000}], PublicList(data))
    big = table.facts("router/big-2")
    assert (big.window, big.max_output_tokens, big.ratio) == (100_000, 9_000, 2.0)
    assert (big.reasoning, big.caching, big.sees_images) == ("can", "automatic", False)
    small = table.facts("small")
    assert (small.window, small.limit_source, small.output_known) == (6_000, "user", False)


def test_a_reply_whose_limit_nobody_knows_gets_a_share_or_what_the_user_asks_for() -> None:
    facts = TABLE.facts("nobody-knows", default_window=32_000)
    assert (facts.output_known, facts.max_output_tokens) == (False, 8_000)
    assert Limits.of(facts).max_output_tokens == 8_000
    assert Limits.of(facts, max_output_tokens=20_000).max_output_tokens == 20_000
    known = TABLE.facts("claude-3-5-haiku-20241022")
    assert Limits.of(known, max_output_tokens=20_000).max_output_tokens == known.max_output_tokens


def test_the_shipped_list_says_where_it_is_from_and_is_whole() -> None:
    text = resources.files("tierline").joinpath("data", "models.json").read_text("utf-8")
    data = json.loads(text)
    assert "litellm" in data["source"]
    assert "MIT" in data["license"]
    assert data["date"] >= "2026-11"
    for vendor in ("anthropic", "openai", "gemini", "deepseek", "qwen", "moonshot", "zai", "xai",
                   "mistral", "llama"):  # fmt: skip
        assert data["vendors"][vendor], vendor
        for name in data["vendors"][vendor]:
            facts = TABLE.facts(name)
            assert facts.limit_source == "table", name
            assert 0 < facts.max_output_tokens <= facts.window, name
