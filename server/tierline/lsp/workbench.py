"""The editor as the session sees it, over LSP: applyEdit, showMessageRequest, and our save."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tierline import protocol
from tierline.context.display import unlinked
from tierline.context.edits.positions import TextChange, Units
from tierline.lsp.host import TierlineServer
from tierline.session.workbench import (
    ASK,
    CONSENT,
    EDITS,
    NOTIFY,
    QUESTIONS,
    SAVE,
    Annotation,
    ApplyResult,
    FileChange,
    Workbench,
)

log = logging.getLogger(__name__)

APPLY_SECONDS = 60.0
PROVIDE_SECONDS = 5.0
SAVE_SECONDS = 20.0
"""Longest wait for the editor's answer, so that it cannot hold up a turn for ever."""
_ANNOTATION = "tierline"


class LspWorkbench(Workbench):
    """Speaks to the client of one server."""

    def __init__(self, server: TierlineServer) -> None:
        self._server = server

    def read_capabilities(self, capabilities: Any) -> None:
        """Read what the client does itself: ``experimental.tierline.ask``, ``.consent``,
        ``.edits``, ``.save``, ``.notify``, and what it ``.provides``.
        """
        ours = _get(_get(capabilities, "experimental"), "tierline")
        known = (ASK, CONSENT, EDITS, SAVE, NOTIFY)
        shows = _get(_get(capabilities, "window"), "show_message") is not None
        self.features = frozenset(
            [*(f for f in known if _get(ours, f) is True), *([QUESTIONS] if shows else [])]
        )
        given = _get(ours, "provides")
        given = given if isinstance(given, list | tuple) else ()
        self.provides = frozenset(kind for kind in given if isinstance(kind, str))

    @property
    def units(self) -> Units:
        """The position encoding that was agreed on."""
        found = self._server.workspace.position_encoding
        name = str(getattr(found, "value", found))
        return "utf-8" if name == "utf-8" else "utf-32" if name == "utf-32" else "utf-16"

    async def apply(self, change: FileChange, annotation: Annotation) -> ApplyResult:
        """See ``Workbench.apply``."""
        able = self._server.client_capabilities.workspace
        if able is None or not able.apply_edit:
            return ApplyResult(False, "the editor cannot apply edits (workspace/applyEdit)")
        edit = workspace_edit(change, annotation, able.workspace_edit)
        if edit is None:
            return ApplyResult(False, "the editor cannot create files (resource operations)")
        params = lsp.ApplyWorkspaceEditParams(edit=edit, label=annotation.label)
        try:
            async with asyncio.timeout(APPLY_SECONDS):
                result = await self._server.workspace_apply_edit_async(params)
        except TimeoutError:
            return ApplyResult(False, "the editor did not answer")
        except JsonRpcException as error:
            return ApplyResult(False, f"the editor refused ({error.message})")
        return ApplyResult(result.applied, result.failure_reason or "")

    async def ask(self, text: str, actions: Sequence[str]) -> str:
        """See ``Workbench.ask``."""
        say = self._server.language.say
        titles = {say(action): action for action in actions}
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Info,
            message=unlinked(say(text)),
            actions=[lsp.MessageActionItem(title=title) for title in titles],
        )
        try:
            # Not cancelled with the caller: the answer still arrives and must be received.
            chosen = await asyncio.shield(self._server.window_show_message_request_async(params))
        except JsonRpcException as error:
            log.info("The editor does not show questions: %s", error)
            return ""
        return titles.get(chosen.title, "") if chosen is not None else ""

    async def save(self, uris: Sequence[str]) -> list[str]:
        """See ``Workbench.save``."""
        try:
            async with asyncio.timeout(SAVE_SECONDS):
                answer: Any = await self._server.protocol.send_request_async(
                    protocol.EDITOR_SAVE.name, protocol.SaveParams(list(uris))
                )
        except (TimeoutError, JsonRpcException) as error:
            log.info("Not saved: %s", error)
            return []
        saved = answer.get("saved") if isinstance(answer, Mapping) else None
        if saved is None:
            saved = getattr(answer, "saved", None)
        return [uri for uri in saved or () if uri in uris]

    async def tell(self, text: str) -> None:
        """See ``Workbench.tell``."""
        self._server.window_show_message(
            lsp.ShowMessageParams(
                type=lsp.MessageType.Info, message=unlinked(self._server.language.say(text))
            )
        )

    async def reveal(self, uri: str, line: int) -> None:
        """See ``Workbench.reveal``."""
        window = self._server.client_capabilities.window
        if window is None or window.show_document is None or not window.show_document.support:
            return
        place = lsp.Position(line - 1, 0)
        params = lsp.ShowDocumentParams(uri, take_focus=True, selection=lsp.Range(place, place))
        try:
            async with asyncio.timeout(SAVE_SECONDS):
                await self._server.window_show_document_async(params)
        except (TimeoutError, JsonRpcException) as error:
            log.info("The editor does not show the document: %s", error)

    async def provide(
        self, wanted: protocol.EditorProvideParams, /
    ) -> protocol.EditorContent | None:
        """See ``Workbench.provide``."""
        if wanted.kind not in self.provides:
            return None
        try:
            async with asyncio.timeout(PROVIDE_SECONDS):
                found = await self._server.protocol.send_request_async(
                    protocol.EDITOR_PROVIDE.name, wanted
                )
        except (TimeoutError, JsonRpcException) as error:
            log.info("The editor does not give its %s: %s", wanted.kind, error or "no answer")
            return None
        return found if isinstance(found, protocol.EditorContent) else None


def workspace_edit(
    change: FileChange, annotation: Annotation, able: lsp.WorkspaceEditClientCapabilities | None
) -> lsp.WorkspaceEdit | None:
    """The change in the richest form that the client supports; None if it supports none."""
    annotated = able is not None and able.change_annotation_support is not None
    if able is None or not able.document_changes:
        if change.create:
            return None
        return lsp.WorkspaceEdit(changes={change.uri: [_edit(c) for c in change.changes]})
    edits: list[lsp.TextEdit | lsp.AnnotatedTextEdit | lsp.SnippetTextEdit] = [
        _annotated(c) if annotated else _edit(c) for c in change.changes
    ]
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri=change.uri, version=change.version)
    steps: list[Any] = [lsp.TextDocumentEdit(text_document=document, edits=edits)]
    if change.create:
        if lsp.ResourceOperationKind.Create not in (able.resource_operations or ()):
            return None
        steps.insert(
            0,
            lsp.CreateFile(
                uri=change.uri,
                options=lsp.CreateFileOptions(overwrite=False, ignore_if_exists=False),
                annotation_id=_ANNOTATION if annotated else None,
            ),
        )
    # The user has agreed already, in our own preview or message: do not ask again.
    notes = {
        _ANNOTATION: lsp.ChangeAnnotation(
            label=annotation.label,
            needs_confirmation=False,
            description=annotation.description or None,
        )
    }
    return lsp.WorkspaceEdit(
        document_changes=steps, change_annotations=notes if annotated else None
    )


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _range(change: TextChange) -> lsp.Range:
    return lsp.Range(
        lsp.Position(change.start_line, change.start_character),
        lsp.Position(change.end_line, change.end_character),
    )


def _edit(change: TextChange) -> lsp.TextEdit:
    return lsp.TextEdit(range=_range(change), new_text=change.text)


def _annotated(change: TextChange) -> lsp.AnnotatedTextEdit:
    return lsp.AnnotatedTextEdit(
        range=_range(change), new_text=change.text, annotation_id=_ANNOTATION
    )
