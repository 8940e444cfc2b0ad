"""``tierline models``: what is known of a model and from where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.terminal import run


@pytest.mark.usefixtures("cli_workspace")
def test_a_model_is_shown_with_window_price_cache_pictures_thinking_and_source(
    tmp_path: Path,
) -> None:
    said = " ".join(run(tmp_path, "models", "anthropic/claude-sonnet-5.5").stdout.split())
    for part in ("1,000,000 tokens", "$2 in, $10 out", "cache at marks from 512", "reads $0.10",
                 "pictures", "always thinks", "Source"):  # fmt: skip
        assert part in said, said


@pytest.mark.usefixtures("cli_workspace")
def test_a_part_of_a_name_lists_what_is_sold_and_where_the_figures_are_from(tmp_path: Path) -> None:
    said = run(tmp_path, "models", "deepseek-v4").stdout
    assert "deepseek-v4-pro" in said
    assert "litellm" in said
    only = json.loads(run(tmp_path, "models", "--provider", "gemini", "--json").stdout)
    names = [model["name"] for model in only["models"]]
    assert names
    assert all(name.startswith(("gemini", "gemma")) for name in names)
    flash = next(model for model in only["models"] if model["name"] == "gemini-3.5-flash")
    assert (flash["pictures"], flash["window"], flash["reasoning"]) == (True, 1_048_576, "can")


@pytest.mark.usefixtures("cli_workspace")
def test_an_unknown_model_and_an_unknown_provider_are_said_so(tmp_path: Path) -> None:
    result = run(tmp_path, "models", "nobody-knows-this")
    assert result.exit_code == 1
    assert "nobody knows how much it can read" in result.stdout
    assert "models.toml" in result.stdout
    result = run(tmp_path, "models", "--provider", "acme")
    assert result.exit_code == 1
    assert "openrouter" in result.stderr
