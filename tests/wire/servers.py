"""Loopback servers that speak the real wire formats from scripts and remember what came in.

``with wire_server("anthropic", [reply, ...]) as server`` (or ``async with``) serves from threads of
its own, so it works beside an event loop as well as for a ``tierline serve`` that runs as a child:
point it at ``server.url``. The first prompt gets the first reply, the last reply repeats. Counting
tokens and listing models take nothing from the script.

Every prompt is held to the rules of its format (``scripted``): the script is answered in any case,
but what a service would have refused stands in ``refused`` and fails the test at the server's end.
``unchecked`` says why a test needs it otherwise.

That the formats are faithful is checked in ``test_servers.py`` with the official SDKs' own readers.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from attrs import field, frozen

if TYPE_CHECKING:
    from wire.scripted import Scripted

Kind: TypeAlias = Literal["anthropic", "openai"]


@frozen
class Pause:
    """Send nothing for so many seconds."""

    seconds: float


@frozen
class Hold:
    """Send nothing until ``release()``, or until the client hangs up."""


@frozen
class Cut:
    """Close the connection here, without the end of the body."""


@frozen
class Reset:
    """Break the connection here: the client gets ``ECONNRESET``."""


@frozen
class Endless:
    """The same bytes again and again, until the client hangs up."""

    data: bytes
    every: float = 0.0
    """Seconds between two of them."""


Act: TypeAlias = Pause | Hold | Cut | Reset | Endless


@frozen
class Reply:
    """One HTTP answer. Each ``bytes`` in ``body`` is one chunk and one write."""

    body: Sequence[bytes | Act] = ()
    status: int = 200
    headers: Mapping[str, str] = field(factory=dict)
    before: Act | None = None
    """What happens before the status line."""
    length: int | None = None
    """Sent as ``content-length``, true or not; None sends chunks."""


@frozen
class Request:
    """What came in. Header names are lower case; ``body`` is the parsed JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Any
    at: float
    """Seconds of the monotonic clock."""


