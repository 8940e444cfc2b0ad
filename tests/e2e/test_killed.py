"""The server is killed while a reply streams in a real VS Code: what had come of it stays."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.views import keep, with_code
from e2e.workbench import Workbench
from lsp.conftest import environment
from tierline.store.drafts import read
from wire.scripts import o_reply, o_texts, then
from wire.servers import Hold, WireServer, wire_server

pytestmark = pytest.mark.e2e
IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
SENTENCES = ["The jars are ", "sorted by ", "temperature; ", "the label comes ", "last."]


@pytest.fixture
def model() -> Iterator[WireServer]:
    with wire_server(
        "openai", [then(o_texts(*SENTENCES), Hold()), o_reply("All of it.")]
    ) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


def servers(url: str) -> list[int]:
    """Servers that talk to this model and no other."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            ours = url.encode() in (entry / "environ").read_bytes()
        except OSError:
            continue
        if ours and b"serve" in command and any(b"tierline" in part for part in command):
            found.append(int(entry.name))
    return found


def test_a_reply_survives_its_server(vscode: Workbench, model: WireServer) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    box = chat.get_by_test_id("chat-input")
    box.fill("How are the jars sorted?")
    box.press("Enter")
    messages = chat.get_by_test_id("message")
    expect(messages.last).to_contain_text("the label comes last.", timeout=60_000)
    drafts = vscode.workspace / ".tierline" / "drafts"
    vscode.page.wait_for_timeout(1000)
    assert [read(path).text for path in drafts.glob("*.jsonl")] == ["".join(SENTENCES)]

    (pid,) = servers(model.url)
    os.kill(pid, signal.SIGKILL)

    # VS Code starts the server again by itself.
    expect(messages.last).to_contain_text(
        "Tierline was ended while this reply came.", timeout=60_000
    )
    expect(messages).to_have_count(2)
    expect(messages.last).to_contain_text("".join(SENTENCES))
    expect(messages.filter(has_text="the label comes last.")).to_have_count(1)
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    assert len(model.requests) == 1, "nothing is sent unasked"
    with_code(vscode)
    keep(vscode, IMAGES / "interrupted.png")

    expect(messages.last).to_contain_text("Retry asks again.")
    expect(chat.get_by_test_id("retry")).to_contain_text("Retry")  # the button that is meant
    vscode.page.mouse.move(900, 500)  # away from the activity bar, whose hover covers the button
    chat.get_by_test_id("retry").click()
    expect(messages.last).to_contain_text("All of it.", timeout=60_000)
    expect(messages).to_have_count(2)
