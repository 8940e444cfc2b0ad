"""The connection and its session: the server, as the parts of this edge use it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from tierline import __version__
from tierline.lsp.codec import make_converter
from tierline.lsp.heap import enable_collector
from tierline.lsp.translation import ClientLanguage
from tierline.lsp.wire import MethodError, TierlineProtocol

if TYPE_CHECKING:
    from tierline.session.session import Session

log = logging.getLogger(__name__)

CLOSE_SECONDS = 1.5
"""Longest shutdown; editors kill a server after two seconds."""


class TierlineServer(LanguageServer):
    """Holds the connection and the session, and nothing else."""

    def __init__(self) -> None:
        self.language = ClientLanguage()
        super().__init__(
            name="tierline",
            version=__version__,
            protocol_cls=TierlineProtocol,
            converter_factory=lambda: make_converter(self.language),
            notebook_document_sync=lsp.NotebookDocumentSyncOptions(
                notebook_selector=[
                    lsp.NotebookDocumentFilterWithNotebook(notebook="*", cells=None)
                ],
                save=True,
            ),
        )
        self.session: Session | None = None
        self.editor_settings: Mapping[str, Any] = {}
        self.opens: Callable[[], Session]
        """Makes the session; set when the server is built."""
        self.opened: Callable[[], None] = lambda: None
        """Called when the session is open."""
        self.abandon: Callable[[], None] = lambda: None
        """Kills child processes that would outlive this one, just before it exits."""
        self._opening: asyncio.Task[Session] | None = None
        self._entering = asyncio.Lock()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write to the log only: the client got an answer, and a pop-up would not help the user."""
        if not isinstance(error, MethodError):
            log.error("%s: %s", getattr(source, "__name__", source), error)

    def folders(self) -> list[tuple[str, str]]:
        """The workspace folders as (name, URI); the root URI alone for older clients."""
        found = [(folder.name, folder.uri) for folder in self.workspace.folders.values()]
        if not found and self.workspace.root_uri:
            found = [("", self.workspace.root_uri)]
        return found

    async def ready(self) -> Session:
        """The session, opened on first use. Waiters resume first in, first out, and before callers
        that arrive after it is open.
        """
        async with self._entering:
            if self._opening is None:
                self._opening = asyncio.ensure_future(self._open())
            return await asyncio.shield(self._opening)

    async def _open(self) -> Session:
        enable_collector()
        session = self.opens()
        self.abandon = session.abandon
        await session.start()
        self.session = session
        self.opened()
        return session

    async def close_session(self) -> None:
        """Stop running work and store its state."""
        if self._opening is None:
            return
        opening, self._opening = self._opening, None
        try:
            session = await asyncio.wait_for(asyncio.shield(opening), CLOSE_SECONDS)
            await asyncio.wait_for(session.close(), CLOSE_SECONDS)
        except Exception:
            log.exception("The session did not close in time")
        self.session = None
