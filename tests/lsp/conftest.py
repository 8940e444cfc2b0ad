from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lsp.editing import EditingEditor
from lsp.editor import Editor
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small project."""
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("def alpha() -> int:\n    return 1\n", encoding="utf-8")
    (root / "src" / "b.py").write_text("BETA = 2\n", encoding="utf-8")
    return root


@pytest.fixture
def model() -> Iterator[WireServer]:
    """A loopback server that speaks OpenAI's wire format and answers every prompt."""
    with wire_server("openai", [o_reply("One ", "two ", "three.")]) as server:
        yield server


def environment(server: WireServer) -> dict[str, str]:
    """Settings that send a server under test to a loopback model."""
    kind = server.kind
    return {
        "TIERLINE_PROVIDER_NAME": kind,
        "TIERLINE_PROVIDER_BASE_URL": server.url,
        "TIERLINE_PROVIDER_MODEL": server.model,
        f"{kind.upper()}_API_KEY": "test-key-of-nobody",
    }


Start = Callable[..., Any]


@pytest_asyncio.fixture
async def start(workspace: Path) -> AsyncIterator[Start]:
    """Starts editors and stops them at the end: ``await start(model, transport="tcp")``."""
    running: list[Editor] = []

    async def begin(
        server: WireServer | None = None,
        transport: str = "stdio",
        folders: list[Path] | None = None,
        root: Path | None = None,
        forked: bool = True,
        **settings: Any,
    ) -> Editor:
        editor = Editor(root or workspace)
        editor.forked = forked
        env = environment(server) if server is not None else {}
        env |= settings.pop("env", {})
        await editor.start(transport, env=env, settings=settings, folders=folders)
        running.append(editor)
        return editor

    yield begin
    for editor in running:
        await editor.stop()


Open = Callable[..., Any]


@pytest_asyncio.fixture
async def open_editor(workspace: Path) -> AsyncIterator[Open]:
    """``await open_editor(model, experimental=ALL, tools={...})``: one that applies edits."""
    running: list[EditingEditor] = []

    async def begin(
        model: WireServer,
        experimental: dict[str, bool] | None = None,
        locale: str | None = None,
        **settings: Any,
    ) -> EditingEditor:
        editor = EditingEditor(workspace)
        editor.experimental = dict(experimental or {})
        editor.locale = locale
        await editor.start(
            env=environment(model) | settings.pop("env", {}),
            settings=settings,
            capabilities=editor.capabilities_given(),
        )
        running.append(editor)
        return editor

    yield begin
    for editor in running:
        await editor.stop()
