"""Chat Completions through the official SDK: OpenAI itself and every server that speaks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from attrs import define, evolve, field

from tierline.context.prompt import Prompt
from tierline.providers import fragments, render_openai
from tierline.providers.addresses import host_of
from tierline.providers.base import (
    ProviderError,
    ReasoningDelta,
    RenderedRequest,
    Stop,
    StreamEvent,
    TextDelta,
    Usage,
)
from tierline.providers.calls import tool_call
from tierline.providers.canonical import rendered
from tierline.providers.choose import Choice
from tierline.providers.editor_port import EditorPort
from tierline.providers.errors import from_event, from_exception
from tierline.providers.retry import with_retries
from tierline.providers.thoughts import PLAIN, SIGNATURE, Thoughts
from tierline.providers.transport import Endpoint, checked, http_options, send

_ADDRESS = "https://api.openai.com/v1"
_SAID = ("content", "refusal", "reasoning_content", "reasoning", "tool_calls")
_STOPS = {
    "stop": "end",
    "length": "output_limit",
    "max_tokens": "output_limit",
    "model_length": "output_limit",
    "eos": "end",
    "eos_token": "end",
    "stop_sequence": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "filtered",
}

# Which of the two is used depends on the address, and that is not stored with a plan.
BODIES = tuple(partial(render_openai.body, official=official) for official in (True, False))


def make(choice: Choice, _editor: EditorPort | None) -> OpenAIProvider:
    """See ``Adapter.make``."""
    return OpenAIProvider(choice.endpoint, service=choice.found)


def is_official(base_url: str) -> bool:
    """True for OpenAI's own service, by its address; empty means its default address."""
    host = host_of(base_url)
    return not base_url or host == "api.openai.com" or host.endswith(".api.openai.com")


class OpenAIProvider:
    """Automatic prefix caching: order is all that matters. Nothing is loaded before the first
    request.
    """

    name = "openai"
    strategy = "openai"
    service = "OpenAI"

    def __init__(self, endpoint: Endpoint, *, service: str = "") -> None:
        self._endpoint = endpoint
        self._client: Any = None
        self._fragments = fragments.Fragments()
        self._loading = asyncio.Lock()
        if service:
            self.service = service
        elif not is_official(endpoint.base_url):
            self.service = host_of(endpoint.base_url) or "The server"

    def render(self, prompt: Prompt) -> RenderedRequest:
        """See ``Provider.render``."""
        payload = fragments.openai(prompt, self._fragments, official=self._official())
        return rendered(self.name, self.strategy, prompt.model, payload)

    async def stream(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        """See ``Provider.stream``."""
        async with aclosing(
            with_retries(lambda: self._attempt(request), self._endpoint.retry)
        ) as events:
            async for event in events:
                yield event

    async def count_tokens(self, request: RenderedRequest) -> int | None:  # noqa: ARG002
        """None: Chat Completions has no endpoint that counts."""
        return None

    async def close(self) -> None:
        """See ``Provider.close``."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

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
    """An SDK client without retries of its own. Slow on first use: call it in a thread."""
    try:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    except ImportError as error:
        raise ProviderError(
            "unavailable",
            "The package openai is not installed.",
            "Install it with pip install openai.",
        ) from error
    base_url = endpoint.base_url or _ADDRESS
    options = http_options(base_url)
    return AsyncOpenAI(
        api_key=endpoint.key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=options["timeout"],
        http_client=DefaultAsyncHttpxClient(**options),
    )


@define
class _Call:
    """A tool call while its pieces come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(factory=list)
    signature: dict[str, Any] = field(factory=dict)


@define
class CompletionReader:
    """Reads the stream's chunks of one reply (its first choice)."""

    service: str
    secret: str = field(default="", repr=False)
    done: bool = False
    _calls: dict[int, _Call] = field(factory=dict)
    _thoughts: Thoughts = field(factory=Thoughts)
    _stop: str | None = None

    def read(self, data: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """See ``Reader.read``."""
        if data.get("error"):
            raise from_event(self.service, data, secret=self.secret)
        for choice in _rows(data.get("choices")):
            if not isinstance(choice, Mapping) or choice.get("index", 0) != 0:
                continue
            yield from self._delta(_mapping(choice.get("delta")))
            if isinstance(reason := choice.get("finish_reason"), str):
                self._stop = reason
        if isinstance(usage := data.get("usage"), Mapping):
            yield from _usage(usage)

    def says(self, data: Mapping[str, Any]) -> bool:
        """See ``Reader.says``. A chunk that only names the role says nothing yet."""
        for choice in map(_mapping, _rows(data.get("choices"))):
            delta = _mapping(choice.get("delta"))
            if choice.get("finish_reason") or any(delta.get(key) for key in _SAID):
                return True
        return False

    def end(self) -> Iterator[StreamEvent]:
        """See ``Reader.end``. Calls are whole only now: no piece says that it is the last."""
        if self._stop is None and not self.done:
            return
        yield from self._thoughts.done()
        for index in sorted(self._calls):
            call = self._calls[index]
            made = tool_call(call.id or f"call_{index}", call.name, "".join(call.arguments))
            yield evolve(made, signature=call.signature)
        reason = self._stop or ""
        mapped = _STOPS.get(reason, "other" if reason else "end")
        yield Stop("tool_use" if mapped == "end" and self._calls else mapped, reason)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._thoughts.add(delta)
        for key in PLAIN:
            if isinstance(text := delta.get(key), str) and text:
                yield ReasoningDelta(text)
                break
        for key in ("content", "refusal"):
            if isinstance(text := delta.get(key), str) and text:
                yield from self._thoughts.done()
                yield TextDelta(text)
        for position, piece in enumerate(_rows(delta.get("tool_calls"))):
            if isinstance(piece, Mapping):
                self._piece(position, piece)

    def _piece(self, position: int, piece: Mapping[str, Any]) -> None:
        index = piece.get("index")
        call = self._calls.setdefault(index if isinstance(index, int) else position, _Call())
        function = _mapping(piece.get("function"))
        call.id = call.id or str(piece.get("id") or "")
        call.name = call.name or str(function.get("name") or "")
        if SIGNATURE in piece:
            call.signature[SIGNATURE] = piece[SIGNATURE]
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)


def _usage(usage: Mapping[str, Any]) -> Iterator[StreamEvent]:
    """``prompt_tokens`` is the whole prompt already; nothing is invented where nothing is said."""
    details = _mapping(usage.get("prompt_tokens_details"))
    figures = [
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        details.get("cached_tokens"),
        details.get("cache_write_tokens"),
    ]
    known = [figure if isinstance(figure, int) else None for figure in figures]
    if any(figure is not None for figure in known):
        yield Usage(*known)


def _mapping(value: object) -> Mapping[str, Any]:
    """Compatible servers send what they like where an object is due."""
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
