"""Pictures of what is seen seldom: the first start, what goes wrong, and German.

Only with ``TIERLINE_GALLERY=folder``, as the other gallery.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.gallery import NARROW, NORMAL, Gallery, answered, hover, pane, say
from e2e.german import german
from e2e.views import Settings, pictures, webview
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.agents import Use, calls, says
from wire.scripts import a_error
from wire.servers import WireServer, wire_server

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(pictures() is None, reason="TIERLINE_GALLERY names no folder"),
]
KEY = a_error("authentication_error", "invalid x-api-key", 401)
RUN = Use("run_command", {"argv": ["python", "-m", "pytest", "-q"]}, "test1")
STATES = {
    "starting": ("starting", "", ""),
    "setup": ("installing", "downloading the server without the embedded model", ""),
    "no-python": (
        "noPython",
        "Python 3.9.2 (/usr/bin/python3) is too old: Tierline needs 3.11 or newer.",
        "Install Python 3.11 or newer, for example with: sudo apt-get install python3.13",
    ),
    "failed": (
        "failed",
        "The server ended 3 times within a minute (exit code 1).",
        "The log says more. If it was set up by Tierline, set it up anew.",
    ),
}
"""Picture → kind, text and advice of the connection."""


@pytest.fixture
def model() -> Iterator[WireServer]:
    script = [KEY, calls("anthropic", RUN, text="I run the tests."), says("anthropic", "Good.")]
    with wire_server("anthropic", script) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    return environment(model) | {"TIERLINE_PROVIDER_MODEL": "claude-sonnet-4-5"}


@pytest.fixture
def gallery(vscode: Workbench, settings: Settings) -> Gallery:
    return Gallery(vscode, settings)


def test_first_start_and_what_goes_wrong(vscode: Workbench, gallery: Gallery) -> None:
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    for size in (2_000_000, 100):  # one is cut, one is whole
        name = "measurements.csv" if size > 100 else "notes.md"
        (vscode.workspace / name).write_text("21.5,70.7\n" * (size // 10), encoding="utf-8")
        vscode.page.keyboard.press("Control+Shift+E")
        vscode.context_menu(name, "Add to Tierline")
    vscode.show_chat()
    expect(chat.get_by_test_id("file-chip")).to_have_count(2, timeout=30_000)
    say(chat, "What do the measurements say?")
    answered(chat)
    expect(chat.locator(".box.error")).to_be_visible(timeout=30_000)
    gallery("error", NARROW, NORMAL)
    frame = webview(vscode, "chat")
    for name, (kind, text, advice) in STATES.items():
        # What the host would say; the view is the real one.
        connection = {"kind": kind, "text": text, "advice": advice}
        frame.evaluate("(one) => window.postMessage(one, '*')", {
            "type": "connection", "connection": connection,
        })  # fmt: skip
        expect(chat.get_by_test_id("connection")).to_be_visible()
        gallery(name, NARROW, NORMAL)
    assert gallery.faults == [], "\n".join(gallery.faults)


class TestGerman:
    """Longer words in the same widths."""

    @pytest.fixture
    def locale(self) -> str:
        return "de"

    @pytest.fixture
    def model_env(
        self, installed: tuple[Path, Path], model: WireServer, tmp_path: Path
    ) -> Iterator[dict[str, str]]:
        with german(installed[0], tmp_path):
            yield environment(model)

    def test_every_view(self, vscode: Workbench, gallery: Gallery) -> None:
        chat = vscode.show_chat()
        expect(vscode.status).to_contain_text("/", timeout=60_000)
        gallery("german-empty", NARROW, NORMAL)
        say(chat, "Was ist falsch?")
        answered(chat)
        say(chat, "Lass die Tests laufen.")
        expect(chat.get_by_test_id("consent-command")).to_be_visible(timeout=60_000)
        gallery("german-consent", NARROW, NORMAL)
        chat.get_by_test_id("consent-deny").click()
        answered(chat)
        pane(vscode, "Kontext", True)
        gallery("german-hover", ready=lambda: hover(vscode, vscode.status, "Nächste Anfrage"))
        vscode.page.keyboard.press("F1")
        palette = vscode.page.locator(".quick-input-widget")
        palette.locator("input").first.fill(">Prompt-Cache anzeigen")
        palette.locator(".monaco-list-row").first.click()
        cache = webview(vscode, "cache")
        expect(cache.get_by_test_id("charts")).to_be_visible(timeout=30_000)
        gallery("german-cache", NORMAL)
        assert gallery.faults == [], "\n".join(gallery.faults)
