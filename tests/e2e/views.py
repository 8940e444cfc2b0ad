"""Looking at Tierline's views: themes, the sidebar's width, what overflows, axe, pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import FloatRect, Frame, FrameLocator, Locator, expect

from e2e.palette import with_palette
from e2e.workbench import Workbench
from tierline.workspace.urls.cache import CachedPage, PageCache

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests" / "e2e" / "results"
AXE = ROOT / "vscode-client" / "node_modules" / "axe-core" / "axe.min.js"
THEMES = {
    "light": ("Light Modern", "vs"),
    "dark": ("Dark Modern", "vs-dark"),
    "contrast": ("Default High Contrast", "hc-black"),
}
"""Name of a picture → the theme's id in the settings, the workbench's class with it."""

PAGE = CachedPage(
    "https://docs.example.org/temperature-scales",
    "https://docs.example.org/temperature-scales",
    "Temperature scales",
    "text/html",
    "2026-11-20T08:00:00.000Z",
    "# Temperature scales\n\nThe Rankine scale begins at absolute zero.\n" * 12,
)
"""A page of the web that is in the context already: no test reaches for the network."""

CUT = """() => {
  const faults = [];
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 1) faults.push(`the page is ${wide} px too wide`);
  const app = document.querySelector('main.app');
  const high = app ? app.scrollHeight - app.clientHeight : 0;
  if (high > 1) faults.push(`the view is ${high} px too high`);
  const main = document.querySelector('main').getBoundingClientRect();
  for (const one of document.querySelectorAll('main *')) {
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    if (box.width === 0 || style.visibility === 'hidden') continue;
    if (one.closest('.visually-hidden, pre, .table, .items, svg')) continue;
    if (box.right > main.right + 1 || box.left < main.left - 1) {
      faults.push(`${one.tagName}.${one.className} sticks out: ${one.textContent.slice(0, 40)}`);
    }
    // Text that is cut must be readable elsewhere: a title, or scrolling.
    const cut = one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0
      && style.overflowX === 'hidden' && one.children.length === 0;
    if (cut && !one.closest('[title]')) {
      faults.push(`${one.tagName}.${one.className} is cut: ${one.textContent.slice(0, 40)}`);
    }
  }
  return [...new Set(faults)];
}"""


_AXE_RUN = """async () => {
  const found = await axe.run(document, {
    resultTypes: ['violations'],
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  });
  // axe measures what lies over a target, but not what a scrolled list cuts off: behind the list's
  // edge a target lies "under" the next view. Each is measured once more when all of it is in view.
  const scrolled = [...document.querySelectorAll('*')].map((one) => [one, one.scrollTop]);
  for (const rule of found.violations.filter((one) => one.id === 'target-size')) {
    const still = [];
    for (const node of rule.nodes) {
      const target = document.querySelector(node.target[0]);
      target.scrollIntoView({ block: 'center', behavior: 'instant' });
      const again = await axe.run(target, { runOnly: { type: 'rule', values: ['target-size'] } });
      if (again.passes.length + again.violations.length + again.incomplete.length === 0) {
        throw new Error(`axe did not look at ${node.html}`);
      }
      still.push(...again.violations.flatMap((one) => one.nodes));
    }
    rule.nodes = still;
    for (const [one, top] of scrolled) if (one.scrollTop !== top) one.scrollTop = top;
  }
  return found;
}"""


def asked(chat: FrameLocator, text: str, *, seconds: float = 60) -> Locator:
    """Ask and wait for the whole reply."""
    replies = chat.locator("[data-testid=message][data-role=assistant]")
    before = replies.count()
    box = chat.get_by_test_id("chat-input")
    box.fill(text)
    box.press("Enter")
    reply = replies.nth(before)
    expect(reply).to_have_attribute("data-status", "ok", timeout=seconds * 1000)
    return reply


def quick_pick(bench: Workbench, text: str) -> None:
    """Choose an entry of the open quick pick."""
    row = bench.page.locator(".quick-input-list .monaco-list-row", has_text=text).first
    expect(row).to_be_visible(timeout=20_000)
    row.click()


def webviews(bench: Workbench) -> dict[str, Frame]:
    """The inner frames of Tierline's webviews by what they show."""
    found: dict[str, Frame] = {}
    for frame in bench.page.frames:
        if frame.name == "active-frame" or "fake.html" in frame.url:
            for name, selector in (("chat", "main.app"), ("cache", "main.cache")):
                if frame.locator(selector).count():
                    found[name] = frame
    return found


