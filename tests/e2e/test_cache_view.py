"""The cache viewer in a real VS Code, after two turns with the embedded model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, expect

from e2e.workbench import Workbench
from support.owning import own

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The sample project, with short replies."""
    root = Path(shutil.copytree(ROOT / "examples" / "temperature", tmp_path / "temperature"))
    own(root)
    config = "[context]\nmax_output_tokens = 24\n"
    (root / ".tierline" / "config.toml").write_text(config, encoding="utf-8")
    return root


def viewer(bench: Workbench) -> FrameLocator:
    """The inside of the viewer's panel; the chat's webview is the other one."""
    frames = bench.page.locator("iframe.webview.ready")
    for place in range(frames.count()):
        frame = frames.nth(place).content_frame.frame_locator("#active-frame")
        if frame.locator("main.cache").count():
            return frame
    raise AssertionError("the viewer is not there")


def ask(bench: Workbench, chat: FrameLocator, text: str, replies: int) -> None:
    box = chat.get_by_test_id("chat-input")
    box.fill(text)
    box.press("Enter")
    found = chat.locator("[data-testid=message][data-role=assistant]")
    expect(found).to_have_count(replies, timeout=150_000)
    expect(found.last).to_have_attribute("data-status", "ok", timeout=150_000)


def test_the_viewer_and_why_the_cache_missed(vscode: Workbench) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    vscode.page.keyboard.press("Control+Shift+E")
    for name in ("convert.py", "README.md"):
        before = vscode.status.inner_text()
        vscode.context_menu(name, "Pin to Tierline Context")
        expect(vscode.status).not_to_contain_text(before, timeout=30_000)
    chat = vscode.show_chat()
    expect(chat.get_by_test_id("file-chip")).to_have_count(2, timeout=30_000)
    ask(vscode, chat, "What does convert.py do?", 1)
    usage = chat.get_by_test_id("usage")
    expect(usage.first).to_contain_text(" in")
    source = vscode.workspace / "convert.py"
    source.write_text(
        source.read_text(encoding="utf-8") + "\n\ndef kelvin(celsius: float) -> float:\n"
        "    return celsius + 273.15\n",
        encoding="utf-8",
    )
    ask(vscode, chat, "And now?", 2)
    expect(usage.last).to_contain_text("cached")
    expect(usage.last).to_have_attribute("data-outcome", "hit")

    usage.last.click()
    expect(vscode.page.locator(".tab", has_text="Prompt Cache")).to_be_visible(timeout=20_000)
    expect(vscode.page.locator("iframe.webview.ready")).to_have_count(2, timeout=20_000)
    frame = _found(vscode)
    expect(frame.get_by_test_id("outcome")).to_contain_text("Cache hit", timeout=20_000)
    frame.locator("label", has_text="Last request").click()
    log = frame.locator("[data-testid=tier][data-tier=log]")
    expect(log).to_contain_text("difference")
    stale = frame.locator("[data-testid=tier]:not([data-tier=log])", has_text="items").first
    expect(stale).to_be_visible()
    rows = frame.get_by_test_id("tier")
    assert rows.count() >= 3, "head, base and log"
    for place in range(rows.count()):  # with the keyboard alone
        head = rows.nth(place).locator("button.tier-head")
        if head.get_attribute("aria-expanded") == "false":
            head.focus()
            vscode.page.keyboard.press("Enter")
            expect(head).to_have_attribute("aria-expanded", "true")
    base = frame.locator("[data-testid=item][data-key='file:convert.py']").first
    expect(base).to_contain_text("replaced later")
    expect(base).to_contain_text("%")
    vscode.command("Tierline: Why Did the Cache Miss?")
    toast = vscode.page.locator(".notification-toast")
    expect(toast).to_contain_text("It did not miss", timeout=20_000)
    expect(toast).to_contain_text("was read from the cache")
    toast.get_by_text("Show Details").click()
    expect(vscode.page.locator(".tab", has_text="Prompt cache.md")).to_be_visible(timeout=20_000)
    expect(vscode.page.locator(".view-lines").first).to_contain_text("Read from the cache")

    vscode.page.locator(".tab", has_text="Prompt Cache").first.click()
    frame = _found(vscode)
    expect(frame.get_by_test_id("outcome")).to_contain_text("Cache hit", timeout=20_000)
    expect(frame.get_by_label("Last request")).to_be_checked()
    expect(frame.locator("[data-testid=item]").first).to_be_visible()


def _found(bench: Workbench) -> FrameLocator:
    for _ in range(100):
        try:
            return viewer(bench)
        except AssertionError:
            bench.page.wait_for_timeout(100)
    return viewer(bench)
