"""A web server on loopback that says exactly what a test wants, and a network in which public names
and addresses lead to it. The product's own checks stay as they are: they see public addresses.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from attrs import define, field

from tierline.workspace.urls.fetch import FetchedPage, PageLimits, connect_to, fetch

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream

PUBLIC = "93.184.215.14"
"""An address that may be read; in these tests it is the server on loopback."""


@define
class Answer:
    """Bytes as they go over the wire; pieces after the first come ``pause`` seconds apart."""

    pieces: Sequence[bytes] = ()
    pause: float = 0.0
    endless: bytes = b""
    """Sent over and over after the pieces, until the client hangs up."""


def page(
    body: bytes | str = "<html><body>Hello</body></html>",
    *,
    status: str = "200 OK",
    type_: str = "text/html; charset=utf-8",
    **headers: str,
) -> Answer:
    """A whole answer with its length."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}"]
    if type_:
        lines.append(f"Content-Type: {type_}")
    fields = {"Content-Length": str(len(data))}
    fields |= {k.replace("_", "-"): v for k, v in headers.items()}
    lines += [f"{k}: {v}" for k, v in fields.items() if v]
    return Answer(["\r\n".join([*lines, "", ""]).encode("latin-1"), data])


def led(location: str, status: str = "302 Found") -> Answer:
    """A redirect."""
    return page("moved", status=status, type_="text/plain", Location=location)


@define
class Site:
    """What the server answers by path, and what it was asked."""

    answers: dict[str, Answer] = field(factory=dict)
    names: dict[str, Sequence[str]] = field(factory=dict)
    """Addresses of names other than the public one; a name that is not here is ``PUBLIC``."""
    requests: list[str] = field(factory=list)
    """Request heads as they came."""
    resolved: list[str] = field(factory=list)
    connected: list[tuple[str, int]] = field(factory=list)
    port: int = 0
    sent: int = 0
    """Bytes of endless bodies."""
    later: dict[str, Sequence[str]] = field(factory=dict)
    """What a name stands for from its second resolution on (DNS rebinding)."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        again = host in self.resolved
        self.resolved.append(host)
        found = self.later.get(host) if again else None
        found = found if found is not None else self.names.get(host, [PUBLIC])
        if not found:
            raise OSError("no such name")
        return found

    async def connect(self, address: str, port: int, seconds: float) -> AsyncNetworkStream:
        self.connected.append((address, port))
        if address != PUBLIC:
            raise OSError(f"a test reached for {address}")
        return await connect_to("127.0.0.1", self.port, seconds)

    async def fetch(
        self, url: str, limits: PageLimits | None = None, tls: ssl.SSLContext | None = None
    ) -> FetchedPage:
        return await fetch(url, resolve=self.resolve, connect=self.connect, limits=limits, tls=tls)

    def paths(self) -> list[str]:
        return [head.split(" ", 2)[1] for head in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests.append(head)
            path = head.split(" ", 2)[1]
            answer = self.answers.get(path) or page("nothing", status="404 Not Found")
            for piece in answer.pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(answer.pause)
            while answer.endless:
                writer.write(answer.endless)
                self.sent += len(answer.endless)
                await writer.drain()
                await asyncio.sleep(answer.pause)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def site(
    answers: Mapping[str, Answer] | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Site]:
    """Serve on a loopback port of the system's choice."""
    made = Site(dict(answers or {}))
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made
