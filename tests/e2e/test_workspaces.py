"""Kinds of workspaces in a real VS Code: several folders, restricted, virtual, loaded anew."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

import workbench as server
from e2e.conftest import OpenWindow
from e2e.extensions import brought_along
from e2e.views import asked, keep, with_code
from e2e.workbench import Workbench
from lsp.conftest import environment
from support.owning import own as mark
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def model() -> Iterator[WireServer]:
    with wire_server("openai", o_reply("Understood.")) as running:
        yield running


@pytest.fixture
def model_env(model: WireServer, tmp_path: Path) -> dict[str, str]:
    return {**environment(model), "TIERLINE_DATA_DIR": str(tmp_path / "data")}


@pytest.fixture
def user_settings(installed: tuple[Path, Path]) -> Iterator[Path]:
    """The user's settings file, put back as it was."""
    file = installed[0] / "User" / "settings.json"
    before = file.read_text(encoding="utf-8")
    yield file
    file.write_text(before, encoding="utf-8")


def row(bench: Workbench, name: str) -> Locator:
    """The last row of that name in the explorer."""
    return bench.page.locator(".explorer-folders-view .monaco-list-row", has_text=name).last


def offered(model: WireServer) -> set[str]:
    """Names of the tools in the newest request."""
    return {tool["function"]["name"] for tool in model.requests[-1].body.get("tools", [])}


def test_a_restricted_workspace_is_explained_and_changes_nothing(
    open_window: OpenWindow, workspace: Path, model: WireServer, user_settings: Path
) -> None:
    user_settings.write_text(
        json.dumps({**server.SETTINGS, "security.workspace.trust.startupPrompt": "never"})
    )
    own = workspace / ".vscode" / "settings.json"
    own.parent.mkdir(exist_ok=True)
    # Were it not ignored, the server would not even start.
    own.write_text(json.dumps({"tierline.python": str(workspace / "not-python")}))
    mark(workspace)
    (workspace / ".tierline" / "config.toml").write_text('[context]\nmode = "off"\n')
    bench = open_window(workspace, trusting=False)
    bench.open()
    chat = bench.show_chat()
    place = chat.get_by_test_id("place")
    expect(place).to_contain_text("Restricted mode: this workspace is not trusted")
    expect(bench.status).to_contain_text("/", timeout=60_000)
    expect(chat.get_by_text("CTX: Light")).to_be_visible()
    expect(chat.get_by_text("The file is not read: the workspace is not trusted")).to_be_visible()
    bench.page.keyboard.press("Control+Shift+E")
    bench.context_menu("convert.py", "Pin to Tierline Context")
    chat = bench.show_chat()
    expect(chat.get_by_test_id("file-chip")).to_contain_text("convert.py", timeout=30_000)
    asked(chat, "What is in convert.py?")
    assert offered(model), "tools that only read are offered"
    acting = {"propose_edit", "run_command"}
    assert not offered(model) & acting
    with_code(bench)
    keep(bench, ROOT / "docs" / "images" / "restricted.png")

    own.write_text("{}")
    place.get_by_role("button", name="Manage trust").click()
    buttons = bench.page.locator(".workspace-trust-editor .monaco-button")
    buttons.filter(has_text=re.compile("^Trust$")).first.click()
    expect(place).to_be_hidden(timeout=30_000)
    expect(chat.get_by_text("CTX: Off")).to_be_visible(timeout=60_000)
    asked(chat, "And now?")
    assert "run_command" in offered(model)


