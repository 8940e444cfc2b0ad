"""A language client as an editor has one, with typed requests and a record of the events."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import attrs
from lsprotocol import types as lsp
from pytest_lsp import LanguageClient
from pytest_lsp.protocol import LanguageClientProtocol

from support.warm import forking
from tierline import protocol as p
from tierline.lsp.codec import make_converter
from tierline.lsp.tcp import TOKEN_VARIABLE
from tierline.lsp.wire import TierlineProtocol

BY_PARAMS = {m.params: m for m in p.METHODS if m.params is not p.NoParams}


class ClientProtocol(TierlineProtocol, LanguageClientProtocol):
    """Knows the results' types as well."""

    _begun = True  # an editor is asked nothing before it has begun itself

    @lru_cache  # noqa: B019
    def get_result_type(self, method: str) -> type[Any] | None:
        return _response(method) or super().get_result_type(method)


@cache
def _response(method: str) -> type[Any] | None:
    """The class of the answer to one of our requests, one for all editors."""
    for ours in p.METHODS:
        if ours.name == method:
            return attrs.make_class(
                f"{ours.result.__name__}Response",
                {
                    "id": attrs.field(type=int | str),  # type: ignore[arg-type]
                    "result": attrs.field(type=ours.result),
                    "jsonrpc": attrs.field(type=str),
                },
            )
    return None


converter = cache(make_converter)
"""One for all editors of a worker: a type's hooks are compiled once, not for each test."""


TOKEN = "the token of these tests"


