"""axe-core inside the webviews of a real VS Code, in three themes; the keyboard; announcements."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FloatRect, Frame, expect

from e2e.long_session import reply_server
from e2e.workbench import Workbench

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "vscode-client" / "node_modules" / "axe-core" / "axe.min.js"
IMAGES = ROOT / "docs" / "images"
STEPS = ROOT / "vscode-client" / "media" / "walkthrough"
THEMES = {
    "light": ("Light Modern", "vs"),
    "dark": ("Dark Modern", "vs-dark"),
    "contrast": ("Dark High Contrast", "hc-black"),
}
REPLY = (
    "## Two functions\n\n`fahrenheit` multiplies and adds, see [convert.py](convert.py):\n\n"
    "```python\ndef fahrenheit(celsius: float) -> float:\n    return celsius * 9 / 5 + 32\n```\n\n"
    "| from | to |\n| --- | --- |\n| 0 | 32 |\n| 100 | 212 |\n\n"
    "- It rounds nothing.\n- *No* limits.\n\n"
)


@pytest.fixture
def model_env() -> Any:
    """A provider whose reply has everything that Markdown draws, in small pieces."""
    with reply_server(REPLY * 3, pieces=120, pause=0.03) as env:
        yield env


def webviews(bench: Workbench) -> dict[str, Frame]:
    """The inner frames of Tierline's webviews by what they show."""
    found: dict[str, Frame] = {}
    for frame in bench.page.frames:
        if frame.name == "active-frame" or "fake.html" in frame.url:
            for name, selector in (("chat", "main.app"), ("cache", "main.cache")):
                if frame.locator(selector).count():
                    found[name] = frame
    return found


