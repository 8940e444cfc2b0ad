"""The language server: registers every method twice, as a request and as a command."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from lsprotocol import types as lsp
from pygls.io_ import run_async

from tierline import protocol
from tierline.errors import TierlineError
from tierline.lsp import documents, lenses, parent, tcp
from tierline.lsp.chat_documents import COMMAND, ChatDocuments
from tierline.lsp.codec import sanitize
from tierline.lsp.editor import EditorModels
from tierline.lsp.host import CLOSE_SECONDS, TierlineServer
from tierline.lsp.progress import ClientProgress
from tierline.lsp.proposals import Proposals
from tierline.lsp.wire import MethodError
from tierline.lsp.workbench import LspWorkbench
from tierline.stdio import ThreadedReader, UnbufferedWriter

if TYPE_CHECKING:
    from tierline.session.session import Session

log = logging.getLogger(__name__)


def build() -> TierlineServer:
    """A server with all methods registered."""
    server = TierlineServer()
    models, workbench = EditorModels(server), LspWorkbench(server)
    proposals = Proposals(server, workbench)
    chats = ChatDocuments(server, workbench)
    documents.register(server, proposals)
    lenses.register(server, proposals, chats, workbench)

    def publish(event: protocol.Event) -> None:
        server.protocol.notify(protocol.EVENT, event)
        chats.on_event(event)
        proposals.on_event(event)
        lenses.refresh(server, event)

    def opens() -> Session:
        from tierline.session.session import Session  # not needed to say hello

        return Session(
            folders=server.folders(),
            editor_settings=server.editor_settings,
            publish=publish,
            text_documents=lambda: documents.text_documents(server),
            notebook_documents=lambda: documents.notebook_documents(server),
            workbench=workbench,
            editor=models,
            progress=ClientProgress(server),
        )

    server.opens, server.opened = opens, proposals.opened

    _lifecycle(server, models, workbench)

    @server.feature(protocol.EDITOR_PART)
    def editor_part(params: protocol.EditorPartParams) -> None:
        models.part(params)

    server.command(COMMAND)(_ask_in_document(chats))
    for method in protocol.METHODS:
        answer = _answer(server, method)
        server.feature(method.name)(_as_request(answer))
        server.command(method.command)(_as_command(server, method, answer))
    return server


def _ask_in_document(chats: ChatDocuments) -> Callable[..., Awaitable[Any]]:
    async def ask_in_document(*arguments: Any) -> Any:
        given = arguments[0] if arguments else None
        uri = given.get("uri", "") if isinstance(given, Mapping) else str(given or "")
        try:
            return await chats.ask(uri)
        except TierlineError as error:
            raise MethodError(error) from error

    return ask_in_document


def _lifecycle(server: TierlineServer, models: EditorModels, workbench: LspWorkbench) -> None:
    """Register ``initialize`` to ``exit``, and notifications about settings."""

    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        server.language.choose(params.locale)
        models.read_capabilities(params.capabilities)
        workbench.read_capabilities(params.capabilities)
        options = params.initialization_options
        if isinstance(options, Mapping):
            server.editor_settings = options.get("settings") or {}
        if params.process_id:
            loop = asyncio.get_running_loop()
            parent.watch(params.process_id, lambda: _abandoned(server, loop))

    @server.feature(lsp.INITIALIZED)
    async def initialized(_params: lsp.InitializedParams) -> None:
        await server.ready()
        await documents.watch_files(server)

    @server.feature(lsp.SHUTDOWN)
    async def shutdown(*_args: Any) -> None:
        await server.close_session()

    @server.feature(lsp.EXIT)
    def leave(*_args: Any) -> None:
        # pygls would raise SystemExit inside a task, which asyncio reports as an error. Everything
        # that matters is on disk by now; the embedded model's process ends with ours.
        server.abandon()
        logging.shutdown()
        os._exit(0 if server.protocol._shutdown else 1)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configuration(params: lsp.DidChangeConfigurationParams) -> None:
        settings = params.settings
        if isinstance(settings, Mapping):
            section = settings.get("tierline", settings)
            server.editor_settings = section if isinstance(section, Mapping) else {}
            (await server.ready()).configure(server.editor_settings)


def _answer(server: TierlineServer, method: protocol.Method) -> Callable[[Any], Awaitable[Any]]:
    async def answer(params: Any) -> Any:
        from tierline.session.handlers import HANDLERS  # not needed to say hello

        try:
            session = await server.ready()
            given = params if params is not None else _defaults(method)
            return await HANDLERS[method.name](session, given)
        except TierlineError as error:
            raise MethodError(error) from error

    return answer


def _defaults(method: protocol.Method) -> Any:
    """Default parameters for a request without any."""
    try:
        return method.params()
    except TypeError:
        raise TierlineError(
            "invalid_params",
            f"{method.name} needs parameters.",
            "Pass one object with the fields that docs/protocol.md lists.",
        ) from None


def _as_request(answer: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    async def request(params: Any) -> Any:
        return await answer(params)

    return request


def _as_command(
    server: TierlineServer, method: protocol.Method, answer: Callable[[Any], Awaitable[Any]]
) -> Callable[..., Awaitable[Any]]:
    async def command(*arguments: Any) -> Any:
        raw = arguments[0] if arguments else None
        try:
            params: Any = server.protocol._converter.structure(sanitize(raw), method.params)
        except Exception as error:
            raise MethodError(
                TierlineError(
                    "invalid_params",
                    f"The argument of {method.command} is not understood.",
                    "Pass one object with the fields that docs/protocol.md lists.",
                )
            ) from error
        return await answer(params)

    return command


def _abandoned(server: TierlineServer, loop: asyncio.AbstractEventLoop) -> None:
    """The editor's process has ended: store unfinished work and exit in any case."""
    with contextlib.suppress(Exception):
        asyncio.run_coroutine_threadsafe(server.close_session(), loop).result(2 * CLOSE_SECONDS)
    server.abandon()
    os._exit(1)


