"""What the user looks at in a real VS Code goes along, and all that did stays at the message."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from e2e.views import asked, picture, said_in_terminal, sidebar_width, violations, webview
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


DRAG = """row => {
  const data = new DataTransfer();
  row.dispatchEvent(
    new DragEvent('dragstart', { bubbles: true, cancelable: true, dataTransfer: data }));
  const said = Object.fromEntries([...data.types].map((type) => [type, data.getData(type)]));
  row.dispatchEvent(new DragEvent('dragend', { bubbles: true, dataTransfer: data }));
  return said;
}"""
"""A browser without a screen carries no drag from one frame to another: what is carried is taken
here, as VS Code puts it together."""
DROP = """(input, said) => {
  const data = new DataTransfer();
  for (const [type, text] of Object.entries(said)) data.setData(type, text);
  for (const kind of ['dragover', 'drop']) {
    input.dispatchEvent(
      new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
  }
}"""


def chips(chat: FrameLocator) -> Locator:
    return chat.get_by_test_id("mention-chip")


def menu(vscode: Workbench, at: Locator, *entries: str) -> None:
    """Choose from the context menu of something that is in view."""
    at.click(button="right")
    for entry in entries:
        item = vscode.page.locator(".context-view .action-item", has_text=entry).last
        expect(item).to_be_visible(timeout=20_000)
        vscode.page.wait_for_timeout(400)  # a menu that has just opened ignores the button
        item.click()


def test_things_come_into_the_prompt_from_where_they_are(
    vscode: Workbench, model: WireServer
) -> None:
    page = vscode.page
    vscode.explorer_open("broken.json")
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    box = chat.get_by_test_id("chat-input")

    # Pasted: the path of a file becomes a mention.
    box.fill("tests/test_convert.py")
    box.press("Control+A")
    box.press("Control+X")
    expect(box).to_have_value("")
    box.press("Control+V")
    expect(box).to_have_value("@tests/test_convert.py ", timeout=20_000)
    expect(chips(chat)).to_have_count(1, timeout=20_000)

    # Dragged from the explorer and dropped on the input, with what VS Code says of the file.
    page.keyboard.press("Control+Shift+E")
    dragged = vscode.explorer_entry("README.md").evaluate(DRAG)
    assert "text/uri-list" in dragged or "resourceurls" in dragged, dragged
    chat = vscode.show_chat()
    box.evaluate(DROP, dragged)
    expect(chips(chat)).to_have_count(2, timeout=20_000)
    expect(chips(chat).last).to_contain_text("README.md")

    # The source control view: a changed file.
    page.keyboard.press("Control+Shift+G")
    changed = page.locator(".scm-view .monaco-list-row", has_text="broken.json")
    expect(changed).to_be_visible(timeout=60_000)
    menu(vscode, changed, "Mention in Chat")
    expect(chips(chat)).to_have_count(3, timeout=20_000)

    # The gutter of an editor.
    vscode.explorer_open("convert.py")
    menu(vscode, page.locator(".line-numbers").nth(5), "Tierline", "Mention in Chat")
    expect(chips(chat)).to_have_count(4, timeout=20_000)

    # A terminal's own menu.
    menu(vscode, said_in_terminal(vscode), "Terminal Output to Chat")
    expect(chips(chat)).to_have_count(5, timeout=20_000)
    picture(vscode, "from-everywhere")

    # The problems panel: the actions of a problem.
    vscode.command("Problems: Focus on Problems View")
    problem = page.locator(".markers-panel .monaco-list-row", has_text="Value expected")
    fix = page.locator(".context-view .action-item", has_text="Fix with Tierline")
    for _ in range(8):  # before the panel has asked for actions, keys do nothing
        problem.click(timeout=60_000)
        page.keyboard.press("Control+.")
        page.wait_for_timeout(3_000)
        if fix.is_visible():
            break
        page.keyboard.press("Escape")
    expect(fix).to_be_visible()
    picture(vscode, "from-problems")
    fix.click()
    replies = chat.locator("[data-testid=message][data-role=assistant]")
    expect(replies.first).to_have_attribute("data-status", "ok", timeout=60_000)
    sent = json.dumps(model.bodies[-1])
    assert "Fix this problem." in sent and "Value expected" in sent
