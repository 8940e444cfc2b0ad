"""Figures for the documentation, from a real VS Code: how quickly one can type while a reply
streams, and what ten jobs need in clicks, keys and seconds.

Only with ``TIERLINE_FIGURES_PAGE=FILE``: the tables of that page are written anew.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from e2e.long_session import reply_server
from e2e.views import webview
from e2e.workbench import Workbench
from lsp.conftest import environment
from lsp.editing import edit, script
from wire.agents import says
from wire.servers import Hold, Reply, WireServer, wire_server

PAGE = os.environ.get("TIERLINE_FIGURES_PAGE", "")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not PAGE, reason="TIERLINE_FIGURES_PAGE names no page"),
]
TOKENS, PIECE, SECONDS = 500, 10, 12
"""Tokens a second that stream, tokens of a piece, and for how long."""
WATCH = """() => {
  window.figures = { keys: [], shift: 0, frames: [], began: performance.now() };
  const { figures } = window;
  addEventListener('keydown', (event) => {
    // From the key to the frame that shows it: the task behind it runs once it is drawn.
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => figures.keys.push(performance.now() - event.timeStamp);
      port2.postMessage(null);
    });
  }, true);
  // Shifts soon after a key count, too: the browser would leave them out of its sum.
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) figures.shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: false });
}"""
READ = """() => {
  const { keys, shift, began } = window.figures;
  keys.sort((a, b) => a - b);
  const at = (share) => keys[Math.floor(share * (keys.length - 1))];
  return { count: keys.length, median: at(0.5), p95: at(0.95), worst: at(1), shift,
    seconds: (performance.now() - began) / 1000,
    shown: document.querySelectorAll('[data-testid=message]')[1].innerText.length };
}"""


def written(name: str, lines: list[str]) -> None:
    """Put a table between its marks on the page."""
    page = Path(PAGE)
    before = page.read_text("utf-8")
    mark = f"<!-- {name}: make figures -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(mark[0])}.*?{re.escape(mark[1])}", re.DOTALL)
    assert pattern.search(before), name
    table = "\n".join([mark[0], *lines, mark[1]])
    page.write_text(pattern.sub(lambda _: table, before), encoding="utf-8")


class TestTyping:
    """While a reply of 500 tokens a second comes."""

    @pytest.fixture
    def model_env(self) -> Iterator[dict[str, str]]:
        sentence = "The value is read, checked and handed on to the step that follows it. "
        text = (sentence * 5 + "\n\n") * 60
        whole = text[: TOKENS * SECONDS * 4]
        pieces = TOKENS * SECONDS // PIECE
        with reply_server(whole, pieces=pieces, pause=0.75 * PIECE / TOKENS) as env:
            yield dict(env)

    def test_keys_are_shown_at_once_and_nothing_jumps(self, vscode: Workbench) -> None:
        chat = vscode.show_chat()
        expect(vscode.status).to_contain_text("/", timeout=60_000)
        box = chat.get_by_test_id("chat-input")
        box.fill("Tell me a lot.")
        box.press("Enter")
        reply = chat.locator("[data-testid=message][data-role=assistant]")
        expect(reply).to_contain_text("handed on", timeout=60_000)
        frame = webview(vscode, "chat")
        frame.evaluate(WATCH)
        before = frame.evaluate(
            "() => document.querySelectorAll('[data-testid=message]')[1].innerText.length"
        )
        found = self._typed(vscode, chat)
        assert chat.get_by_test_id("stop-button").is_visible(), "the reply ended before the typing"
        rate = (found["shown"] - before) / 4 / found["seconds"]
        chat.get_by_test_id("stop-button").click()
        expect(chat.get_by_test_id("stop-button")).to_be_hidden(timeout=60_000)
        frame.evaluate(WATCH)
        still = self._typed(vscode, chat)
        written("typing", [
            "| what | figure |",
            "| --- | ---: |",
            f"| tokens a second that were shown meanwhile | {rate:.0f} |",
            f"| keys | {found['count']} |",
            f"| from the key to the frame that shows it, median | {found['median']:.0f} ms |",
            f"| the same, 95 of 100 keys | {found['p95']:.0f} ms |",
            f"| the slowest key | {found['worst']:.0f} ms |",
            f"| 95 of 100 keys with nothing streaming, just after | {still['p95']:.0f} ms |",
            f"| layout shift in all (0.1 is what Web Vitals call good) | {found['shift']:.3f} |",
        ])  # fmt: skip

    @staticmethod
    def _typed(bench: Workbench, chat: FrameLocator) -> dict[str, float]:
        chat.get_by_test_id("chat-input").click()
        for letter in "what comes to mind while the reply is still on its way, and more ":
            bench.page.keyboard.type(letter)
            bench.page.wait_for_timeout(60)
        found: dict[str, float] = webview(bench, "chat").evaluate(READ)
        return found


@attrs.define
class Hand:
    """Counts what a user does."""

    bench: Workbench
    clicks: int = 0
    keys: int = 0

    def click(self, place: Locator) -> None:
        self.clicks += 1
        place.click()

    def press(self, *keys: str) -> None:
        """Keys and chords; each counts once."""
        for key in keys:
            self.keys += 1
            self.bench.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Words: what one wants to say is not counted, it is the same everywhere."""
        self.bench.page.keyboard.type(text)


EDIT = edit("convert.py", ("9 / 5 + 30", "9 / 5 + 32"))
FIRST = list(says("anthropic", "This is what stands still.").body)


