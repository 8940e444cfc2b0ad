"""Edits that are applied first, and going back, in a real VS Code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.views import picture
from e2e.workbench import Workbench
from lsp.conftest import environment
from lsp.editing import edit, script
from wire.agents import Use
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e
LINES = "".join(f"value_{n} = {n}\n" for n in range(12))
PARTS = (("value_2 = 2", "value_2 = 20"), ("value_9 = 9", "value_9 = 90"))


@pytest.fixture
def workspace(workspace: Path) -> Path:
    (workspace / "values.py").write_text(LINES, encoding="utf-8")
    return workspace


@pytest.fixture
def model() -> Iterator[WireServer]:
    made = Use("propose_edit", {"path": "made.py", "content": "MADE = True\n"}, "c2")
    with wire_server("openai", script("openai", edit("values.py", *PARTS), made)) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model) | {"TIERLINE_TOOLS_EDITS": "apply"}


def test_applied_edits_are_looked_at_and_a_prompt_is_gone_back_to(vscode: Workbench) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=30_000)
    box = chat.get_by_test_id("chat-input")
    box.fill("Change the values.")
    box.press("Enter")
    reply = chat.locator("[data-testid=message][data-role=assistant]").last
    expect(reply).to_contain_text("Done.", timeout=60_000)
    values, made = vscode.workspace / "values.py", vscode.workspace / "made.py"
    bar = chat.get_by_test_id("review")
    expect(bar).to_contain_text("2 changed files", timeout=30_000)
    assert made.exists()

    # In the file, as in a diff, with what can be done above each part.
    vscode.explorer_open("values.py")
    lens = vscode.page.get_by_role("button", name="Undo this part")
    expect(lens.first).to_be_visible(timeout=30_000)
    vscode.show_chat()
    bar.get_by_test_id("review-files").click()
    picture(vscode, "back-review")
    lens.first.click()
    lines = vscode.page.locator(".monaco-editor .view-lines").first
    expect(lines).to_contain_text("value_2 = 2", timeout=30_000)
    expect(lines).not_to_contain_text("value_2 = 20", timeout=30_000)
    expect(lines).to_contain_text("value_9 = 90")
    bar.get_by_test_id("review-keep").click()
    expect(bar).to_be_hidden(timeout=30_000)

    # Back: asked first, with every file; then files and chat are as they were.
    prompt = chat.locator("[data-testid=message][data-role=user]")
    prompt.hover()
    prompt.get_by_test_id("go-back").click()
    dialog = vscode.page.locator(".monaco-dialog-box")
    expect(dialog).to_contain_text("values.py: changed back", timeout=30_000)
    expect(dialog).to_contain_text("made.py: deleted")
    picture(vscode, "back-question")
    dialog.get_by_role("button", name="Go Back", exact=True).click()
    expect(prompt).to_have_count(0, timeout=30_000)
    expect(box).to_have_value("Change the values.", timeout=30_000)
    expect(lines).not_to_contain_text("value_9 = 90", timeout=30_000)
    assert values.read_text(encoding="utf-8") == LINES
    assert not made.exists()
    picture(vscode, "back-done")

    vscode.command("Tierline: Go Forward Again (Chat and Files)")
    expect(dialog).to_contain_text("made.py: made again", timeout=30_000)
    dialog.get_by_role("button", name="Go Forward", exact=True).click()
    expect(prompt).to_have_count(1, timeout=30_000)
    expect(lines).to_contain_text("value_9 = 90", timeout=30_000)
    assert values.read_text(encoding="utf-8") == LINES.replace("value_9 = 9", "value_9 = 90")
    assert made.read_text(encoding="utf-8") == "MADE = True\n"