def test_files_of_a_second_folder_carry_its_name_and_all_survives_a_reload(
    open_window: OpenWindow, workspace: Path, model: WireServer, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "shared.py").write_text("SHARED_VALUE = 1\n", encoding="utf-8")
    both = tmp_path / "both.code-workspace"
    both.write_text(json.dumps({"folders": [{"path": str(workspace)}, {"path": str(second)}]}))
    bench = open_window(both)
    bench.page.goto(bench.url)
    expect(bench.activity).to_be_visible(timeout=60_000)
    # VS Code may show no folder, if it reads the workspace's file before its server is there.
    empty = bench.page.get_by_role("heading", name="No Folder Opened")
    bench.page.keyboard.press("Control+Shift+E")
    expect(row(bench, "second").or_(empty)).to_be_visible(timeout=60_000)
    if empty.is_visible():
        bench.page.reload()
    expect(row(bench, "second")).to_be_visible(timeout=60_000)
    expect(bench.status).to_contain_text("/", timeout=60_000)
    if row(bench, "shared.py").count() == 0:
        row(bench, "second").click()
    expect(row(bench, "shared.py")).to_be_visible(timeout=30_000)
    bench.context_menu("shared.py", "Pin to Tierline Context")
    chat = bench.show_chat()
    expect(chat.get_by_test_id("file-chip")).to_contain_text("second/shared.py")
    asked(chat, "What is shared?")
    assert "SHARED_VALUE = 1" in json.dumps(model.requests[-1].body)
    assert "second/shared.py" in json.dumps(model.requests[-1].body)
    assert not (second / ".tierline").exists(), "the log is in the first folder"
    assert (workspace / ".tierline" / "history.jsonl").exists()

    chat.get_by_test_id("chat-input").fill("half a thought")
    # In a browser VS Code writes what views keep every five seconds.
    bench.page.wait_for_timeout(7_000)
    bench.page.reload()
    chat = bench.chat
    expect(chat.get_by_test_id("chat-input")).to_have_value("half a thought", timeout=60_000)
    messages = chat.locator("[data-testid=message]")
    expect(messages).to_have_count(2, timeout=30_000)
    expect(messages.first).to_contain_text("What is shared?")
    chip = chat.get_by_test_id("file-chip")
    expect(chip).to_contain_text("second/shared.py")
    expect(chip.get_by_role("button", name="Unpin second/shared.py")).to_be_attached()


@pytest.fixture
def memory_files(installed: tuple[Path, Path], tmp_path: Path) -> Iterator[None]:
    """An extension whose file system is on no disk."""
    with brought_along("memory", installed, tmp_path):
        yield


def test_a_virtual_workspace_says_what_cannot_be_done_and_chats(
    memory_files: None, open_window: OpenWindow, model: WireServer, tmp_path: Path
) -> None:
    there = tmp_path / "virtual.code-workspace"
    there.write_text(json.dumps({"folders": [{"uri": "acmefs:/project", "name": "Project"}]}))
    bench = open_window(there, apart=True)
    bench.open()
    chat = bench.show_chat()
    expect(chat.get_by_test_id("place")).to_contain_text("on no disk", timeout=60_000)
    expect(bench.status).to_contain_text("/", timeout=60_000)
    asked(chat, "Hello?")

    bench.explorer_open("convert.py")
    bench.page.locator(".monaco-editor .view-line", has_text="return").first.click()
    bench.page.keyboard.press("Control+A")
    bench.command("Tierline: Ask Tierline About the Selection")
    selection = chat.get_by_test_id("selection-chip")
    expect(selection).to_contain_text("convert.py:1-2", timeout=20_000)
    asked(chat, "What does it do?")
    assert "c * 9 / 5 + 32" in json.dumps(model.requests[-1].body)
    # What cannot work is not offered.
    bench.page.keyboard.press("Control+Shift+E")
    bench.explorer_entry("convert.py").click(button="right")
    menu = bench.page.locator(".context-view .action-item")
    expect(menu.first).to_be_visible()
    expect(menu.filter(has_text="Tierline")).to_have_count(0)


def test_a_file_added_before_the_server_is_ready_is_added_when_it_is(
    open_window: OpenWindow, workspace: Path, tmp_path: Path
) -> None:
    slow = tmp_path / "slow-python"
    slow.write_text(f'#!/bin/sh\nsleep 6\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    slow.chmod(0o755)
    bench = open_window(workspace, TIERLINE_PYTHON=str(slow))
    bench.open()
    expect(bench.status).not_to_contain_text("/", timeout=60_000)
    bench.context_menu("convert.py", "Add to Tierline Context")
    expect(bench.status).not_to_contain_text("/", timeout=60_000)
    waiting = bench.page.locator(".statusbar-item", has_text="Tierline waits for its server")
    expect(waiting).to_be_visible()
    chat = bench.show_chat()
    expect(chat.get_by_test_id("file-chip")).to_contain_text("convert.py", timeout=60_000)
    expect(bench.page.get_by_text("is not running")).to_have_count(0)
