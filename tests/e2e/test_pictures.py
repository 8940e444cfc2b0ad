"""The pictures of the documentation and of the marketplace's page, from one realistic session.

Only with ``TIERLINE_PICTURES=1`` (``make pictures``): they are written into the tree then.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve
from playwright.sync_api import FrameLocator, Locator, ViewportSize, expect

from e2e.gallery import answered, hover, pane, say
from e2e.test_history import PASTE
from e2e.views import PAGE, THEMES, Settings, keep, put_page, sidebar_width, use_theme, webview
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire import temperature
from wire.agents import Use, calls, says
from wire.caching import CachingServer
from wire.servers import Kind, Reply, Request

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not os.environ.get("TIERLINE_PICTURES"), reason="TIERLINE_PICTURES is not set"
    ),
]
ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
MEDIA = ROOT / "vscode-client" / "media"
STEPS = MEDIA / "walkthrough"
SIZE: ViewportSize = {"width": 1280, "height": 800}
LARGE: ViewportSize = {"width": 1280, "height": 1060}
FIRST = (
    "`fahrenheit` multiplies and adds, see [convert.py](convert.py):\n\n"
    "```python\nreturn celsius * 9 / 5 + 30\n```\n\n"
    "| °C | °F today | °F expected |\n| ---: | ---: | ---: |\n| 0 | 30 | 32 |\n"
    "| 100 | 210 | 212 |\n\n"
    "**It is wrong**: water freezes at 32 °F. `kelvin` is right, and refuses what lies below "
    "absolute zero."
)
RANKINE = (
    "Rankine degrees are Fahrenheit's, counted from absolute zero:\n\n"
    "```python\ndef rankine(celsius: float) -> float:\n"
    '    """Degrees Celsius in degrees Rankine."""\n'
    "    return kelvin(celsius) * 9 / 5\n```\n\nIt goes through `kelvin`, so that the check stays."
)
STATE = (
    "\n\n### STATE\nGoal: right degrees in the report\nContext: convert.py, report.py\n"
    "Resolved: fahrenheit adds 32\nTechnical Anchors: absolute zero is -273.15 °C"
)
PINS = Use(
    "suggest_pins", {"items": ["tests/test_convert.py"], "why": "It says what must hold."}, "pins"
)
TALK = {
    "Where is absolute zero checked?": "In `kelvin` only: `convert.py`, line 13. `fahrenheit` takes"
    " any number, so `report.py` prints what a broken sensor says.",
    "How would I add Rankine?": RANKINE,
    "Does report.py skip lines without a number?": "Yes. `read` catches the `ValueError` of `float`"
    " and goes on with the next line; the sensor's name is kept with what did parse.",
    "And an empty file?": "Then `readings` is empty and `summary` returns an empty string.",
}
PLOT = """() => {
  const canvas = Object.assign(document.createElement('canvas'), {width: 440, height: 240});
  const pen = canvas.getContext('2d');
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, 440, 240);
  pen.font = '13px sans-serif';
  pen.fillStyle = '#333';
  pen.fillText('°C', 8, 18);
  for (const [row, name] of [[40, '40'], [100, '20'], [160, '0'], [220, '-20']]) {
    pen.fillText(name, 8, row + 4);
    pen.strokeStyle = '#ddd';
    pen.strokeRect(36, row, 396, 0);
  }
  for (const [number, colour] of ['#1f77b4', '#2ca02c', '#d62728'].entries()) {
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.beginPath();
    for (let at = 0; at <= 396; at += 4) {
      const odd = number === 2 && at > 230 ? 70 : 0;
      pen.lineTo(36 + at, 96 + 14 * number + odd - 16 * Math.sin(at / 40 + number));
    }
    pen.stroke();
    pen.fillStyle = colour;
    pen.fillText(['cellar', 'kitchen', 'roof'][number], 70 + 110 * number, 18);
  }
  return canvas.toDataURL().split(',')[1];
}"""


class Model(CachingServer):
    """Scripted replies with the figures of a prompt cache and of their own length."""

    def __init__(self) -> None:
        kind: Kind = "anthropic"
        agent = temperature.script(kind)
        agent[1] = calls(kind, Use("read_file", {"path": "convert.py"}, "read"), PINS)
        replies = [says(kind, FIRST + STATE), *agent]
        replies += [says(kind, text + STATE) for text in TALK.values()]
        plot = "The sensor on the roof: in the afternoon it falls by 20 °C at once."
        right = "Yes: `kelvin` checks first, then 9 / 5 leads from kelvin to Rankine."
        replies += [says(kind, plot + STATE), says(kind, right + STATE)]
        super().__init__(minimum=64, script=replies)

    def _next(self, request: Request) -> Reply:
        for message in request.body["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block["type"] == "image":  # what it costs is not its bytes
                    block["source"]["data"] = block["source"]["data"][:600]
        reply = super()._next(request)
        usage = reply.body[0]
        parts = [part for part in reply.body[1:] if isinstance(part, bytes)]
        said = rb'"(?:text|partial_json)":\s*"((?:[^"\\]|\\.)*)"'
        length = sum(len(text) for part in parts for text in re.findall(said, part))
        counted = b'"output_tokens":%d' % max(12, length // 4)
        body = [re.sub(rb'"output_tokens":\s*\d+', counted, part) for part in parts]
        return evolve(reply, body=[usage, *body])


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as server:
        yield server


@pytest.fixture
def model_env(model: Model, tmp_path: Path) -> dict[str, str]:
    name = {"TIERLINE_PROVIDER_MODEL": "claude-sonnet-4-5"}
    data = {"TIERLINE_DATA_DIR": str(tmp_path / "data")}
    return environment(model) | temperature.PATH | data | name


@pytest.fixture
def workspace(workspace: Path) -> Path:
    put_page(workspace)
    return workspace


def away(bench: Workbench) -> None:
    """The mouse where it shows nothing."""
    bench.page.mouse.move(900, 500)
    bench.page.wait_for_timeout(700)


def prepared(bench: Workbench) -> FrameLocator:
    """The walkthrough and its first steps; a pinned file, an added one, a web page."""
    page = bench.page
    bench.show_chat()
    expect(bench.status).to_contain_text("/", timeout=60_000)
    bench.command("Tierline: Open the Walkthrough")
    steps = page.locator(".getting-started-step")
    expect(steps).to_have_count(5, timeout=30_000)
    page.keyboard.press("Control+b")  # beside a sidebar there is no room for a step's picture
    steps.nth(2).click()
    away(bench)
    # Below it VS Code's own page speaks of the data that VS Code collects.
    keep(bench, IMAGES / "walkthrough.png", {"x": 0, "y": 0, "width": 1280, "height": 724}, "css")
    page.keyboard.press("Control+b")
    page.keyboard.press("Control+w")
    page.keyboard.press("Control+Shift+E")
    bench.explorer_entry("convert.py").click(button="right")
    page.wait_for_timeout(400)
    page.locator(".context-view .action-label[aria-label='Tierline']").first.click()
    item = page.locator(".context-view .action-item", has_text="Pin to Tierline").last
    expect(item).to_be_visible()
    page.wait_for_timeout(400)
    item.hover()
    keep(bench, STEPS / "pin.png", {"x": 0, "y": 36, "width": 768, "height": 600}, "css")
    item.click()
    bench.context_menu("README.md", "Add to Tierline")
    bench.explorer_open("convert.py")
    bench.command("Tierline: Add Web Page to Context")
    expect(page.locator(".quick-input-title")).to_contain_text("web page", timeout=20_000)
    page.locator(".quick-input-widget input").first.fill(PAGE.url)
    page.keyboard.press("Enter")
    chat = bench.show_chat()
    expect(chat.get_by_test_id("file-chip")).to_have_count(2, timeout=30_000)
    return chat


def test_pictures_of_a_session(vscode: Workbench, model: Model, settings: Settings) -> None:
    page = vscode.page
    chat = prepared(vscode)
    asks(vscode, chat, settings)
    mends(vscode, chat)
    goes_on(vscode, chat)
    cached(vscode, chat, settings)
    page.set_viewport_size(SIZE)
    page.locator(".tab", has_text="Prompt Cache").get_by_label("Close").click()
    vscode.command("Tierline: New Session")
    stay = page.locator(".quick-input-list .monaco-list-row", has_text="Begin without them").first
    expect(stay).to_be_visible(timeout=20_000)
    stay.click()
    expect(replies(chat)).to_have_count(0, timeout=20_000)
    expect(chat.get_by_test_id("chat-input")).to_be_focused()
    page.wait_for_timeout(800)
    vscode.command("Tierline: Browse and Search Sessions")
    page.locator(".quick-input-widget input").first.fill("absolute zero")
    rows = page.locator(".quick-input-list .monaco-list-row")
    expect(rows.nth(1)).to_be_visible(timeout=20_000)
    away(vscode)
    keep(vscode, IMAGES / "sessions.png")


def asks(bench: Workbench, chat: FrameLocator, settings: Settings) -> None:
    """The first turn: the chat with what goes with it, the budget."""
    page = bench.page
    say(chat, "What does convert.py do, and is it right?")
    expect(replies(chat).last).to_have_attribute("data-status", "ok", timeout=60_000)
    pane(bench, "Context", True)
    page.set_viewport_size(LARGE)
    sidebar_width(bench, 420)
    away(bench)
    for theme in ("dark", "light"):
        use_theme(bench, settings, theme)
        keep(bench, IMAGES / f"sidebar-{theme}.png")
    page.set_viewport_size(SIZE)
    pane(bench, "Context", False)
    away(bench)
    keep(bench, STEPS / "ask.png", scale="css")
    hover(bench, bench.status, "tokens")
    page.wait_for_timeout(500)
    keep(bench, STEPS / "budget.png", {"x": 640, "y": 340, "width": 640, "height": 460}, "css")
    away(bench)


def mends(bench: Workbench, chat: FrameLocator) -> None:
    """The agent's turn: a command that waits, an edit with its difference."""
    page = bench.page
    say(chat, temperature.PROMPT)
    command = chat.get_by_test_id("consent-command")
    expect(command).to_contain_text("-m pytest -q", timeout=60_000)
    away(bench)
    keep(bench, IMAGES / "tools-consent.png")
    chat.get_by_test_id("consent-always").click()
    edits = chat.get_by_test_id("edit")
    expect(edits.last).to_contain_text("+ 31", timeout=60_000)
    chat.get_by_test_id("edit-reject").click()
    chat.get_by_test_id("edit-reason").fill(temperature.REASON)
    chat.get_by_test_id("edit-reason").press("Enter")
    expect(edits).to_have_count(2, timeout=60_000)
    chat.get_by_test_id("edit-preview").click()
    expect(page.locator(".monaco-diff-editor")).to_contain_text("+ 32", timeout=30_000)
    away(bench)
    keep(bench, IMAGES / "tools-edit.png")
    keep(bench, MEDIA / "edit.png", scale="css")
    chat.get_by_test_id("edit-accept").click()
    answered(chat)
    pane(bench, "Context", True)
    page.set_viewport_size(LARGE)  # what was retrieved stands last
    page.wait_for_timeout(1_000)
    row = page.locator("[aria-label='Context'] .monaco-list-row", has_text="test_convert.py").first
    hover(bench, row, "Why")
    page.wait_for_timeout(600)
    keep(bench, IMAGES / "context-tree.png")
    away(bench)
    page.set_viewport_size(SIZE)
    pane(bench, "Context", False)


