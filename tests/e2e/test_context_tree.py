"""The Context view in a real VS Code: groups, pins, suggestions, a web page, a turn's line."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from e2e.gallery import pane
from e2e.views import put_page
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.agents import Use, calls, says
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e


@pytest.fixture
def workspace(workspace: Path) -> Path:
    """A page that was read earlier: no test reaches for the network."""
    put_page(workspace)
    return workspace


@pytest.fixture
def model() -> Iterator[WireServer]:
    suggestion = Use(
        "suggest_pins", {"items": ["tests/test_convert.py"], "why": "It says what must hold."}, "c1"
    )
    with wire_server("openai", [calls("openai", suggestion), says("openai", "Done.")]) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


def row(bench: Workbench, text: str) -> Locator:
    """An entry of the Context view."""
    return bench.page.locator("[aria-label='Context'] .monaco-list-row", has_text=text).first


def act(bench: Workbench, text: str, action: str) -> None:
    """Hover over an entry and press one of its buttons, which goes then.

    Rows that are drawn anew between press and release swallow the click; their figures come bit by
    bit (added, read, counted), so that cannot be ruled out.
    """
    entry = row(bench, text)
    button = entry.get_by_label(action, exact=True)
    for _ in range(3):
        entry.hover()
        button.click()
        with contextlib.suppress(AssertionError):
            expect(button).to_have_count(0, timeout=5_000)
            return
    expect(button).to_have_count(0)


def test_the_context_is_seen_and_changed_in_its_tree(
    vscode: Workbench, model: WireServer, workspace: Path
) -> None:
    page = vscode.page
    vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    page.keyboard.press("Control+Shift+E")
    vscode.context_menu("convert.py", "Add to Tierline Context")
    chat = vscode.show_chat()
    header = page.locator(".pane-header[aria-label*='Context']").first
    expect(header).to_be_visible(timeout=20_000)
    if header.get_attribute("aria-expanded") != "true":
        header.click()

    # A file that was added is selected; a button pins it, and it moves.
    expect(row(vscode, "Selected")).to_be_visible(timeout=20_000)
    expect(row(vscode, "convert.py")).to_contain_text("tokens")
    act(vscode, "convert.py", "Pin")
    expect(row(vscode, "Pinned")).to_be_visible(timeout=20_000)
    expect(row(vscode, "Selected")).to_have_count(0)

    # A web page, from the cache.
    vscode.command("Tierline: Add Web Page to Context")
    box = page.locator(".quick-input-widget input").first
    expect(page.locator(".quick-input-title")).to_contain_text("web page", timeout=20_000)
    box.fill("docs.example.org/temperature-scales")
    page.keyboard.press("Enter")
    expect(row(vscode, "Web pages")).to_be_visible(timeout=20_000)
    expect(row(vscode, "Temperature scales")).to_contain_text("tokens")

    # The model suggests a pin: dimmed, and nothing is held until it is accepted.
    prompt = chat.get_by_test_id("chat-input")
    prompt.fill("Which function converts Fahrenheit to Celsius? See test_convert.py")
    prompt.press("Enter")
    expect(chat.locator("[data-testid=message][data-role=assistant]").last).to_contain_text(
        "Done.", timeout=60_000
    )
    assert "Rankine" in json.dumps(model.bodies[0])
    line = chat.get_by_test_id("budget-line")
    expect(line).to_contain_text("1 page")
    expect(row(vscode, "Suggested")).to_be_visible(timeout=20_000)
    expect(row(vscode, "convert.py")).to_contain_text("in front")
    act(vscode, "test_convert.py", "Accept Suggestion")
    expect(row(vscode, "Suggested")).to_have_count(0, timeout=20_000)
    expect(row(vscode, "test_convert.py")).to_be_visible()

    # The line under the prompt opens what was found for it.
    line.click()
    expect(page.locator(".quick-input-title")).to_contain_text("CTX light", timeout=20_000)
    expect(page.locator(".quick-input-list")).to_contain_text("Show exact context")
    page.keyboard.press("Escape")

    # A page's text is shown as it is sent; then it is removed, the pin is taken away.
    pane(vscode, "Chat", False)  # the tree has the room
    row(vscode, "Temperature scales").click()
    editor = page.locator(".editor-instance .monaco-editor").first
    expect(editor).to_contain_text("Rankine", timeout=20_000)
    act(vscode, "Temperature scales", "Remove from Context")
    expect(row(vscode, "Web pages")).to_have_count(0, timeout=20_000)
    act(vscode, "test_convert.py", "Unpin")
    expect(row(vscode, "Selected")).to_be_visible(timeout=20_000)