def serve_stdio(stream: BinaryIO) -> None:
    """Speak LSP on standard input and ``stream`` until the client shuts down or is gone."""
    server = build()
    server.protocol.set_writer(UnbufferedWriter(stream))  # type: ignore[arg-type]
    try:
        asyncio.run(_serve_stdio(server))
    except (KeyboardInterrupt, SystemExit):
        pass
    finally:
        server.abandon()


async def _serve_stdio(server: TierlineServer) -> None:
    """Our own loop: pygls' reader changes threads three times for every message."""
    reader = ThreadedReader(sys.stdin.buffer)
    error = server.report_server_error
    await run_async(threading.Event(), reader, server.protocol, log, error)


def serve_tcp(host: str, port: int) -> None:
    """Speak LSP to the first client that connects, and exit with it; for debugging."""
    asyncio.run(_serve_tcp(host, port))


async def _serve_tcp(host: str, port: int) -> None:
    """Our own loop: pygls' continues without a client after a reset."""
    server = build()
    finished = asyncio.Event()
    expected = tcp.token()
    taken = False

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        first = await tcp.authenticate(reader, expected)
        if first is None or taken:
            writer.close()
            log.warning("A connection without the token was closed.")
            return
        taken = True
        listener.close()
        server.protocol.set_writer(writer)
        try:
            await run_async(threading.Event(), first, server.protocol, log)
        except ConnectionError as error:
            log.info("The client hung up: %s", error)
        finally:
            await server.close_session()
            finished.set()

    listener = await asyncio.start_server(connected, host, port)
    where = ":".join(map(str, listener.sockets[0].getsockname()[:2]))
    note = f"set by {tcp.TOKEN_VARIABLE}" if tcp.TOKEN_VARIABLE in os.environ else expected
    sys.stderr.write(f"Listening on {where}. initializationOptions.token: {note}\n")
    sys.stderr.flush()
    await finished.wait()
