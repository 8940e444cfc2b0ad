"""An agent in a real VS Code: it finds, edits and tests a bug; one command is asked about, one edit
is rejected, one accepted. A model on loopback speaks Anthropic's wire format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from bugcases.bodies import violations
from e2e.workbench import Workbench
from lsp.conftest import environment
from lsp.editing import edit, script
from wire import temperature
from wire.agents import results
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e


@pytest.fixture
def model_script() -> list[Any]:
    return temperature.script("anthropic")


@pytest.fixture
def model(model_script: list[Any]) -> Iterator[WireServer]:
    with wire_server("anthropic", model_script) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer, tmp_path: Path) -> dict[str, str]:
    return environment(model) | temperature.PATH | {"TIERLINE_DATA_DIR": str(tmp_path / "data")}


def test_finds_edits_and_tests_a_bug(vscode: Workbench, model: WireServer) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    box = chat.get_by_test_id("chat-input")
    box.fill(temperature.PROMPT)
    box.press("Enter")

    # The command is shown as it is, and runs only after a click.
    command = chat.get_by_test_id("consent-command")
    expect(command).to_contain_text("-m pytest -q", timeout=60_000)
    rows = chat.get_by_test_id("call")
    expect(rows.first).to_have_attribute("data-status", "ok", timeout=30_000)
    chat.get_by_test_id("consent-always").click()

    # The wrong edit: looked at, rejected, with a reason.
    edits = chat.get_by_test_id("edit")
    expect(edits.last).to_have_attribute("data-state", "open", timeout=60_000)
    expect(edits.last).to_contain_text("+ 31", timeout=30_000)
    assert "+ 30" in (vscode.workspace / "convert.py").read_text("utf-8")
    chat.get_by_test_id("edit-reject").click()
    reason = chat.get_by_test_id("edit-reason")
    reason.fill(temperature.REASON)
    reason.press("Enter")
    expect(edits.first).to_have_attribute("data-state", "rejected", timeout=30_000)

    # The right one: seen as a diff, accepted.
    expect(edits).to_have_count(2, timeout=60_000)
    expect(edits.last).to_contain_text("+ 32", timeout=30_000)
    chat.get_by_test_id("edit-preview").click()
    diff = vscode.page.locator(".monaco-diff-editor")
    expect(diff).to_be_visible(timeout=30_000)
    expect(diff).to_contain_text("+ 32", timeout=30_000)
    vscode.page.keyboard.press("Escape")
    chat.get_by_test_id("edit-accept").click()
    expect(edits.last).to_have_attribute("data-state", "applied", timeout=30_000)
    expect(diff).to_be_hidden(timeout=30_000)

    reply = chat.locator("[data-testid=message][data-role=assistant]").last
    expect(reply).to_contain_text("The tests pass", timeout=90_000)
    expect(reply).to_have_attribute("data-status", "ok", timeout=30_000)

    told = results(model.bodies[-1], "anthropic")
    assert "1 failed" in told["test1"]
    assert told["edit1"].endswith(f"Reason: {temperature.REASON}")
    assert told["edit2"].startswith("Applied as proposed (")
    assert told["edit2"].endswith("): convert.py.")
    assert "2 passed" in told["test2"]
    assert [v for body in model.bodies for v in violations(body, "anthropic")] == []
    assert "9 / 5 + 32" in (vscode.workspace / "convert.py").read_text("utf-8")

    # Undo is the editor's own.
    vscode.explorer_open("convert.py")
    vscode.page.locator(".monaco-editor .view-lines").first.click()
    vscode.page.keyboard.press("Control+z")
    lines = vscode.page.locator(".monaco-editor .view-lines").first
    expect(lines).to_contain_text("5 + 30", timeout=30_000)


ONE = edit("convert.py", ("9 / 5 + 30", "9 / 5 + 32"))


@pytest.mark.parametrize("model_script", [script("anthropic", ONE)], ids=[""])
def test_an_open_edit_waits_over_a_reload(vscode: Workbench, model: WireServer) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    box = chat.get_by_test_id("chat-input")
    box.fill("Mend it.")
    box.press("Enter")
    expect(chat.get_by_test_id("edit")).to_have_attribute("data-state", "open", timeout=60_000)

    vscode.page.reload()
    vscode.page.locator(".monaco-workbench").wait_for(timeout=60_000)
    chat = vscode.chat  # the view is there again by itself
    card = chat.get_by_test_id("edit")
    expect(card).to_have_attribute("data-state", "open", timeout=60_000)
    expect(card).to_contain_text("+ 32")
    chat.get_by_test_id("edit-accept").click()
    expect(card).to_have_attribute("data-state", "applied", timeout=30_000)
    assert "9 / 5 + 32" in (vscode.workspace / "convert.py").read_text("utf-8")

    box = chat.get_by_test_id("chat-input")
    box.fill("And now?")
    box.press("Enter")
    reply = chat.locator("[data-testid=message][data-role=assistant]").last
    expect(reply).to_contain_text("Done.", timeout=60_000)
    assert "The user accepted the edit" in json.dumps(model.bodies[-1])
