"""OpenAI's Responses API: beside Chat Completions, for models that think between calls and for
those that exist only here. Nothing is stored at the service.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from tierline.context.prompt import Prompt
from tierline.providers import render_responses
from tierline.providers.base import RenderedRequest, StreamEvent
from tierline.providers.canonical import dumps
from tierline.providers.choice import ProviderChoice
from tierline.providers.editor_port import EditorPort
from tierline.providers.input_count import count_input
from tierline.providers.openai import OpenAIProvider
from tierline.providers.response_reader import ResponseReader
from tierline.providers.transport import Endpoint, send

_COUNTED = ("model", "tools", "input", "reasoning")
# The model decides which of them is used, and a plan does not store it.
BODIES = tuple(
    partial(render_responses.body, retention=retention, summary=summary, listed=listed)
    for retention in (False, True)
    for summary in (False, True)
    for listed in (False, True)
)


def make(choice: ProviderChoice, _editor: EditorPort | None) -> ResponsesProvider:
    """See ``Adapter.make``."""
    title = "" if choice.spec.compatible else choice.spec.title
    return ResponsesProvider(
        choice.endpoint,
        service=choice.found or title,
        retention=choice.retention,
        summary=choice.reasons,
        listed=choice.listed,
    )


class ResponsesProvider(OpenAIProvider):
    """Like Chat Completions, with encrypted reasoning, and breakpoints for models that
    have them.
    """

    name = "responses"

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        service: str = "",
        retention: bool = False,
        summary: bool = False,
        listed: bool = False,
    ) -> None:
        super().__init__(endpoint, service=service)
        self._write = partial(
            render_responses.body, retention=retention, summary=summary, listed=listed
        )

    async def count_tokens(self, request: RenderedRequest) -> int | None:
        """See ``Provider.count_tokens``."""
        client = await self._connected()
        return await count_input(
            client, "/responses/input_tokens", request, _COUNTED, self._endpoint
        )

    def _body(self, prompt: Prompt) -> bytes:
        return dumps(self._write(prompt))

    async def _attempt(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        client = await self._connected()
        reader = ResponseReader(self.service, self._endpoint.key)
        async with aclosing(
            send(client, "/responses", request.payload, reader, self.service, self._endpoint)
        ) as events:
            async for event in events:
                yield event
