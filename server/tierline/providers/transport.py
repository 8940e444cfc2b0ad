"""One request through an SDK's client: exact bytes out, events of the reply in.

The SDK makes the request (addresses, authorisation, headers, error classes); its own retries are
off and the stream of the reply is read here, see ``sse``.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Protocol
from urllib.parse import urlsplit

from attrs import define, field, frozen

from tierline.providers import sse
from tierline.providers.base import Malformed, Stop, StreamEvent, Usage
from tierline.providers.errors import RequestFailed, from_exception, not_a_stream, stalled
from tierline.providers.retry import RetryPolicy

_CONNECT_SECONDS = 15.0
_NOT_EVENTS = ("application/json", "text/html")


@frozen
class Endpoint:
    """Where requests go, and how patient we are. Times in seconds."""

    base_url: str = ""
    """Empty for the provider's own address."""
    key: str = field(default="", repr=False)
    stall_seconds: float = 60.0
    first_byte_seconds: float = 300.0
    retry: RetryPolicy = field(factory=RetryPolicy)


class Reader(Protocol):
    """Turns the objects of one reply's stream into events; keeps what it needs in between."""

    done: bool
    """True once nothing more will come, so that reading stops."""

    def read(self, data: Mapping[str, Any]) -> Iterable[StreamEvent]:
        """Events of one object. Raises RequestFailed for an error that the stream carries."""
        ...

    def end(self) -> Iterable[StreamEvent]:
        """What is left when the stream is over; closes with ``Stop`` if its end was seen."""
        ...


def host_of(url: str) -> str:
    """The host in lower case; empty if there is none or the address is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(url: str) -> bool:
    """True for an address on this machine."""
    host = host_of(url)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked(service: str, endpoint: Endpoint) -> Endpoint:
    """The same endpoint, if HTTP can carry its key and reach its address at all.

    HTTP clients report such a key by quoting it, so it must not get that far.

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


def http_options(base_url: str) -> dict[str, Any]:
    """Options for an SDK's HTTP client: no proxy for this machine, no redirects, our own clock.

    A redirect would carry the prompt to an address that nobody chose.
    """
    import httpx2

    timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    options: dict[str, Any] = {"timeout": timeout, "follow_redirects": False}
    if is_loopback(base_url):
        options["trust_env"] = False
    return options


async def send(
    client: Any, path: str, payload: bytes, reader: Reader, service: str, endpoint: Endpoint
) -> AsyncGenerator[StreamEvent, None]:
    """Send ``payload`` to ``path`` once and stream the reply.

    Ends with ``Stop``; ``Stop("incomplete")`` if the connection closed after part of the reply had
    come. Closing the generator closes the connection.

    Raises:
        RequestFailed: in every other case.
    """
    shown = False
    async with aclosing(_events(client, path, payload, reader, service, endpoint)) as events:
        async for event in events:
            shown = shown or not isinstance(event, Usage | Malformed | Stop)
            yield event
    stop: Stop | None = None
    for event in reader.end():
        if isinstance(event, Stop):
            stop = event
        yield event
    if stop is None:
        if not shown:
            closed = ConnectionError("the connection closed before a reply came")
            raise from_exception(service, closed)
        yield Stop("incomplete")


async def _events(
    client: Any, path: str, payload: bytes, reader: Reader, service: str, endpoint: Endpoint
) -> AsyncGenerator[StreamEvent, None]:
    """Events until the stream's end or the connection's, whichever comes first."""
    patience = _Patience(service, endpoint, asyncio.get_running_loop().time)
    chunks = _chunks(client, path, payload, service, endpoint)
    async with aclosing(patience.watch(chunks)) as watched, aclosing(sse.events(watched)) as parsed:
        try:
            async for item in parsed:
                if isinstance(item, sse.Damaged):
                    yield Malformed(item.detail)
                    continue
                name, data = item
                if name == sse.DONE:
                    reader.done = True
                else:
                    patience.progress()
                    for event in reader.read(data):
                        yield event
                if reader.done:
                    return
        except ConnectionError as error:
            if not patience.begun:
                raise from_exception(service, error, secret=endpoint.key) from error


@define
class _Patience:
    """Two limits on waiting: no bytes at all for ``stall_seconds``, and, since some services send
    pings while they have nothing to say, no event for ``first_byte_seconds``. Before the first
    event only the second one holds: reading a long prompt takes its time.
    """

    _service: str
    _endpoint: Endpoint
    _clock: Callable[[], float]
    begun: bool = False
    _last: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._last = self._clock()

    def progress(self) -> None:
        """An event came."""
        self.begun, self._last = True, self._clock()

    async def watch(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """The same chunks; raises ``stalled`` when they fail to come. Closes ``chunks``."""
        endpoint = self._endpoint
        async with aclosing(chunks):
            while True:
                left = self._last + endpoint.first_byte_seconds - self._clock()
                try:
                    async with asyncio.timeout(
                        min(left, endpoint.stall_seconds) if self.begun else left
                    ):
                        data = await anext(chunks, None)
                except TimeoutError:
                    limit = endpoint.stall_seconds if self.begun else endpoint.first_byte_seconds
                    raise stalled(self._service, limit, begun=self.begun) from None
                if data is None:
                    return
                yield data


async def _chunks(
    client: Any, path: str, payload: bytes, service: str, endpoint: Endpoint
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
        raise from_exception(service, error, secret=endpoint.key) from error
    kind = response.headers.get("content-type", "")
    try:
        if kind.startswith(_NOT_EVENTS):
            raise not_a_stream(service, kind, await response.aread(), secret=endpoint.key)
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                yield piece
    except (httpx2.TransportError, httpx2.StreamError) as error:
        raise ConnectionError(str(error) or type(error).__name__) from error
    finally:
        await response.aclose()
