"""Compaction in a real VS Code: a long session, progress, a prompt meanwhile, result, undo."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from e2e.gallery import pane
from e2e.views import keep, with_code
from e2e.workbench import Workbench
from support.owning import own
from wire.choosing import ChoosingServer, What
from wire.scripts import o_reply
from wire.servers import Pause, Reply

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"

NOTES = """Finished:
- Negative temperatures were converted wrongly in `convert.py`; the sign is kept now.
- `kelvin()` was added with tests.
Decisions:
- Results are rounded to two decimals, halves to even.
Open:
- Read values from a CSV file (`read_csv.py`)."""
TALK = (
    "convert.py gives wrong results for negative temperatures. Why?",
    "Then keep the sign, please, and round to two decimals.",
    "Add a function for kelvin, with tests.",
    "Which of the tests cover absolute zero?",
    "Now let's read the values from a CSV file. How would you do that in read_csv.py?",
    "Skip lines that hold no number.",
)
REPLY = (
    "In `convert.py`, `to_celsius` takes the absolute value before it subtracts: the sign is lost. "
    "Keep the value as it is, subtract 32, multiply by 5 and divide by 9; round at the very end, "
    "otherwise the error grows with every step. The tests in `test_convert.py` cover -40 and 100."
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The sample project, with a low trigger."""
    root = Path(shutil.copytree(ROOT / "examples" / "temperature", tmp_path / "temperature"))
    own(root)
    (root / ".tierline" / "config.toml").write_text(
        '[compaction]\ncompaction_trigger_tokens = 540\ndetector = "local"\n'
        '[history]\nstate_anchor = "off"\n',
        encoding="utf-8",
    )
    return root


@pytest.fixture
def model() -> Iterator[ChoosingServer]:
    def answer(what: What, number: int, _body: Any) -> Reply | str:
        if what == "chat":
            return f"{REPLY} (Answer {number}.)"
        return Reply([Pause(10), *o_reply(NOTES).body]) if number == 1 else NOTES

    with ChoosingServer("openai", answer) as server:
        yield server


@pytest.fixture
def model_env(model: ChoosingServer) -> dict[str, str]:
    return {
        "TIERLINE_PROVIDER_NAME": "openai",
        "TIERLINE_PROVIDER_BASE_URL": model.url,
        "TIERLINE_PROVIDER_MODEL": "gpt-5",
        "OPENAI_API_KEY": "test-key-of-nobody",
    }


def test_a_long_session_is_compacted_and_the_summary_taken_back(
    vscode: Workbench, model: ChoosingServer
) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    box = chat.get_by_test_id("chat-input")
    replies = chat.locator("[data-testid=message][data-role=assistant]")
    progress = chat.get_by_test_id("compacting")
    for count, prompt in enumerate(TALK, start=1):
        box.fill(prompt)
        box.press("Enter")
        expect(replies).to_have_count(count, timeout=60_000)
        expect(replies.last).to_have_attribute("data-status", "ok", timeout=60_000)
        if count < len(TALK):
            vscode.page.wait_for_timeout(700)  # the look that follows every reply finds it short
            expect(chat.get_by_test_id("compaction")).to_have_count(0)

    expect(progress).to_be_visible(timeout=30_000)
    expect(progress).to_contain_text("Compacting…")
    expect(box).to_be_enabled()
    box.fill("And lines with a comment?")
    box.press("Enter")
    # Taken by the server, it is listed at the input.
    expect(chat.get_by_test_id("waiting")).to_contain_text("And lines with a comment?")

    card = chat.get_by_test_id("compaction")
    expect(card).to_be_visible(timeout=60_000)
    expect(progress).to_be_hidden()
    expect(replies).to_have_count(len(TALK) + 1, timeout=60_000)  # the prompt was not lost
    expect(replies.last).to_have_attribute("data-status", "ok", timeout=60_000)
    sent = json.dumps(model.of("chat")[-1], ensure_ascii=False)
    assert "[History Summary]" in sent and sent.count("And lines with a comment?") == 1
    assert "Which of the tests cover absolute zero?" not in sent

    with_code(vscode)
    pane(vscode, "Context", False)
    summary = card.get_by_test_id("history-summary")
    expect(summary).to_contain_text("History Summary")
    expect(summary.get_by_text("Read values from a CSV file")).to_be_hidden()
    summary.locator("summary").click()
    expect(summary.get_by_text("Read values from a CSV file")).to_be_visible()
    covered = chat.get_by_test_id("covered")
    expect(covered.get_by_text("absolute zero")).to_be_hidden()
    covered.locator("summary").first.click()
    expect(covered.get_by_text("absolute zero")).to_be_visible()
    covered.locator("summary").first.click()
    vscode.page.set_viewport_size({"width": 1280, "height": 960})
    card.scroll_into_view_if_needed()
    keep(vscode, IMAGES / "compaction.png")

    card.get_by_test_id("undo-compaction").click()
    expect(card).to_have_count(0, timeout=30_000)
    expect(chat.get_by_test_id("covered")).to_have_count(0)
    box.fill("Thanks.")
    box.press("Enter")
    expect(replies).to_have_count(len(TALK) + 2, timeout=60_000)
    expect(replies.last).to_have_attribute("data-status", "ok", timeout=60_000)
    again = json.dumps(model.of("chat")[-1], ensure_ascii=False)
    assert "Which of the tests cover absolute zero?" in again and "[History Summary]" not in again

    # The look that follows the reply finds it long again.
    expect(card).to_be_visible(timeout=60_000)
    card.get_by_test_id("undo-compaction").click()
    expect(card).to_have_count(0, timeout=30_000)
    vscode.command("Tierline: Compact Conversation Now")
    words = vscode.page.locator(".quick-input-widget")
    expect(words).to_contain_text("Compact the conversation", timeout=20_000)
    words.locator("input").first.fill("Keep the names of all tests.")
    vscode.page.keyboard.press("Enter")
    expect(chat.get_by_test_id("compaction")).to_be_visible(timeout=60_000)
    asked = json.dumps(model.of("summary")[-1], ensure_ascii=False)
    assert "Keep the names of all tests." in asked
