"""A conversation in a document: an editor that knows plain LSP and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from lsp.conftest import environment
from lsp.editor import Editor
from tierline.lsp.chat_documents import COMMAND, prompt
from wire.scripts import o_error, o_texts, then
from wire.servers import Hold, WireServer, wire_server


class Plain(Editor):
    """Applies edits as an editor does, and reports them back."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(workspace)
        self.text = ""
        self.version = 1
        self.edits = 0
        self.refuse = False
        self.changed = asyncio.Event()

        @self.client.feature(lsp.WORKSPACE_APPLY_EDIT)
        def apply(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
            if self.refuse:
                return lsp.ApplyWorkspaceEditResult(applied=False)
            assert params.edit.changes is not None
            (edits,) = params.edit.changes.values()
            for edit in edits:
                place = self.offset(edit.range.start)
                assert place == len(self.text), "replies go to the end"
                self.type(edit.new_text)
            self.edits += 1
            return lsp.ApplyWorkspaceEditResult(applied=True)

    def offset(self, position: lsp.Position) -> int:
        lines = self.text.split("\n")
        units = lines[position.line].encode("utf-16-le")[: 2 * position.character]
        before = sum(len(line) + 1 for line in lines[: position.line])
        return before + len(units.decode("utf-16-le"))

    def type(self, more: str) -> None:
        self.text += more
        self.version += 1
        self.change("talk.chat.md", self.text, self.version)
        self.changed.set()

    def begin(self, text: str) -> None:
        self.text = text
        self.open("talk.chat.md", text, "markdown")

    async def ask_here(self) -> Any:
        return await self.client.workspace_execute_command_async(
            lsp.ExecuteCommandParams(COMMAND, [{"uri": self.uri("talk.chat.md")}])
        )

    async def shows(self, ending: str) -> None:
        async def wait() -> None:
            while not self.text.endswith(ending):
                self.changed.clear()
                await self.changed.wait()

        await asyncio.wait_for(wait(), 20)


@pytest_asyncio.fixture
async def plain(workspace: Path, model: WireServer) -> AsyncIterator[Plain]:
    editor = Plain(workspace)
    await editor.start(env=environment(model))
    yield editor
    await editor.stop()


async def test_the_reply_is_written_below_the_question(plain: Plain, model: WireServer) -> None:
    plain.begin("What is 1 + 1? 😀")
    await plain.ask_here()
    await plain.shows("## You\n\n")
    assert plain.text == "What is 1 + 1? 😀\n\n## Tierline\n\nOne two three.\n\n## You\n\n"
    assert "1 + 1? 😀" in str(model.bodies[-1]["messages"][-1])
    plain.type("And now?\n")
    await plain.ask_here()
    await plain.shows("And now?\n\n## Tierline\n\nOne two three.\n\n## You\n\n")
    assert "And now?" in str(model.bodies[-1]["messages"][-1])
    assert "## Tierline" not in str(model.bodies[-1]["messages"]), "only what was written is sent"


async def test_an_error_is_written_where_the_reply_would_be_in_the_editors_language(
    workspace: Path,
) -> None:
    with wire_server("openai", [o_error("bad key", 401)]) as model:
        editor = Plain(workspace)
        editor.locale = "de"
        await editor.start(env=environment(model))
        editor.begin("Hello?\n")
        await editor.ask_here()
        await editor.shows("## You\n\n")
        assert "hat den Schlüssel nicht angenommen" in editor.text
        assert "Prüfen Sie den Schlüssel" in editor.text
        await editor.stop()


async def test_one_question_at_a_time_and_stopping_frees_the_document(workspace: Path) -> None:
    with wire_server("openai", [then(o_texts("Half"), Hold())]) as model:
        editor = Plain(workspace)
        await editor.start(env=environment(model))
        editor.begin("Hello?\n")
        await editor.ask_here()
        await editor.shows("Half")
        with pytest.raises(JsonRpcException, match="still being written"):
            await editor.ask_here()
        await editor.command("chat.cancel")
        await editor.shows("Half\n\n*Stopped.*\n\n## You\n\n")
        await editor.stop()


async def test_what_cannot_be_asked_says_why(plain: Plain) -> None:
    with pytest.raises(JsonRpcException, match="is not open"):
        await plain.ask_here()
    plain.begin("## Tierline\n\nanswer\n\n## You\n\n")
    with pytest.raises(JsonRpcException, match="nothing to send"):
        await plain.ask_here()


async def test_an_editor_that_refuses_the_edit_loses_nothing(plain: Plain) -> None:
    plain.refuse = True
    plain.begin("Hello?\n")
    sent = await plain.ask_here()
    await plain.finished(sent["turnId"])
    state = await plain.ask("state/get")
    assert [m.text for m in state.messages] == ["Hello?", "One two three."]
    assert plain.text == "Hello?\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("a\nb\n", "a\nb"),
        ("a\n\n## Tierline\n\nx\n\n## You\n\nb", "b"),
        ("a\n\n## Tierline\n\nx", ""),
        ("a\n\n## Tierline\n\n## You\n\nquoted ## You here\n", "quoted ## You here"),
        ("# Title\n\n## You\n\nwhy?\r\n", "why?"),
    ],
)
def test_prompt(text: str, expected: str) -> None:
    assert prompt(text) == expected
