"""Starts a server as ``asyncio.create_subprocess_exec`` does, without loading its modules again.

For tests about what a server says. Tests about processes (how one starts, what it loads, how it
ends) use ``subprocess`` and the real start, as do all that run on another system than Linux.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from support import nursery

TIERLINE = (sys.executable, "-m", "tierline")
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "TMP", "TZ", "OPENBLAS", "OMP_")
"""Beginnings of variables that count before the first line of a program runs."""
_exec = asyncio.create_subprocess_exec
_ordering = threading.Lock()


class Process:
    """What the tests use of ``asyncio.subprocess.Process``."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._ended = asyncio.Event()

    def end(self, file: int) -> None:
        """The nursery says how it ended, or is gone itself."""
        asyncio.get_running_loop().remove_reader(file)
        self.returncode = _status(file)
        self._ended.set()

    async def wait(self) -> int:
        """Its exit status; minus the number of a signal."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to go."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


@functools.cache
def _orders() -> socket.socket:
    """The nursery of this worker, started when it is first wanted."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, nursery.__file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
    )  # fmt: skip
    theirs.close()

    def stop() -> None:
        ours.close()
        process.wait(10)

    atexit.register(stop)
    return ours


def _alike(env: Mapping[str, str]) -> bool:
    """Whether the nursery's interpreter started as one with this environment would."""
    return not any(
        env.get(name) != os.environ.get(name)
        for name in {*env, *os.environ}
        if name.startswith(READ_AT_START)
    )


def _forkable(command: tuple[str, ...], env: Mapping[str, str]) -> bool:
    return command[:3] == TIERLINE and sys.platform == "linux" and _alike(env)


def _fork(command: tuple[str, ...], env: Mapping[str, str], cwd: Any, files: list[int]) -> int:
    """Have a server forked, with ``files`` as its standard streams and where its status goes.

    They are closed here, but for those that are our own streams. Returns its process id.
    """
    order = {"env": dict(env), "cwd": str(cwd or Path.cwd()), "arguments": command[3:]}
    body = json.dumps(order).encode()
    with _ordering:
        orders = _orders()
        socket.send_fds(orders, [nursery.SIZE.pack(len(body))], files)
        orders.sendall(body)
        process: int = nursery.SIZE.unpack(orders.recv(nursery.SIZE.size))[0]
    for file in files:
        if file > 2:
            os.close(file)
    return process


def _status(ended: int) -> int:
    """The exit status that the nursery wrote; a killed one's if it is gone itself. Waits for it."""
    said = os.read(ended, 16)
    os.close(ended)
    return int(said) if said else -signal.SIGKILL


class Popen:
    """What the tests use of ``subprocess.Popen``: a server on two pipes, forked."""

    def __init__(self, command: tuple[str, ...], env: Mapping[str, str], errors: int) -> None:
        given, told, ended = os.pipe(), os.pipe(), os.pipe()
        self.pid = _fork(command, env, None, [given[0], told[1], os.dup(errors), ended[1]])
        self.stdin = os.fdopen(given[1], "wb")
        self.stdout = os.fdopen(told[0], "rb")
        self.returncode: int | None = None
        self._ended = ended[0]

    def poll(self) -> int | None:
        """Its exit status, if it has one."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status; minus the number of a signal."""
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(TIERLINE, timeout or 0)
            self.returncode = _status(self._ended)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def popen(command: tuple[str, ...], env: Mapping[str, str], errors: int) -> Any:
    """A server on pipes that writes its errors into a file; forked, if it can be."""
    return (Popen if _forkable(command, env) else started)(command, env, errors)


def started(command: tuple[str, ...], env: Mapping[str, str], errors: int) -> Any:
    """The same, started as any program."""
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env
    )


def run(words: Sequence[str], env: Mapping[str, str], cwd: Path) -> int:
    """Run a command of ``tierline`` whose output nobody wants; returns its exit status."""
    command = (*TIERLINE, *words)
    if not _forkable(command, env):
        none = subprocess.DEVNULL
        return subprocess.run(
            command, env=env, cwd=cwd, check=False, stdin=none, stdout=none, stderr=none
        ).returncode
    ended, end = os.pipe()
    _fork(command, env, cwd, [*(os.open(os.devnull, os.O_RDWR) for _ in range(3)), end])
    return _status(ended)


async def create_subprocess_exec(*command: str, **how: Any) -> Any:
    """As asyncio's own; a server that can be forked is forked."""
    env = how.get("env") or dict(os.environ)
    if not _forkable(command, env):
        return await _exec(*command, **how)
    how = {"stdin": None, "stdout": None, "stderr": None, "limit": 2**16} | how
    pipes = {name: os.pipe() for name in ("stdin", "stdout", "stderr") if how[name] == -1}
    ended, end = os.pipe()
    theirs = [
        pipes["stdin"][0] if "stdin" in pipes else 0,
        *(pipes[name][1] if name in pipes else i for i, name in ((1, "stdout"), (2, "stderr"))),
        end,
    ]
    process = Process(_fork(command, env, how.get("cwd"), theirs))
    loop = asyncio.get_running_loop()
    loop.add_reader(ended, process.end, ended)
    if "stdin" in pipes:
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(pipes["stdin"][1], "wb", 0)
        )
        process.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
    for name in ("stdout", "stderr"):
        if name in pipes:
            reader = asyncio.StreamReader(limit=how["limit"])
            file = os.fdopen(pipes[name][0], "rb", 0)
            await loop.connect_read_pipe(
                functools.partial(asyncio.StreamReaderProtocol, reader), file
            )
            setattr(process, name, reader)
    return process


def forking() -> Any:
    """While this context lasts, libraries that start a server get a forked one."""
    return mock.patch("asyncio.create_subprocess_exec", create_subprocess_exec)
