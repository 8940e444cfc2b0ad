"""What the galleries share: pictures in three themes and what is wrong in them, and small steps."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import FrameLocator, Locator, expect

from e2e.views import (
    CUT,
    THEMES,
    Settings,
    pictures,
    sidebar_width,
    use_theme,
    violations,
    webviews,
)
from e2e.workbench import Workbench

NARROW, NORMAL, WIDE = 220, 320, 640
"""Widths of the sidebar, in pixels."""


class Gallery:
    """Takes a state's pictures and remembers what is wrong in them."""

    def __init__(self, bench: Workbench, settings: Settings) -> None:
        self.bench, self.settings = bench, settings
        self.faults: list[str] = []
        self.seen: list[str] = []
        folder = pictures()
        assert folder is not None
        self.folder = folder

    def __call__(self, name: str, *widths: int, ready: Callable[[], object] | None = None) -> None:
        """``ready`` is done before each picture, for what closes by itself."""
        for width in widths or (NORMAL,):
            sidebar_width(self.bench, width) if widths else None
            for theme in THEMES:
                use_theme(self.bench, self.settings, theme)
                if ready is not None:
                    ready()
                label = f"{name}-{width}-{theme}" if widths else f"{name}-{theme}"
                self.bench.page.screenshot(path=self.folder / f"{label}.png", scale="css")
                self.seen.append(label)
                for frame in webviews(self.bench).values():
                    self.faults += [f"{label}: {one}" for one in frame.evaluate(CUT)]
                    self.faults += [f"{label}: {one}" for one in violations(frame)]
        if widths and widths[-1] != NORMAL:
            sidebar_width(self.bench, NORMAL)
        use_theme(self.bench, self.settings, "light")


def pane(bench: Workbench, name: str, open_: bool) -> None:
    header = bench.page.locator(f".pane-header[aria-label*='{name}']").first
    expect(header).to_be_visible(timeout=20_000)
    if (header.get_attribute("aria-expanded") == "true") != open_:
        header.click()


def say(chat: FrameLocator, text: str) -> None:
    box = chat.get_by_test_id("chat-input")
    box.fill(text)
    box.press("Enter")


def answered(chat: FrameLocator) -> None:
    expect(chat.get_by_test_id("stop-button")).to_be_hidden(timeout=60_000)


def hover(bench: Workbench, place: Locator, text: str) -> None:
    """Hover there anew; a change of theme closes what was open."""
    bench.page.mouse.move(600, 300)
    bench.page.wait_for_timeout(300)
    place.hover()
    expect(bench.page.locator(".workbench-hover", has_text=text).first).to_be_visible()


def quick(bench: Workbench) -> Locator:
    return bench.page.locator(".quick-input-widget")
