"""Carries connections from one address to another: ``forward.py unix:/run/x tcp:8080``.

Needs nothing but the standard library: it also runs in the clean container, where a Unix socket is
the only way in and out when there is no network.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.close()


async def _connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    kind, _, place = address.partition(":")
    if kind == "unix":
        return await asyncio.open_unix_connection(place)
    return await asyncio.open_connection("127.0.0.1", int(place))


async def forward(listen: str, target: str) -> None:
    """Serve on ``listen`` until the process ends. Addresses: ``unix:PATH`` and ``tcp:PORT``."""

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await _connect(target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))

    kind, _, place = listen.partition(":")
    if kind == "unix":
        server = await asyncio.start_unix_server(accepted, place)
    else:
        server = await asyncio.start_server(accepted, "127.0.0.1", int(place))
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(forward(sys.argv[1], sys.argv[2]))
