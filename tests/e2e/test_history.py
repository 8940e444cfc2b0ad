"""The history in a real VS Code: STATE, pictures, branches, hiding, scratchpad, commands, sessions.

A model on loopback answers, so that every reply is known.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from e2e.views import quick_pick
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
STATE = (
    "### STATE\nGoal: sort the jars\nContext: convert.py\nResolved: -\nTechnical Anchors: port 4711"
)
PNG = base64.b64encode((ROOT / "vscode-client/media/icon.png").read_bytes()).decode()
PASTE = """(input, data) => {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], 'shot.png', { type: 'image/png' }));
  const event = new ClipboardEvent('paste', { bubbles: true, cancelable: true });
  Object.defineProperty(event, 'clipboardData', { value: transfer });
  input.dispatchEvent(event);
}"""


@pytest.fixture
def model() -> Iterator[WireServer]:
    """Answers each prompt with its number; the first reply keeps STATE."""
    replies = [o_reply(f"Reply number {n}.\n\n{STATE}" if n == 1 else f"Reply number {n}.")
               for n in range(1, 20)]  # fmt: skip
    with wire_server("openai", replies) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


def say(chat: FrameLocator, text: str) -> None:
    box = chat.get_by_test_id("chat-input")
    box.fill(text)
    expect(box).to_have_value(text)
    box.press("Enter")


def replies(chat: FrameLocator) -> Locator:
    return chat.locator("[data-testid=message][data-role=assistant]")


def answered(chat: FrameLocator, count: int) -> None:
    """So many replies are there, and the newest is whole: a turn is shown before it is sent."""
    expect(replies(chat)).to_have_count(count, timeout=60_000)
    expect(replies(chat).last).to_have_attribute("data-status", "ok", timeout=60_000)


def prompts(chat: FrameLocator) -> Locator:
    return chat.locator("[data-testid=message][data-role=user]")


def test_history_from_the_first_turn_to_another_session(
    vscode: Workbench, model: WireServer
) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)

    # A reply: its STATE is folded away, its weight shown.
    say(chat, "Where is the MARMALADE?")
    expect(replies(chat)).to_have_count(1, timeout=60_000)
    first = replies(chat).first
    expect(first).to_have_attribute("data-status", "ok")
    expect(first).to_contain_text("Reply number 1.")
    block = first.get_by_test_id("state-block")
    expect(block.locator("pre")).to_be_hidden()
    block.locator("summary").click()
    expect(block.locator("pre")).to_contain_text("port 4711")
    expect(first.get_by_test_id("weight")).to_contain_text("tokens")
    usage = first.get_by_test_id("usage")
    expect(usage).to_contain_text("$")
    took, outcome = usage.inner_text(), usage.get_attribute("data-outcome") or ""

    # A picture is pasted, sent, and stays with its prompt.
    box = chat.get_by_test_id("chat-input")
    box.evaluate(PASTE, PNG)
    expect(chat.locator(".attached img")).to_have_count(1)
    say(chat, "What is on this picture?")
    answered(chat, 2)
    expect(prompts(chat).last.locator("img")).to_have_count(1)
    body = json.dumps(model.bodies[-1])
    assert "image_url" in body and "port 4711" in body, "picture and STATE are in the request"

    # A branch from the first reply, and back.
    first.hover()
    first.get_by_label("Begin a branch here").click()
    chip = chat.get_by_test_id("branch-chip")
    expect(chip).to_be_visible(timeout=20_000)
    expect(replies(chat)).to_have_count(1)
    expect(usage).to_have_text(took)
    say(chat, "Only on the branch")
    answered(chat, 2)
    chip.click()
    quick_pick(vscode, "main")
    expect(prompts(chat).last).to_contain_text("What is on this picture?", timeout=20_000)
    expect(prompts(chat).last.locator("img")).to_have_count(1)
    vscode.command("Tierline: Compare Branches")
    expect(vscode.page.locator(".monaco-editor", has_text="Only on the branch")).to_be_visible()

    # A turn is hidden and brought back.
    prompts(chat).first.hover()
    prompts(chat).first.get_by_label("Hide this turn from the model").click()
    expect(prompts(chat)).to_have_count(1, timeout=20_000)
    vscode.command("Tierline: Bring Back a Hidden Turn")
    quick_pick(vscode, "MARMALADE")
    expect(prompts(chat)).to_have_count(2, timeout=20_000)

    # The scratchpad is edited, saved, and part of the next request.
    vscode.command("Tierline: Open Scratchpad")
    editor = vscode.page.locator(".editor-instance .monaco-editor").last
    expect(vscode.page.locator(".tab", has_text="Scratchpad.md")).to_be_visible(timeout=20_000)
    editor.click()
    vscode.page.keyboard.type("- [ ] PLAN-42")
    vscode.page.keyboard.press("Control+s")
    log = vscode.workspace / ".tierline" / "history.jsonl"
    expect(vscode.page.locator(".tab.dirty", has_text="Scratchpad.md")).to_have_count(0)
    for _ in range(200):
        if "PLAN-42" in log.read_text(encoding="utf-8"):
            break
        vscode.page.wait_for_timeout(100)
    assert "PLAN-42" in log.read_text(encoding="utf-8")
    vscode.command("Tierline: Open Chat")
    expect(box).to_be_focused()
    vscode.page.wait_for_timeout(500)  # the palette gives the focus back when it closes
    say(chat, "Go on with the plan")
    answered(chat, 3)
    assert "PLAN-42" in json.dumps(model.bodies[-1])

    # Commands are completed and carried out.
    box.fill("")
    box.press_sequentially("/und")
    expect(chat.locator("[role=listbox]")).to_contain_text("Take back the last turn")
    box.press("Enter")
    expect(box).to_have_value("/undo ")
    box.press("Enter")
    expect(replies(chat)).to_have_count(2, timeout=20_000)
    offer = vscode.page.locator(".notification-toast", has_text="taken back")
    expect(offer).to_contain_text("Rebuild STATE", timeout=20_000)
    offer.get_by_role("button", name="Bring It Back").click()
    expect(replies(chat)).to_have_count(3, timeout=20_000)
    say(chat, "/context window 1")
    expect(chat.get_by_test_id("notice").last).to_contain_text("1 turn")
    say(chat, "/message show nonsense")
    expect(box).to_have_value("/message show nonsense")
    box.fill("")
    requests = len(model.requests)

    # Another session; the first is found by a word in it, read, and opened again.
    vscode.command("Tierline: New Session")
    expect(replies(chat)).to_have_count(0, timeout=20_000)
    expect(box).to_be_focused()  # beginning a session leads back to the input
    vscode.page.wait_for_timeout(500)
    vscode.command("Tierline: Browse and Search Sessions")
    search = vscode.page.locator(".quick-input-widget input").first
    search.fill("marmalade")
    rows = vscode.page.locator(".quick-input-list .monaco-list-row", has_text="MARMALADE")
    expect(rows).to_have_count(2, timeout=20_000)  # the session, and the message in it
    rows.first.get_by_label("Read without opening").click()
    expect(vscode.page.locator(".monaco-editor", has_text="Reply number 1")).to_be_visible()
    expect(replies(chat)).to_have_count(0)
    vscode.page.keyboard.press("Escape")
    expect(vscode.page.locator(".quick-input-widget").first).to_be_hidden()
    vscode.command("Tierline: Browse and Search Sessions")
    quick_pick(vscode, "MARMALADE")
    expect(prompts(chat)).to_have_count(3, timeout=20_000)
    expect(prompts(chat).nth(1).locator("img")).to_have_count(1)
    expect(replies(chat).get_by_test_id("usage")).to_have_count(3)
    expect(usage).to_have_text(took)
    assert len(model.requests) == requests, "nothing of this was sent to the model"

    # After a reload all of it is there again, with the picture and what each reply took.
    vscode.open()
    chat = vscode.show_chat()
    expect(prompts(chat)).to_have_count(3, timeout=60_000)
    expect(prompts(chat).nth(1).locator("img")).to_have_attribute(
        "src", re.compile("^data:image/png")
    )
    expect(replies(chat).first.get_by_test_id("state-block")).to_be_visible()
    expect(replies(chat).get_by_test_id("usage")).to_have_count(3)
    expect(replies(chat).first.get_by_test_id("usage")).to_have_text(took)
    expect(replies(chat).first.get_by_test_id("usage")).to_have_attribute("data-outcome", outcome)
    expect(vscode.page.locator(".editor-instance .monaco-editor").last).to_contain_text("PLAN-42")
