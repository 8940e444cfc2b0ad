"""Memos in a real VS Code: saved, listed, sent with the prompt that they fit, edited, deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from e2e.views import keep, with_code
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e
IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


@pytest.fixture
def model() -> Iterator[WireServer]:
    with wire_server("openai", [o_reply("It is 5544.")]) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer, tmp_path: Path) -> dict[str, str]:
    return {**environment(model), "TIERLINE_DATA_DIR": str(tmp_path / "data")}


def rows(bench: Workbench) -> Locator:
    """Memos in the tree."""
    return bench.page.locator("[aria-label='Memos'] .monaco-list-row[aria-level='2']")


def answer(bench: Workbench, text: str) -> None:
    """Type into the open input box."""
    box = bench.page.locator(".quick-input-widget input").first
    expect(box).to_be_visible(timeout=20_000)
    box.fill(text)
    bench.page.keyboard.press("Enter")


def test_memos_from_the_first_to_the_last(
    vscode: Workbench, model: WireServer, workspace: Path
) -> None:
    page = vscode.page
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)

    # Two memos are saved; the view lists them under the scope that they hold in.
    for content, tags, scope in (
        ("The integration database listens on port 5544.", "database port", "This project"),
        ("I prefer short replies.", "style", "All my projects"),
    ):
        vscode.command("Tierline: New Memo")
        expect(page.locator(".quick-input-title")).to_contain_text("New memo", timeout=20_000)
        answer(vscode, content)
        expect(page.locator(".quick-input-title")).to_contain_text("Tags", timeout=20_000)
        answer(vscode, tags)
        expect(page.locator(".quick-input-title")).to_contain_text("Where", timeout=20_000)
        page.locator(".quick-input-list .monaco-list-row", has_text=scope).first.click()
    header = page.locator(".pane-header[aria-label*='Memos']")
    expect(header).to_be_visible()
    if header.get_attribute("aria-expanded") != "true":
        header.click()
    expect(rows(vscode)).to_have_count(2, timeout=20_000)
    expect(rows(vscode).first).to_contain_text("port 5544")
    expect(rows(vscode).first).to_contain_text("#database")

    # A prompt that it fits takes it along.
    box = chat.get_by_test_id("chat-input")
    box.fill("which port has the integration database?")
    box.press("Enter")
    expect(chat.locator("[data-testid=message][data-role=user]")).to_contain_text("+1 memo")
    expect(chat.locator("[data-testid=message][data-role=assistant]")).to_contain_text("5544")
    assert "port 5544" in json.dumps(model.bodies[-1])
    with_code(vscode)
    keep(vscode, IMAGES / "memos.png")

    # It is edited as a document and saved back.
    rows(vscode).first.click()
    expect(page.locator(".tabs-container .tab", has_text="The integration")).to_be_visible(
        timeout=20_000
    )
    editor = page.locator(".editor-instance .monaco-editor").first
    expect(editor).to_contain_text("5544", timeout=20_000)
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("tags: database\n\nThe integration database listens on port 6000.")
    page.keyboard.press("Control+s")
    expect(rows(vscode).first).to_contain_text("port 6000", timeout=20_000)

    # Searched, and deleted with a question first.
    vscode.command("Tierline: Search Memos")
    page.locator(".quick-input-widget input").first.fill("replies")
    found = page.locator(".quick-input-list .monaco-list-row")
    expect(found).to_have_count(1, timeout=20_000)
    expect(found).to_contain_text("short replies")
    page.keyboard.press("Escape")
    row = rows(vscode).filter(has_text="port 6000")
    row.hover()
    row.get_by_label("Delete Memo").click()
    dialog = page.locator(".monaco-dialog-box")
    expect(dialog).to_contain_text("Delete this memo?")
    dialog.get_by_role("button", name="Delete").click()
    expect(rows(vscode)).to_have_count(1, timeout=20_000)
    expect(rows(vscode)).to_contain_text("short replies")
    log = (workspace / ".tierline" / "memos.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["kind"] for line in log.splitlines()] == ["save", "edit", "delete"]
