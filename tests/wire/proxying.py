"""A proxy on loopback that knows where names lead, and remembers who went where."""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import threading
from collections.abc import Mapping
from typing import Any, Self


class Proxy:
    """``with Proxy({"models.example": port}) as proxy``: CONNECT, and absolute addresses."""

    def __init__(self, places: Mapping[str, int], login: str = "") -> None:
        self.places = places
        self.login = f"Basic {base64.b64encode(login.encode()).decode()}" if login else ""
        self.asked: list[str] = []
        """The first line of each request."""
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    outer._serve(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (piece := client.recv(65_536)):
                return
            head += piece
        lines = head.split(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        self.asked.append(lines[0])
        fields = dict(line.split(": ", 1) for line in lines[1:])
        named = {name.lower(): value for name, value in fields.items()}
        if self.login and named.get("proxy-authorization") != self.login:
            client.sendall(
                b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"
            )
            return
        method, where, _ = lines[0].split(" ")
        host = where.removeprefix("http://").partition("/")[0].partition(":")[0]
        if host not in self.places:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.places[host])) as server:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                server.sendall(head)
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join(5)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def port_of(server: Any) -> int:
    """The port of a loopback server."""
    return int(server.origin.rpartition(":")[2])