def goes_on(bench: Workbench, chat: FrameLocator) -> None:
    """More turns, for the charts; STATE, a picture, commands."""
    for question in TALK:
        say(chat, question)
        answered(chat)
    last = replies(chat).last
    block = last.get_by_test_id("state-block")
    block.locator("summary").click()
    plot = webview(bench, "chat").evaluate(PLOT)
    assert base64.b64decode(plot).startswith(b"\x89PNG")
    box = chat.get_by_test_id("chat-input")
    box.evaluate(PASTE, plot)
    expect(chat.locator(".attached img")).to_have_count(1)
    say(chat, "These are yesterday's readings. Which sensor is off?")
    answered(chat)
    bench.page.set_viewport_size(LARGE)
    away(bench)
    keep(bench, IMAGES / "history.png")
    bench.page.set_viewport_size(SIZE)
    box.press_sequentially("/con")
    expect(chat.locator("[role=listbox]")).to_be_visible()
    keep(bench, IMAGES / "commands.png")
    box.fill("")


def cached(bench: Workbench, chat: FrameLocator, settings: Settings) -> None:
    """The cache viewer: a file changes, and the next turn tells it as a difference."""
    page = bench.page
    source = bench.workspace / "convert.py"
    added = RANKINE.split("```python")[1].split("```", maxsplit=1)[0]
    source.write_text(f"{source.read_text('utf-8')}\n{added}", encoding="utf-8")
    page.wait_for_timeout(1_500)
    sidebar_width(bench, 320)
    say(chat, "Is rankine right as I wrote it now?")
    answered(chat)
    page.set_viewport_size(LARGE)
    bench.command("Tierline: Show Prompt Cache")
    cache = webview(bench, "cache")
    expect(cache.get_by_test_id("charts")).to_be_visible(timeout=30_000)
    cache.locator("label", has_text="Last request").click()
    page.wait_for_timeout(500)
    heads = cache.locator("button.tier-head")
    for number in range(heads.count()):  # the files' tier open, the others closed
        head = heads.nth(number)
        wanted = "true" if head.inner_text().startswith(("L1", "L2")) else "false"
        if head.get_attribute("aria-expanded") != wanted:
            head.click()
    away(bench)
    for theme in THEMES:
        use_theme(bench, settings, theme)
        cache.evaluate("() => { document.activeElement?.blur(); window.scrollTo(0, 0); }")
        if theme != "contrast":
            keep(bench, IMAGES / f"cache-viewer-{theme}.png")
        if theme == "light":
            keep(bench, STEPS / "cache.png", scale="css")
        cache.get_by_test_id("charts").scroll_into_view_if_needed()
        cache.evaluate("() => window.scrollTo(0, 100000)")
        page.wait_for_timeout(300)
        keep(bench, IMAGES / f"charts-{theme}.png")
    use_theme(bench, settings, "light")


def replies(chat: FrameLocator) -> Locator:
    return chat.locator("[data-testid=message][data-role=assistant]")
