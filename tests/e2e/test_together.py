"""A real VS Code, a Neovim, a chat panel, the command line and an MCP server on one workspace at
once: everybody sees what the others do, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client, StdioServerParameters
from playwright.sync_api import FrameLocator, expect

from e2e.neovim import neovim
from e2e.views import quick_pick
from e2e.workbench import Workbench
from lsp.conftest import environment
from panel.panel import Panel, connected
from support.newest import newest_text
from tierline.store.log import HistoryLog
from wire.choosing import ChoosingServer, What
from wire.scripts import o_end, o_texts, then
from wire.servers import Hold, Reply

pytestmark = pytest.mark.e2e
T = TypeVar("T")


def answer(_what: What, _number: int, body: Any) -> Reply | str:
    """Names the prompt that it answers; those that end with 1 have to wait in the middle."""
    prompt = re.findall(r"\b[a-z]+-\d\b", newest_text(body))[-1]
    if prompt.endswith("-1"):
        return then(o_texts("Reply "), Hold(), *o_texts(f"to {prompt}."), *o_end())
    return f"Reply to {prompt}."


@pytest.fixture
def model() -> Iterator[ChoosingServer]:
    with ChoosingServer("openai", answer) as server:
        yield server


@pytest.fixture
def model_env(model: ChoosingServer, tmp_path: Path) -> dict[str, str]:
    """The same for all: one model, one state folder."""
    folders = {
        "TIERLINE_DATA_DIR": str(tmp_path / "data"),
        "TIERLINE_STATE_DIR": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "TIERLINE_SYMBOLS_ENABLED": "false",  # a command line indexes nothing
    }
    return environment(model) | folders


class Loop:
    """An event loop in a thread of its own, for what must be waited for with ``await``."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.stack = AsyncExitStack()

    def begin(self, work: Coroutine[Any, Any, T]) -> Callable[[], T]:
        """Let it run; what is returned waits for its result."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return lambda: future.result(60)

    def call(self, work: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(work)

    def end(self) -> None:
        self.begin(self.stack.aclose())()
        self._loop.call_soon_threadsafe(self._loop.stop)


@pytest.fixture
def loop() -> Iterator[Loop]:
    running = Loop()
    yield running
    running.end()


class Terminal:
    """The command line in the workspace."""

    def __init__(self, workspace: Path, env: dict[str, str]) -> None:
        self.workspace, self.env = workspace, {**os.environ, **env}

    def run(self, *words: str) -> str:
        command = [sys.executable, "-m", "tierline", *words, "--root", str(self.workspace)]
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def titles(self) -> dict[str, str]:
        """Sessions by id, as they are listed, the newest first."""
        listed = json.loads(self.run("sessions", "--json"))
        return {one["sessionId"]: one["title"] or one["preview"] for one in listed}

    def mcp(self) -> StdioServerParameters:
        command = ["-m", "tierline", "mcp", "--root", str(self.workspace)]
        return StdioServerParameters(command=sys.executable, args=command, env=self.env)


async def searched(server: StdioServerParameters, begin: asyncio.Event, words: str) -> str:
    """What another agent finds, whose MCP server has run since long before."""
    async with Client(server) as client:
        await begin.wait()
        return str((await client.call_tool("search_history", {"query": words})).content)


def say(chat: FrameLocator, text: str) -> None:
    box = chat.get_by_test_id("chat-input")
    box.fill(text)
    box.press("Enter")


def shows(chat: FrameLocator, *texts: str) -> None:
    """VS Code shows these messages and no others, in this order."""
    messages = chat.get_by_test_id("message")
    expect(messages).to_have_count(len(texts), timeout=30_000)
    for number, text in enumerate(texts):
        expect(messages.nth(number)).to_contain_text(text, timeout=30_000)


def until(found: Callable[[], Any]) -> None:
    end = time.monotonic() + 30
    while not found():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def kept(workspace: Path) -> dict[str, list[str]]:
    """What the log holds of each session, read from outside."""
    scan = HistoryLog(workspace / ".tierline" / "history.jsonl").scan()
    assert scan.skipped == 0, scan.problems
    found: dict[str, list[str]] = {}
    for record in scan.records:
        if record.get("type") == "message":
            found.setdefault(record["session_id"], []).append(
                "".join(part.get("text", "") for part in record["content"])
                if not isinstance(record["content"], str)
                else record["content"]
            )
    return found


def turn(prompt: str) -> tuple[str, str]:
    return f"{prompt} What is here?", f"Reply to {prompt}."


def test_windows_a_panel_and_commands_at_once(
    vscode: Workbench, model: ChoosingServer, model_env: dict[str, str], loop: Loop, tmp_path: Path
) -> None:
    workspace = vscode.workspace
    terminal = Terminal(workspace, model_env)
    # The panel, the MCP server and Neovim begin while VS Code draws itself.
    panel_opened = loop.begin(loop.stack.enter_async_context(connected(workspace, model_env)))
    searching = asyncio.Event()
    found = loop.begin(searched(terminal.mcp(), searching, "code-2"))
    with neovim(workspace, "report.py", model_env, tmp_path) as vim:
        chat = vscode.show_chat()
        expect(vscode.status).to_contain_text("/", timeout=30_000)
        panel: Panel = panel_opened()
        session = loop.begin(panel.agent.new_session(cwd=str(workspace), mcp_servers=[]))()
        theirs = session.session_id

        # Three prompts are answered at the same moment, each in a session of its own.
        say(chat, turn("code-1")[0])
        vim.run(f"TierlineChat {turn('vim-1')[0]}")
        said = loop.begin(panel.say(theirs, turn("panel-1")[0]))
        until(lambda: len(model.requests) == 3)
        assert sorted(terminal.titles().values()) == sorted(
            turn(who)[0] for who in ("code-1", "vim-1", "panel-1")
        )
        model.release()
        assert said().stop_reason == "end_turn"
        vim.until(lambda: vim.lua("tierline.finished") == "ok")
        shows(chat, *turn("code-1"))
        assert vim.lua("told()")[-1] == "Reply to vim-1."
        assert panel.text() == "Reply to panel-1."

        # VS Code opens the panel's session: both are in it, and each goes on.
        vscode.command("Tierline: Browse and Search Sessions")
        quick_pick(vscode, "panel-1")
        shows(chat, *turn("panel-1"))
        loop.begin(panel.say(theirs, turn("panel-2")[0]))()
        shows(chat, *turn("panel-1"), *turn("panel-2"))
        say(chat, turn("code-2")[0])
        shows(chat, *turn("panel-1"), *turn("panel-2"), *turn("code-2"))
        loop.begin(panel.say(theirs, turn("panel-3")[0]))()
        sent = json.dumps(model.bodies[-1])
        assert "Reply to code-2." in sent, "the panel's model knows what VS Code's user was told"

        # So does Neovim. A file that is pinned there is pinned in VS Code and on the command line.
        vim.ask("history.loadSession", {"sessionId": theirs})
        vim.run("TierlinePin")
        shows(chat, *(text for who in ("panel-1", "panel-2", "code-2", "panel-3")
                      for text in turn(who)))  # fmt: skip
        until(lambda: [f["path"] for f in vim.ask("files.list")["files"]] == ["report.py"])
        budget = json.loads(terminal.run("budget", "--json"))
        window = vim.ask("budget.get")
        sections = {one["name"]: one["tokens"] for one in window["sections"]}
        assert sections["files"] > 0
        told = {one["name"]: one["tokens"] for one in budget["sections"]}
        assert told == sections
        until(lambda: abs(vscode.used_tokens() - window["used"]) <= 50)  # what it shows is rounded

        # A new name and a deletion are seen everywhere; the words are found by an MCP client.
        vim.ask("history.renameSession", {"sessionId": theirs, "title": "About the jars"})
        assert terminal.titles()[theirs] == "About the jars"
        assert "About the jars" in terminal.run("sessions")
        listed = loop.begin(panel.agent.list_sessions(cwd=str(workspace)))().sessions
        assert {s.session_id: s.title for s in listed}[theirs] == "About the jars"
        loop.call(searching.set)
        assert "code-2 What is here?" in found()
        vscode.command("Tierline: Browse and Search Sessions")
        rows = vscode.page.locator(".quick-input-list .monaco-list-row")
        expect(rows.filter(has_text="About the jars")).to_have_count(1, timeout=20_000)
        vscode.page.keyboard.press("Escape")
        vim.ask("history.deleteSession", {"sessionId": theirs})
        assert theirs not in terminal.titles()
        gone = chat.get_by_test_id("notice").filter(has_text="deleted in another window")
        expect(gone).to_be_visible(timeout=20_000)
        say(chat, turn("code-3")[0])
        expect(chat.get_by_test_id("message").last).to_contain_text("Reply to code-3.")
        until(lambda: theirs in terminal.titles())

    mine = kept(workspace)
    turns = ["panel-1", "panel-2", "code-2", "panel-3", "code-3"]
    assert mine.pop(theirs) == [text for who in turns for text in turn(who)]
    assert sorted(mine.values()) == [list(turn("code-1")), list(turn("vim-1"))]
    assert len(model.requests) == 7, "nothing is asked twice"
