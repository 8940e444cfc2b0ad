"""One request through an SDK's client: exact bytes out, events of the reply in.

The SDK makes the request (addresses, authorisation, headers, error classes); its own retries are
off and the stream of the reply is read here, see ``sse``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Protocol
from urllib.parse import urlsplit

from attrs import define, field, frozen

from tierline.context.text import well_formed
from tierline.network import Network, NetworkError
from tierline.network import options as network_options
from tierline.providers import sse
from tierline.providers.base import (
    MalformedEvent,
    ReasoningChunk,
    Stop,
    StreamEvent,
    TextChunk,
    TextWasThinking,
    Usage,
)
from tierline.providers.connection_errors import is_connection_broken
from tierline.providers.errors import (
    RequestFailed,
    closed,
    from_exception,
    no_reply,
    not_a_stream,
    stalled,
    unreadable,
)
from tierline.providers.profile import InMemoryProfiles, Profiles
from tierline.providers.retry import RetryPolicy
from tierline.providers.think_tags import TaggedPiece, ThinkTagParser

_CONNECT_SECONDS = 15.0
_PAGE_BYTES = 200_000
_LARGE = 500_000
"""Bytes of a body above which a closed connection may mean that the body is too large."""
_NOT_EVENTS = ("text/html", "application/xhtml")


@frozen
class Endpoint:
    """Where requests go, with limits on waiting. Times in seconds."""

    base_url: str = ""
    """Empty for the provider's own address."""
    key: str = field(default="", repr=False)
    stall_seconds: float = 60.0
    first_byte_seconds: float = 300.0
    retry: RetryPolicy = field(factory=RetryPolicy)
    profiles: Profiles = field(factory=InMemoryProfiles, eq=False, repr=False)
    """Profiles of servers."""
    network: Network = field(factory=Network, repr=False)
    """Proxy and certificates."""


class Reader(Protocol):
    """Turns the objects of one reply's stream into events. One instance for each reply."""

    done: bool
    """True once nothing more will come, so that reading stops."""

    def read(self, data: Mapping[str, Any]) -> Iterable[StreamEvent]:
        """Events of one object. Raises RequestFailed for an error that the stream carries."""
        ...

    def has_content(self, data: Mapping[str, Any]) -> bool:
        """False for an object that only shows that the service is alive, such as a ping."""
        ...

    def end(self) -> Iterable[StreamEvent]:
        """The remaining events of a stream; with ``Stop`` if the reply's end was seen."""
        ...


