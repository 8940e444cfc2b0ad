"""The module map shows what is in the editor, not what was last saved."""

from __future__ import annotations

import json
from pathlib import Path

from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p
from wire.servers import WireServer

ON = {"env": {"TIERLINE_SYMBOLS_ENABLED": "true"}}


def sent(model: WireServer) -> str:
    return json.dumps(model.bodies[-1])


async def ready(editor: Editor) -> None:
    await editor.until(
        lambda: any(e.status.state == "ready" for e in editor.bodies(p.SymbolsChanged))
    )


async def test_an_unsaved_edit_counts_at_once_and_closing_takes_it_back(
    start: Start, workspace: Path, model: WireServer
) -> None:
    editor = await start(model, **ON)
    editor.open("src/a.py", (workspace / "src" / "a.py").read_text(encoding="utf-8"))
    await ready(editor)
    await editor.chat("What is there?")
    assert "def alpha" in sent(model)
    editor.change("src/a.py", "def renamed_in_the_buffer() -> int:\n    return 1\n")
    await editor.chat("And now?")
    assert "renamed_in_the_buffer" in sent(model)
    assert "def alpha" not in json.dumps(model.bodies[-1]["messages"][-1])
    editor.close("src/a.py")
    await editor.chat("And after closing without saving?")
    assert "def alpha" in sent(model)


async def test_an_edit_before_the_index_is_ready_is_not_lost(
    start: Start, workspace: Path, model: WireServer
) -> None:
    editor = await start(model, **ON)
    editor.open("src/a.py", "def alpha() -> int:\n    return 1\n")
    editor.change("src/a.py", "def early_edit() -> int:\n    return 1\n")
    await ready(editor)
    await editor.chat("What is there?")
    assert "early_edit" in sent(model)
    assert "def alpha" not in sent(model)