def webview(bench: Workbench, name: str) -> Frame:
    """One of them, waited for."""
    for _ in range(200):
        if (frame := webviews(bench).get(name)) is not None:
            return frame
        bench.page.wait_for_timeout(100)
    raise AssertionError(f"the {name} view is not there")


def violations(frame: Frame) -> list[str]:
    """What axe finds that is serious or critical; empty if all is well."""
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
    found = frame.evaluate(_AXE_RUN)
    frame.evaluate("() => { document.body.style.backgroundColor = ''; }")
    assert len(found["passes"]) > 5, "axe looked at something"
    return [
        f"{one['impact']} {one['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


class Settings:
    """Changes the user's settings in a running window; what is open stays open.

    An extension for tests does it: VS Code in a browser does not see that its file has changed.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.values: dict[str, object] = {}

    def set(self, name: str, value: object) -> None:
        """None takes the setting away."""
        self.values[name] = value
        draft = self.file.with_suffix(".draft")
        draft.write_text(json.dumps(self.values), encoding="utf-8")
        draft.replace(self.file)


@contextmanager
def changing_settings(installed: tuple[Path, Path]) -> Iterator[Settings]:
    """To be entered before the window opens; the settings are as before at the end."""
    file = installed[0] / "User" / "settings.json"
    before = file.read_text(encoding="utf-8")
    settings = Settings(installed[0].with_name("settings-wanted.json"))
    yield settings
    settings.file.unlink(missing_ok=True)
    file.write_text(before, encoding="utf-8")


def put_page(workspace: Path) -> None:
    """As if ``PAGE`` had been read earlier."""
    PageCache(str(workspace / ".tierline" / "urls")).put(PAGE)


def use_theme(bench: Workbench, settings: Settings, name: str) -> None:
    """Another colour theme."""
    label, kind = THEMES[name]
    settings.set("workbench.colorTheme", label)
    expect(bench.page.locator(f".monaco-workbench.{kind}")).to_be_visible(timeout=20_000)
    bench.page.wait_for_timeout(350)


def sidebar_width(bench: Workbench, width: int) -> None:
    """Drag the sidebar's edge until it is so wide, in pixels."""
    box = bench.page.locator(".part.sidebar").bounding_box()
    assert box is not None
    edge, middle = box["x"] + box["width"], box["y"] + 300
    mouse = bench.page.mouse
    mouse.move(edge, middle)
    mouse.down()
    mouse.move(edge + 4, middle)
    mouse.move(box["x"] + width, middle, steps=4)
    mouse.up()
    mouse.move(box["x"] + width + 200, middle)
    now = bench.page.locator(".part.sidebar").bounding_box()
    assert now is not None and abs(now["width"] - width) < 12, now
    bench.page.wait_for_timeout(250)


def said_in_terminal(bench: Workbench) -> Locator:
    """A new terminal in which ``frob42`` has been said."""
    bench.command("Terminal: Create New Terminal")
    screen = bench.page.locator(".terminal.xterm").first
    expect(screen).to_be_visible(timeout=30_000)
    screen.click()
    bench.page.keyboard.type("echo frob$((40+2)) | tee said.log\n")
    said = bench.workspace / "said.log"
    for _ in range(120):  # a shell takes its time to begin
        if said.exists() and said.read_text("utf-8"):
            break
        bench.page.wait_for_timeout(250)
    return screen


def picture(bench: Workbench, name: str) -> None:
    """A picture of the window, beside the results of failed tests, to be looked at."""
    RESULTS.mkdir(exist_ok=True)
    bench.page.screenshot(path=RESULTS / f"{name}.png", scale="css")


def keep(
    bench: Workbench,
    file: Path,
    clip: FloatRect | None = None,
    scale: Literal["css", "device"] = "device",
) -> None:
    """A picture for the documentation, if asked to (``TIERLINE_PICTURES=1``)."""
    if not os.environ.get("TIERLINE_PICTURES"):
        return
    taken = bench.page.screenshot(clip=clip, scale=scale)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(with_palette(bench.page, taken))


def with_code(bench: Workbench) -> None:
    """A file beside the chat, for a picture that is to be kept."""
    if not os.environ.get("TIERLINE_PICTURES"):
        return
    bench.explorer_open("convert.py")
    bench.show_chat()
    bench.page.mouse.move(900, 500)
    bench.page.wait_for_timeout(1_500)


def pictures() -> Path | None:
    """Where ``TIERLINE_GALLERY`` wants pictures of every view."""
    found = os.environ.get("TIERLINE_GALLERY")
    if not found:
        return None
    folder = Path(found)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
