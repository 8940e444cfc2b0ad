"""The client in German, in a real VS Code whose display language is German."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.german import german
from e2e.views import CUT, pictures, violations, webview
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.scripts import a_reply
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e


@pytest.fixture
def model() -> Iterator[WireServer]:
    with wire_server("anthropic", [a_reply("Zwei Funktionen.")]) as server:
        yield server


@pytest.fixture
def locale() -> str:
    return "de"


@pytest.fixture
def model_env(
    installed: tuple[Path, Path], model: WireServer, tmp_path: Path
) -> Iterator[dict[str, str]]:
    with german(installed[0], tmp_path):
        yield environment(model)


def test_the_client_speaks_german(vscode: Workbench, model: WireServer) -> None:
    page = vscode.page
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    box = chat.get_by_test_id("chat-input")
    expect(box).to_have_attribute(
        "placeholder", "Fragen Sie zu Ihrem Code, @ für Kontext, / für Befehle"
    )
    frame = webview(vscode, "chat")
    assert frame.evaluate("() => document.documentElement.lang") == "de"
    expect(chat.get_by_test_id("empty")).to_contain_text("Aktuelle Datei hinzufügen")
    if (folder := pictures()) is not None:
        page.screenshot(path=folder / "german-empty.png", scale="css")
    box.fill("Was tut convert.py?")
    box.press("Enter")
    replies = chat.locator("[data-testid=message][data-role=assistant]")
    expect(replies.last).to_have_attribute("data-status", "ok", timeout=60_000)
    expect(replies.last.get_by_label("Antwort kopieren")).to_be_visible()
    expect(chat.locator("[aria-live]")).to_contain_text("Die Antwort ist vollständig.")
    assert violations(frame) + frame.evaluate(CUT) == []

    # Numbers are written as Germans write them.
    expect(vscode.status).to_contain_text(",")
    vscode.status.hover()
    hover = page.locator(".workbench-hover", has_text="Nächste Anfrage").first
    expect(hover).to_contain_text("200.000", timeout=20_000)
    expect(hover).to_contain_text("Werkzeuge")

    # The manifest's texts: commands, views, settings.
    page.keyboard.press("F1")
    palette = page.locator(".quick-input-widget")
    palette.locator("input").first.fill(">Prompt-Cache anzeigen")
    row = palette.locator(".monaco-list-row").first
    expect(row).to_contain_text("Tierline: Prompt-Cache anzeigen")
    row.click()
    cache = webview(vscode, "cache")
    expect(cache.get_by_test_id("charts")).to_contain_text("Kosten je Runde", timeout=30_000)
    expect(page.locator(".tab", has_text="Prompt-Cache")).to_be_visible()
    expect(page.locator(".pane-header", has_text="Kontext")).to_be_visible()
    if folder is not None:
        page.screenshot(path=folder / "german-cache.png", scale="css")
    assert violations(cache) + cache.evaluate(CUT) == []
