"""Chat Completions through the official SDK: OpenAI itself and every server that speaks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

from attrs import evolve

from tierline.context.prompt import Prompt
from tierline.providers import render_openai
from tierline.providers.addresses import host_of
from tierline.providers.base import OfferedModel, ProviderError, RenderedRequest, StreamEvent
from tierline.providers.canonical import dumps, rendered
from tierline.providers.choice import ProviderChoice
from tierline.providers.completion import CompletionReader
from tierline.providers.corrections import Corrections, with_corrections
from tierline.providers.editor_port import EditorPort
from tierline.providers.errors import from_exception
from tierline.providers.listing import fetch, offered
from tierline.providers.profile import Profile
from tierline.providers.retry import with_retries
from tierline.providers.transport import Endpoint, checked, http_options, send

_ADDRESS = "https://api.openai.com/v1"

# The address decides which of the two is used, and a plan does not store it.
BODIES = tuple(partial(render_openai.body, official=official) for official in (True, False))


def make(choice: ProviderChoice, _editor: EditorPort | None) -> OpenAIProvider:
    """See ``Adapter.make``."""
    title = "" if choice.spec.compatible else choice.spec.title
    return OpenAIProvider(choice.endpoint, service=choice.found or title)


def is_official(base_url: str) -> bool:
    """True for OpenAI's own service, by its address; empty means its default address."""
    host = host_of(base_url)
    return not base_url or host == "api.openai.com" or host.endswith(".api.openai.com")


class OpenAIProvider:
    """Chat Completions, whose prefix cache is automatic: only order matters. Nothing is loaded
    before the first request.
    """

    name = "openai"
    strategy = "openai"
    service = "OpenAI"

    def __init__(self, endpoint: Endpoint, *, service: str = "") -> None:
        self._endpoint = endpoint
        self._client: Any = None
        self._loading = asyncio.Lock()
        if service:
            self.service = service
        elif not is_official(endpoint.base_url):
            self.service = host_of(endpoint.base_url) or "The server"

    def render(self, prompt: Prompt) -> RenderedRequest:
        """See ``Provider.render``."""
        profile = self._endpoint.profiles.of(self._endpoint.base_url, prompt.model)
        return self._rendered(prompt, profile)

    async def stream(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        """See ``Provider.stream``."""
        endpoint = self._endpoint
        corrections = Corrections(request, endpoint.base_url, endpoint.profiles, self._rendered)
        attempt = partial(with_corrections, self._attempt, corrections)
        async with aclosing(with_retries(attempt, endpoint.retry)) as events:
            async for event in events:
                yield event

    async def count_tokens(self, request: RenderedRequest) -> int | None:  # noqa: ARG002
        """None: Chat Completions has no endpoint that counts."""
        return None

    async def listed(self, path: str = "") -> list[OfferedModel]:
        """See ``Provider.listed``."""
        client = await self._connected()
        return offered(await fetch(client, path or "/models", self.service, self._endpoint))

    async def close(self) -> None:
        """See ``Provider.close``."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _rendered(self, prompt: Prompt, profile: Profile) -> RenderedRequest:
        prompt = evolve(prompt, form=profile.form())
        return rendered(self.name, self.strategy, prompt.model, self._body(prompt), prompt)

    def _body(self, prompt: Prompt) -> bytes:
        return dumps(render_openai.body(prompt, official=self._official()))

    def _official(self) -> bool:
        return is_official(self._endpoint.base_url)

    async def _attempt(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        client = await self._connected()
        reader = CompletionReader(self.service, self._endpoint.key)
        async with aclosing(
            send(client, "/chat/completions", request.payload, reader, self.service, self._endpoint)
        ) as events:
            async for event in events:
                yield event

    async def _connected(self) -> Any:
        async with self._loading:
            if self._client is None:
                # The import takes long enough to be felt in the editor.
                try:
                    self._client = await asyncio.to_thread(
                        connect, checked(self.service, self._endpoint)
                    )
                except ProviderError:
                    raise
                except Exception as error:
                    raise from_exception(self.service, error, secret=self._endpoint.key) from error
        return self._client


def connect(endpoint: Endpoint) -> Any:
    """An SDK client without retries of its own. Slow on first use: call it in a thread.

    Raises:
        ProviderError: ``unavailable``: the SDK is not installed.
    """
    try:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    except ImportError as error:
        raise ProviderError(
            "unavailable",
            "The package openai is not installed.",
            "Install it with pip install openai.",
        ) from error
    base_url = endpoint.base_url or _ADDRESS
    options = http_options(base_url, endpoint)
    return AsyncOpenAI(
        api_key=endpoint.key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=options["timeout"],
        http_client=DefaultAsyncHttpxClient(**options),
    )
