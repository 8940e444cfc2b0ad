"""What the user looks at in a real VS Code goes along, and all that did stays at the message."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.views import asked, picture, sidebar_width, violations, webview
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e


@pytest.fixture
def model() -> Iterator[WireServer]:
    with wire_server("openai", [o_reply(f"Reply number {n}.") for n in range(1, 9)]) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


@pytest.fixture
def workspace(workspace: Path) -> Path:
    """A repository with changes, two instruction files, and a problem that VS Code finds."""
    git = ["git", "-C", str(workspace), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "Begin"], check=True)
    for name in ("AGENTS.md", "CLAUDE.md"):
        (workspace / name).write_text(f"# {name}\n\nAnswer briefly.\n", encoding="utf-8")
    (workspace / "broken.json").write_text('{\n  "scale": \n}\n', encoding="utf-8")
    return workspace


def test_the_active_file_goes_along_and_all_that_went_along_stays_at_the_message(
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

    # What was found for the prompt and what every prompt has, folded; each opens as it was sent.
    rules = chat.locator("[data-testid=sent-chip][data-kind=instructions]")
    expect(rules).to_have_text("2 instruction files")
    picture(vscode, "looking-folded")
    rules.focus()
    rules.press("Enter")
    listed = chat.get_by_test_id("sent-list").get_by_role("button")
    expect(listed).to_have_count(2, timeout=20_000)
    sidebar_width(vscode, 260)
    picture(vscode, "looking-list")
    assert violations(webview(vscode, "chat")) == []
    sidebar_width(vscode, 340)
    listed.first.press("Enter")
    expect(vscode.page.locator(".tab.active")).to_contain_text("AGENTS.md", timeout=20_000)
    (vscode.workspace / "convert.py").write_text("CHANGED = True\n", encoding="utf-8")
    kept.click()
    opened = vscode.page.locator(".editor-instance .view-lines")
    expect(opened).to_contain_text("ABSOLUTE_ZERO", timeout=20_000)
    picture(vscode, "looking-opened")
    vscode.page.keyboard.press("Control+F4")

    vscode.explorer_open("report.py")
    chat = vscode.show_chat()
    expect(chip).to_have_text("report.py")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "false")
    asked(chat, "And in general?")
    assert "looking at" not in json.dumps(model.bodies[-1]["messages"][-1])

    vscode.page.reload()
    vscode.open()
    chat = vscode.show_chat()
    expect(chat.get_by_test_id("attached-chip")).to_have_text("convert.py", timeout=60_000)
    expect(rules.first).to_have_text("2 instruction files")
    chip = chat.get_by_test_id("active-chip")
    expect(chip).to_have_attribute("aria-pressed", "false", timeout=30_000)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
