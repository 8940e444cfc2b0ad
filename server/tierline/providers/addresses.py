"""Facts about an address from its text alone."""

from __future__ import annotations

from urllib.parse import urlsplit

from tierline.network import is_this_machine


def host_of(url: str) -> str:
    """The host in lower case; empty if there is none or the address is invalid."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(url: str) -> bool:
    """True for an address on this machine."""
    return is_this_machine(host_of(url))
