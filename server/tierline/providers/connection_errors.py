"""Why a service was not reached: one sentence and what to do, from the HTTP client's exception.

The clients wrap the cause several times over, and its own text names files and line numbers of
OpenSSL. The user needs to know which step failed: the name, the connection, the certificate, the
proxy.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from attrs import frozen

from tierline.network import Network, origin, proxy_for

_DEPTH = 20
_SPENT_NAMES = frozenset({"ConnectTimeout", "TimeoutError"})
_BROKEN_NAMES = frozenset({"RemoteProtocolError", "ReadError", "WriteError"})
NETWORK_ADVICE = "Check the network and the base URL, then retry."


@frozen
class ConnectionFailure:
    """``message`` is empty if the step is not known; ``advice`` never is."""

    message: str = ""
    advice: str = NETWORK_ADVICE
    retryable: bool = True


def failure_of(  # noqa: PLR0911
    service: str, url: str, error: BaseException, network: Network | None = None
) -> ConnectionFailure:
    """Which step failed. ``url`` is the service's address; no request is made."""
    network = network or Network()
    causes = list(causes_of(error))
    names = {c.__name__ for cause in causes for c in type(cause).__mro__}
    proxy = proxy_of(url, network)
    place = proxy or _place(url)
    if "ProxyError" in names:
        return ConnectionFailure(
            f"The proxy {proxy or 'of this network'} did not let the request through "
            f"({_short(error)}).",
            f"Check the address, user name and password in {origin(network)}.",
            retryable=False,
        )
    if (insecure := _insecure(causes, _place(url), place)) is not None:
        return insecure
    if proxy and names & {"ConnectError", "ConnectTimeout"}:
        return ConnectionFailure(
            f"The proxy {proxy} cannot be reached.",
            f"Check {origin(network)} and the network, or add {_host(url)} to "
            f"{'network.no_proxy' if network.proxy else 'NO_PROXY'}.",
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return ConnectionFailure(
            f"{service} cannot be reached: the name {_host(url)} is not known.",
            "Check the network and the spelling of the base URL, then retry.",
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ConnectionFailure(
            f"{service} cannot be reached: nothing listens at {place}.",
            "Start the server or check the base URL, then retry.",
        )
    if names & _SPENT_NAMES:
        return ConnectionFailure(f"{service} cannot be reached: {place} does not answer.")
    if names & _BROKEN_NAMES:
        return ConnectionFailure(
            f"{service} closed the connection before a reply came.", "Wait a little, then retry."
        )
    return ConnectionFailure()


def _insecure(
    causes: Sequence[BaseException], service: str, place: str
) -> ConnectionFailure | None:
    """What was wrong with the TLS connection. ``place`` is the proxy, if there is one."""
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message.rstrip(".") or "it could not be checked"
            return ConnectionFailure(
                f"The certificate of {service} is not trusted: {reason}.",
                "Add your network's certificate authority to the system, or name its PEM file in "
                "network.ca_file or NODE_EXTRA_CA_CERTS.",
                retryable=False,
            )
    for cause in causes:
        if isinstance(cause, ssl.SSLError) and "CERTIFICATE" in (cause.reason or "").upper():
            return ConnectionFailure(
                f"{service} wants to see a certificate of yours, or does not take the one that "
                "it was shown.",
                "Name the PEM files in network.client_certificate and network.client_key.",
                retryable=False,
            )
        if isinstance(cause, ssl.SSLError):
            return ConnectionFailure(
                f"{place} does not answer with a secure connection "
                f"({(cause.reason or 'TLS').lower().replace('_', ' ')}).",
                "Check the port, and whether the base URL should begin with http instead of https.",
                retryable=False,
            )
    return None


def is_connection_broken(error: BaseException) -> bool:
    """True if an established connection was closed."""
    return any(c.__name__ in _BROKEN_NAMES for one in causes_of(error) for c in type(one).__mro__)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """An exception and its causes, with those of groups (one for each address that was tried)."""
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


def proxy_of(url: str, network: Network | None = None) -> str:
    """``host:port`` of the proxy to an address, without user and password; empty if none."""
    try:
        proxy = proxy_for(url, network)
        return _place(proxy) if proxy else ""
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