class TestJobs:
    """Ten jobs, from the first click or key to the moment at which they are done."""

    @pytest.fixture
    def model(self) -> Iterator[WireServer]:
        answers = [
            *(says("anthropic", f"Answer {n}.") for n in range(3)),
            *script("anthropic", EDIT),
            Reply([FIRST[0], Hold(), *FIRST[1:]]),
            *(says("anthropic", f"Answer {n}.") for n in range(4, 12)),
        ]
        with wire_server("anthropic", answers) as server:
            yield server

    @pytest.fixture
    def model_env(self, model: WireServer) -> dict[str, str]:
        return environment(model) | {"TIERLINE_PROVIDER_MODEL": "claude-sonnet-4-5"}

    def test_ten_jobs_are_counted(self, vscode: Workbench, model: WireServer) -> None:
        rows: list[str] = []
        page = vscode.page

        @contextmanager
        def job(name: str) -> Iterator[Hand]:
            hand, began = Hand(vscode), time.monotonic()
            yield hand
            taken = time.monotonic() - began
            rows.append(f"| {name} | {hand.clicks} | {hand.keys} | {taken:.1f} |")

        vscode.explorer_open("convert.py")
        expect(vscode.status).to_contain_text("/", timeout=60_000)
        vscode.show_chat()
        chat = vscode.chat
        replies = chat.locator("[data-testid=message][data-role=assistant][data-status=ok]")
        prompts = chat.locator("[data-testid=message][data-role=user]")
        box = chat.get_by_test_id("chat-input")
        expect(chat.get_by_test_id("active-chip")).to_have_text("convert.py", timeout=30_000)
        self._editor(vscode).click()

        with job("ask about the open file, from the editor") as hand:
            hand.press("Control+k", "t")
            expect(box).to_be_focused(timeout=20_000)
            hand.type("What does this do?")
            hand.press("Enter")
            expect(replies).to_have_count(1, timeout=60_000)
        with job("add another file by name and ask") as hand:
            hand.press("@")
            hand.type("test_conv")
            expect(chat.get_by_role("option").first).to_contain_text(
                "test_convert.py", timeout=20_000
            )
            hand.press("Enter")
            hand.type(" and what of it?")
            hand.press("Enter")
            expect(replies).to_have_count(2, timeout=60_000)
        self._editor(vscode).click()
        page.keyboard.press("Control+a")
        with job("ask about a selection") as hand:
            hand.press("Control+k", "t")
            expect(chat.get_by_test_id("selection-chip")).to_be_visible(timeout=20_000)
            expect(box).to_be_focused(timeout=20_000)
            hand.type("Explain it.")
            hand.press("Enter")
            expect(replies).to_have_count(3, timeout=60_000)
        box.fill("Mend it.")
        box.press("Enter")
        card = chat.get_by_test_id("edit")
        expect(card).to_have_attribute("data-state", "open", timeout=60_000)
        with job("accept a proposed change of a file") as hand:
            hand.click(chat.get_by_test_id("edit-accept"))
            expect(card).to_have_attribute("data-state", "applied", timeout=30_000)
        expect(chat.get_by_test_id("stop-button")).to_be_hidden(timeout=60_000)
        box.fill("And on?")
        box.press("Enter")
        assert model.waiting.wait(30)
        with job("let a further prompt wait while a reply comes") as hand:
            hand.type("And the tests?")
            hand.press("Enter")
            expect(chat.get_by_test_id("waiting")).to_have_count(1, timeout=20_000)
        model.release()
        expect(chat.get_by_test_id("stop-button")).to_be_hidden(timeout=60_000)
        with job("read exactly what went with a prompt") as hand:
            hand.click(chat.get_by_test_id("budget-line").last)
            expect(page.locator(".tab.active")).to_be_visible(timeout=20_000)
        before = prompts.count()
        with job("change an earlier prompt and go on from there") as hand:
            prompts.first.hover()
            hand.click(prompts.first.get_by_test_id("edit-prompt"))
            hand.type(" And why?")
            hand.press("Enter")
            expect(chat.get_by_test_id("branch-chip")).to_be_visible(timeout=60_000)
        assert before > 1
        expect(chat.get_by_test_id("stop-button")).to_be_hidden(timeout=60_000)
        rows_of_list = page.locator(".quick-input-list .monaco-list-row")
        with job("begin a new session without the files") as hand:
            hand.click(chat.get_by_test_id("new-session"))
            expect(rows_of_list.first).to_be_visible(timeout=20_000)
            hand.press("ArrowDown", "Enter")
            expect(prompts).to_have_count(0, timeout=30_000)
        expect(chat.get_by_test_id("file-chip")).to_have_count(0)
        with job("go back to the session before") as hand:
            hand.click(chat.get_by_test_id("sessions"))
            expect(rows_of_list.first).to_be_visible(timeout=20_000)
            hand.press("Enter")
            expect(prompts.first).to_be_visible(timeout=30_000)
        with job("see the models to choose from, with window and price") as hand:
            hand.click(chat.get_by_test_id("provider-chip"))
            expect(rows_of_list.first).to_be_visible(timeout=20_000)
        page.keyboard.press("Escape")
        head = ["| job | clicks | keys | seconds |", "| --- | ---: | ---: | ---: |"]
        written("jobs", [*head, *rows])

    @staticmethod
    def _editor(bench: Workbench) -> Locator:
        return bench.page.locator(".monaco-editor .view-lines").first
