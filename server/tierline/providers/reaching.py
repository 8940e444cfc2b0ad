"""Why a service was not reached: one sentence and what to do, from what the HTTP client raised.

The clients wrap the cause several times over, and its own text names files and line numbers of
OpenSSL. What helps is which step failed: the name, the way there, the certificate, the proxy.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from attrs import frozen

from tierline.providers.addresses import is_loopback

_DEPTH = 20
_SPENT_NAMES = frozenset({"ConnectTimeout", "TimeoutError"})
_BROKEN_NAMES = frozenset({"RemoteProtocolError", "ReadError", "WriteError"})
NETWORK_ADVICE = "Check the network and the base URL, then retry."


@frozen
class Unreached:
    """``message`` is empty if the step is not known; ``advice`` holds in every case."""

    message: str = ""
    advice: str = NETWORK_ADVICE
    retryable: bool = True


def why(service: str, url: str, error: BaseException) -> Unreached:  # noqa: PLR0911
    """Which step failed. ``url`` is the service's address, which is not asked for anything."""
    causes = list(chain(error))
    names = {c.__name__ for cause in causes for c in type(cause).__mro__}
    proxy = proxy_of(url)
    place = proxy or _place(url)
    if "ProxyError" in names:
        return Unreached(
            f"The proxy {proxy or 'of this network'} did not let the request through "
            f"({_short(error)}).",
            "Check the address, user name and password in HTTPS_PROXY.",
            retryable=False,
        )
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message.rstrip(".") or "it could not be checked"
            return Unreached(
                f"The certificate of {_place(url)} is not trusted: {reason}.",
                "Add your network's certificate authority to the system, or set SSL_CERT_FILE.",
                retryable=False,
            )
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return Unreached(
                f"{place} does not answer with a secure connection "
                f"({(cause.reason or 'TLS').lower().replace('_', ' ')}).",
                "Check the port, and whether the base URL should begin with http instead of https.",
                retryable=False,
            )
    if proxy and names & {"ConnectError", "ConnectTimeout"}:
        return Unreached(
            f"The proxy {proxy} cannot be reached.",
            f"Check HTTPS_PROXY and the network, or add {_host(url)} to NO_PROXY.",
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return Unreached(
            f"{service} cannot be reached: the name {_host(url)} is not known.",
            "Check the network and the spelling of the base URL, then retry.",
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return Unreached(
            f"{service} cannot be reached: nothing listens at {place}.",
            "Start the server or check the base URL, then retry.",
        )
    if names & _SPENT_NAMES:
        return Unreached(f"{service} cannot be reached: {place} does not answer.")
    if names & _BROKEN_NAMES:
        return Unreached(
            f"{service} closed the connection before a reply came.", "Wait a little, then retry."
        )
    return Unreached()


def chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what caused it, groups included (an address for each attempt)."""
    seen: set[int] = set()
    left = [error]
    while left and len(seen) < _DEPTH:
        one = left.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions
        left += [cause for cause in (one.__cause__, one.__context__) if cause is not None]


def proxy_of(url: str, proxies: Mapping[str, str] | None = None) -> str:
    """``host:port`` of the proxy that the environment sets for an address; empty if none is used.
    Never its user name or password.
    """
    try:
        parts = urlsplit(url)
        if not parts.hostname or is_loopback(url) or proxy_bypass(parts.hostname):
            return ""
        found = getproxies() if proxies is None else proxies
        proxy = found.get(parts.scheme) or found.get("all") or ""
        return _place(proxy if "://" in proxy else f"http://{proxy}") if proxy else ""
    except ValueError:
        return ""


def _host(url: str) -> str:
    return urlsplit(url).hostname or "the server"


def _place(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{_host(url)}:{port}" if port else _host(url)


def _short(error: BaseException) -> str:
    text = " ".join(str(error.__cause__ or error).split())
    return text[:80] or type(error).__name__
