"""Cards that wait for an answer, in a real VS Code: links, commands, edits; by the keyboard alone,
looked at by axe in three themes. Charts that are exported, and pins by lens and code action.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, expect

from e2e.views import CUT, THEMES, Settings, use_theme, violations, webview
from e2e.workbench import Workbench
from lsp.conftest import environment
from web.site import Site, page, site
from wire import temperature
from wire.agents import Use, calls, results, says
from wire.servers import Kind, WireServer, wire_server

pytestmark = pytest.mark.e2e
NETWORK = Path(__file__).parents[1] / "web" / "network"
GUIDE = "http://docs.example.org/guide"
TEXT = "<p>The frobnicator is oiled every 37 days.</p>" * 8
HEAD = "<html><head><title>Guide</title></head>"
BODY = f"{HEAD}<body><main><h1>Guide</h1>{TEXT}</main></body></html>"
EDITS = [
    {"search": "9 / 5 + 30", "replace": "9 / 5 + 32"},
    {"search": "ABSOLUTE_ZERO = -273.15", "replace": "ABSOLUTE_ZERO = -300"},
]


@pytest.fixture
def web() -> Iterator[Site]:
    """A site on loopback that public names lead to, for the server under test alone."""
    loop, ready, end = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found: list[Site] = []

    async def serve() -> None:
        async with site({"/guide": page(BODY), "/other": page(BODY.replace("37", "41"))}) as where:
            found.append(where)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    yield found[0]
    loop.call_soon_threadsafe(end.set)
    thread.join(10)
    loop.close()


@pytest.fixture
def model() -> Iterator[WireServer]:
    """Two plain replies, then an agent that wants a command and an edit, then plain replies."""
    kind: Kind = "anthropic"
    script = [
        says(kind, "It says 37 days."),
        says(kind, "I have not read it."),
        says(kind, "I have not read that either."),
        calls(kind, Use("run_command", {"argv": temperature.TESTS}, "run"), text="I test."),
        calls(kind, Use("propose_edit", {"path": "convert.py", "edits": EDITS}, "edit")),
        says(kind, "One part of it."),
    ]
    with wire_server(kind, script) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer, web: Site, tmp_path: Path) -> dict[str, str]:
    paths = [str(NETWORK), os.environ.get("PYTHONPATH", "")]
    return {
        **environment(model),
        **temperature.PATH,
        "TIERLINE_DATA_DIR": str(tmp_path / "data"),
        "TIERLINE_TEST_SITE": str(web.port),
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }


def say(chat: FrameLocator, text: str) -> None:
    box = chat.get_by_test_id("chat-input")
    box.fill(text)
    box.press("Enter")


def answered(chat: FrameLocator, count: int) -> None:
    found = chat.locator("[data-testid=message][data-role=assistant][data-status=ok]")
    expect(found).to_have_count(count, timeout=60_000)


def focused(bench: Workbench) -> str:
    """The test id or the name of what has the focus in the chat."""
    return str(
        webview(bench, "chat").evaluate(
            """() => { const at = document.activeElement;
              return at.dataset.testid || at.getAttribute('aria-label') || at.tagName; }"""
        )
    )


def tab_to(bench: Workbench, name: str) -> list[str]:
    """Shift+Tab from the input until something has the focus; what was passed."""
    webview(bench, "chat").get_by_test_id("chat-input").focus()
    passed: list[str] = []
    for _ in range(40):
        bench.page.keyboard.press("Shift+Tab")
        passed.append(focused(bench))
        if passed[-1] == name:
            return passed
    raise AssertionError(f"{name} cannot be reached: {passed}")


def looked_at(bench: Workbench, settings: Settings, name: str) -> list[str]:
    """Faults of the chat in each theme."""
    faults: list[str] = []
    for theme in THEMES:
        use_theme(bench, settings, theme)
        frame = webview(bench, "chat")
        faults += [f"{name}, {theme}: {one}" for one in violations(frame) + frame.evaluate(CUT)]
    return faults


def announced(bench: Workbench) -> str:
    return webview(bench, "chat").locator("[aria-live]").inner_text()


def test_cards_are_answered_by_the_keyboard_and_hide_nothing(
    vscode: Workbench, model: WireServer, web: Site, settings: Settings
) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    keys = vscode.page.keyboard

    # A pasted link: nothing is read before the yes, then the page goes with the prompt.
    say(chat, f"What does {GUIDE} say?")
    card = chat.get_by_test_id("consent")
    expect(card).to_contain_text(GUIDE, timeout=30_000)
    assert web.requests == [] and model.bodies == [], "nothing is asked for before the answer"
    assert "question waits" in announced(vscode) or "Read this page" in announced(vscode)
    faults = looked_at(vscode, settings, "link")
    assert "consent-deny" in tab_to(vscode, "consent-once"), "in the order in which they stand"
    keys.press("Enter")
    answered(chat, 1)
    assert web.paths() == ["/guide"]
    assert "oiled every 37 days" in json.dumps(model.bodies[0])
    expect(card).to_have_count(0)
    assert focused(vscode) == "chat-input", "the focus does not get lost with the card"
    tree = vscode.page.locator("[aria-label='Context'] .monaco-list-row", has_text="Guide")
    header = vscode.page.locator(".pane-header[aria-label*='Context']").first
    if header.get_attribute("aria-expanded") != "true":
        header.click()
    expect(tree.first).to_be_visible(timeout=20_000)

    # Esc is a no, and only this: the reply goes on without the page.
    say(chat, "And http://docs.example.org/other ?")
    expect(card).to_be_visible(timeout=30_000)
    tab_to(vscode, "consent-deny")
    keys.press("Escape")
    answered(chat, 2)
    assert web.paths() == ["/guide"]
    assert "41 days" not in json.dumps(model.bodies[1])

    # The setting: no question, nothing read.
    settings.set("tierline.pastedLinks", "never")
    vscode.page.wait_for_timeout(1_500)
    say(chat, "And http://docs.example.org/third ?")
    answered(chat, 3)
    assert web.paths() == ["/guide"]
    expect(card).to_have_count(0)
    # A value that cannot be used is named, with what it must be.
    settings.set("tierline.pastedLinks", "sometimes")
    toast = vscode.page.locator(".notification-toast", has_text="tierline.pastedLinks")
    expect(toast).to_contain_text("must be one of ask, never", timeout=20_000)
    settings.set("tierline.pastedLinks", None)
    vscode.command("Notifications: Clear All Notifications")

    # A command, refused with the keyboard.
    say(chat, temperature.PROMPT)
    expect(chat.get_by_test_id("consent-command")).to_be_visible(timeout=60_000)
    faults += looked_at(vscode, settings, "command")
    assert tab_to(vscode, "consent-deny")
    keys.press("Enter")

    # An edit of two parts: one is left out with the keyboard; Esc leaves the reason, not the turn.
    edits = chat.get_by_test_id("edit")
    expect(edits.last).to_contain_text("+ 32", timeout=60_000)
    assert "not" in results(model.bodies[-1], "anthropic")["run"]
    boxes = edits.last.get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    boxes.first.focus()  # parts stand in the order of the file
    keys.press("Space")
    expect(chat.get_by_test_id("edit-accept")).to_have_text("Accept 1 part")
    faults += looked_at(vscode, settings, "edit")
    tab_to(vscode, "edit-reject")
    keys.press("Enter")
    expect(chat.get_by_test_id("edit-reason")).to_be_focused()
    faults += looked_at(vscode, settings, "reason")
    chat.get_by_test_id("edit-reason").focus()
    keys.press("Escape")
    assert focused(vscode) == "edit-reject"
    expect(edits.last).to_have_attribute("data-state", "open")
    tab_to(vscode, "edit-accept")
    keys.press("Enter")
    expect(edits.last).to_have_attribute("data-state", "partly", timeout=30_000)
    answered(chat, 4)
    source = (vscode.workspace / "convert.py").read_text("utf-8")
    assert "9 / 5 + 32" in source and "-273.15" in source
    assert focused(vscode) == "chat-input"
    faults += looked_at(vscode, settings, "answered")
    assert faults == [], "\n".join(faults)


def test_charts_are_exported_and_lenses_pin(vscode: Workbench) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    for number in range(2):
        say(chat, f"Question {number}?")
        answered(chat, number + 1)

    # A file that was added shows a lens; a click pins the file, another unpins it.
    vscode.page.keyboard.press("Control+Shift+E")
    vscode.context_menu("convert.py", "Add to Tierline Context")
    vscode.show_chat()
    expect(chat.get_by_test_id("file-chip")).to_have_count(1, timeout=20_000)
    vscode.explorer_open("convert.py")
    lens = vscode.page.locator(".codelens-decoration", has_text="Tierline")
    expect(lens.first).to_contain_text("tokens", timeout=30_000)
    lens.first.get_by_role("button").click()
    expect(lens.first).to_contain_text("pinned", timeout=30_000)
    lens.first.get_by_role("button").click()
    expect(lens.first).not_to_contain_text("pinned", timeout=30_000)

    # A code action pins the symbol at the cursor, which has its lens then.
    vscode.page.locator(".view-line", has_text="def fahrenheit").click()
    vscode.command("Source Action...")
    action = vscode.page.locator(".action-widget .monaco-list-row", has_text="Pin fahrenheit")
    expect(action).to_be_visible(timeout=30_000)
    action.click()
    expect(lens).to_have_count(2, timeout=30_000)
    expect(lens.last).to_contain_text("unpin")

    # Charts: the save dialog names a file, the files hold the two turns.
    vscode.command("Tierline: Show Prompt Cache")
    cache = webview(vscode, "cache")
    expect(cache.get_by_test_id("charts")).to_be_visible(timeout=30_000)
    for form in ("SVG", "CSV"):
        target = vscode.workspace / f"turns.{form.lower()}"
        cache.get_by_role("button", name=f"Export {form}").click()
        box = vscode.page.locator(".quick-input-widget input").first
        expect(box).to_have_value(re.compile(rf"tierline-.*\.{form.lower()}$"), timeout=20_000)
        box.fill(str(target))
        vscode.page.locator(".quick-input-widget").get_by_role("button", name="OK").click()
        toast = vscode.page.locator(".notification-toast", has_text=f"turns.{form.lower()}")
        expect(toast).to_contain_text("Exported 2 turns", timeout=20_000)
    drawing = ET.fromstring((vscode.workspace / "turns.svg").read_text("utf-8"))
    assert drawing.tag.endswith("svg") and len(list(drawing.iter())) > 40
    rows = list(csv.DictReader(io.StringIO((vscode.workspace / "turns.csv").read_text("utf-8"))))
    assert [row["turn"] for row in rows] == ["1", "2"]
    assert all(int(row["input_tokens"]) > 0 for row in rows)
