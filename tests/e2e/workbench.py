"""Handles on the workbench: what a person would click and read."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Error, FrameLocator, Locator, Page, TimeoutError, expect


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
        expect(self.activity).to_be_visible(timeout=60_000)

    def open_bare(self) -> None:
        """Load the window of a VS Code without the extension."""
        self.page.goto(self.url)
        expect(self.explorer_entry("convert.py")).to_be_visible(timeout=60_000)

    def command(self, title: str) -> None:
        """Run a command from the palette.

        A view that takes the focus closes a palette that has just opened: then it is opened again,
        as a person would.
        """
        box = self.page.locator(".quick-input-widget input").first
        for left in reversed(range(3)):
            self.page.keyboard.press("F1")
            try:
                box.fill(f">{title}", timeout=30_000 if left == 0 else 5_000)
                break
            except TimeoutError:
                if left == 0:
                    raise
        row = self.page.locator(".quick-input-list .monaco-list-row").first
        expect(row).to_contain_text(title.rsplit(": ", maxsplit=1)[-1])
        self.page.keyboard.press("Enter")

    def explorer_entry(self, name: str) -> Locator:
        """A file in the explorer."""
        return self.page.locator(".explorer-folders-view .monaco-list-row", has_text=name).first

    def explorer_open(self, name: str) -> None:
        """Open a file for good, with a double click in the explorer."""
        self.page.keyboard.press("Control+Shift+E")
        self.explorer_entry(name).dblclick()
        expect(self.page.locator(".tabs-container .tab", has_text=name)).to_be_visible()

    def context_menu(self, name: str, entry: str) -> None:
        """Choose an entry from Tierline's part of a file's context menu.

        An explorer that draws itself anew (a new file, another editor) closes a menu that is open:
        then it is opened again, as a person would.
        """
        menu = self.page.locator(".context-view .action-item")
        ours = menu.filter(has=self.page.locator(".action-label[aria-label='Tierline']")).first
        item = menu.filter(has_text=entry).last
        for last in (False, False, True):
            self.explorer_entry(name).click(button="right")
            try:
                expect(ours).to_be_visible(timeout=10_000)
                # A menu that has just opened ignores the button that opened it for a moment.
                self.page.wait_for_timeout(400)
                ours.click(timeout=5_000)
                expect(item).to_be_visible(timeout=5_000)
                self.page.wait_for_timeout(400)
                item.click(timeout=5_000)
                expect(item).to_be_hidden()
            except (AssertionError, Error):
                if last:
                    raise
                self.page.keyboard.press("Escape")
            else:
                return

    @property
    def activity(self) -> Locator:
        """Tierline's icon in the activity bar."""
        return self.page.locator(".activitybar .action-label[aria-label^='Tierline']").first

    def show_chat(self) -> FrameLocator:
        """Open the sidebar's chat and wait until it can be typed into."""
        self.activity.click()
        chat = self.chat
        expect(chat.get_by_test_id("chat-input")).to_be_visible(timeout=60_000)
        return chat

    @property
    def chat(self) -> FrameLocator:
        """The inside of the chat's webview."""
        # The walkthrough is a webview, too, but VS Code's own.
        found = self.page.frame_locator("iframe.webview.ready[src*='extensionId=tierline']")
        return found.frame_locator("#active-frame")

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

    def toggle_theme(self, kind: str) -> None:
        """Switch between the light and the dark theme; ``kind`` is ``vs`` or ``vs-dark`` then."""
        self.command("Preferences: Toggle between Light/Dark Themes")
        expect(self.page.locator(f".monaco-workbench.{kind}")).to_be_visible(timeout=20_000)