class Editor:
    """One connection to a server, over stdio or TCP."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.events: list[p.Event] = []
        self._changed = asyncio.Event()
        self._stopped = False
        self.client = LanguageClient(protocol_cls=ClientProtocol, converter_factory=converter)
        self.process: asyncio.subprocess.Process | None = None

        @self.client.feature(p.EVENT)
        def on_event(params: p.Event) -> None:
            self.events.append(params)
            self._changed.set()

        self.forked = True
        """Off for a test that measures the process: one that is forked has more in its memory."""
        self.locale: str | None = None
        """The language that the client speaks, as an editor says it to the server."""
        self.told: list[str] = []
        """What the server said with ``window/showMessage``."""

        @self.client.feature(lsp.WINDOW_SHOW_MESSAGE)
        def on_message(params: lsp.ShowMessageParams) -> None:
            self.told.append(params.message)

        @self.client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def on_register(_params: lsp.RegistrationParams) -> None:
            return None

    async def start(
        self,
        transport: str = "stdio",
        *,
        env: dict[str, str] | None = None,
        settings: dict[str, Any] | None = None,
        folders: list[Path] | None = None,
        capabilities: lsp.ClientCapabilities | None = None,
    ) -> None:
        """Start the server and shake hands."""
        clean = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        clean |= {
            "XDG_CONFIG_HOME": str(self.workspace / ".config"),
            "TIERLINE_DATA_DIR": str(self.workspace / ".data"),
            "TIERLINE_STATE_DIR": str(self.workspace.parent / ".state"),
            TOKEN_VARIABLE: TOKEN,
            "TIERLINE_SYMBOLS_ENABLED": "false",  # tests of other things see their own bytes only
            **(env or {}),
        }
        command = [sys.executable, "-m", "tierline", "serve"]
        if transport == "stdio":
            with forking() if self.forked else nullcontext():
                await self.client.start_io(*command, env=clean)
        else:
            await self._start_tcp(command, clean)
        roots = folders or [self.workspace]
        result = await self.client.initialize_session(
            lsp.InitializeParams(
                process_id=os.getpid(),
                locale=self.locale,
                capabilities=capabilities or lsp.ClientCapabilities(),
                workspace_folders=[lsp.WorkspaceFolder(f.as_uri(), f.name) for f in roots],
                initialization_options={"settings": settings or {}, "token": TOKEN},
            )
        )
        self.capabilities: Any = result.capabilities

    async def _start_tcp(self, command: list[str], env: dict[str, str]) -> None:
        import socket

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with forking() if self.forked else nullcontext():
            self.process = await asyncio.create_subprocess_exec(
                *command, "--tcp", f"127.0.0.1:{port}", env=env
            )
        for _ in range(200):
            try:
                await self.client.start_tcp("127.0.0.1", port)
                return
            except OSError:
                await asyncio.sleep(0.05)
        raise TimeoutError("the TCP server did not start")

    async def stop(self) -> None:
        """Say goodbye; the server must be gone within two seconds. Once is enough."""
        if self._stopped:
            return
        self._stopped = True
        await self.client.shutdown_session()
        if self.process is not None:
            await asyncio.wait_for(self.process.wait(), 5)
        await self.client.stop()

    # --- talking ---------------------------------------------------------------------------------

    async def ask(self, name: str, params: Any = None) -> Any:
        """A request, typed both ways: ``ask("chat/send", ChatSendParams(...))``."""
        method = f"tierline/{name}"
        declared = next(m for m in p.METHODS if m.name == method)
        sent = params if params is not None else declared.params()
        return await asyncio.wait_for(
            self.client.protocol.send_request_async(method, sent), timeout=60
        )

    async def raw(self, method: str, params: Any) -> Any:
        """Any request with any parameters, as they are."""
        protocol = self.client.protocol
        future: Any = Future()
        protocol._request_futures[number := f"raw-{method}-{time.monotonic_ns()}"] = future
        protocol._send_data({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return await asyncio.wait_for(asyncio.wrap_future(future), timeout=20)

    async def command(self, name: str, params: dict[str, Any] | None = None) -> Any:
        """The same capability as a server command; the answer is plain JSON."""
        return await asyncio.wait_for(
            self.client.workspace_execute_command_async(
                lsp.ExecuteCommandParams(f"tierline.{name}", [params] if params else [])
            ),
            timeout=60,
        )

    def bodies(self, kind: type) -> list[Any]:
        """Bodies of all events of one kind so far."""
        return [event.body for event in self.events if isinstance(event.body, kind)]

    async def until(self, found: Callable[[], Any], seconds: float = 30) -> Any:
        """Wait for events until ``found`` gives something true."""

        async def wait() -> Any:
            while not (result := found()):
                self._changed.clear()
                await self._changed.wait()
            return result

        return await asyncio.wait_for(wait(), seconds)

    async def finished(self, turn_id: str, seconds: float = 60) -> p.TurnFinished:
        """Wait for a turn's end."""

        def done() -> Any:
            ends = [b for b in self.bodies(p.TurnFinished) if b.turn_id == turn_id]
            return ends[0] if ends else None

        return await self.until(done, seconds)  # type: ignore[no-any-return]

    async def chat(self, text: str, **more: Any) -> p.TurnFinished:
        """Send a prompt and wait for the reply."""
        sent = await self.ask("chat/send", p.ChatSendParams(text=text, **more))
        return await self.finished(sent.turn_id)

    async def chat_shown(self, text: str, **more: Any) -> p.ChatMessage:
        """Send a prompt and wait for the reply; the prompt as clients show it."""
        sent = await self.ask("chat/send", p.ChatSendParams(text=text, **more))
        await self.finished(sent.turn_id)
        state = await self.ask("state/get")
        found: p.ChatMessage = next(m for m in state.messages if m.id == sent.message_id)
        return found

    # --- documents -------------------------------------------------------------------------------

    def uri(self, name: str) -> str:
        """URI of a file in the workspace."""
        return (self.workspace / name).as_uri()

    def open(self, name: str, text: str, language: str = "python") -> None:
        """The user opens a file."""
        self.client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(self.uri(name), language, 1, text))
        )

    def change(self, name: str, text: str, version: int = 2) -> None:
        """The user replaces the whole text."""
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version=version, uri=self.uri(name)),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def close(self, name: str) -> None:
        """The user closes a file without saving."""
        self.client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(self.uri(name)))
        )
