"""The port to the editor's own language models: requests from server to client."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from tierline import protocol as p
from tierline.providers.base import ProviderError
from tierline.providers.editor_port import EditorModel, ReplyEnd, ReplyEvent, ReplyPiece

log = logging.getLogger(__name__)

LIST_SECONDS = 5.0
"""An editor that has not listed its models by then counts as having none."""
_ADVICE = {
    "auth": "Allow Tierline to use the editor's models when the editor asks, or choose another.",
    "unavailable": "Choose another model.",
    "overflow": "Take files out of the context, or choose a model with a larger window.",
    "rate_limited": "Wait a little, then retry.",
}


class EditorModels:
    """Implements ``EditorPort`` on a language-server connection."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Queue[p.EditorPartParams]] = {}
        self.available = False

    def read_capabilities(self, capabilities: Any) -> None:
        """Read what the client can do: ``experimental.tierline.languageModels``."""
        experimental = getattr(capabilities, "experimental", None)
        ours = _get(_get(experimental, "tierline"), "languageModels")
        self.available = bool(ours)

    def part(self, params: p.EditorPartParams) -> None:
        """Handle a piece of a reply; late ones of a cancelled request are dropped."""
        if (queue := self._waiting.get(params.request_id)) is not None:
            queue.put_nowait(params)

    async def models(self) -> list[EditorModel]:
        """See ``EditorPort.models``."""
        if not self.available:
            return []
        try:
            result = await asyncio.wait_for(
                self._server.protocol.send_request_async(p.EDITOR_MODELS.name, p.NoParams()),
                LIST_SECONDS,
            )
        except (JsonRpcException, TimeoutError) as error:
            log.info("The editor did not list its models: %s", error or "no answer")
            return []
        return [
            EditorModel(m.id, m.name, m.vendor, m.family, m.max_input_tokens, m.pictures)
            for m in result.models
        ]

    async def chat(self, model: str, body: Mapping[str, Any]) -> AsyncGenerator[ReplyEvent, None]:
        """See ``EditorPort.chat``."""
        request_id = f"editor-{next(self._numbers)}"
        queue = self._waiting[request_id] = asyncio.Queue()
        params = p.EditorChatParams(request_id=request_id, model=model, body=dict(body))
        reply = asyncio.ensure_future(
            self._server.protocol.send_request_async(p.EDITOR_CHAT.name, params)
        )
        try:
            async for piece in _pieces(queue, reply):
                yield piece
            result = await reply
            yield ReplyEnd(result.input_tokens, result.output_tokens, result.usage)
        except JsonRpcException as error:
            raise _failure(error) from error
        finally:
            del self._waiting[request_id]
            if not reply.done():
                self._server.protocol.notify(
                    p.EDITOR_CANCEL, p.EditorCancelParams(request_id=request_id)
                )
                # The answer to a cancelled request still arrives, but is not awaited.
                reply.add_done_callback(_forget)


async def _pieces(
    queue: asyncio.Queue[p.EditorPartParams], reply: asyncio.Future[Any]
) -> AsyncGenerator[ReplyPiece, None]:
    """The pieces until the reply is complete, those left in the queue included."""
    while not (reply.done() and queue.empty()):
        getting = asyncio.ensure_future(queue.get())
        try:
            await asyncio.wait({getting, reply}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not getting.done():
                getting.cancel()
        if getting.done() and not getting.cancelled():
            part = getting.result()
            yield ReplyPiece(
                part.text, part.call_id, part.call_name, part.call_arguments, part.thinking
            )


def _failure(error: JsonRpcException) -> ProviderError:
    code = str(_get(error.data, "code") or "unavailable")
    known = code if code in (*_ADVICE, "bad_request") else "unavailable"
    message = str(error.message or "The editor's model did not answer.")
    return ProviderError(known, message, _ADVICE.get(known, "Choose another model."))


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _forget(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
