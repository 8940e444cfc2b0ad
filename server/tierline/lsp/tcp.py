"""The debugging mode over TCP: authenticating the client.

Any program of this machine can connect to a port of it, and a web page can make the browser send a
POST to it. So the first message has to be an ``initialize`` of the protocol's own form that carries
the token of this start. Any other connection is closed, and the port stays open.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import os
import re
import secrets
from collections.abc import Mapping
from typing import Any

TOKEN_VARIABLE = "TIERLINE_TCP_TOKEN"  # noqa: S105 - the variable's name
"""A token of the user's own choice; without it one is made for each start."""
_MIN_TOKEN = 16
_SECONDS = 10.0
_MAX_BYTES = 1_000_000
_MAX_HEADERS = 4
_HEADER = re.compile(rb"(?i:Content-(?:Length|Type)): [ -~]{1,100}\r\n")
_LENGTH = re.compile(rb"(?i:Content-Length): (\d{1,9})\r\n")


def is_loopback(host: str) -> bool:
    """True for this machine's own addresses, the only ones that can be listened on."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token() -> str:
    """The token of this start.

    Raises:
        ValueError: the one in the environment is too short to be a secret.
    """
    given = os.environ.get(TOKEN_VARIABLE, "")
    if given and len(given) < _MIN_TOKEN:
        raise ValueError(f"{TOKEN_VARIABLE} must have at least {_MIN_TOKEN} characters.")
    return given or secrets.token_urlsafe(24)


class AuthenticatedReader:
    """A connection whose first message was read for the check and is replayed."""

    def __init__(self, first: bytes, rest: asyncio.StreamReader) -> None:
        self._first = asyncio.StreamReader(limit=_MAX_BYTES * 2)
        self._first.feed_data(first)
        self._first.feed_eof()
        self._rest = rest

    async def readline(self) -> bytes:
        """The next line of a header."""
        return await self._first.readline() or await self._rest.readline()

    async def readexactly(self, n: int) -> bytes:
        """The next body; it is either wholly replayed or wholly new."""
        return await (self._rest if self._first.at_eof() else self._first).readexactly(n)


async def authenticate(reader: asyncio.StreamReader, expected: str) -> AuthenticatedReader | None:
    """The connection, if its first message is ``initialize`` with the token; else None."""
    try:
        async with asyncio.timeout(_SECONDS):
            first = await _first(reader, expected)
    except (TimeoutError, ConnectionError, asyncio.IncompleteReadError, ValueError):
        return None  # ValueError: a line beyond the reader's limit, or no JSON
    return None if first is None else AuthenticatedReader(first, reader)


async def _first(reader: asyncio.StreamReader, expected: str) -> bytes | None:
    head, length = b"", 0
    for _ in range(_MAX_HEADERS):
        line = await reader.readline()
        if line == b"\r\n":
            break
        if not _HEADER.fullmatch(line):  # for example the first line of an HTTP request
            return None
        head += line
        if match := _LENGTH.fullmatch(line):
            length = int(match[1])
    else:
        return None
    if not 0 < length <= _MAX_BYTES:
        return None
    body = await reader.readexactly(length)
    try:
        message = json.loads(body)
    except RecursionError:
        return None
    given = _token_in(message)
    # As bytes: ``compare_digest`` accepts no text beyond ASCII.
    if given is None or not hmac.compare_digest(given.encode(), expected.encode()):
        return None
    return b"Content-Length: %d\r\n\r\n" % length + body


def _token_in(message: Any) -> str | None:
    if not isinstance(message, Mapping) or message.get("method") != "initialize":
        return None
    params = message.get("params")
    options = params.get("initializationOptions") if isinstance(params, Mapping) else None
    given = options.get("token") if isinstance(options, Mapping) else None
    return given if isinstance(given, str) and given.isprintable() else None
