"""Handles on the workbench: what a person would click and read."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import FrameLocator, Locator, Page, expect


class Workbench:
    """One VS Code window."""

    def __init__(self, page: Page, url: str, workspace: Path) -> None:
        self.page = page
        self.url = url
        self.workspace = workspace

    def open(self) -> None:
        """Load the window and wait until it can be used."""
        self.page.goto(self.url)
        expect(self.page.locator(".monaco-workbench")).to_be_visible(timeout=60_000)
        expect(self.explorer_entry("convert.py")).to_be_visible(timeout=60_000)

    def command(self, title: str) -> None:
        """Run a command from the palette."""
        self.page.keyboard.press("F1")
        box = self.page.locator(".quick-input-widget input").first
        expect(box).to_be_visible()
        box.fill(f">{title}")
        row = self.page.locator(".quick-input-list .monaco-list-row").first
        expect(row).to_contain_text(title.rsplit(": ", maxsplit=1)[-1])
        self.page.keyboard.press("Enter")

    def explorer_entry(self, name: str) -> Locator:
        """A file in the explorer."""
        return self.page.locator(".explorer-folders-view .monaco-list-row", has_text=name).first

    def context_menu(self, name: str, entry: str) -> None:
        """Choose an entry from a file's context menu."""
        self.explorer_entry(name).click(button="right")
        item = self.page.locator(".context-view .action-item", has_text=entry).first
        expect(item).to_be_visible()
        item.click()

    def show_chat(self) -> FrameLocator:
        """Open the sidebar's chat and wait until it can be typed into."""
        self.command("Tierline: Focus Chat")
        chat = self.chat
        expect(chat.get_by_test_id("chat-input")).to_be_visible(timeout=60_000)
        return chat

    @property
    def chat(self) -> FrameLocator:
        """The inside of the chat's webview."""
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    @property
    def status(self) -> Locator:
        """The token budget in the status bar."""
        return self.page.locator(".statusbar-item[id*='tierline']").first

    def used_tokens(self) -> int:
        """The number in the status bar, in tokens."""
        text = self.status.inner_text()
        found = re.search(r"([\d.,]+)\s*([kM]?)\s*/", text)
        if found is None:
            return -1
        scale = {"": 1, "k": 1_000, "M": 1_000_000}[found.group(2)]
        return round(float(found.group(1).replace(",", "")) * scale)

    def theme(self, name: str) -> None:
        """Switch the colour theme, by its name in the picker."""
        self.command("Preferences: Color Theme")
        box = self.page.locator(".quick-input-widget input").first
        box.fill(name)
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".quick-input-widget")).to_be_hidden()
