"""Runs the agent on standard input and output until the client leaves."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, BinaryIO

from acp import run_agent

from tierline.acp.agent import TierlineAgent
from tierline.stdio import ThreadedReader, UnbufferedWriter
from tierline.workspace import git

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Longest message in bytes: it may contain pictures."""
_INTERNAL = -32603
_UNREADABLE = {"code": -32700, "message": "The line is not JSON. Send one message a line."}
_NO_MESSAGE = {"code": -32600, "message": "A message is one JSON object with a method or a result."}


class LineTransport:
    """One JSON object a line (``acp``'s ``Transport``). Another line gets an error answer and is
    not fatal.
    """

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self._reader = ThreadedReader(stdin, MAX_MESSAGE_BYTES)
        self._writer = UnbufferedWriter(stdout)

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        self._writer.write(json.dumps(message).encode() + b"\n")
        if self._writer.is_closing():
            raise ConnectionError("The client has gone.")

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while True:
            try:
                line = await self._reader.readline()
                if not line:
                    return None
                if not line.strip():
                    continue
                message = json.loads(line)
            except (ValueError, RecursionError):
                await self._refuse(_UNREADABLE)
                continue
            if not isinstance(message, dict):
                await self._refuse(_NO_MESSAGE)
            elif "method" in message or (message := _answer(message)) is not None:
                return message

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    async def _refuse(self, error: dict[str, Any]) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": error})


def _answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """A client's answer in the form that the library accepts, which would stop at another one; None
    if it answers no request.
    """
    if not isinstance(message.get("id"), int | str):
        return None
    error = message.get("error")
    if error is None or "result" in message:
        return message
    told = error if isinstance(error, dict) else {"message": error}
    code, text = told.get("code"), told.get("message")
    error = {
        "code": code if isinstance(code, int) else _INTERNAL,
        "message": text if isinstance(text, str) and text else "no reason was given",
        "data": told.get("data"),
    }
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


async def serve(stream: BinaryIO) -> None:
    """Speak the protocol; ``stream`` is the private standard output (``stdio.claim_stdout``)."""
    agent = TierlineAgent()
    transport = LineTransport(sys.stdin.buffer, stream)
    try:
        await run_agent(agent, transport, use_unstable_protocol=True)  # type: ignore[arg-type]
    finally:
        git.end_all()
        await agent.close()
