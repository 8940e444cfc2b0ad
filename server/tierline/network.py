"""How other machines are reached: through which proxy, trusting whose certificates, showing which.

As the user's other tools do it. The environment counts: ``HTTPS_PROXY``, ``HTTP_PROXY``,
``ALL_PROXY``, ``NO_PROXY`` (and the system's own settings on macOS and Windows), ``SSL_CERT_FILE``
and ``SSL_CERT_DIR`` in place of the system's certificates, ``REQUESTS_CA_BUNDLE``,
``CURL_CA_BUNDLE`` and ``NODE_EXTRA_CA_CERTS`` beside them. Settings take precedence. This machine
is never reached through a proxy.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from tierline.errors import CodedError

log = logging.getLogger(__name__)

ADDED = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables of other tools that name certificate authorities, a file or a folder each."""
NONE = "none"


class NetworkError(CodedError):
    """A setting of the network cannot be used. ``code`` is ``network``."""


@frozen
class Network:
    """Proxy and certificates, beside those of the environment. Never taken from the workspace's own
    file: a repository must not choose the way of your requests.
    """

    proxy: str = field(default="", repr=False)
    """Proxy for everything that is not on this machine, such as http://proxy.example:3128; empty
    for the environment's, none for no proxy at all. VS Code passes on its http.proxy."""
    no_proxy: str = ""
    """Hosts that are reached directly, with commas between them: names (with all below them),
    addresses, ranges such as 10.0.0.0/8; empty for the environment's NO_PROXY."""
    proxy_strict_ssl: bool = True
    """False: certificates behind the proxy are not checked. Name the authority in ca_file instead
    where you can."""
    ca_file: str = ""
    """A PEM file with certificate authorities to trust beside the system's."""
    client_certificate: str = ""
    """A PEM file with your certificate, for servers that ask for one."""
    client_key: str = ""
    """The PEM file of its key, if that is not in the same file. It must not need a password."""


def proxy_for(
    url: str, network: Network | None = None, proxies: Mapping[str, str] | None = None
) -> str:
    """The address of the proxy on the way to ``url``, its user name and password included; empty
    if there is none. ``proxies`` stands in for the environment's.
    """
    from urllib.request import getproxies, proxy_bypass

    network, host = network or Network(), host_of(url)
    if not host or network.proxy == NONE or is_this_machine(host):
        return ""
    found = getproxies() if proxies is None else proxies
    if network.no_proxy:
        if _among(host, network.no_proxy):
            return ""
    elif _among(host, found.get("no", "")) or (proxies is None and proxy_bypass(host)):
        return ""
    proxy = network.proxy or found.get(urlsplit(url).scheme) or found.get("all") or ""
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def is_this_machine(host: str) -> bool:
    """True for a name or an address of the loopback interface."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host in lower case; empty if there is none or the address is invalid."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(url: str) -> bool:
    """True for an address on this machine."""
    return is_this_machine(host_of(url))


def options(url: str, network: Network) -> dict[str, Any]:
    """Options for an ``httpx2`` client that reaches ``url``, and nothing else.

    Raises:
        NetworkError: the proxy or a certificate cannot be used; it says what to do.
    """
    import httpx2

    found: dict[str, Any] = {"trust_env": False}
    proxy = proxy_for(url, network)
    if proxy or url.startswith("https"):
        found["verify"] = tls_context(network, proxied=bool(proxy))
    if proxy:
        try:
            secured = found["verify"] if proxy.startswith("https") else None
            way = httpx2.Proxy(proxy, ssl_context=secured)
        except (ValueError, httpx2.InvalidURL) as error:
            raise NetworkError(
                "network",
                "The address of the proxy is none.",
                f"Correct {origin(network)}; it looks like http://proxy.example:3128.",
            ) from error
        found["proxy"] = way
    return found


def tls_context(network: Network, *, proxied: bool = False) -> ssl.SSLContext:
    """The TLS context: which authorities are trusted, which client certificate is shown.

    Raises:
        NetworkError: a file that a setting or ``SSL_CERT_FILE`` names cannot be used.
    """
    import httpcore2

    try:
        context = httpcore2.default_ssl_context()
    except (OSError, ssl.SSLError) as error:
        where = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR", "")
        raise _unusable("SSL_CERT_FILE or SSL_CERT_DIR", where, error) from error
    for variable, path in named_by_environment():
        try:
            _trust(context, path)
        except (OSError, ssl.SSLError) as error:
            log.warning("%s names %s, which is not used: %s", variable, path, _why(error))
    if network.ca_file:
        try:
            _trust(context, network.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise _unusable("network.ca_file", network.ca_file, error) from error
    if network.client_certificate:
        try:
            context.load_cert_chain(
                Path(network.client_certificate).expanduser(),
                Path(network.client_key).expanduser() if network.client_key else None,
                password=_no_password,
            )
        except (OSError, ssl.SSLError, ValueError) as error:
            raise _unusable(
                "network.client_certificate or network.client_key",
                network.client_key or network.client_certificate,
                error,
            ) from error
    if proxied and not network.proxy_strict_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def named_by_environment(env: Mapping[str, str] | None = None) -> Iterator[tuple[str, str]]:
    """The variables of other tools that name certificates, with their values."""
    for variable in ADDED:
        if path := (os.environ if env is None else env).get(variable, "").strip():
            yield variable, path


def origin(network: Network) -> str:
    """Where the proxy in force is set, in the user's words."""
    return "network.proxy (http.proxy in VS Code)" if network.proxy else "HTTPS_PROXY"


def _trust(context: ssl.SSLContext, path: str) -> None:
    place = Path(path).expanduser()
    if place.is_dir():
        context.load_verify_locations(capath=place)
    else:
        context.load_verify_locations(cafile=place)


def _no_password() -> str:
    raise ValueError("it needs a password")


def _unusable(setting: str, path: str, error: Exception) -> NetworkError:
    return NetworkError(
        "network",
        f"{path} cannot be used: {_why(error)}.",
        f"Correct {setting}: it has to be a readable PEM file.",
    )


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "it has no PEM in it").lower().replace("_", " ")
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


def _among(host: str, entries: str) -> bool:
    """True if a ``NO_PROXY`` list names the host, a domain above it, or its address range."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    for entry in entries.replace(";", ",").split(","):
        name = entry.strip().lower()
        if name == "*":
            return True
        name = name.rpartition(":")[0] if name.count(":") == 1 else name.strip("[]")
        if not name:
            continue
        if address is not None:
            try:
                if address in ipaddress.ip_network(name, strict=False):
                    return True
            except ValueError:
                pass
            continue
        domain = name.removeprefix("*").removeprefix(".")
        if host.lower() == domain or host.lower().endswith(f".{domain}"):
            return True
    return False
