"""A process that has loaded the server's modules and forks a server for each test that asks.

Loading them costs a second of processor time, and a run starts a thousand servers. What runs after
the fork is the product's own entry point, on real pipes, with an environment of its own. Started
by ``support.warm``; what it says there and here goes over one socket.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import linecache
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import sys
from typing import Any

import attrs

SIZE = struct.Struct("!I")
"""Before each order: its length in bytes."""
FILES = 4
"""An order brings standard input, output, error, and where the exit status is written."""

LOADED_LATE = (
    "anthropic", "openai", "httpcore2", "h11", "socksio", "truststore", "anyio.abc",
    "anyio._backends._asyncio", "anyio.streams.tls", "platformdirs", "platformdirs.unix",
    "encodings.idna", "pygls.progress",
)  # fmt: skip
"""What libraries import at a server's start or at its first request."""


def load() -> None:
    """Import and read whatever a server may want."""
    import tierline.tokenizers

    for module in pkgutil.walk_packages(tierline.__path__, "tierline."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LOADED_LATE:
        importlib.import_module(name)
    for vocabulary in ("o200k_base", "cl100k_base"):
        tierline.tokenizers.encoder(vocabulary)
    from tierline import protocol
    from tierline.lsp.server import build
    from tierline.protocol.deferred import is_value

    for value in filter(is_value, vars(protocol).values()):
        attrs.fields(value)  # completes the class
    build()  # resolves the names in all of LSP's types
    linecache.clearcache()  # else each child does, and copies its pages
    gc.collect()
    gc.freeze()  # else the children's collectors would copy every page of it


def serve(orders: socket.socket) -> dict[str, Any] | None:
    """Fork for each order until nobody gives any more. Only in a child this returns an order."""
    ends: dict[int, tuple[int, int]] = {}  # pidfd: process, where its status goes
    while True:
        ready, _, _ = select.select([orders.fileno(), *ends], [], [])
        for pidfd in {*ready} & {*ends}:
            process, end = ends.pop(pidfd)
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            with contextlib.suppress(BrokenPipeError):  # its test is over
                os.write(end, str(status).encode())
            os.close(end)
            os.close(pidfd)
        if orders.fileno() not in ready:
            continue
        head, files, _, _ = socket.recv_fds(orders, SIZE.size, FILES)
        if not head:
            return None
        length = SIZE.unpack(head)[0]
        body = b""
        while len(body) < length:
            body += orders.recv(length - len(body))
        process = os.fork()
        if process == 0:
            for other in ends:
                os.close(other)
            for _, end in ends.values():
                os.close(end)
            orders.close()
            for number in range(3):
                os.dup2(files[number], number)
            for file in files:
                os.close(file)
            order: dict[str, Any] = json.loads(body)
            return order
        for file in files[:3]:
            os.close(file)
        ends[os.pidfd_open(process)] = process, files[3]
        orders.sendall(SIZE.pack(process))


def main() -> None:
    """Serve orders; in a child, be the server."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    orders.set_inheritable(False)
    del sys.path[0]  # this folder
    load()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the tests' terminal: the tests end us
    order = serve(orders)
    if order is None:
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.path.insert(0, order["cwd"])
    sys.argv = ["-m", *order["arguments"]]
    sys.orig_argv = [sys.executable, "-m", "tierline", *order["arguments"]]
    runpy.run_module("tierline", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
