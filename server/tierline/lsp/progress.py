"""Shows in the editor that the server works on something (``$/progress``)."""

from __future__ import annotations

import asyncio
import contextlib
import uuid

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer


class ClientProgress:
    """One piece of work at a time. Silent for clients that do not show progress."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._token = ""
        self._begun: asyncio.Task[bool] | None = None

    def report(self, title: str, message: str, percent: int) -> None:
        """Begin or update; ``percent`` is 0 to 100."""
        if not self._shows():
            return
        if self._begun is None:
            self._token = f"tierline-{uuid.uuid4().hex[:8]}"
            self._begun = asyncio.ensure_future(self._begin(self._token, title, message))
        elif self._begun.done() and not self._begun.cancelled() and self._begun.result():
            value = lsp.WorkDoneProgressReport(message=message, percentage=percent)
            self._server.work_done_progress.report(self._token, value)

    def end(self, message: str) -> None:
        """End the progress."""
        begun, self._begun = self._begun, None
        if begun is not None:
            asyncio.ensure_future(self._end(begun, self._token, message))  # noqa: RUF006

    def _shows(self) -> bool:
        window = self._server.client_capabilities.window
        return bool(window and window.work_done_progress)

    async def _begin(self, token: str, title: str, message: str) -> bool:
        try:
            await asyncio.wait_for(self._server.work_done_progress.create_async(token), 5)
        except Exception:  # the client refused or did not answer
            return False
        value = lsp.WorkDoneProgressBegin(title=title, message=message, percentage=0)
        self._server.work_done_progress.begin(token, value)
        return True

    async def _end(self, begun: asyncio.Task[bool], token: str, message: str) -> None:
        with contextlib.suppress(Exception):
            if await begun:
                value = lsp.WorkDoneProgressEnd(message=message)
                self._server.work_done_progress.end(token, value)
