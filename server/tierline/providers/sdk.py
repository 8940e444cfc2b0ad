"""What the adapters over an official SDK share: connecting, sending, listing, counting."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from attrs import evolve

from tierline.context.prompt import Prompt
from tierline.providers.base import OfferedModel, ProviderError, RenderedRequest, StreamEvent
from tierline.providers.canonical import dumps, rendered
from tierline.providers.errors import from_exception
from tierline.providers.profile import Profile
from tierline.providers.retry import Corrections, with_corrections, with_retries
from tierline.providers.transport import Endpoint, Reader, checked, http_options, send
from tierline.providers.values import figure, mapping

log = logging.getLogger(__name__)

_COUNT_SECONDS = 30.0
_LIST_SECONDS = 15.0
_WINDOWS = ("context_length", "max_input_tokens", "max_model_len", "context_window",
            "max_context_length", "inputTokenLimit")  # fmt: skip
_NO_CHAT = re.compile(
    r"embed|whisper|tts|dall-e|image|moderation|realtime|audio|transcri|sora|davinci|babbage|rerank|"
    r"imagen|veo|guard"
)


class SdkProvider:
    """An adapter over an SDK's client. Nothing is loaded before the first request."""

    name: str
    strategy: str
    service: str
    """The service's name for the user."""
    sdk: tuple[str, str]
    """The SDK's package, and the class of its client."""
    address: str
    """The service's own address."""
    path: str
    """Path of a request."""
    models_path = "/models"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: Any = None
        self._loading = asyncio.Lock()

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

    async def listed(self, path: str = "") -> list[OfferedModel]:
        """See ``Provider.listed``. One cheap request, tried once."""
        client = await self._connected()
        options = {"timeout": _LIST_SECONDS, "max_retries": 0}
        try:
            answer = await client.get(path or self.models_path, cast_to=object, options=options)
        except Exception as error:
            url = self._endpoint.base_url or str(client.base_url)
            raise from_exception(
                self.service,
                error,
                secret=self._endpoint.key,
                url=url,
                network=self._endpoint.network,
            ) from error
        return offered(answer)

    async def close(self) -> None:
        """See ``Provider.close``."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _rendered(self, prompt: Prompt, profile: Profile) -> RenderedRequest:
        prompt = evolve(prompt, form=profile.form())
        payload = dumps(self._body(prompt))
        return rendered(self.name, self.strategy, prompt.model, payload, prompt)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        raise NotImplementedError

    def _reader(self) -> Reader:
        raise NotImplementedError

    async def _attempt(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        client = await self._client_for(request)
        reply = send(
            client, self.path, request.payload, self._reader(), self.service, self._endpoint
        )
        async with aclosing(reply) as events:
            async for event in events:
                yield event

    async def _count(
        self, path: str, request: RenderedRequest, fields: Sequence[str]
    ) -> int | None:
        """The input tokens of a request, by sending ``fields`` of its body; None without an answer.

        Free, tried once, without waiting long, and only for requests that the service has just been
        sent. A server that does not count is not asked again for this model.
        """
        client = await self._client_for(request)
        profiles, address = self._endpoint.profiles, self._endpoint.base_url
        if not profiles.of(address, request.model).counts:
            return None
        body = {name: request.body[name] for name in fields if name in request.body}
        options = {"headers": {"Content-Type": "application/json"}, "timeout": _COUNT_SECONDS}
        try:
            answer = await client.post(path, cast_to=object, content=dumps(body), options=options)
        except Exception:
            log.debug("%s gave no count", path, exc_info=True)
            answer = None
        count = figure(mapping(answer).get("input_tokens")) or None
        if count is None:
            why = f"{request.model or 'The model'} is not counted here: only replies tell figures."
            profiles.learn(address, request.model, {"counts": False}, why)
        return count

    async def _client_for(self, _request: RenderedRequest) -> Any:
        return await self._connected()

    async def _connected(self) -> Any:
        async with self._loading:
            if self._client is None:
                endpoint = checked(self.service, self._endpoint)
                try:
                    # The import takes long enough to be felt in the editor.
                    self._client = await asyncio.to_thread(self._connect, endpoint)
                except ProviderError:
                    raise
                except Exception as error:
                    raise from_exception(self.service, error, secret=endpoint.key) from error
        return self._client

    def _connect(self, endpoint: Endpoint) -> Any:
        """A client without retries of its own.

        Raises:
            ProviderError: ``unavailable``: the SDK is not installed.
        """
        package, client = self.sdk
        try:
            sdk = importlib.import_module(package)
        except ImportError as error:
            raise ProviderError(
                "unavailable",
                f"The package {package} is not installed.",
                f"Install it with pip install {package}.",
            ) from error
        base_url = endpoint.base_url or self.address
        options = http_options(base_url, endpoint)
        return getattr(sdk, client)(
            api_key=endpoint.key or "none",
            base_url=base_url,
            max_retries=0,
            timeout=options["timeout"],
            http_client=sdk.DefaultAsyncHttpxClient(**options),
        )


def offered(answer: object) -> list[OfferedModel]:
    """The models of a list that can chat, in the order of the list, with their reported windows."""
    rows = answer.get("data", answer.get("models")) if isinstance(answer, Mapping) else answer
    return list(_offered(rows)) if isinstance(rows, list) else []


def _offered(rows: list[Any]) -> Iterator[OfferedModel]:
    seen: set[str] = set()
    for row in rows:
        name = row.get("id") or row.get("name") if isinstance(row, Mapping) else row
        if not isinstance(name, str) or not name or name in seen or _NO_CHAT.search(name.lower()):
            continue
        seen.add(name)
        said = [row.get(key) for key in _WINDOWS] if isinstance(row, Mapping) else []
        yield OfferedModel(name, next((n for n in said if type(n) is int and n > 0), None))
