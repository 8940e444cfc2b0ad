"""Mentions, menus, code actions and asking in the editor, in a real VS Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from e2e.views import (
    CUT,
    THEMES,
    Settings,
    picture,
    said_in_terminal,
    sidebar_width,
    use_theme,
    violations,
    webview,
)
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.agents import Use, calls, says
from wire.servers import Kind, WireServer, wire_server

pytestmark = pytest.mark.e2e
KIND: Kind = "anthropic"
EDITS = [
    {"search": "ABSOLUTE_ZERO = -273.15", "replace": "ABSOLUTE_ZERO = -273.150"},
    {"search": "9 / 5 + 30", "replace": "9 / 5 + 32"},
]


@pytest.fixture
def model() -> Iterator[WireServer]:
    script = [
        says(KIND, "I have seen it."),
        calls(KIND, Use("propose_edit", {"path": "convert.py", "edits": EDITS}, "edit")),
        says(KIND, "One part of it."),
    ]
    with wire_server(KIND, script) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


@pytest.fixture
def workspace(workspace: Path) -> Path:
    """With a folder, and a file that VS Code itself finds a problem in."""
    (workspace / "docs").mkdir()
    for name in ("celsius", "kelvin"):
        (workspace / "docs" / f"{name}.md").write_text(f"# {name}\n\nA scale.\n" * 20)
    (workspace / "AGENTS.md").write_text("# Rules\n\nAnswer briefly.\n")
    (workspace / "broken.json").write_text('{\n  "scale": \n}\n')
    return workspace


def chosen(chat: FrameLocator, typed: str, text: str) -> None:
    """Type a mention and take the entry that says ``text`` from the list."""
    box = chat.get_by_test_id("chat-input")
    box.press_sequentially(typed)
    entry = chat.locator("[role=option]", has_text=text).first
    expect(entry).to_be_visible(timeout=20_000)
    entry.click()


def chips(chat: FrameLocator) -> Locator:
    return chat.get_by_test_id("mention-chip")


def test_everything_can_be_mentioned_and_asked_from_where_it_is(
    vscode: Workbench, model: WireServer, settings: Settings
) -> None:
    page = vscode.page
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)

    # The list has its kinds; what is chosen is a chip that can be taken off.
    box = chat.get_by_test_id("chat-input")
    box.press_sequentially("Look at @")
    listed = chat.locator("[role=option]")
    expect(listed.first).to_be_visible(timeout=20_000)
    for kind in ("problems", "terminal", "git", "editors", "symbol"):
        expect(chat.locator(f"[role=option][data-kind={kind}]").first).to_be_attached()
    faults = []
    for theme in THEMES:
        use_theme(vscode, settings, theme)
        box.focus()
        picture(vscode, f"mentions-list-{theme}")
        faults += [f"{theme}: {one}" for one in violations(webview(vscode, "chat"))]
    use_theme(vscode, settings, "dark")

    # Commands say what they do; instruction files stand in the Context view with a switch.
    box.fill("/")
    expect(listed.filter(has_text="Show what this conversation has cost")).to_have_count(1)
    assert listed.count() > 30
    picture(vscode, "mentions-commands")
    header = page.locator(".pane-header[aria-label*='Context']").first
    if header.get_attribute("aria-expanded") == "false":
        header.click()
    rules = page.locator(".monaco-list-row", has_text="AGENTS.md")
    switch = rules.locator(".custom-view-tree-node-item-checkbox")
    expect(switch).to_be_visible(timeout=20_000)
    picture(vscode, "mentions-instructions")
    switch.click()
    expect(rules).to_contain_text("AGENTS.md")
    expect(switch).to_have_attribute("aria-checked", "false", timeout=20_000)
    header.click()  # small again
    box.fill("Look at ")
    chosen(chat, "@conv", "convert.py")
    expect(chips(chat)).to_contain_text(["convert.py"], timeout=20_000)
    chosen(chat, "and @docs", "docs/")
    expect(chips(chat)).to_have_count(2, timeout=20_000)
    chips(chat).first.get_by_role("button", name="Remove").click()
    expect(chips(chat)).to_have_count(1)
    expect(box).not_to_have_value("@convert.py")

    # From the explorer, and from the terminal.
    page.keyboard.press("Control+Shift+E")
    vscode.context_menu("README.md", "Mention in Chat")
    expect(chips(chat)).to_have_count(2, timeout=20_000)
    said_in_terminal(vscode)
    page.wait_for_timeout(1_000)  # till it is drawn
    vscode.command("Tierline: Add Terminal Output to Chat")
    expect(chips(chat)).to_have_count(3, timeout=20_000)
    page.locator(".part.panel").get_by_role("button", name="Hide Panel").first.click()
    sidebar_width(vscode, 260)
    cut = webview(vscode, "chat").evaluate(CUT)
    picture(vscode, "mentions-chips")
    sidebar_width(vscode, 340)
    faults += cut
    assert faults == [], "\n".join(faults)

    box.focus()
    box.press("End")
    box.press_sequentially("please.")
    replies = chat.locator("[data-testid=message][data-role=assistant]")
    box.press("Enter")
    expect(replies.first).to_have_attribute("data-status", "ok", timeout=60_000)
    sent = json.dumps(model.bodies[-1])
    assert "frob42" in sent, "the terminal's output"
    assert "# celsius" in sent and "# kelvin" in sent, "the folder"
    expect(chips(chat)).to_have_count(0)
    along = chat.get_by_test_id("attached-chip")
    picture(vscode, "mentions-sent")
    along.filter(has_text="bash").or_(along.filter(has_text="sh")).first.click()
    expect(page.locator(".view-lines", has_text="frob42").first).to_be_visible(timeout=20_000)

    # What went along is still there after a reload.
    page.reload()
    vscode.open()
    chat = vscode.show_chat()
    expect(chat.get_by_test_id("attached-chip").first).to_be_visible(timeout=60_000)


def test_a_problem_is_fixed_by_the_bulb_and_edits_are_decided_in_the_file(
    vscode: Workbench, model: WireServer
) -> None:
    page = vscode.page
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    replies = chat.locator("[data-testid=message][data-role=assistant]")

    # A problem: by the light bulb, with the problem and its code.
    vscode.explorer_open("broken.json")
    expect(page.locator(".squiggly-error").first).to_be_visible(timeout=60_000)
    page.locator(".view-line", has_text="}").click()
    page.keyboard.press("Control+.")
    action = page.locator(".action-widget .monaco-list-row", has_text="Fix with Tierline")
    expect(action).to_have_count(1, timeout=30_000)
    picture(vscode, "mentions-bulb")
    page.keyboard.press("Enter")
    expect(replies.first).to_have_attribute("data-status", "ok", timeout=60_000)
    sent = json.dumps(model.bodies[-1])
    assert "Fix this problem." in sent and "Value expected" in sent
    picture(vscode, "mentions-fixed")

    # Asked in the editor; the answer is an edit in the file, taken and left by its parts.
    vscode.explorer_open("convert.py")
    page.locator(".view-line", has_text="def fahrenheit").click()
    vscode.command("Tierline: Ask Here, in the Editor…")
    small = page.locator(".quick-input-widget input").first
    expect(small).to_be_visible()
    small.fill("Mend the numbers.")
    picture(vscode, "mentions-inline-ask")
    small.press("Enter")
    lens = page.locator(".codelens-decoration")
    expect(lens.filter(has_text="Accept this part")).to_have_count(2, timeout=60_000)
    picture(vscode, "mentions-inline-edit")
    lens.filter(has_text="Reject this part").first.get_by_role("button", name="Reject this").click()
    expect(lens.filter(has_text="Rejected")).to_have_count(1, timeout=30_000)
    taken = lens.filter(has_text="Accept this part").last
    taken.get_by_role("button", name="Accept this part").click()
    expect(replies.last).to_contain_text("One part of it", timeout=60_000)
    source = (vscode.workspace / "convert.py").read_text("utf-8")
    assert "9 / 5 + 32" in source and "-273.150" not in source
