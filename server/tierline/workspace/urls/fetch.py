"""Reading one page: no cookies, no credentials, no surprise about where it comes from.

A name is resolved once, each of its addresses is checked, and the connection goes to the very
address that was checked, so a second answer of the name server (DNS rebinding) changes nothing.
Behind a proxy, the proxy resolves the name itself. Names and addresses are still refused by the
same rules, and a name that resolves here is checked, but the proxy's lookup may differ. Redirects
are followed here, hop by hop, with the same checks. ``resolve`` and ``connect`` are passed in, so
that tests can stand in for the network.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from email.message import Message
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urljoin, urlsplit

from attrs import frozen

from tierline.network import Network, NetworkError, origin, proxy_for, tls_context
from tierline.workspace.urls.guard import IP, Target, UrlRefused, check, parse

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream

MAX_BYTES = 2_000_000
"""Bytes of the body, before and after decompression."""
MAX_SECONDS = 15.0
"""Longest fetch, with name lookups, redirects and body."""
MAX_REDIRECTS = 5
_CONNECT_SECONDS = 5.0
_REDIRECTS = (301, 302, 303, 307, 308)
_TEXT_TYPES = frozenset(
    (
        "application/xhtml+xml", "application/json", "application/xml", "application/javascript",
        "application/ecmascript", "application/x-javascript", "application/yaml",
        "application/x-yaml", "application/toml", "application/sql", "application/graphql",
        "application/x-sh", "application/x-ndjson", "application/x-tex",
    )
)  # fmt: skip
_STATUS = {
    401: ("needs a login", "Tierline sends no credentials. Paste the text instead."),
    403: ("is refused by the server", "The server wants another client. Paste the text instead."),
    404: ("does not exist", "Check the address."),
    410: ("no longer exists", "Check the address."),
    429: ("is refused for now: too many requests", "Wait a while, then try again."),
}

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Addresses of a name, as text, the preferred one first. Raises OSError if there are none."""
Connect: TypeAlias = "Callable[[str, int, float], Awaitable[AsyncNetworkStream]]"
"""Opens a TCP connection to (address, port) within seconds."""


@frozen
class PageLimits:
    """Limits of one page."""

    max_bytes: int = MAX_BYTES
    seconds: float = MAX_SECONDS
    redirects: int = MAX_REDIRECTS


@frozen
class FetchedPage:
    """A page as it came, decompressed."""

    url: str
    """The requested address in canonical spelling."""
    final_url: str
    """The address after redirects."""
    media_type: str
    charset: str
    """The charset from the server; empty if it sends none."""
    body: bytes


