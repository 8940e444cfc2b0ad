"""Tierline with the keyboard alone, and what a screen reader is told, in a real VS Code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Frame, Page, expect

from e2e.views import CUT, webview
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.agents import Use, calls, says
from wire.scripts import a_end, a_start, a_texts
from wire.servers import Reply, WireServer, wire_server

pytestmark = pytest.mark.e2e
PARTS = Use(
    "propose_edit",
    {
        "path": "convert.py",
        "edits": [
            {"search": '"""Temperature scales."""', "replace": '"""Scales of temperature."""'},
            {"search": "9 / 5 + 30", "replace": "9 / 5 + 32"},
        ],
    },
    "parts",
)
PARAGRAPHS = ["It adds thirty-two. " * 3, "It takes any number. " * 3, "Nothing is rounded. " * 3]


@pytest.fixture
def model() -> Iterator[WireServer]:
    words = [f"{word} " for word in "\n\n".join(PARAGRAPHS).split(" ")]
    script = [
        Reply([a_start(), *a_texts(0, *words), *a_end()]),
        calls("anthropic", Use("run_command", {"argv": ["python", "-V"]}, "run"), text="I look."),
        calls("anthropic", PARTS, text="Two lines are wrong."),
        says("anthropic", "Done in part."),
        calls("anthropic", Use("run_command", {"argv": ["python", "-VV"]}, "again")),
        says("anthropic", "Not run."),
    ]
    with wire_server("anthropic", script) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


HERE = """() => {
  const at = document.activeElement;
  if (at === null || at === document.body || !document.hasFocus()) return '';
  return at.dataset.testid || at.getAttribute('aria-label') || at.textContent.trim();
}"""


def back_to(page: Page, frame: Frame, wanted: str) -> None:
    """Shift+Tab until the control has the focus."""
    seen = []
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        seen.append(str(frame.evaluate(HERE)))
        if seen[-1] == wanted or (" " in wanted and seen[-1].startswith(wanted)):
            return
    raise AssertionError(f"{wanted} is not reached: {seen}")


def test_all_of_a_turn_with_the_keyboard(vscode: Workbench, model: WireServer) -> None:
    page = vscode.page
    vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    vscode.explorer_open("convert.py")
    page.keyboard.press("Control+k")
    page.keyboard.press("t")
    frame = webview(vscode, "chat")
    box = frame.get_by_test_id("chat-input")
    expect(box).to_be_focused(timeout=10_000)

    # A file is chosen from the list: the input keeps the focus, and says which one is meant.
    page.keyboard.type("What does @con")
    expect(frame.get_by_role("listbox")).to_be_visible(timeout=10_000)
    chosen = box.get_attribute("aria-activedescendant")
    assert chosen is not None
    expect(frame.locator(f"#{chosen}")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") != chosen
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(box).to_have_value("What does @convert.py ")
    expect(box).to_be_focused()
    page.keyboard.type("do?")

    # Sent with the button: it cannot be pressed any more then, and the focus goes to the input.
    page.keyboard.press("Tab")
    assert frame.evaluate(HERE) == "send-button"
    page.keyboard.press("Enter")
    expect(box).to_be_focused(timeout=10_000)
    replies = frame.locator("[data-testid=message][data-role=assistant]")
    expect(replies.last).to_have_attribute("data-status", "ok", timeout=60_000)
    # Each paragraph once, whatever pieces it came in; nothing inside the reply is live.
    told = frame.locator("[role=log] p").all_inner_texts()
    assert [one.strip() for one in PARAGRAPHS] == told[1:-1], told
    assert told[0] == "Tierline is answering." and told[-1] == "The reply is complete.", told
    live = "[aria-live], [role=log], [role=status], [role=alert]"
    assert frame.locator(f".transcript :is({live})").count() == 0

    # A chip that is removed leaves the focus in the input, not nowhere.
    chip = frame.get_by_test_id("file-chip")
    expect(chip).to_have_count(1, timeout=20_000)
    back_to(page, frame, "Remove convert.py")
    page.keyboard.press("Enter")
    expect(chip).to_have_count(0, timeout=20_000)
    expect(box).to_be_focused()

    # A command is asked about: reached, answered, and the focus is back.
    page.keyboard.type("Mend it.")
    page.keyboard.press("Enter")
    consent = frame.get_by_test_id("consent")
    expect(consent).to_be_visible(timeout=60_000)
    expect(frame.get_by_role("log")).to_contain_text("A question waits for your answer.")
    expect(frame.get_by_role("region", name="python -V")).to_be_visible()
    expect(box).to_be_focused()
    back_to(page, frame, "consent-once")
    page.keyboard.press("Enter")
    expect(consent).to_be_hidden(timeout=30_000)
    expect(box).to_be_focused()

    # An edit: one part is left out with the space bar, the rest accepted.
    edit = frame.get_by_test_id("edit")
    expect(edit).to_have_attribute("data-state", "open", timeout=60_000)
    expect(frame.get_by_role("log")).to_contain_text("An edit waits for your decision.")
    expect(box).to_be_focused()
    back_to(page, frame, "edit-accept")
    for _ in range(4):  # code, checkbox, code, checkbox
        page.keyboard.press("Shift+Tab")
    first = edit.get_by_role("checkbox").first
    expect(first).to_be_focused()
    page.keyboard.press("Space")
    expect(first).not_to_be_checked()
    accept = frame.get_by_test_id("edit-accept")
    expect(accept).to_have_text("Accept 1 part")
    for _ in range(4):
        page.keyboard.press("Tab")
    expect(accept).to_be_focused()
    page.keyboard.press("Enter")
    expect(edit).to_have_attribute("data-state", "partly", timeout=30_000)
    expect(box).to_be_focused()
    expect(replies.last).to_contain_text("Done in part.", timeout=60_000)
    text = (vscode.workspace / "convert.py").read_text("utf-8")
    assert "9 / 5 + 32" in text and "Scales of temperature" not in text

    # Esc on a question means no, and the turn goes on.
    page.keyboard.type("Which version?")
    page.keyboard.press("Enter")
    expect(consent).to_be_visible(timeout=60_000)
    back_to(page, frame, "consent-deny")
    page.keyboard.press("Escape")
    expect(consent).to_be_hidden(timeout=30_000)
    expect(box).to_be_focused()
    expect(replies.last).to_contain_text("Not run.", timeout=60_000)
    # What is hidden from the eye takes no room, and nothing is cut off.
    assert frame.evaluate(CUT) == []


def press_until(page: Page, key: str, shown: Callable[[float], None]) -> None:
    """Press a key until what it does is shown within ``shown``'s milliseconds: a row that is drawn
    anew at that moment swallows it.
    """
    for _ in range(2):
        page.keyboard.press(key)
        with contextlib.suppress(AssertionError):
            return shown(5_000)
    page.keyboard.press(key)
    return shown(5_000)


def test_the_context_tree_with_the_keyboard(vscode: Workbench) -> None:
    page = vscode.page
    vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    vscode.explorer_open("convert.py")
    vscode.command("Pin to Tierline Context")
    vscode.show_chat()
    tree = page.get_by_role("tree", name="Context")
    vscode.command("Focus on Context View")  # closed at first: this opens it
    expect(tree).to_contain_text("convert.py", timeout=20_000)
    vscode.command("Focus on Context View")
    expect(tree).to_be_focused(timeout=10_000)
    rows = tree.locator(".monaco-list-row")
    here = tree.locator(".monaco-list-row.focused")

    # The arrows go from group to entry, and fold the group.
    page.keyboard.press("Home")
    expect(here).to_contain_text("Pinned")
    page.keyboard.press("ArrowLeft")
    expect(here).to_have_attribute("aria-expanded", "false")
    expect(rows).to_have_count(1)
    press_until(page, "ArrowRight", lambda wait: expect(rows).to_have_count(2, timeout=wait))
    page.keyboard.press("ArrowDown")
    expect(here).to_contain_text("convert.py")
    name = here.get_attribute("aria-label")
    assert name is not None and "tokens" in name, name

    # Enter opens the entry, and its button is the next stop of the Tab key.
    page.keyboard.press("Control+k")
    page.keyboard.press("w")
    tab = page.get_by_role("tab", name="convert.py")
    expect(tab).to_have_count(0)
    vscode.command("Focus on Context View")
    expect(tree).to_be_focused(timeout=10_000)
    page.keyboard.press("End")
    expect(here).to_contain_text("convert.py")
    press_until(page, "Enter", lambda wait: expect(tab).to_have_count(1, timeout=wait))
    vscode.command("Focus on Context View")
    expect(tree).to_be_focused(timeout=10_000)
    page.keyboard.press("End")
    expect(here).to_contain_text("convert.py")
    page.keyboard.press("Tab")
    expect(here.get_by_role("button", name="Unpin")).to_be_focused()
    page.keyboard.press("Enter")
    expect(tree).to_contain_text("Selected", timeout=20_000)
    expect(tree).not_to_contain_text("Pinned")

    # The focus is not lost with the row: it is in the tree.
    expect(tree).to_be_focused()
    page.keyboard.press("End")
    expect(here).to_contain_text("convert.py")
    page.keyboard.press("Tab")
    expect(here.get_by_role("button", name="Pin")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(here.get_by_role("button", name="Remove from Context")).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(0, timeout=20_000)
