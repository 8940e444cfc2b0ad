"""Explain, fix, write tests and document: code actions of every LSP client, run by the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from lsp.conftest import Open, Start
from lsp.editor import Editor
from tierline import protocol as p
from tierline.lsp.codec import make_converter
from wire.servers import WireServer

CODE = """def alpha() -> int:
    return 1


class Beta:
    def gamma(self) -> int:
        return undefined_name
"""


@pytest.fixture
def workspace(workspace: Path) -> Path:
    (workspace / "src/a.py").write_text(CODE, encoding="utf-8")
    (workspace / ".env").write_text("PASSWORD=hunter2hunter2\n", encoding="utf-8")
    return workspace


def span(first: int, last: int, character: int = 0) -> lsp.Range:
    return lsp.Range(lsp.Position(first, character), lsp.Position(last, character))


MARK = lsp.Diagnostic(
    span(6, 6, 15),
    "Undefined name `undefined_name`",
    severity=lsp.DiagnosticSeverity.Error,
    code="F821",
    source="ruff",
)


async def offered(
    editor: Editor, name: str, where: lsp.Range, *marks: lsp.Diagnostic, only: Any = None
) -> dict[str, Any]:
    """Actions by title, as they come over the wire."""
    params = lsp.CodeActionParams(
        lsp.TextDocumentIdentifier(editor.uri(name)),
        where,
        lsp.CodeActionContext(list(marks), only=only),
    )
    plain = make_converter().unstructure(params)
    found = await editor.raw("textDocument/codeAction", plain)
    return {action["title"]: action for action in found or ()}


def _as_json(value: Any) -> Any:
    """Whatever the client library made of JSON, as it was."""
    if isinstance(value, list | tuple):
        return [_as_json(one) for one in value]
    if hasattr(value, "_asdict"):
        return {name: _as_json(one) for name, one in value._asdict().items()}
    return value


async def run(editor: Editor, action: dict[str, Any]) -> p.ChatMessage:
    command = action["command"]
    params = lsp.ExecuteCommandParams(command["command"], command["arguments"])
    result = _as_json(await editor.client.workspace_execute_command_async(params))
    await editor.finished(result["turnId"])
    state = await editor.ask("state/get")
    message: p.ChatMessage = next(
        m for m in state.messages if m.group_id == result["turnId"] and m.role == "user"
    )
    return message


def sent(model: WireServer) -> str:
    return json.dumps(model.bodies[-1]["messages"], ensure_ascii=False)


async def test_fix_goes_with_the_diagnostic_and_the_definition_around_it(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    found = await offered(editor, "src/a.py", span(6, 6, 15), MARK)
    fix = found["Fix with Tierline: Undefined name `undefined_name`"]
    assert (fix["kind"], fix["diagnostics"][0]["code"]) == ("quickfix.tierline.fix", "F821")
    shown = await run(editor, fix)
    assert shown.text == ("Fix this problem in src/a.py: Undefined name `undefined_name` (line 7).")
    assert [(one.kind, one.label) for one in shown.attached] == [
        ("selection", "src/a.py:6-7"),
        ("problems", "1 problem in src/a.py"),
    ]
    assert "in `Beta.gamma`" in sent(model)
    assert "src/a.py:7: error: Undefined name `undefined_name` (ruff F821)" in sent(model)
    assert "def alpha()" in sent(model), "the small file stands in the context"


async def test_explain_tests_and_document_take_the_selection_or_the_definition_at_the_cursor(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    at_cursor = await offered(editor, "src/a.py", span(1, 1, 4))
    assert {title for title in at_cursor if "with Tierline" in title} == {
        "Explain with Tierline",
        "Write tests with Tierline",
        "Document with Tierline",
    }
    shown = await run(editor, at_cursor["Explain with Tierline"])
    assert shown.text.startswith("Explain `alpha` in src/a.py:")
    assert [one.label for one in shown.attached] == ["src/a.py:1-2"]
    selected = await offered(editor, "src/a.py", span(4, 6))
    shown = await run(editor, selected["Write tests with Tierline"])
    assert shown.text.startswith("Write tests for lines 5 to 6 of src/a.py")
    assert shown.attached[0].text == "class Beta:\n    def gamma(self) -> int:\n"
    editor.open("src/a.py", "# UNSAVED\n")
    whole = await offered(editor, "src/a.py", span(0, 0))
    shown = await run(editor, whole["Document with Tierline"])
    assert shown.text.startswith("Write documentation comments for src/a.py")
    assert "# UNSAVED" in sent(model)


async def test_actions_are_filtered_by_kind_and_stay_away_where_nothing_may_be_sent(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    fixes = await offered(editor, "src/a.py", span(6, 6, 15), MARK, only=["quickfix"])
    assert [action["kind"] for action in fixes.values()] == ["quickfix.tierline.fix"]
    assert not await offered(editor, "src/a.py", span(6, 6), MARK, only=["source.fixAll"])
    secret = await offered(editor, ".env", span(0, 0))
    for title in ("Explain with Tierline", "Write tests with Tierline"):
        with pytest.raises(JsonRpcException, match="secret"):
            await run(editor, secret[title])
    assert model.requests == []
    with pytest.raises(JsonRpcException, match="There is no question"):
        place = p.EditorPlace(editor.uri("src/a.py"), 1, 1, 1)
        await editor.ask("chat/ask", p.AskParams("ask", place))


async def test_ask_is_left_to_clients_that_can_ask_for_words(
    open_editor: Open, model: WireServer
) -> None:
    editor = await open_editor(model, experimental={"ask": True})
    found = await offered(editor, "src/a.py", span(0, 0))
    ask = found["Ask about this with Tierline"]["command"]
    assert ask["command"] == "tierline.ask"
    await editor.command("chat.ask", ask["arguments"][0] | {"text": "Why one?"})
    await editor.until(lambda: editor.bodies(p.TurnFinished))
    assert "Why one?" in sent(model) and "in `alpha`" in sent(model)
