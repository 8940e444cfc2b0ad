"""The model table: how names find their row, who wins, and what the package ships."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tierline.context.images import ImageRule
from tierline.context.models import ModelTable
from tierline.session.counting import make_counters

ROWS: list[dict[str, Any]] = [
    {"match": "family:base", "family": "openai", "caching": "automatic", "margin": 0.0},
    {"match": "big*", "inherit": "family:base", "window": 400_000, "max_input_tokens": 272_000},
    {"match": "big-old*", "inherit": "big*", "window": 16_000, "max_input_tokens": 12_000},
    {"match": "big-old-exact", "window": 8_000},
    {"match": "input-only", "max_input_tokens": 9_000},
]


def shipped_rows() -> list[dict[str, Any]]:
    text = resources.files("tierline").joinpath("data", "models.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["model"]
    return rows


SHIPPED = ModelTable(shipped_rows())
PUBLIC = make_counters(Path()).table.public


@pytest.mark.parametrize(
    ("name", "window"),
    [("big", 400_000), ("big-2026-11-01", 400_000), ("big-old", 16_000), ("big-old-x", 16_000),
     ("big-old-exact", 8_000), ("BIG-OLD", 16_000), ("router/big-old", 16_000)],
)  # fmt: skip
def test_the_longest_match_wins_and_an_exact_one_over_all(name: str, window: int) -> None:
    assert ModelTable(ROWS).facts(name).window == window


def test_rows_inherit_what_they_do_not_say() -> None:
    facts = ModelTable(ROWS).facts("big-old-2026")
    assert (facts.family, facts.caching, facts.margin) == ("openai", "automatic", 0.0)


def test_one_of_window_and_input_limit_stands_in_for_the_other() -> None:
    facts = ModelTable(ROWS).facts("input-only")
    assert (facts.window, facts.max_input_tokens) == (9_000, 9_000)
    facts = ModelTable(ROWS).facts("big-old-exact")
    assert (facts.window, facts.max_input_tokens) == (8_000, 8_000)


def test_an_unknown_model_gets_the_default_and_says_so() -> None:
    facts = ModelTable(ROWS).facts("nobody-knows", default_window=20_000)
    assert (facts.window, facts.max_input_tokens, facts.limit_source) == (20_000, 20_000, "default")
    assert not facts.sure
    assert facts.max_output_tokens <= 5_000


def test_the_users_row_wins_key_by_key() -> None:
    user = [{"match": "big*", "max_output_tokens": 5}, {"match": "mine", "window": 7_000}]
    table = ModelTable(ROWS, user)
    assert table.facts("big").max_output_tokens == 5
    assert (table.facts("big").window, table.facts("big").limit_source) == (400_000, "table")
    assert (table.facts("mine").window, table.facts("mine").limit_source) == (7_000, "user")


@pytest.mark.parametrize("size", [6_000, 900_000])
def test_the_users_limit_holds_whether_lower_or_higher(size: int) -> None:
    table = ModelTable(ROWS, [{"match": "big", "max_input_tokens": size}])
    facts = table.facts("big")
    assert (facts.max_input_tokens, facts.window, facts.limit_source) == (size, size, "user")
    setting = ModelTable(ROWS).facts("big", max_input_tokens=size)
    assert (setting.max_input_tokens, setting.limit_source) == (size, "user")


def test_what_the_server_says_wins_over_the_table_but_not_over_the_user() -> None:
    facts = ModelTable(ROWS).facts("big", reported_window=4_096)
    assert (facts.window, facts.limit_source) == (4_096, "provider")
    user = ModelTable(ROWS, [{"match": "big", "window": 5_000}])
    assert user.facts("big", reported_window=4_096).window == 5_000


@pytest.mark.parametrize(
    "slip",
    [{"window": "lots"}, {"window": -1}, {"window": True}, {"price": 5}, {"price": {"input": "x"}},
     {"family": "zoo"}, {"image_rule": 3}, {"ttls": 5}, {"odd": 1}, {"native_encoding": "yes"}],
)  # fmt: skip
def test_a_slip_in_the_users_table_costs_that_value_only(slip: dict[str, Any]) -> None:
    row = {"match": "mine", "max_output_tokens": 77, **slip}
    facts = ModelTable(ROWS, [row]).facts("mine", default_window=10_000)
    assert (facts.max_output_tokens, facts.window) == (77, 10_000)


def test_rows_that_inherit_in_a_circle_do_no_harm() -> None:
    rows: list[dict[str, Any]] = [
        {"match": "a", "inherit": "b"},
        {"match": "b", "inherit": "a", "window": 5_000},
    ]
    assert ModelTable(rows).facts("a").window == 5_000


def test_history_gets_a_sixteenth_of_the_input() -> None:
    """Seed 004, Token Counting: "max_history_tokens (= max_input / 16)"."""
    assert ModelTable(ROWS).facts("big").max_history_tokens == 272_000 // 16


# --- what the package ships ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4*"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4*"),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5*"),
        ("claude-opus-5-5@20260922", "claude-opus-5-5*"),
        ("ft:gpt-4o-mini-2024-07-18:acme::x1", "gpt-4o-mini*"),
        ("gpt-4-0613", "gpt-4"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M*"),
    ],
)
def test_names_of_routers_clouds_and_fine_tunes_find_their_row(name: str, row: str) -> None:
    expected = SHIPPED.facts(row.rstrip("*"))
    facts = SHIPPED.facts(name)
    assert facts.limit_source == "table"
    assert (facts.window, facts.prices) == (expected.window, expected.prices)


@pytest.mark.parametrize("row", shipped_rows(), ids=lambda row: row["match"])
def test_every_shipped_row_is_whole(row: dict[str, Any]) -> None:
    names = {other["match"] for other in shipped_rows()}
    assert not row.get("inherit") or row["inherit"] in names
    if row["match"].startswith(("family:", "provider:")):
        return
    facts = SHIPPED.facts(row["match"].rstrip("*"))
    if facts.limit_source == "default":  # a correction of the public list, which has the sizes
        sold = PUBLIC.vendors.values()
        assert any(name.startswith(row["match"].rstrip("*")) for names in sold for name in names)
        return
    assert facts.limit_source == "table"
    assert facts.source
    assert 0 < facts.max_input_tokens <= facts.window
    assert 0 < facts.max_output_tokens <= facts.window
    assert facts.sure or facts.note
    if facts.family in ("anthropic", "openai"):
        assert facts.prices.input > 0
        assert facts.prices.output > facts.prices.input
        assert facts.prices.read <= facts.prices.input
        assert (facts.long_prompt_tokens > 0) == (facts.long_prices.input > 0)
    if facts.explicit_markers:
        assert facts.prices.write_1h > facts.prices.write_5m > facts.prices.input
        assert facts.max_marks == 4
        assert facts.lookback_blocks == 20


def test_only_models_that_tiktoken_lists_are_counted_as_exact() -> None:
    import tiktoken.model

    for row in shipped_rows():
        name = row["match"]
        facts = SHIPPED.facts(name.rstrip("*"))
        if facts.native_encoding and facts.family == "openai" and not name.startswith("family:"):
            example = name.replace("*", "-2026-01-01")
            assert tiktoken.model.encoding_name_for_model(example) == facts.encoding


@pytest.mark.parametrize("provider", ["openai", "local", "anthropic", ""])
def test_a_model_under_a_foreign_name_is_never_exact(provider: str) -> None:
    facts = SHIPPED.facts("qwen-what-ever:7b", provider=provider)
    assert not facts.native_encoding
    assert facts.margin > 0
    assert facts.limit_source == "default"


def test_a_claude_under_a_name_of_its_own_keeps_its_familys_rules() -> None:
    facts = SHIPPED.facts("company-assistant", provider="anthropic", default_window=50_000)
    assert facts.explicit_markers
    assert facts.image_rule is ImageRule.ANTHROPIC
    assert (facts.window, facts.prices.input) == (50_000, 0)


def test_the_embedded_model_has_its_own_window() -> None:
    facts = SHIPPED.facts("SmolLM2-135M-Instruct", provider="local")
    assert (facts.window, facts.limit_source, facts.min_cacheable_tokens) == (8192, "table", 0)


def test_long_prompts_have_their_own_prices() -> None:
    facts = SHIPPED.facts("gpt-5.4")
    assert facts.prices_for(272_000) == facts.prices
    assert facts.prices_for(272_001) == facts.long_prices
    assert SHIPPED.facts("gpt-4o").prices_for(10**9) == SHIPPED.facts("gpt-4o").prices
