"""The main job in a real VS Code with a real model: pin, ask, stop half-way, ask again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from e2e.workbench import Workbench

pytestmark = pytest.mark.e2e


@pytest.fixture
def model_env() -> dict[str, str]:
    """The embedded model, which now and then does not come to an end by itself."""
    return {"TIERLINE_CONTEXT_MAX_OUTPUT_TOKENS": "400"}


def test_pin_ask_stop_and_ask_again(vscode: Workbench) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    before = vscode.used_tokens()
    assert before >= 0

    vscode.page.keyboard.press("Control+Shift+E")
    vscode.context_menu("convert.py", "Pin to Tierline Context")
    expect(vscode.status).not_to_contain_text(vscode.status.inner_text(), timeout=30_000)
    pinned = vscode.used_tokens()
    assert pinned > before + 50, "the pinned file is part of the next request"

    vscode.command("Tierline: Open Chat")
    chip = chat.get_by_test_id("file-chip")
    expect(chip).to_contain_text("convert.py")
    box = chat.get_by_test_id("chat-input")
    box.fill("Explain line by line, and at great length, what convert.py does.")
    box.press("Enter")
    reply = chat.locator("[data-testid=message][data-role=assistant]").last
    expect(reply).to_be_visible(timeout=90_000)
    seen = [len(reply.inner_text())]
    expect(chat.get_by_test_id("stop-button")).to_be_visible()
    for _ in range(400):  # the text grows while it streams
        vscode.page.wait_for_timeout(150)
        seen.append(len(reply.inner_text()))
        if len(set(seen)) > 3:
            break
    assert len(set(seen)) > 3, f"the reply did not stream: {seen}"
    chat.get_by_test_id("stop-button").click()
    expect(chat.get_by_test_id("stop-button")).to_be_hidden(timeout=10_000)
    expect(reply).to_have_attribute("data-status", "interrupted")
    stopped = reply.inner_text()
    assert stopped.strip(), "what had arrived is kept"

    box.fill("Say hello.")
    box.press("Enter")
    replies = chat.locator("[data-testid=message][data-role=assistant]")
    expect(replies).to_have_count(2, timeout=90_000)
    expect(replies.last).to_have_attribute("data-status", "ok", timeout=120_000)
    assert vscode.used_tokens() > pinned, "the conversation is part of the next request"

    log = (vscode.workspace / ".tierline" / "history.jsonl").read_text(encoding="utf-8")
    assert log.count('"role":"user"') == 2
    assert log.count('"role":"assistant"') == 2
    vscode.explorer_open("convert.py")
    vscode.show_chat()
    expect(replies).to_have_count(2, timeout=30_000)
    vscode.toggle_theme("vs-dark")
