"""Anthropic's Messages API through the official SDK (platform documentation, "Streaming")."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from attrs import define, field

from tierline.context.prompt import Prompt
from tierline.providers import fragments, render_anthropic
from tierline.providers.base import (
    ProviderError,
    ReasoningDelta,
    ReasoningDone,
    RenderedRequest,
    Stop,
    StreamEvent,
    TextDelta,
    Usage,
)
from tierline.providers.calls import tool_call
from tierline.providers.canonical import dumps, rendered
from tierline.providers.choose import Choice
from tierline.providers.editor_port import EditorPort
from tierline.providers.errors import from_event, from_exception
from tierline.providers.retry import with_retries
from tierline.providers.transport import Endpoint, checked, http_options, send

_SERVICE = "Anthropic"
_ADDRESS = "https://api.anthropic.com"
_COUNTED = ("model", "tools", "system", "messages")
_SAID = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
    }
)
_STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "output_limit",
    "model_context_window_exceeded": "output_limit",
    "tool_use": "tool_use",
    "refusal": "filtered",
}

BODIES = (render_anthropic.body,)


def make(choice: Choice, _editor: EditorPort | None) -> AnthropicProvider:
    """See ``Adapter.make``."""
    return AnthropicProvider(choice.endpoint)


class AnthropicProvider:
    """Messages with explicit cache breakpoints. Nothing is loaded before the first request."""

    name = "anthropic"
    strategy = render_anthropic.STRATEGY

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: Any = None
        self._fragments = fragments.Fragments()
        self._loading = asyncio.Lock()

    def render(self, prompt: Prompt) -> RenderedRequest:
        """See ``Provider.render``."""
        payload = fragments.anthropic(prompt, self._fragments)
        return rendered(self.name, self.strategy, prompt.model, payload)

    async def stream(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        """See ``Provider.stream``."""
        client = await self._connected()

        def attempt() -> AsyncGenerator[StreamEvent, None]:
            reader = MessageReader(self._endpoint.key)
            return send(client, "/v1/messages", request.payload, reader, _SERVICE, self._endpoint)

        async with aclosing(with_retries(attempt, self._endpoint.retry)) as events:
            async for event in events:
                yield event

    async def count_tokens(self, request: RenderedRequest) -> int | None:
        """See ``Provider.count_tokens``. Tried once: a count is never worth a wait."""
        client = await self._connected()
        body = {key: request.body[key] for key in _COUNTED if key in request.body}
        try:
            answer = await client.post(
                "/v1/messages/count_tokens",
                cast_to=object,
                content=dumps(body),
                options={"headers": {"Content-Type": "application/json"}, "timeout": 30.0},
            )
        except Exception as error:
            failed = from_exception(
                _SERVICE,
                error,
                secret=self._endpoint.key,
                url=self._endpoint.base_url or _ADDRESS,
            )
            if failed.http_status in (404, 405, 501):
                return None
            raise failed from error
        count = answer.get("input_tokens") if isinstance(answer, Mapping) else None
        return count if isinstance(count, int) else None

    async def close(self) -> None:
        """See ``Provider.close``."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected(self) -> Any:
        async with self._loading:
            if self._client is None:
                # The import takes long enough to be felt in the editor.
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
        options = http_options(base_url)
        return AsyncAnthropic(
            api_key=self._endpoint.key or "none",
            base_url=base_url.rstrip("/").removesuffix("/v1"),
            max_retries=0,
            timeout=options["timeout"],
            http_client=DefaultAsyncHttpxClient(**options),
        )


@define
class _OpenBlock:
    """A content block whose end has not come."""

    start: Mapping[str, Any]
    pieces: list[str] = field(factory=list)
    signature: str = ""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@define
class MessageReader:
    """Reads the stream's events. Unknown ones are passed over, as the API asks of its clients."""

    secret: str = field(default="", repr=False)
    done: bool = False
    _blocks: dict[int, _OpenBlock] = field(factory=dict)
    _usage: dict[str, int] = field(factory=dict)
    _stop: str | None = None

    def read(self, data: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """See ``Reader.read``."""
        match data.get("type"):
            case "message_start":
                message = _mapping(data.get("message"))
                yield from self._counted(message.get("usage"))
            case "content_block_start":
                start = _mapping(data.get("content_block"))
                self._blocks[_index(data)] = _OpenBlock(start)
                if start.get("type") == "text" and (text := _string(start.get("text"))):
                    yield TextDelta(text)
            case "content_block_delta":
                yield from self._delta(_index(data), _mapping(data.get("delta")))
            case "content_block_stop":
                yield from self._close(_index(data))
            case "message_delta":
                reason = _mapping(data.get("delta")).get("stop_reason")
                self._stop = reason if isinstance(reason, str) else self._stop
                yield from self._counted(data.get("usage"))
            case "message_stop":
                self.done = True
                self._stop = self._stop or ""
            case "error":
                raise from_event(_SERVICE, data, secret=self.secret)

    def says(self, data: Mapping[str, Any]) -> bool:
        """See ``Reader.says``. Unknown kinds of events may be pings of a later version."""
        if data.get("type") == "content_block_delta":
            delta = _mapping(data.get("delta"))
            return any(value for key, value in delta.items() if key != "type")
        return data.get("type") in _SAID

    def end(self) -> Iterator[StreamEvent]:
        """See ``Reader.end``."""
        if self._stop is not None:
            yield Stop(_STOPS.get(self._stop, "other" if self._stop else "end"), self._stop)

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        # A lost start leaves the text readable; only a call cannot do without its name.
        block = self._blocks.setdefault(index, _OpenBlock({}))
        match delta.get("type"):
            case "text_delta":
                if text := _string(delta.get("text")):
                    yield TextDelta(text)
            case "thinking_delta":
                if text := _string(delta.get("thinking")):
                    block.pieces.append(text)
                    yield ReasoningDelta(text)
            case "signature_delta":
                block.signature += _string(delta.get("signature"))
            case "input_json_delta":
                block.pieces.append(_string(delta.get("partial_json")))

    def _close(self, index: int) -> Iterator[StreamEvent]:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        start = block.start
        match start.get("type"):
            case "thinking":
                thinking = _string(start.get("thinking")) + block.text
                signature = _string(start.get("signature")) + block.signature
                if signature:  # without one the API does not take the block back
                    yield ReasoningDone({**start, "thinking": thinking, "signature": signature})
            case "redacted_thinking":
                yield ReasoningDone(dict(start))
            case "tool_use":
                given = start.get("input")
                yield tool_call(
                    _string(start.get("id")),
                    _string(start.get("name")),
                    block.text or json.dumps(given if isinstance(given, Mapping) else {}),
                )

    def _counted(self, usage: object) -> Iterator[StreamEvent]:
        """Figures are cumulative; later ones replace earlier ones."""
        known = {k: v for k, v in _mapping(usage).items() if isinstance(v, int)}
        if not known:
            return
        self._usage |= known
        read = self._usage.get("cache_read_input_tokens")
        written = self._usage.get("cache_creation_input_tokens")
        uncached = self._usage.get("input_tokens")
        whole = None if uncached is None else uncached + (read or 0) + (written or 0)
        yield Usage(whole, self._usage.get("output_tokens"), read, written)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _index(data: Mapping[str, Any]) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0