def violations(frame: Frame) -> list[str]:
    """What axe finds that is serious or critical, and moderate faults too; empty if all is well."""
    # The policy of the page lets in no script; the debugger's evaluation is not bound by it.
    frame.evaluate(AXE.read_text(encoding="utf-8"))
    # A webview is transparent: axe must be told what lies behind it.
    frame.evaluate(
        """() => {
          const place = document.querySelector('main.app') ? 'sideBar' : 'editor';
          const style = getComputedStyle(document.documentElement);
          document.body.style.backgroundColor =
            style.getPropertyValue(`--vscode-${place}-background`);
        }"""
    )
    found = frame.evaluate(
        "() => axe.run(document, {resultTypes: ['violations'], "
        "runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
    )
    assert len(found["passes"]) > 5, "axe looked at something"
    return [
        f"{one['impact']} {one['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def use_theme(bench: Workbench, name: str) -> None:
    """Choose a colour theme from the list of themes."""
    label, kind = THEMES[name]
    window = bench.page.locator(f".monaco-workbench.{kind}")
    if window.count():
        return
    bench.page.keyboard.press("F1")
    box = bench.page.locator(".quick-input-widget input").first
    rows = bench.page.locator(".quick-input-list .monaco-list-row")
    box.fill(">Preferences: Color Theme")
    # Above it is the command that searches the marketplace.
    rows.and_(bench.page.locator("[aria-label^='Preferences: Color Theme']")).first.click()
    expect(box).to_have_attribute("placeholder", re.compile("Color Theme"), timeout=20_000)
    box.fill(label)
    rows.filter(has_text=label).first.click()
    expect(window).to_be_visible(timeout=20_000)
    bench.page.wait_for_timeout(500)


@pytest.fixture(autouse=True)
def settings(installed: tuple[Path, Path]) -> Iterator[Path]:
    """The user's settings, as they were before at the end."""
    file = installed[0] / "User" / "settings.json"
    before = file.read_text(encoding="utf-8")
    yield file
    file.write_text(before, encoding="utf-8")


def picture(
    bench: Workbench,
    name: str,
    folder: Path = IMAGES,
    clip: FloatRect | None = None,
) -> None:
    """Keep a screenshot for the documentation, if asked to (``TIERLINE_PICTURES=1``)."""
    if os.environ.get("TIERLINE_PICTURES"):
        bench.page.screenshot(path=folder / f"{name}.png", clip=clip, scale="css")


def test_views_in_three_themes_by_the_rules_and_the_keyboard(
    vscode: Workbench,
) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    problems = {"empty chat": violations(webviews(vscode)["chat"])}
    walkthrough_follows_the_pin(vscode)
    vscode.explorer_open("convert.py")
    vscode.show_chat()
    expect(chat.get_by_test_id("file-chip")).to_have_count(1, timeout=30_000)

    box = chat.get_by_test_id("chat-input")
    box.fill("What does convert.py do?")
    frame = webviews(vscode)["chat"]
    frame.evaluate(WATCH)
    box.press("Enter")
    replies = chat.locator("[data-testid=message][data-role=assistant]")
    expect(replies.last).to_have_attribute("data-status", "ok", timeout=60_000)
    seen = frame.evaluate("() => window.watched")
    # Paragraphs are read out, not words: 120 pieces came.
    assert 3 <= seen["announced"] <= 40, seen
    # What had been drawn stayed where it was; scrolling at the end is not a shift.
    assert seen["shift"] < 0.05, seen
    picture(vscode, "ask", STEPS)
    vscode.status.hover()
    expect(vscode.page.locator(".workbench-hover", has_text="tokens").first).to_be_visible()
    picture(vscode, "budget", STEPS, {"x": 640, "y": 400, "width": 640, "height": 400})
    box.fill("Again, please.")
    box.press("Enter")
    expect(replies).to_have_count(2, timeout=60_000)
    expect(replies.last).to_have_attribute("data-status", "ok", timeout=60_000)

    vscode.command("Tierline: Show Prompt Cache")
    for _ in range(200):
        if "cache" in webviews(vscode):
            break
        vscode.page.wait_for_timeout(100)
    cache = webviews(vscode)["cache"]
    expect(cache.get_by_test_id("charts")).to_be_visible(timeout=30_000)
    cache.locator("details summary", has_text="table").click()
    for theme in THEMES:
        use_theme(vscode, theme)
        problems[f"chat, {theme}"] = violations(webviews(vscode)["chat"])
        problems[f"cache, {theme}"] = violations(webviews(vscode)["cache"])
        picture(vscode, f"views-{theme}")
        if theme == "light":
            picture(vscode, "cache", STEPS)
        webviews(vscode)["cache"].get_by_test_id("charts").scroll_into_view_if_needed()
        picture(vscode, f"charts-{theme}")
        webviews(vscode)["cache"].evaluate("() => window.scrollTo(0, 0)")
    faults = [f"{name}: {fault}" for name, found in problems.items() for fault in found]
    assert faults == [], "\n".join(faults)

    use_theme(vscode, "light")
    keyboard(vscode)


def walkthrough_follows_the_pin(bench: Workbench) -> None:
    """The walkthrough has its steps, and pinning a file ticks one off."""
    bench.command("Tierline: Open the Walkthrough")
    steps = bench.page.locator(".gettingStartedContainer .getting-started-step")
    expect(steps).to_have_count(5, timeout=30_000)
    pin = steps.nth(1)
    expect(pin).to_contain_text("Pin a file")
    expect(pin.locator(".codicon-getting-started-step-checked")).to_have_count(0)
    picture(bench, "walkthrough")
    bench.page.keyboard.press("Control+Shift+E")
    bench.explorer_entry("convert.py").click(button="right")
    item = bench.page.locator(".context-view .action-item", has_text="Pin to Tierline").first
    expect(item).to_be_visible()
    bench.page.wait_for_timeout(400)
    item.hover()
    picture(bench, "pin", STEPS, {"x": 0, "y": 0, "width": 640, "height": 640})
    item.click()
    expect(pin.locator(".codicon-getting-started-step-checked")).not_to_have_count(0)


WATCH = """() => {
  window.watched = {announced: 0, shift: 0};
  new MutationObserver((changes) => {
    for (const change of changes) window.watched.announced += change.addedNodes.length;
  }).observe(document.querySelector('[aria-live]'), {childList: true});
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const inside = entry.sources.every(({node}) => !node || node.nodeType !== 1
        || node.closest('.transcript'));
      if (!inside) window.watched.shift += entry.value;
    }
  }).observe({type: 'layout-shift', buffered: false});
}"""


def keyboard(bench: Workbench) -> None:
    """Tab reaches every control of the chat, each shows its focus, and Esc stops a reply."""
    bench.command("Tierline: Open Chat")
    frame = webviews(bench)["chat"]
    expect(frame.get_by_test_id("chat-input")).to_be_focused(timeout=10_000)
    reached: list[str] = []
    for _ in range(60):
        bench.page.keyboard.press("Shift+Tab")
        here = frame.evaluate(
            """() => {
              const at = document.activeElement;
              if (at === null || at === document.body || !document.hasFocus()) return null;
              const style = getComputedStyle(at);
              const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
              const name = at.dataset.testid || at.getAttribute('aria-label') || at.textContent;
              return [name.slice(0, 60), seen];
            }"""
        )
        if here is None:
            break
        name, visible = here
        assert visible, f"the focus on {name} cannot be seen"
        reached.append(name)
    assert "new-session" in reached, reached
    assert "provider-chip" in reached, reached
    assert "Conversation" in reached, reached
    assert any("Copy the reply" in name for name in reached), reached
    bench.command("Tierline: Open Chat")
    box = frame.get_by_test_id("chat-input")
    expect(box).to_be_focused(timeout=10_000)
    bench.page.keyboard.type("Once more?")
    bench.page.keyboard.press("Enter")
    expect(frame.get_by_test_id("stop-button")).to_be_visible(timeout=20_000)
    bench.page.keyboard.press("Shift+Tab")
    began = time.monotonic()
    bench.page.keyboard.press("Escape")
    expect(frame.get_by_test_id("stop-button")).to_be_hidden(timeout=10_000)
    assert time.monotonic() - began < 5
    last = frame.locator("[data-testid=message][data-role=assistant]").last
    expect(last).to_have_attribute("data-status", "interrupted")
