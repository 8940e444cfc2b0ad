"""An editor that applies workspace edits as VS Code does: opens files, keeps their line ends and
byte order marks, checks versions, undoes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import attrs
from lsprotocol import types as lsp

from lsp.editor import Editor
from tierline import protocol as p
from wire.agents import Use, calls, says
from wire.servers import Kind

ALL = {"consent": True, "edits": True, "save": True}
BOM = b"\xef\xbb\xbf"


@attrs.define
class Document:
    """An open document. ``text`` has the document's own line ends, no byte order mark."""

    uri: str
    path: Path
    text: str
    eol: str
    bom: bool
    encoding: str = "utf-8"
    version: int = 1
    past: list[str] = attrs.field(factory=list)

    def save(self) -> None:
        mark = BOM if self.bom else b""
        self.path.write_bytes(mark + self.text.encode(self.encoding))


class EditingEditor(Editor):
    """Answers applyEdit, showMessageRequest and save; ``answers`` decides about messages."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(workspace)
        self.documents: dict[str, Document] = {}
        self.questions: list[str] = []
        self.edits: list[lsp.WorkspaceEdit] = []
        self.answers: Callable[[str, list[str]], str] = lambda _text, actions: actions[0]
        self.refuse_edits = ""
        self.on_applied: Callable[[], None] = lambda: None
        """Called once an edit is applied, before the server is told."""
        self.marks: dict[str, list[lsp.Diagnostic]] = {}
        self.shown: list[tuple[str, int]] = []
        self.experimental: dict[str, Any] = {}

        @self.client.feature(lsp.WORKSPACE_APPLY_EDIT)
        def on_edit(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
            self.edits.append(params.edit)
            if self.refuse_edits:
                return lsp.ApplyWorkspaceEditResult(False, failure_reason=self.refuse_edits)
            for step in params.edit.document_changes or ():
                if isinstance(step, lsp.CreateFile):
                    self._path(step.uri).parent.mkdir(parents=True, exist_ok=True)
                    with self._path(step.uri).open("xb"):
                        pass
                elif isinstance(step, lsp.TextDocumentEdit):
                    self._apply(step)
            self.on_applied()
            return lsp.ApplyWorkspaceEditResult(True)

        @self.client.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)
        def on_question(params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
            self.questions.append(params.message)
            chosen = self.answers(params.message, [a.title for a in params.actions or ()])
            return lsp.MessageActionItem(chosen) if chosen else None

        @self.client.feature(lsp.WINDOW_SHOW_DOCUMENT)
        def on_show(params: lsp.ShowDocumentParams) -> lsp.ShowDocumentResult:
            line = params.selection.start.line if params.selection else 0
            self.shown.append((self._path(params.uri).name, line))
            self.show(self._path(params.uri).relative_to(self.workspace).as_posix())
            return lsp.ShowDocumentResult(True)

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def on_marks(params: lsp.PublishDiagnosticsParams) -> None:
            self.marks[params.uri] = list(params.diagnostics)

        @self.client.feature(p.EDITOR_SAVE.name)
        def on_save(params: p.SaveParams) -> p.SaveResult:
            for uri in params.uris:
                self.documents[uri].save()
            return p.SaveResult(params.uris)

    def capabilities_given(self) -> lsp.ClientCapabilities:
        return lsp.ClientCapabilities(
            workspace=lsp.WorkspaceClientCapabilities(
                apply_edit=True,
                workspace_edit=lsp.WorkspaceEditClientCapabilities(
                    document_changes=True,
                    resource_operations=[lsp.ResourceOperationKind.Create],
                    change_annotation_support=lsp.ChangeAnnotationsSupportOptions(
                        groups_on_label=True
                    ),
                ),
            ),
            text_document=lsp.TextDocumentClientCapabilities(
                publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities()
            ),
            window=lsp.WindowClientCapabilities(
                show_message=lsp.ShowMessageRequestClientCapabilities(),
                show_document=lsp.ShowDocumentClientCapabilities(support=True),
            ),
            experimental={"tierline": self.experimental},
        )

    # --- documents -------------------------------------------------------------------------------

    def show(self, name: str, encoding: str = "utf-8") -> Document:
        """The user opens a file of the workspace."""
        uri = self.uri(name)
        if uri not in self.documents:
            self._open(uri, encoding)
        return self.documents[uri]

    def type_in(self, name: str, text: str) -> None:
        """The user replaces the text and does not save."""
        self._set(self.show(name), text)

    def undo(self, name: str) -> None:
        document = self.documents[self.uri(name)]
        self._set(document, document.past.pop(), remember=False)

    def _open(self, uri: str, encoding: str = "utf-8") -> None:
        path = self._path(uri)
        raw = path.read_bytes()
        bom = raw.startswith(BOM)
        text = raw.removeprefix(BOM).decode(encoding)
        eol = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", eol)
        self.documents[uri] = Document(uri, path, text, eol, bom, encoding)
        self.client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "text", 1, text))
        )

    def _set(self, document: Document, text: str, remember: bool = True) -> None:
        if remember:
            document.past.append(document.text)
        document.text = text
        document.version += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version=document.version, uri=document.uri),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def _apply(self, step: lsp.TextDocumentEdit) -> None:
        uri = step.text_document.uri
        if uri not in self.documents:
            self._open(uri)
        document = self.documents[uri]
        wanted = step.text_document.version
        assert wanted in (None, document.version), (wanted, document.version)
        lines = document.text.replace(document.eol, "\n").split("\n")
        text = "\n".join(lines)
        spans = []
        for edit in step.edits:
            assert not isinstance(edit, lsp.SnippetTextEdit)
            start, end = edit.range.start, edit.range.end
            spans.append((_offset(lines, start), _offset(lines, end), edit.new_text))
        spans.sort()
        for first, second in itertools.pairwise(spans):
            assert first[1] <= second[0], "the editor refuses overlapping edits"
        for first_char, end_char, new in reversed(spans):
            text = (
                text[:first_char] + new.replace("\r\n", "\n").replace("\r", "\n") + text[end_char:]
            )
        self._set(document, text.replace("\n", document.eol))

    def _path(self, uri: str) -> Path:
        return Path(unquote(urlsplit(uri).path))


def edit(path: str, *pairs: tuple[str, str], call: str = "c1") -> Use:
    """A call that proposes replacements."""
    edits = [{"search": search, "replace": replace} for search, replace in pairs]
    return Use("propose_edit", {"path": path, "edits": edits}, call)


def script(kind: Kind, *uses: Use) -> list[Any]:
    """Replies with a call each, and a last one without."""
    return [*(calls(kind, use) for use in uses), says(kind, "Done.")]


async def asked(editor: Editor, number: int = 1) -> p.EditInfo:
    """The edit that waits for the user."""

    def found() -> Any:
        seen = {b.edit.id: b.edit for b in editor.bodies(p.EditChanged)}
        waits = [
            b for b in editor.bodies(p.ToolChanged) if b.call.status == "asking" and b.call.edit_id
        ]
        return seen[waits[-1].call.edit_id] if len(waits) >= number else None

    return await editor.until(found)  # type: ignore[no-any-return]


def _offset(lines: list[str], position: lsp.Position) -> int:
    """Positions count UTF-16 units."""
    before = sum(len(line) + 1 for line in lines[: position.line])
    units = lines[position.line].encode("utf-16-le")[: 2 * position.character]
    assert len(units) == 2 * position.character, "a position behind the end of its line"
    return before + len(units.decode("utf-16-le"))
