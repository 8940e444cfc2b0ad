"""Which addresses may be read: public web servers, and nothing inside anyone's network.

A page is read on the user's request, but the address may come from a text that somebody else wrote,
and a server may redirect to any other address. So each hop goes through here: the address's form,
the host's name, and each address that the name stands for (WHATWG URL Standard, "host parsing";
IANA IPv4 and IPv6 Special-Purpose Address Registries).
"""

from __future__ import annotations

import ipaddress
import re
from typing import TypeAlias
from urllib.parse import quote, urlsplit

from attrs import frozen

from tierline.errors import CodedError

IP: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"

MAX_LENGTH = 2048
"""Characters of an address; browsers and servers take about as many."""
_PORTS = {"http": 80, "https": 443}
_BAD_PORTS = frozenset(
    (1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6679, 6697, 10080)
) | frozenset(range(6665, 6670))
"""Ports of other services above 1023 (Fetch Standard, "port blocking")."""
_CONTROL = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_LOCAL_NAMES = frozenset(("localhost", "local", "internal", "home.arpa", "localdomain", "onion"))
"""Names of this machine or this network, alone and as an ending (RFC 6761, 6762, 8375)."""
_METADATA = frozenset(map(ipaddress.ip_address, ("168.63.129.16", "100.100.100.200")))
"""Clouds' metadata services outside the link-local range."""
_RESERVED = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "2001::/23", "2001:db8::/32",
         "3fff::/20", "5f00::/16"),
    )
)  # fmt: skip
"""Ranges of the registries that older versions of Python's ``ipaddress`` lack."""
_GLOBAL = ipaddress.ip_network("2000::/3")
"""The IPv6 range assigned for public use."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SIXTOFOUR = ipaddress.ip_network("2002::/16")
_COMPATIBLE = ipaddress.ip_network("::/96")


class UrlRefused(CodedError):  # noqa: N818 - a refusal is an answer, not a fault
    """An address or a page was refused."""


@frozen
class Target:
    """An address in canonical spelling."""

    scheme: str
    host: str
    """Lower case, ASCII (punycode), without a final dot or brackets."""
    port: int
    path: str
    """Path and query as they are sent."""
    ip: IP | None = None
    """The IP address, if the host is one and not a name."""

    @property
    def authority(self) -> str:
        """``example.org``, ``[2001:db8::1]:8443``: the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse(text: str) -> Target:
    """Parse an address as typed or as sent by a server; ``example.org/x`` means https.

    The fragment is dropped: it is never sent.

    Raises:
        UrlRefused: it is not a web address, or names a host that must not be read.
    """
    text = text.strip()
    if not text or len(text) > MAX_LENGTH or _CONTROL.search(text):
        raise _invalid(text)
    head, found, _ = text.partition("://")
    if not found and not re.match(r"[a-zA-Z][\w+.-]*:(?!\d)", text):
        text, head = f"https://{text.lstrip('/')}", "https"
    scheme = head.partition(":")[0].lower()
    if scheme not in _PORTS:
        raise UrlRefused(
            "url_scheme",
            f"Only http and https addresses are read, not {scheme[:20]}:.",
            "Give the address of a web page.",
        )
    try:
        parts = urlsplit(text)
        port = parts.port
        name = parts.hostname or ""
    except ValueError:
        raise _invalid(text) from None
    if "@" in parts.netloc:
        raise UrlRefused(
            "url_userinfo",
            "The address has a user name or a password in it.",
            "Give it without; Tierline sends no credentials to web pages.",
        )
    port = _port(scheme, port)
    host, address = _host(name, bracketed="[" in parts.netloc)
    if address is not None:
        check(address, host)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    return Target(scheme, host, port, path + (f"?{query}" if query else ""), address)


def check(address: IP, name: str) -> None:
    """Let public addresses pass.

    Raises:
        UrlRefused: it is loopback, link-local, private, unique-local, multicast, reserved,
            unspecified, shared or a cloud's metadata service, also inside an IPv6 form of it.
    """
    kind = _kind(address)
    if kind:
        shown = str(address) if name == str(address) else f"{name} is {address}, which"
        raise UrlRefused(
            "url_private",
            f"{shown} is {kind}: not read.",
            "Tierline reads public web pages only. Add the file, or paste the text.",
        )


def _kind(address: IP) -> str:  # noqa: PLR0911 - one line per kind
    if isinstance(address, ipaddress.IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return _kind(inner)
        if address.is_site_local or address in ipaddress.ip_network("fc00::/7"):
            return "a private address"
    if address in _METADATA or str(address) in ("169.254.169.254", "fd00:ec2::254"):
        return "a cloud's metadata service"
    if address.is_unspecified:
        return "the unspecified address"
    if address.is_loopback:
        return "this machine"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    if address.is_private:
        return "a private address"
    outside = address.version == 6 and address not in _GLOBAL
    if address.is_reserved or not address.is_global or outside:
        return "a reserved address"
    if any(address in network for network in _RESERVED):
        return "a reserved address"
    return ""


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _SIXTOFOUR:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return low
    return None


def _port(scheme: str, port: int | None) -> int:
    if port is None:
        return _PORTS[scheme]
    if port in _PORTS.values() or (port >= 1024 and port not in _BAD_PORTS):
        return port
    raise UrlRefused(
        "url_port",
        f"Port {port} belongs to another kind of service: not read.",
        "Web pages are on port 80, 443 or one above 1023.",
    )


def _host(name: str, *, bracketed: bool) -> tuple[str, IP | None]:
    if bracketed:
        try:
            found = ipaddress.IPv6Address(name)  # with a zone (%eth0) it is link-local and refused
        except ValueError:
            raise _invalid(name) from None
        return str(found), found
    host = name.rstrip(".")
    try:
        ascii_name = host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        raise _invalid(name) from None
    host = ascii_name.lower()
    address = _ipv4(host)
    if address is not None:
        return str(address), address
    labels = host.split(".")
    if not all(_LABEL.fullmatch(label) for label in labels) or len(host) > 253:
        raise _invalid(name)
    if any(host == n or host.endswith(f".{n}") for n in _LOCAL_NAMES) or len(labels) == 1:
        raise UrlRefused(
            "url_private",
            f"{host} is a name of this machine or this network: not read.",
            "Tierline reads public web pages only. Add the file, or paste the text.",
        )
    return host, None


def _ipv4(host: str) -> ipaddress.IPv4Address | None:
    """An IPv4 address in any of its spellings: decimal, octal or hexadecimal, one to four parts.

    None for a name. A host whose last part is a number is an address or an error, never a name
    (WHATWG URL Standard, "ends in a number").
    """
    parts = host.split(".")
    if not _NUMBER.fullmatch(parts[-1]):
        return None
    values = []
    for part in parts:
        if not _NUMBER.fullmatch(part) or len(part) > 24:
            raise _invalid(host)
        try:
            if part[:2].lower() == "0x":
                values.append(int(part[2:] or "0", 16))
            else:
                values.append(int(part, 8 if len(part) > 1 and part[0] == "0" else 10))
        except ValueError:
            raise _invalid(host) from None
    *front, last = values
    if len(values) > 4 or any(v > 255 for v in front) or last >= 256 ** (5 - len(values)):
        raise _invalid(host)
    return ipaddress.IPv4Address(sum(v << (24 - 8 * i) for i, v in enumerate(front)) + last)


def _invalid(text: str) -> UrlRefused:
    return UrlRefused(
        "url_invalid",
        f"{text[:80] or 'Nothing'!r} is not a web address.",
        "It looks like https://example.org/page.",
    )
