"""The active file in a real VS Code: a chip that goes along, and what is kept at the message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.views import asked
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e
RESULTS = Path(__file__).with_name("results")


@pytest.fixture
def model() -> Iterator[WireServer]:
    with wire_server("openai", [o_reply(f"Reply number {n}.") for n in range(1, 9)]) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


def test_the_active_file_goes_along_until_it_is_taken_off(
    vscode: Workbench, model: WireServer
) -> None:
    vscode.explorer_open("convert.py")
    chat = vscode.show_chat()
    chip = chat.get_by_test_id("active-chip")
    expect(chip).to_have_text("convert.py", timeout=30_000)
    expect(chip).to_have_attribute("aria-pressed", "true")
    asked(chat, "Explain this.")
    sent = json.dumps(model.bodies[-1]["messages"])
    assert "The user is looking at convert.py" in sent
    assert "def " in sent, "the file itself is sent"
    kept = chat.get_by_test_id("attached-chip")
    expect(kept).to_have_text("convert.py")
    RESULTS.mkdir(exist_ok=True)
    vscode.page.screenshot(path=RESULTS / "looking.png")

    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "false")
    asked(chat, "And in general?")
    assert "looking at" not in json.dumps(model.bodies[-1]["messages"][-1])

    vscode.page.reload()
    vscode.open()
    chat = vscode.show_chat()
    expect(chat.get_by_test_id("attached-chip")).to_have_text("convert.py", timeout=60_000)
    chip = chat.get_by_test_id("active-chip")
    expect(chip).to_have_attribute("aria-pressed", "false", timeout=30_000)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
