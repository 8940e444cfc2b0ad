"""In a real VS Code: a tool of an MCP server that the workspace names, and a conversation that is
exported, as a page and as JSON, and imported again.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.views import asked, picture, quick_pick
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.agents import Use, calls, results, says, tool_names
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e
SERVER = str(Path(__file__).parents[1] / "panel" / "mcp_server.py")
TOOL = "mcp_weather_forecast"


@pytest.fixture
def model() -> Iterator[WireServer]:
    with wire_server("openai", says("openai", "No tool for it yet.")) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model)


@pytest.fixture
def workspace(workspace: Path) -> Path:
    """With the file in which VS Code keeps its MCP servers."""
    entry = {"type": "stdio", "command": sys.executable, "args": [SERVER]}
    file = workspace / ".vscode" / "mcp.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"servers": {"weather": entry}}), encoding="utf-8")
    return workspace


def file_dialog(bench: Workbench, offered: str, target: Path, button: str) -> None:
    """Name a file in VS Code's own dialog, once it has put down what it offers itself."""
    box = bench.page.locator(".quick-input-widget input").first
    expect(box).to_have_value(re.compile(f"{re.escape(offered)}$"), timeout=20_000)
    box.fill(str(target))
    expect(box).to_have_value(str(target))
    bench.page.locator(".quick-input-widget").get_by_role("button", name=button).click()
    expect(box).to_be_hidden(timeout=20_000)


def test_a_tool_of_the_workspaces_server_answers_and_the_conversation_goes_along(
    vscode: Workbench, model: WireServer
) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)

    # The server is started after a click that saw its command; its tools are offered then.
    consent = chat.get_by_test_id("consent")
    expect(consent).to_contain_text("Start the MCP server weather?", timeout=60_000)
    expect(consent).to_contain_text("mcp_server.py")
    picture(vscode, "mcp-server-consent")
    chat.get_by_test_id("consent-once").click()
    expect(consent).to_have_count(0, timeout=20_000)
    for _ in range(20):
        asked(chat, "Is there a tool for the weather?")
        if TOOL in tool_names(model.bodies[-1], "openai"):
            break
    use = Use(TOOL, {"town": "Bonn"}, "m1")
    model.script = [*model.script * len(model.requests), calls("openai", use)]
    model.script.append(says("openai", "It **rains** in Bonn."))

    # Each call is asked about, with its very arguments.
    box = chat.get_by_test_id("chat-input")
    box.fill("How is the weather in Bonn?")
    box.press("Enter")
    expect(consent).to_contain_text("Bonn", timeout=60_000)
    picture(vscode, "mcp-tool-consent")
    chat.get_by_test_id("consent-once").click()
    reply = chat.locator("[data-testid=message][data-role=assistant]").last
    expect(reply).to_contain_text("It rains in Bonn.", timeout=60_000)
    expect(reply).to_have_attribute("data-status", "ok", timeout=30_000)
    assert "Bonn: rain for 1 days" in results(model.bodies[-1], "openai")["m1"]
    requests = len(model.requests)

    # Taken along as a page that loads nothing, and as JSON.
    for form, name in (("HTML", "talk.html"), ("JSON", "talk.json")):
        vscode.command("Tierline: Export Conversation…")
        quick_pick(vscode, form)
        file_dialog(vscode, f"Conversation.{form.lower()}", vscode.workspace / name, "OK")
        said = vscode.page.locator(".notification-toast", has_text=f"The conversation is in {name}")
        expect(said).to_be_visible(timeout=20_000)
    html = (vscode.workspace / "talk.html").read_text("utf-8")
    assert "<strong>rains</strong>" in html and f"Called {TOOL}" in html
    assert "<script" not in html and "src=" not in html
    kept = json.loads((vscode.workspace / "talk.json").read_text("utf-8"))
    (call,) = [call for message in kept["messages"] for call in message["calls"]]
    assert "Bonn: rain for 1 days" in call["result"]

    # Imported, it is a session of its own, which can be opened and asked on.
    vscode.command("Tierline: New Session")
    expect(chat.get_by_test_id("message")).to_have_count(0, timeout=20_000)
    expect(box).to_be_focused()  # beginning a session leads back to the input
    vscode.page.wait_for_timeout(500)
    vscode.command("Tierline: Import Conversation…")
    file_dialog(vscode, "/temperature/", vscode.workspace / "talk.json", "Import")
    said = vscode.page.locator(".notification-toast", has_text="were taken over into a new session")
    expect(said).to_be_visible(timeout=20_000)
    vscode.command("Tierline: Browse and Search Sessions")
    rows = vscode.page.locator(
        ".quick-input-list .monaco-list-row", has_text="tool for the weather"
    )
    expect(rows).to_have_count(2, timeout=20_000)  # the imported one, and the one it is of
    rows.first.click()
    expect(chat.get_by_test_id("message").last).to_contain_text("It rains in Bonn.", timeout=20_000)
    picture(vscode, "imported")
    assert len(model.requests) == requests, "nothing of this was sent to the model"