async def resolve_name(host: str, port: int) -> Sequence[str]:
    """Addresses of a name from the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def connect_to(address: str, port: int, seconds: float) -> AsyncNetworkStream:
    """A TCP connection straight to the address."""
    import httpcore2

    return await httpcore2.AnyIOBackend().connect_tcp(address, port, seconds)


async def fetch(
    text: str,
    *,
    resolve: Resolve = resolve_name,
    connect: Connect = connect_to,
    limits: PageLimits | None = None,
    tls: ssl.SSLContext | None = None,
    network: Network | None = None,
) -> FetchedPage:
    """Read the page at an address.

    Raises:
        UrlRefused: it is refused or could not be read; the message is a sentence for the user.
    """
    limits = limits or PageLimits()
    try:
        async with asyncio.timeout(limits.seconds):
            way = _Connector(resolve, connect, tls, network or Network())
            return await _follow(parse(text), way, limits)
    except TimeoutError:
        raise UrlRefused(
            "url_timeout",
            f"The page did not come within {limits.seconds:g} seconds.",
            "Try again later.",
        ) from None


@frozen
class _Connector:
    """How servers are reached: resolver, connector, TLS, proxy."""

    resolve: Resolve
    connect: Connect
    tls: ssl.SSLContext | None
    network: Network

    async def context(self, *, proxied: bool) -> ssl.SSLContext:
        """The TLS context, with the trusted authorities. Raises NetworkError."""
        if self.tls is not None:
            return self.tls
        return await asyncio.to_thread(tls_context, self.network, proxied=proxied)


async def _follow(first: Target, way: _Connector, limits: PageLimits) -> FetchedPage:
    target = first
    seen = {first.url}
    while True:
        found = await _get(target, way, limits)
        if isinstance(found, str):
            target = _next(target, found)
            if target.url in seen or len(seen) > limits.redirects:
                raise UrlRefused(
                    "url_redirects",
                    "The server leads in a circle."
                    if target.url in seen
                    else f"The server leads on more than {limits.redirects} times.",
                    "Give the address that a browser shows in the end.",
                )
            seen.add(target.url)
            continue
        media_type, charset, body = found
        return FetchedPage(first.url, target.url, media_type, charset, body)


def _next(target: Target, location: str) -> Target:
    try:
        led = parse(urljoin(target.url, location))
    except UrlRefused as refused:
        raise UrlRefused(
            refused.code, f"The server leads on to another place. {refused.message}", refused.advice
        ) from None
    except ValueError:
        raise UrlRefused("url_redirects", "The server leads on to no address at all.") from None
    if target.scheme == "https" and led.scheme == "http":
        raise UrlRefused(
            "url_redirects",
            f"The server leads from https to http ({led.url}).",
            "Give that address yourself, if you trust it.",
        )
    return led


async def _addresses(target: Target, resolve: Resolve, *, proxied: bool) -> list[IP]:
    """Every address of the host, all of them checked: one bad one refuses the name. None if it does
    not resolve here but a proxy may resolve it.
    """
    if target.ip is not None:
        return [target.ip]
    try:
        answers = await resolve(target.host, target.port)
        found = [ipaddress.ip_address(answer) for answer in answers]
    except (OSError, ValueError, UnicodeError):
        found = []
    if not found and not proxied:
        raise UrlRefused(
            "url_unreachable",
            f"There is no server {target.host}.",
            "Check the address and the network.",
        )
    for address in found:
        check(address, target.host)
    return found


async def _get(target: Target, way: _Connector, limits: PageLimits) -> str | tuple[str, str, bytes]:
    """One hop: the address that the server redirects to, or (media type, charset, body)."""
    import httpcore2

    proxy = proxy_for(target.url, way.network)
    backend = _backend(await _addresses(target, way.resolve, proxied=bool(proxy)), way.connect)
    headers = [
        ("Host", target.authority),
        ("User-Agent", "Tierline (reads one page for its user)"),
        ("Accept", "text/html, text/plain, text/*;q=0.9, application/json;q=0.8, */*;q=0.1"),
        ("Accept-Encoding", "gzip, deflate"),
    ]
    with _explained(target, way):
        context = None
        if "https" in (target.scheme, proxy.partition(":")[0]):
            context = await way.context(proxied=bool(proxy))
        if proxy:
            pooled = httpcore2.AsyncConnectionPool(context, proxy=_proxy(proxy, context))
        else:
            pooled = httpcore2.AsyncConnectionPool(context, network_backend=backend)
        async with pooled as pool, pool.stream("GET", target.url, headers=headers) as response:
            fields = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in response.headers}
            if response.status in _REDIRECTS and (location := fields.get("location", "")):
                return location
            if response.status != 200:
                raise _failed(target, response.status)
            media_type, charset = _type(fields.get("content-type", ""))
            if (length := fields.get("content-length", "")).isdigit():
                _within(int(length), limits)
            stream: Any = response.stream
            return media_type, charset, await _body(stream, fields, limits)


@contextmanager
def _explained(target: Target, way: _Connector) -> Iterator[None]:
    """Failures of the connection as ``UrlRefused``."""
    import httpcore2

    try:
        yield
    except NetworkError as error:
        raise UrlRefused("url_unreachable", error.message, error.advice) from error
    except httpcore2.ProxyError as error:
        raise UrlRefused(
            "url_unreachable",
            f"The proxy did not let {target.host} through ({str(error)[:80]}).",
            f"Check the address, user name and password in {origin(way.network)}.",
        ) from None
    except (httpcore2.NetworkError, httpcore2.TimeoutException, OSError) as error:
        why = "its certificate is not valid" if "CERTIFICATE" in str(error).upper() else "no answer"
        raise UrlRefused(
            "url_unreachable",
            f"{target.host} could not be reached: {why}.",
            "Check the address and the network.",
        ) from None
    except httpcore2.ProtocolError:
        raise UrlRefused(
            "url_unreachable",
            f"{target.host} does not answer as a web server does.",
            "Check the address.",
        ) from None


def _proxy(address: str, context: ssl.SSLContext | None) -> Any:
    import httpcore2

    parts = urlsplit(address)
    auth = (unquote(parts.username or ""), unquote(parts.password or ""))
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return httpcore2.Proxy(
        place,
        auth=auth if any(auth) else None,
        ssl_context=context if parts.scheme == "https" else None,
    )


def _backend(addresses: Sequence[IP], connect: Connect) -> Any:
    import httpcore2

    class Backend(httpcore2.AsyncNetworkBackend):
        """Connects to the addresses that were checked, whatever name it is given."""

        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,  # noqa: ASYNC109 - the backend's interface
            local_address: str | None = None,  # noqa: ARG002
            socket_options: Any = None,  # noqa: ARG002
        ) -> AsyncNetworkStream:
            problem: Exception = OSError(f"{host} has no address")
            for address in addresses:
                try:
                    return await connect(str(address), port, timeout or _CONNECT_SECONDS)
                except (OSError, httpcore2.NetworkError, httpcore2.TimeoutException) as error:
                    problem = error
            raise problem

    return Backend()


async def _body(stream: AsyncIterable[bytes], fields: dict[str, str], limits: PageLimits) -> bytes:
    """The body, decompressed piece by piece, so that a decompression bomb hits the limit."""
    coding = fields.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UrlRefused(
            "url_type", f"The page is compressed in a way that was not asked for ({coding[:20]})."
        )
    unpack = _Unpack(coding) if coding not in ("", "identity") else None
    body = bytearray()
    raw = 0
    async for piece in stream:
        raw += len(piece)
        _within(raw, limits)
        try:
            body += unpack(piece, limits.max_bytes + 1 - len(body)) if unpack else piece
        except zlib.error:
            raise UrlRefused("url_type", "The page is compressed, but damaged.") from None
        _within(len(body), limits)
    return bytes(body)


class _Unpack:
    """gzip or deflate, never more than asked for at a time. ``deflate`` may lack its zlib wrapper:
    servers do both (RFC 9110, 8.4.1.2).
    """

    def __init__(self, coding: str) -> None:
        self._raw = coding == "deflate"
        self._unpack = zlib.decompressobj(15 + 32)

    def __call__(self, piece: bytes, room: int) -> bytes:
        try:
            out = self._unpack.decompress(piece, room)
        except zlib.error:
            if not self._raw:
                raise
            self._unpack = zlib.decompressobj(-15)
            out = self._unpack.decompress(piece, room)
        self._raw = False
        return out


def _type(value: str) -> tuple[str, str]:
    """Media type and charset of a Content-Type header; text only."""
    header = Message()
    header["content-type"] = value[:500]
    media_type = header.get_content_type() if value.strip() else ""
    if (
        media_type.startswith("text/")
        or media_type in _TEXT_TYPES
        or media_type.endswith(("+json", "+xml"))
    ) and media_type != "image/svg+xml":
        return media_type, str(header.get_content_charset("") or "")
    raise UrlRefused(
        "url_type",
        f"It is no text: the server calls it {media_type or 'nothing at all'}.",
        "Only pages and other texts are read.",
    )


def _within(size: int, limits: PageLimits) -> None:
    if size > limits.max_bytes:
        raise UrlRefused(
            "url_too_large",
            f"The page has more than {limits.max_bytes / 1e6:g} MB.",
            "Paste the part that matters, or give the address of a smaller page.",
        )


def _failed(target: Target, status: int) -> UrlRefused:
    what, advice = _STATUS.get(status, ("", ""))
    if not what:
        broken = status >= 500
        what = "could not be made: the server has a problem" if broken else "was not given"
        advice = "Try again later." if broken else "Check the address."
    return UrlRefused("url_status", f"The page {what} (HTTP {status}, {target.host}).", advice)
