"""From the icon to a real answer with a key, and what can be read in it: one window for all."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import FrameLocator, expect

from e2e.long_session import StreamingServer
from e2e.views import CUT, THEMES, Settings, picture, sidebar_width, use_theme, violations, webview
from e2e.workbench import Workbench

pytestmark = pytest.mark.e2e

REPLY = (
    r"""## What it does

- [x] read `convert.py:3`
- [ ] write the tests

The scale is linear[^1]: $F = \frac{9}{5} C + 32$, see convert.py and nowhere.py.

$$\int_0^1 x^2 \, dx = \frac{1}{3}$$

```mermaid
graph LR
  A[Celsius] --> B{linear?}
  B -->|yes| C[Fahrenheit]
```

```python
def fahrenheit(celsius: float) -> float:
    return celsius * 1.8 + 32
```

```bash
python convert.py
```

שלום עולם

```text
"""
    + "a line\n" * 45
    + """```

[^1]: With an offset.
"""
)


@pytest.fixture
def provider() -> Iterator[StreamingServer]:
    with StreamingServer(REPLY, 20, 0.01) as server:
        yield server


@pytest.fixture
def model_env(provider: StreamingServer) -> dict[str, str]:
    """No key and no provider: only where the key's provider is, once there is a key."""
    return {"ANTHROPIC_BASE_URL": provider.url}


def test_from_the_icon_to_a_real_answer_that_can_be_read(
    vscode: Workbench, settings: Settings
) -> None:
    began, clicks = time.monotonic(), 1
    chat = vscode.show_chat()
    chat.get_by_test_id("way-key").click(timeout=60_000)
    clicks += 1
    problems = {"first page": violations(webview(vscode, "chat"))}
    picture(vscode, "first-page")
    box = vscode.page.locator(".quick-input-widget input").first
    expect(box).to_be_visible()
    vscode.page.keyboard.type("sk-ant-api03-a-key-of-nobody")
    vscode.page.keyboard.press("Enter")
    expect(chat.get_by_test_id("provider-chip")).to_contain_text("Anthropic", timeout=30_000)
    expect(chat.get_by_test_id("start")).to_have_count(0)
    chat.get_by_test_id("chat-input").fill("What does convert.py do?")
    chat.get_by_test_id("chat-input").press("Enter")
    reply = chat.locator("[data-testid=message][data-role=assistant]").last
    expect(reply).to_contain_text("What it does", timeout=60_000)
    seconds = time.monotonic() - began
    print(f"icon to answer: {clicks} clicks, 1 paste, {seconds:.0f} s")
    assert clicks == 2 and seconds < 60
    expect(reply).to_have_attribute("data-status", "ok", timeout=60_000)
    expect(reply.get_by_test_id("embedded-line")).to_have_count(0)

    reading(vscode, chat)
    for theme in THEMES:
        use_theme(vscode, settings, theme)
        reply.locator(".math.display").scroll_into_view_if_needed()
        picture(vscode, f"reply-{theme}")
        problems[f"reply, {theme}"] = violations(webview(vscode, "chat"))
    sidebar_width(vscode, 260)
    vscode.page.set_viewport_size({"width": 1280, "height": 360})
    vscode.page.wait_for_timeout(300)
    picture(vscode, "small")
    frame = webview(vscode, "chat")
    problems["small"] = frame.evaluate(CUT)
    assert frame.evaluate(WHOLE), "the composer is in view, whole"
    faults = [f"{name}: {fault}" for name, found in problems.items() for fault in found]
    assert faults == [], "\n".join(faults)


WHOLE = """() => {
  const box = document.querySelector('.composer').getBoundingClientRect();
  return box.height > 40 && box.top >= 0 && box.bottom <= innerHeight + 1;
}"""


def reading(bench: Workbench, chat: FrameLocator) -> None:
    reply = chat.locator("[data-testid=message][data-role=assistant]").last
    expect(reply.locator(".katex-html").first).to_be_visible(timeout=20_000)
    expect(reply.locator(".math.display .katex")).to_have_count(1)
    diagram = reply.locator(".diagram img")
    expect(diagram).to_be_visible(timeout=30_000)
    shape = diagram.evaluate("img => [img.naturalWidth, img.complete, img.clientWidth]")
    assert shape[0] > 50 and shape[1] and shape[2] > 50, shape
    expect(reply.locator("a.path")).to_have_count(3, timeout=20_000)
    assert reply.locator("a.path").first.get_attribute("href") == "convert.py:3"
    expect(reply.locator(".task")).to_have_count(2)
    expect(reply.locator(".footnotes li")).to_contain_text("With an offset.")
    expect(reply.locator(".unfold")).to_have_text("Show all 45 linesShow less")
    # A function of the same name is replaced, as an edit that is decided by its card.
    bench.explorer_open("convert.py")
    bench.show_chat()
    block = reply.locator(".code", has_text="def fahrenheit")
    block.locator("[data-action=apply]").click()
    card = reply.get_by_test_id("edit")
    expect(card).to_have_attribute("data-state", "open", timeout=20_000)
    expect(card).to_contain_text("convert.py")
    card.get_by_test_id("edit-accept").click()
    expect(card).to_have_attribute("data-state", "applied", timeout=20_000)
    saved = (bench.workspace / "convert.py").read_text("utf-8")
    assert saved.count("def fahrenheit") == 1 or "1.8" not in saved  # saved now or still dirty
    reply.locator("[data-action=run]").click()
    dialog = bench.page.locator(".monaco-dialog-box")
    expect(dialog).to_contain_text("python convert.py")
    bench.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
