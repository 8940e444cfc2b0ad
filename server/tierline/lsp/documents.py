"""The editor's open documents, as the session reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types as lsp

from tierline.lsp.host import TierlineServer
from tierline.lsp.proposals import Proposals

WATCHED = "tierline-watched-files"


def text_documents(server: TierlineServer) -> Mapping[str, Any]:
    """URI -> pygls TextDocument of every open document, notebook cells included."""
    found: Mapping[str, Any] = server.workspace.text_documents
    return found


def notebook_documents(server: TierlineServer) -> Mapping[str, lsp.NotebookDocument]:
    """URI -> every open notebook."""
    found: Mapping[str, lsp.NotebookDocument] = server.workspace.notebook_documents
    return found


def register(server: TierlineServer, proposals: Proposals) -> None:
    """Tell the session when a buffer, a file on disk, a name or the set of roots changes."""

    def changed(uri: str) -> None:
        if server.session is not None:
            server.session.documents_changed([uri])
            proposals.changed(uri)

    def text_event(params: Any) -> None:
        changed(params.text_document.uri)

    def notebook_event(params: Any) -> None:
        changed(params.notebook_document.uri)

    for method in (
        lsp.TEXT_DOCUMENT_DID_OPEN,
        lsp.TEXT_DOCUMENT_DID_CHANGE,
        lsp.TEXT_DOCUMENT_DID_SAVE,
        lsp.TEXT_DOCUMENT_DID_CLOSE,
    ):
        server.feature(method)(text_event)
    for method in (
        lsp.NOTEBOOK_DOCUMENT_DID_OPEN,
        lsp.NOTEBOOK_DOCUMENT_DID_CHANGE,
        lsp.NOTEBOOK_DOCUMENT_DID_CLOSE,
    ):
        server.feature(method)(notebook_event)
    _register_files(server)


def _register_files(server: TierlineServer) -> None:
    """Register the notifications about files on disk and workspace folders."""
    files = lsp.FileOperationRegistrationOptions(
        filters=[
            lsp.FileOperationFilter(scheme="file", pattern=lsp.FileOperationPattern(glob="**/*"))
        ]
    )

    @server.feature(lsp.WORKSPACE_DID_RENAME_FILES, files)
    def did_rename(params: lsp.RenameFilesParams) -> None:
        if server.session is not None:
            server.session.files_renamed([(f.old_uri, f.new_uri) for f in params.files])

    @server.feature(lsp.WORKSPACE_DID_DELETE_FILES, files)
    def did_delete(params: lsp.DeleteFilesParams) -> None:
        if server.session is not None:
            server.session.documents_changed([f.uri for f in params.files])

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched(params: lsp.DidChangeWatchedFilesParams) -> None:
        if server.session is not None:
            server.session.documents_changed([change.uri for change in params.changes])

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(_params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        if server.session is not None:
            server.session.roots_changed(server.folders())


async def watch_files(server: TierlineServer) -> None:
    """Ask the client to report changes on disk, if it can be asked."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched is None or not watched.dynamic_registration:
        return
    options = lsp.DidChangeWatchedFilesRegistrationOptions(
        watchers=[lsp.FileSystemWatcher(glob_pattern="**/*")]
    )
    await server.client_register_capability_async(
        lsp.RegistrationParams(
            registrations=[
                lsp.Registration(
                    id=WATCHED,
                    method=lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                    register_options=options,
                )
            ]
        )
    )
