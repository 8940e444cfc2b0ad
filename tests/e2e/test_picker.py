"""Choosing a model in a real VS Code: what is known of each stands beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from e2e.views import picture
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.agents import says
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e
LISTED = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-of-tomorrow")


@pytest.fixture
def model() -> Iterator[WireServer]:
    with wire_server("anthropic", [says("anthropic", "Hello.")]) as server:
        rows = [{"type": "model", "id": name, "display_name": name} for name in LISTED]
        page = {"data": rows, "has_more": False, "first_id": LISTED[0], "last_id": LISTED[-1]}
        for query in ("", "?limit=1000"):
            server.pages[f"/v1/models{query}"] = page
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


def test_the_list_of_models_says_what_each_takes_and_costs(
    vscode: Workbench, model: WireServer
) -> None:
    vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    vscode.command("Tierline: Select Model")
    rows = vscode.page.locator(".quick-input-list .monaco-list-row")
    every = rows.filter(has_text="All models of Anthropic")
    expect(every).to_be_visible(timeout=20_000)
    picture(vscode, "picker")
    every.click()
    opus = rows.filter(has_text="claude-opus-5-5").first
    expect(opus).to_contain_text("1,000,000 tokens", timeout=20_000)
    expect(opus).to_contain_text("$")
    expect(rows.filter(has_text="claude-of-tomorrow")).to_be_visible()
    picture(vscode, "models")
    opus.click()
    chip = vscode.chat.get_by_test_id("provider-chip")
    expect(chip).to_contain_text("claude-opus-5-5", timeout=20_000)
    assert model.requests == [], "no prompt is sent for a list"
