"""axe-core inside the webviews of a real VS Code, in three themes; the keyboard; announcements."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from e2e.long_session import reply_server
from e2e.views import THEMES, Settings, use_theme, violations, webviews
from e2e.workbench import Workbench

pytestmark = pytest.mark.e2e
REPLY = (
    "## Two functions\n\n`fahrenheit` multiplies and adds, see [convert.py](convert.py):\n\n"
    "```python\ndef fahrenheit(celsius: float) -> float:\n    return celsius * 9 / 5 + 32\n```\n\n"
    "| from | to |\n| --- | --- |\n| 0 | 32 |\n| 100 | 212 |\n\n"
    "- It rounds nothing.\n- *No* limits.\n\n"
)


@pytest.fixture
def model_env() -> Iterator[dict[str, str]]:
    """A provider whose reply has everything that Markdown draws, in small pieces."""
    with reply_server(REPLY * 3, pieces=120, pause=0.03) as env:
        yield dict(env)


def test_views_in_three_themes_by_the_rules_and_the_keyboard(
    vscode: Workbench, settings: Settings
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
    # What had been drawn stayed where it was, in the conversation and around it.
    assert seen["blocks"] >= 15, "headings, code, tables and lists were watched as they came"
    assert seen["frames"] >= 30, seen
    assert seen["moved"] <= 1, seen
    assert seen["shift"] < 0.05, seen
    box.fill("Again, please.")
    box.press("Enter")
    expect(replies).to_have_count(2, timeout=60_000)
    # Who reads further up meanwhile is left alone.
    drift = frame.evaluate(READING)
    assert drift["frames"] >= 30 and drift["grown"] > 200, drift
    assert drift["most"] <= 1, drift
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
        use_theme(vscode, settings, theme)
        problems[f"chat, {theme}"] = violations(webviews(vscode)["chat"])
        problems[f"cache, {theme}"] = violations(webviews(vscode)["cache"])
    faults = [f"{name}: {fault}" for name, found in problems.items() for fault in found]
    assert faults == [], "\n".join(faults)

    use_theme(vscode, settings, "light")
    keyboard(vscode)


def walkthrough_follows_the_pin(bench: Workbench) -> None:
    """The walkthrough has its steps, and pinning a file ticks one off."""
    bench.command("Tierline: Open the Walkthrough")
    steps = bench.page.locator(".gettingStartedContainer .getting-started-step")
    expect(steps).to_have_count(5, timeout=30_000)
    pin = steps.nth(1)
    expect(pin).to_contain_text("Pin a file")
    expect(pin.locator(".codicon-getting-started-step-checked")).to_have_count(0)
    bench.page.keyboard.press("Control+Shift+E")
    expect(bench.explorer_entry("convert.py")).to_be_visible(timeout=20_000)
    bench.context_menu("convert.py", "Pin to Tierline")
    checked = pin.locator(".codicon-getting-started-step-checked")
    expect(checked).not_to_have_count(0, timeout=30_000)


WATCH = """() => {
  const watched = window.watched = {announced: 0, shift: 0, moved: 0, blocks: 0, frames: 0};
  new MutationObserver((changes) => {
    for (const change of changes) watched.announced += change.addedNodes.length;
  }).observe(document.querySelector('[aria-live]'), {childList: true});
  // Around the conversation: the browser's own measure. Inside it, following the end scrolls, so
  // places are taken relative to what is scrolled: a block's top never changes once it is there.
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const inside = entry.sources.every(({node}) => !node || node.nodeType !== 1
        || node.closest('.transcript'));
      if (!inside) watched.shift += entry.value;
    }
  }).observe({type: 'layout-shift', buffered: false});
  const tops = new Map();
  const look = () => {
    const content = document.querySelector('.transcript-content');
    const above = content.getBoundingClientRect().top;
    const replies = content.querySelectorAll('[data-role=assistant]');
    replies.forEach((reply, number) => {
      reply.querySelectorAll('.markdown > *').forEach((block, place) => {
        const key = `${number}/${place}`;
        const top = block.getBoundingClientRect().top - above;
        if (tops.has(key)) watched.moved = Math.max(watched.moved, Math.abs(top - tops.get(key)));
        else tops.set(key, top);
      });
    });
    watched.blocks = tops.size;
    watched.frames += 1;
    requestAnimationFrame(look);
  };
  look();
}"""

READING = """async () => {
  const view = document.querySelector('.transcript');
  const reply = document.querySelector('[data-role=assistant]');
  view.dispatchEvent(new WheelEvent('wheel', {deltaY: -200}));
  view.scrollTop -= 300;
  const tick = () => new Promise((done) => requestAnimationFrame(done));
  await tick(); await tick();
  const before = reply.getBoundingClientRect().top, height = view.scrollHeight;
  let most = 0, frames = 0;
  while (document.querySelector('[data-status=streaming]') && frames < 2000) {
    await tick();
    frames += 1;
    most = Math.max(most, Math.abs(reply.getBoundingClientRect().top - before));
  }
  return {frames, most, grown: view.scrollHeight - height};
}"""


def keyboard(bench: Workbench) -> None:
    """Tab reaches every control of the chat, each shows its focus, and Esc stops a reply."""
    bench.command("Tierline: Open Chat")
    frame = webviews(bench)["chat"]
    expect(frame.get_by_test_id("chat-input")).to_be_focused(timeout=10_000)
    reached: list[str] = []
    for _ in range(160):  # code blocks and links of two long replies are reached, too
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
