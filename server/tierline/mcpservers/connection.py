"""One MCP server, reached through the official SDK, for as long as the workspace is open."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from tierline import __version__
from tierline.context.blocks import Image
from tierline.mcpservers.definitions import ServerDefinition

log = logging.getLogger(__name__)

CONNECT_SECONDS = 20.0
"""How long a server may take to start and to list its tools."""
CALL_SECONDS = 120.0
"""How long one call may take."""
MAX_TOOLS = 100
"""Tools of one server; the rest is not offered."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class ServerError(Exception):
    """The server cannot be reached, or did not answer. The text says why, without a full stop."""


@frozen
class ServerTool:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    reads_only: bool = False
    """The server says that it changes nothing. A hint, never a reason to leave out the question."""


@frozen
class McpAnswer:
    """A tool's result."""

    text: str
    error: bool = False
    images: tuple[Image, ...] = ()


class ServerConnection:
    """Starts or connects to one server, in a task of its own: the SDK's cancel scopes must be left
    by the task that entered them.
    """

    def __init__(self, definition: ServerDefinition, folder: str) -> None:
        self.definition = definition
        self.tools: tuple[ServerTool, ...] = ()
        self._folder = folder
        self._client: Any = None
        self._leave = asyncio.Event()
        self._ready: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect and list the tools.

        Raises:
            ServerError: it does not answer as a server does.
        """
        self._leave.clear()
        self._ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._stay(self._ready))
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.shield(self._ready)
        except TimeoutError:
            await self.close()
            raise ServerError(f"it did not answer within {CONNECT_SECONDS:.0f} s") from None

    async def call(self, name: str, arguments: Mapping[str, Any]) -> McpAnswer:
        """Call a tool.

        Raises:
            ServerError: the server has ended, or refused.
        """
        if self._client is None:
            await self.open()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                found = await self._client.call_tool(name, dict(arguments))
        except TimeoutError:
            raise ServerError(f"it did not answer within {CALL_SECONDS:.0f} s") from None
        except Exception as error:
            if _gone(error):
                await self.close()  # the next call starts it again
            raise ServerError(_sentence(error)) from error
        return _answer(found)

    async def close(self) -> None:
        """End the connection, and the program if we started it."""
        self._leave.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _stay(self, ready: asyncio.Future[None]) -> None:
        try:
            async with contextlib.AsyncExitStack() as stack:
                client = await stack.enter_async_context(await self._connected(stack))
                listed = await client.list_tools()
                self.tools = tuple(_tool(tool) for tool in listed.tools[:MAX_TOOLS])
                self._client = client
                if not ready.done():
                    ready.set_result(None)
                await self._leave.wait()
        except (Exception, BaseExceptionGroup) as error:
            log.info("The MCP server %s ended: %s", self.definition.name, _sentence(error))
            if not ready.done():
                ready.set_exception(ServerError(_sentence(error)))
        finally:
            self._client = None

    async def _connected(self, stack: contextlib.AsyncExitStack) -> Any:
        from mcp import Client, StdioServerParameters
        from mcp.types import Implementation

        given = self.definition
        server: Any
        if given.url:
            from httpx2 import AsyncClient
            from mcp.client.streamable_http import streamable_http_client

            http = await stack.enter_async_context(AsyncClient(headers=dict(given.headers)))
            server = streamable_http_client(given.url, http_client=http)
        else:
            program, *arguments = given.command
            server = StdioServerParameters(
                command=program, args=arguments, env=dict(given.env), cwd=self._folder
            )
        return Client(server, client_info=Implementation(name="tierline", version=__version__))


def _tool(tool: Any) -> ServerTool:
    schema = tool.input_schema if isinstance(tool.input_schema, Mapping) else {}
    hints = tool.annotations
    return ServerTool(
        str(tool.name),
        str(tool.description or tool.title or ""),
        {"type": "object", **schema},
        bool(hints is not None and hints.read_only_hint),
    )


def _answer(found: Any) -> McpAnswer:
    """Joins texts, keeps pictures, and names content of any other kind."""
    texts, images = [], []
    for part in found.content or ():
        kind = getattr(part, "type", "")
        if kind == "text":
            texts.append(part.text)
        elif kind == "image" and part.mime_type in _PICTURES:
            images.append(Image(part.mime_type, part.data))
        elif kind == "resource" and isinstance(text := getattr(part.resource, "text", None), str):
            texts.append(text)
        elif kind == "resource_link":
            texts.append(str(part.uri))
        else:
            texts.append(f"[{kind or 'something'} that cannot be shown]")
    structured = getattr(found, "structured_content", None)
    if structured is not None and not texts:
        texts.append(json.dumps(structured, ensure_ascii=False))
    return McpAnswer("\n".join(texts) or "(no content)", bool(found.is_error), tuple(images))


def _gone(error: Exception) -> bool:
    """True if the server has ended, rather than refused."""
    from mcp.types import CONNECTION_CLOSED

    return getattr(error, "code", None) == CONNECTION_CLOSED


def _sentence(error: BaseException) -> str:
    """The innermost reason, on one line."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError):
        return "its program was not found"
    if isinstance(error, ModuleNotFoundError):
        return "the package mcp is not installed (pip install 'tierline[mcp]')"
    return " ".join(str(error).split())[:300] or type(error).__name__
