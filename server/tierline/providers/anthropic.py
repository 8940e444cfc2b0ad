"""Anthropic's Messages API through the official SDK (platform documentation, "Streaming")."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

from attrs import evolve

from tierline.context.prompt import Prompt
from tierline.providers import render_anthropic
from tierline.providers.base import OfferedModel, ProviderError, RenderedRequest, StreamEvent
from tierline.providers.canonical import dumps, rendered
from tierline.providers.choice import ProviderChoice
from tierline.providers.corrections import Corrections, with_corrections
from tierline.providers.editor_port import EditorPort
from tierline.providers.errors import from_exception
from tierline.providers.input_count import count_input
from tierline.providers.listing import fetch, offered
from tierline.providers.messages import MessageReader
from tierline.providers.profile import Profile
from tierline.providers.retry import with_retries
from tierline.providers.transport import Endpoint, checked, http_options, send

_SERVICE = "Anthropic"
_ADDRESS = "https://api.anthropic.com"
_COUNTED = ("model", "tools", "system", "messages", "thinking", "output_config")
_BINDING_BETA = "thinking-binding-controls-2026-08-01"

BODIES = (render_anthropic.body,)


def make(choice: ProviderChoice, _editor: EditorPort | None) -> AnthropicProvider:
    """See ``Adapter.make``."""
    return AnthropicProvider(choice.endpoint)


class AnthropicProvider:
    """Messages with explicit cache breakpoints. Nothing is loaded before the first request."""

    name = "anthropic"
    strategy = render_anthropic.STRATEGY

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: Any = None
        self._loading = asyncio.Lock()

    def render(self, prompt: Prompt) -> RenderedRequest:
        """See ``Provider.render``."""
        profile = self._endpoint.profiles.of(self._endpoint.base_url, prompt.model)
        return self._rendered(prompt, evolve(profile, marks=False))

    async def stream(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        """See ``Provider.stream``."""
        client = _speaking(await self._connected(), request)

        endpoint = self._endpoint

        def attempt(request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
            reader = MessageReader(endpoint.key)
            return send(client, "/v1/messages", request.payload, reader, _SERVICE, endpoint)

        corrections = Corrections(request, endpoint.base_url, endpoint.profiles, self._rendered)
        again = partial(with_corrections, attempt, corrections)
        async with aclosing(with_retries(again, endpoint.retry)) as events:
            async for event in events:
                yield event

    def _rendered(self, prompt: Prompt, profile: Profile) -> RenderedRequest:
        prompt = evolve(prompt, form=profile.form())
        payload = dumps(render_anthropic.body(prompt))
        return rendered(self.name, self.strategy, prompt.model, payload, prompt)

    async def count_tokens(self, request: RenderedRequest) -> int | None:
        """See ``Provider.count_tokens``."""
        client = _speaking(await self._connected(), request)
        path = "/v1/messages/count_tokens"
        return await count_input(client, path, request, _COUNTED, self._endpoint)

    async def listed(self, path: str = "") -> list[OfferedModel]:
        """See ``Provider.listed``."""
        client = await self._connected()
        return offered(
            await fetch(client, path or "/v1/models?limit=1000", _SERVICE, self._endpoint)
        )

    async def close(self) -> None:
        """See ``Provider.close``."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected(self) -> Any:
        async with self._loading:
            if self._client is None:
                # The import is slow enough to be noticed in the editor.
                checked(_SERVICE, self._endpoint)
                try:
                    self._client = await asyncio.to_thread(self._connect)
                except ProviderError:
                    raise
                except Exception as error:
                    raise from_exception(_SERVICE, error, secret=self._endpoint.key) from error
        return self._client

    def _connect(self) -> Any:
        try:
            from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
        except ImportError as error:
            raise ProviderError(
                "unavailable",
                "The package anthropic is not installed.",
                "Install it with pip install anthropic.",
            ) from error
        base_url = self._endpoint.base_url or _ADDRESS
        options = http_options(base_url, self._endpoint)
        return AsyncAnthropic(
            api_key=self._endpoint.key or "none",
            base_url=base_url.rstrip("/").removesuffix("/v1"),
            max_retries=0,
            timeout=options["timeout"],
            http_client=DefaultAsyncHttpxClient(**options),
        )


def _speaking(client: Any, request: RenderedRequest) -> Any:
    """The client with the beta header that the request's fields need."""
    if not request.body.get("thinking", {}).get("block_binding"):
        return client
    return client.with_options(default_headers={"anthropic-beta": _BINDING_BETA})