def checked(service: str, endpoint: Endpoint) -> Endpoint:
    """The endpoint, checked: HTTP can carry its key, and its address is valid. An HTTP client's
    error would quote the key, so it must not get that far.

    Raises:
        RequestFailed: ``auth`` or ``protocol``.
    """
    if not all("!" <= char <= "~" for char in endpoint.key):
        raise RequestFailed(
            "auth",
            f"The key for {service} has characters in it that no key has.",
            "Copy it again, without spaces, line breaks or dots for what was left out.",
        )
    try:
        parts = urlsplit(endpoint.base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if endpoint.base_url and not usable:
        raise RequestFailed(
            "protocol",
            f"The base URL for {service} is not an address.",
            "Correct the base URL; it looks like https://host/v1.",
        )
    return endpoint


def http_options(base_url: str, endpoint: Endpoint) -> dict[str, Any]:
    """Options for an SDK's HTTP client: the user's proxy and certificates, no redirects, our own
    time-outs. A redirect would carry the prompt to an address that nobody chose.

    Raises:
        RequestFailed: ``network``: a proxy or certificate in the settings cannot be used.
    """
    import httpx2

    timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    try:
        way = network_options(base_url, endpoint.network)
    except NetworkError as error:
        raise RequestFailed(error.code, error.message, error.advice) from error
    return {"timeout": timeout, "follow_redirects": False, **way}


async def send(
    client: Any, path: str, payload: bytes, reader: Reader, service: str, endpoint: Endpoint
) -> AsyncGenerator[StreamEvent, None]:
    """Send ``payload`` to ``path`` once and stream the reply.

    Ends with ``Stop``; ``Stop("incomplete")`` if the connection closed after part of the reply had
    come. Closing the generator closes the connection.

    Raises:
        RequestFailed: in every other case.
    """
    shown, halves, tags = False, _Halves(), ThinkTagParser()
    async with aclosing(_events(client, path, payload, reader, service, endpoint)) as events:
        async for event in events:
            shown = shown or not isinstance(event, Usage | MalformedEvent | Stop)
            if isinstance(event, TextChunk):
                for told in tags.feed(halves.feed(event.text)):
                    yield _delta(told)
            else:
                yield event
    for told in (*tags.feed(halves.rest()), *tags.rest()):
        yield _delta(told)
    stop: Stop | None = None
    for event in reader.end():
        if isinstance(event, Stop):
            stop = event
        yield event
    if stop is None:
        if not shown:
            raise closed(service)
        yield Stop("incomplete")


def _delta(told: TaggedPiece) -> StreamEvent:
    kind, words = told
    if kind == "was thinking":
        return TextWasThinking()
    return TextChunk(words) if kind == "text" else ReasoningChunk(words)


def _named(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """An event's object, with its type from the event's name if it has none."""
    if name == "error" and not data.get("error"):
        return {"error": data}
    return data if not name or isinstance(data.get("type"), str) else {**data, "type": name}


async def _events(
    client: Any, path: str, payload: bytes, reader: Reader, service: str, endpoint: Endpoint
) -> AsyncGenerator[StreamEvent, None]:
    """Events until the stream's end or the connection's, whichever comes first."""
    patience = _Patience(service, endpoint, asyncio.get_running_loop().time)
    answer, damaged = _Answer(), ""
    chunks = _chunks(client, path, payload, service, endpoint, answer)
    async with aclosing(patience.watch(chunks)) as watched, aclosing(sse.events(watched)) as parsed:
        try:
            async for item in parsed:
                if isinstance(item, sse.DamagedEvent):
                    damaged = damaged or item.detail
                    yield MalformedEvent(item.detail)
                    continue
                name, data = item
                if name == sse.DONE:
                    reader.done = True
                else:
                    data = _named(name, data)
                    if reader.has_content(data):
                        patience.progress()
                    for event in reader.read(data):
                        yield event
                if reader.done:
                    return
        except ConnectionError as error:
            if not patience.begun:
                raise closed(service) from error
            return
    if damaged and not patience.begun:
        raise no_reply(service, damaged, secret=endpoint.key)
    if answer.is_json and not patience.begun:
        raise not_a_stream(service, answer.kind, b"", secret=endpoint.key)
    if answer.is_json:
        reader.done = True  # a reply in one object needs no end mark


@define
class _Answer:
    """The head of the HTTP response."""

    kind: str = ""

    @property
    def is_json(self) -> bool:
        return self.kind.startswith("application/json")


@define
class _Patience:
    """Two limits on waiting: ``stall_seconds`` without any bytes, and ``first_byte_seconds``
    without any part of a reply, as some services send pings meanwhile. Before the reply begins only
    the second one holds: reading a long prompt takes time.
    """

    _service: str
    _endpoint: Endpoint
    _clock: Callable[[], float]
    begun: bool = False
    _last: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._last = self._clock()

    def progress(self) -> None:
        """Note that a part of the reply came."""
        self.begun, self._last = True, self._clock()

    async def watch(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """The same chunks; raises ``stalled`` when none come, or none with a part of the reply.
        Closes ``chunks``.
        """
        stall, longest = self._endpoint.stall_seconds, self._endpoint.first_byte_seconds
        heard = False
        async with aclosing(chunks):
            while True:
                left = self._last + longest - self._clock()
                silent = self.begun and stall < left
                try:
                    async with asyncio.timeout(stall if silent else left):
                        # A service that never pauses would never let the time-out run.
                        data = await anext(chunks, None) if left > 0 else await _for_ever()
                except TimeoutError:
                    raise stalled(
                        self._service,
                        stall if silent else longest,
                        begun=self.begun,
                        pings=heard and not silent,
                    ) from None
                if data is None:
                    return
                heard = True
                yield data


@define
class _Halves:
    """Text without lone halves of surrogate pairs, which JSON may carry and many editors cannot
    read. Two halves that come in two pieces become one character.
    """

    _held: str = ""

    def feed(self, text: str) -> str:
        """The text that can be shown now."""
        text, self._held = self._held + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return well_formed(text)

    def rest(self) -> str:
        """The replacement for a half whose other half never came."""
        return well_formed(self._held)


async def _for_ever() -> bytes:
    await asyncio.Event().wait()
    return b""


async def _chunks(
    client: Any, path: str, payload: bytes, service: str, endpoint: Endpoint, answer: _Answer
) -> AsyncGenerator[bytes, None]:
    """The reply's bytes as they come.

    Raises:
        RequestFailed: the service refused the request or was not reached.
        ConnectionError: the connection broke while the reply came.
    """
    import httpx2

    try:
        response = await client.post(
            path,
            cast_to=httpx2.Response,
            content=payload,
            options={"headers": {"Content-Type": "application/json"}, "timeout": client.timeout},
            stream=True,
            stream_cls=None,
        )
    except Exception as error:
        url = endpoint.base_url or str(client.base_url)
        failed = from_exception(
            service, error, secret=endpoint.key, url=url, network=endpoint.network
        )
        failed.large = len(payload) > _LARGE and is_connection_broken(error)
        raise failed from error
    answer.kind = kind = response.headers.get("content-type", "").lower()
    try:
        if kind.startswith(_NOT_EVENTS):
            page = await _beginning(response)
            raise not_a_stream(service, kind, page, secret=endpoint.key)
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                yield piece
    except httpx2.DecodingError as error:
        raise unreadable(service) from error
    except (httpx2.TransportError, httpx2.StreamError) as error:
        raise ConnectionError(str(error) or type(error).__name__) from error
    finally:
        await response.aclose()


async def _beginning(response: Any) -> bytes:
    """The first bytes of a body that is not a stream; it may be endless."""
    page = b""
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            page += piece
            if len(page) > _PAGE_BYTES:
                break
    return page
