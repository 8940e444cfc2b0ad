"""A model that another extension brings into the editor answers in Tierline's chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.conftest import OpenWindow
from e2e.extensions import brought_along

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def acme(installed: tuple[Path, Path], tmp_path: Path) -> Iterator[None]:
    """An extension that registers a language model as any other would."""
    with brought_along("models", installed, tmp_path):
        yield


def test_the_editors_own_model_answers(
    acme: None, open_window: OpenWindow, workspace: Path
) -> None:
    vscode = open_window(workspace, apart=True)
    vscode.open()
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    vscode.page.keyboard.press("Control+Shift+E")
    vscode.context_menu("convert.py", "Pin to Tierline Context")

    vscode.command("Tierline: Select Model")
    row = vscode.page.locator(".quick-input-list .monaco-list-row", has_text="acme:parrot")
    expect(row).to_be_visible(timeout=30_000)
    row.click()
    expect(vscode.status).to_contain_text("/ 20k", timeout=30_000)

    vscode.command("Tierline: Open Chat")
    box = chat.get_by_test_id("chat-input")
    box.fill("What is in the file?")
    box.press("Enter")
    reply = chat.locator("[data-testid=message][data-role=assistant]").last
    expect(reply).to_contain_text("Parrot heard true about the file.", timeout=60_000)
    expect(reply).to_have_attribute("data-status", "ok", timeout=20_000)