class WireServer:
    """A scripted provider on 127.0.0.1."""

    def __init__(
        self,
        kind: Kind,
        script: Iterable[Reply],
        input_tokens: int = 42,
        tls: ssl.SSLContext | None = None,
        unchecked: str = "",
    ) -> None:
        self.kind = kind
        self.unchecked = unchecked
        """Why a refusal by the rules of the format is no fault of a test; empty if it is one."""
        self.refused: Sequence[Exception] = []
        """Every refusal by the rules."""
        self.model = "gpt-5" if kind == "openai" else "claude-sonnet-4-5"
        """What tests ask it for."""
        self.path = "/v1/messages" if kind == "anthropic" else "/v1/chat/completions"
        """Where prompts come in, and where counts are asked for."""
        self.count_path = "/v1/messages/count_tokens"
        self.script = list(script)
        self.input_tokens = input_tokens
        self.requests: list[Request] = []
        """Prompts, in the order of arrival."""
        self.pages: dict[str, Any] = {}
        """What the server says of itself: JSON by path."""
        self.others: list[Request] = []
        """Counts and lists of models."""
        self.list_status = 200
        """How a list of models is answered."""
        self.hung_up = threading.Event()
        """Set once a client closed its connection in the middle of a reply."""
        self.asked = threading.Event()
        """Set once the first prompt came."""
        self.waiting = threading.Event()
        """Set while a reply stands at a ``Hold``."""
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._scripted = self._rules()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.wire = self
        self._scheme = "http"
        if tls is not None:
            self._scheme = "https"
            # The handshake is the handler's thread's business: it may never come.
            self._http.socket = tls.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def origin(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The base URL as the provider's SDK and Tierline's settings take it."""
        return self.origin if self.kind == "anthropic" else f"{self.origin}/v1"

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def _rules(self) -> Scripted | None:
        """What prompts are held to while a script answers them."""
        from wire.scripted import Scripted  # the rules answer with replies of this module

        scripted = Scripted(self.kind)
        self.refused = scripted.refused
        return scripted

    def release(self) -> None:
        """Let every ``Hold`` go on, now and later."""
        self._released.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)
        if kind is None and self._scripted is not None and not self.unchecked:
            assert self.refused == [], "a service would have refused what was sent"

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _next(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            self.asked.set()
            return self.script[min(len(self.requests), len(self.script)) - 1]

    def _count(self, request: Request) -> Reply:
        self.others.append(request)
        return whole({"input_tokens": self.input_tokens})

    def _hold(self, client: socket.socket) -> bool:
        """Wait for the release; False if the client hung up first."""
        self.waiting.set()
        while not self._released.is_set():
            if _gone(client, 0.02):
                return False
        return True


def whole(value: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON object in one piece."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    data = json.dumps(value, ensure_ascii=False).encode()
    return Reply([data], status, {"content-type": "application/json", **named})


def wire_server(kind: Kind, script: Iterable[Reply] | Reply, **options: Any) -> WireServer:
    """A server that starts on entry and stops on exit."""
    return WireServer(kind, [script] if isinstance(script, Reply) else script, **options)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    wire: WireServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news; a fault of this server is."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._record(b"", self.server.wire.others)
        if self.path in self.server.wire.pages:
            self._json(self.server.wire.pages[self.path])
        elif self.path.partition("?")[0].endswith("/models"):
            if (status := self.server.wire.list_status) != 200:
                self._json({"error": {"message": "no", "type": "authentication_error"}}, status)
                return
            rows = [{"id": "mock-a", "object": "model"}, {"id": "mock-embed", "object": "model"}]
            self._json({"object": "list", "data": rows})
        else:
            self._json({"error": {"message": "not found", "type": "not_found_error"}}, 404)

    def do_POST(self) -> None:
        wire = self.server.wire
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length)
        if len(raw) < length:  # the client died while it sent: no prompt has arrived
            self.close_connection = True
            return
        path = self.path.partition("?")[0]
        held = wire._scripted
        if path == wire.count_path:
            request = self._record(raw, None)
            if held is not None:
                held.count(request)
            self._reply(wire._count(request))
            return
        if path != wire.path:
            self._record(raw, wire.others)
            if path in wire.pages:
                self._json(wire.pages[path])
                return
            self._json({"error": {"message": f"no such path {path}"}}, 404)
            return
        request = self._record(raw, None)
        if held is not None:
            held.check(request)
        reply = wire._next(request)
        if held is not None:
            held.answered(request, reply)
        self._reply(reply)

    def _record(self, raw: bytes, to: list[Request] | None) -> Request:
        headers = {k.lower(): v for k, v in self.headers.items()}
        body = json.loads(raw) if raw else None
        request = Request(self.command, self.path, headers, raw, body, time.monotonic())
        if to is not None:
            to.append(request)
        return request

    def _reply(self, reply: Reply) -> None:
        if reply.before is not None and not self._act(reply.before):
            return
        self.send_response_only(reply.status)
        headers = {"content-type": "text/event-stream; charset=utf-8", **reply.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        if reply.length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(reply.length))
        self.end_headers()
        try:
            for part in reply.body:
                if not isinstance(part, bytes):
                    if not self._act(part, reply):
                        return
                elif part:
                    self._write(part, reply)
            if reply.length is None:
                self.wfile.write(b"0\r\n\r\n")
            else:
                self.close_connection = True  # the length may be more than was sent
        except OSError:
            self.server.wire.hung_up.set()
            self.close_connection = True

    def _write(self, part: bytes, reply: Reply) -> None:
        whole = part if reply.length is not None else b"%x\r\n%s\r\n" % (len(part), part)
        self.wfile.write(whole)
        self.wfile.flush()

    def _act(self, act: Act, reply: Reply | None = None) -> bool:
        """False if the connection is over."""
        goes_on = False
        if isinstance(act, Endless):
            while not _gone(self.connection, act.every):
                self._write(act.data, reply or Reply())
        elif isinstance(act, Reset):
            now = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            os.close(self.connection.detach())  # at once, without a polite end before it
        elif isinstance(act, Pause):
            goes_on = not _gone(self.connection, act.seconds)
        elif isinstance(act, Hold):
            goes_on = self.server.wire._hold(self.connection)
        if not goes_on:
            self.close_connection = True
            if not isinstance(act, Cut | Reset):
                self.server.wire.hung_up.set()
        return goes_on

    def _json(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response_only(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _gone(client: socket.socket, seconds: float) -> bool:
    """Wait so long; True as soon as the client hangs up."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        # Not true of a TLS connection, on which no test waits.
        readable, _, _ = select.select([client], [], [], left)
        if readable:
            try:
                return client.recv(1, socket.MSG_PEEK) == b""
            except OSError:
                return True
    return False
