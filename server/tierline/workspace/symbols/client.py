"""Client of the index's process: starts it, restarts it, and waits for it only a bounded time."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tierline.processes import end

log = logging.getLogger(__name__)

_MAX_LINE = 64 * 1024 * 1024
_MAX_RESTARTS = 3
_LEAVE_SECONDS = 1.0


class IndexUnavailable(Exception):  # noqa: N818 - a state, not a fault
    """The index cannot answer: there is none, or it took too long."""


class SymbolClient:
    """One worker process for the workspace. Used from the event loop's thread."""

    def __init__(self, on_event: Callable[[Mapping[str, Any]], None]) -> None:
        self._on_event = on_event
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._number = 0
        self._restarts = 0
        self._closed = False
        self._opening: dict[str, Any] = {}
        self.failure = ""
        """Why there is no index, after its process failed for good."""

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def open(self, folders: Sequence[tuple[str, str]], database: Path | None) -> None:
        """Start the process, or hand it other folders: pairs of key prefix and real path."""
        self._opening = {
            "folders": [{"prefix": prefix, "real": real} for prefix, real in folders],
            "database": str(database) if database else "",
        }
        if self.pid is None:
            await self._start()
        self.post("open", **self._opening)

    async def ask(self, do: str, *, seconds: float = 10.0, **values: Any) -> Mapping[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            IndexUnavailable: no process, an error there, or no answer within ``seconds``.
        """
        number = self.post(do, **values)
        future: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            async with asyncio.timeout(seconds):
                answer = await future
        except TimeoutError:
            raise IndexUnavailable("The symbol index is busy.") from None
        finally:
            self._waiting.pop(number, None)
        if "error" in answer:
            raise IndexUnavailable(str(answer["error"]))
        return answer

    def post(self, do: str, **values: Any) -> int:
        """Send a request without waiting for its answer. Returns its number.

        Raises:
            IndexUnavailable: there is no process.
        """
        process = self._process
        if self.pid is None or process is None or process.stdin is None:
            raise IndexUnavailable(self.failure or "The symbol index does not run.")
        self._number += 1
        line = json.dumps({"id": self._number, "do": do, **values}, ensure_ascii=True)
        try:
            process.stdin.write(line.encode() + b"\n")
        except (ConnectionError, RuntimeError) as error:
            raise IndexUnavailable("The symbol index has gone.") from error
        return self._number

    async def close(self) -> None:
        """End the process."""
        self._closed = True
        process, self._process = self._process, None
        await end(process, _LEAVE_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._fail("The symbol index was closed.")

    async def _start(self) -> None:
        # -P: the working directory is the user's project, none of its modules may be imported.
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "tierline.workspace.symbols.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_MAX_LINE,
        )
        self._tasks = [
            asyncio.ensure_future(self._read(self._process)),
            asyncio.ensure_future(self._listen(self._process)),
        ]

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
            except (ValueError, ConnectionError):
                break
            if not line:
                break
            message = json.loads(line)
            number = message.get("id")
            if number is None:
                self._on_event(message)
            elif (future := self._waiting.get(number)) is not None and not future.done():
                future.set_result(message)
        await process.wait()
        if not self._closed and process is self._process:
            await self._again(process.returncode)

    async def _again(self, code: int | None) -> None:
        """The process died: fail all waiting requests, and start it again."""
        log.warning("The symbol index ended with code %s", code)
        self._fail("The symbol index has gone.")
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            self.failure = "The symbol index ended repeatedly and stays off until the next start."
            self._on_event({"event": "failed", "why": self.failure})
            return
        await asyncio.sleep(0.2 * 2**self._restarts)
        if not self._closed:
            await self._start()
            with suppress(IndexUnavailable):
                self.post("open", **self._opening)

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(65536):
            for line in chunk.decode("utf-8", "replace").splitlines():
                log.debug("symbols: %s", line)

    def _fail(self, why: str) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_result({"error": why})
        self._waiting.clear()
