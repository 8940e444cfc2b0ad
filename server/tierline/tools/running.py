"""Running one command: in a process group of its own, in bounded time, with bounded output.

The program gets no standard input, and of the environment nothing that looks like a credential.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from tierline.context.text import clip, clip_end

_SECRET = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)|^TIERLINE_", re.I)
_GRACE_SECONDS = 2.0
_CHUNK = 65_536
_SPARE = 64
"""Characters kept before the tail, to tell whether it begins inside a grapheme."""
_groups: set[int] = set()
"""Process groups of the commands that run now."""


@frozen
class CommandEnd:
    """How a command ended. ``code`` is None if it was stopped or could not be started."""

    output: str
    code: int | None = None
    timed_out: bool = False
    left_out: int = 0
    """Characters of output that were dropped in the middle."""
    error: str = ""
    """Why it could not be started."""


class HeadAndTail:
    """The beginning and the end of a stream of UTF-8; memory does not grow with the stream.

    All counts are of characters (code points), and no cut falls inside one, whatever pieces the
    bytes come in. Bytes that are no UTF-8 count as one character each, the replacement character.
    """

    def __init__(self, limit: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head_room = limit // 2
        self._tail_room = limit - self._head_room
        self._head = ""
        self._next = ""
        """The character after the head, to tell whether the head ends inside a grapheme."""
        self._tail = ""
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """More of the stream."""
        self._take(self._decoder.decode(data))

    def end(self) -> tuple[str, int]:
        """The kept text, with a line that tells of a gap, and the number of characters left out."""
        self._take(self._decoder.decode(b"", final=True))
        if len(self._tail) <= self._tail_room and not self._dropped:
            return self._head + self._tail, 0
        whole = len(self._head) + len(self._tail) + self._dropped
        # An emoji and its skin tone are one character to a reader: the ends give way a little.
        head = clip(self._head + self._next, len(self._head))
        tail = clip_end(self._tail, self._tail_room)
        left_out = whole - len(head) - len(tail)
        return f"{head}\n[… {left_out:,} characters left out …]\n{tail}", left_out

    def _take(self, text: str) -> None:
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += text[:room]
            text = text[room:]
        self._next = self._next or text[:1]
        self._tail += text
        over = len(self._tail) - self._tail_room - _SPARE
        if over > 0:
            self._tail = self._tail[over:]
            self._dropped += over


def environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a command: ours without keys, and without prompts for input."""
    kept = {k: v for k, v in (given or os.environ).items() if not _SECRET.search(k)}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "GIT_PAGER": "cat", "CI": "1"}


async def run(
    command: Sequence[str] | str, folder: str, *, seconds: float, most_characters: int
) -> CommandEnd:
    """Run a command (a string goes to the system's shell) and wait for its end.

    The process and everything that it started are ended in any case, on cancellation too.
    """
    options: dict[str, Any] = {
        "cwd": folder,
        "env": environment(),
        "stdin": asyncio.subprocess.DEVNULL,
        "stdout": asyncio.subprocess.PIPE,
        "stderr": asyncio.subprocess.STDOUT,
    }
    if sys.platform != "win32":
        options["start_new_session"] = True
    try:
        if isinstance(command, str):
            process = await asyncio.create_subprocess_shell(command, **options)
        else:
            process = await asyncio.create_subprocess_exec(*command, **options)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return CommandEnd("", error=reason)
    kept = HeadAndTail(most_characters)
    timed_out = False
    _groups.add(process.pid)
    try:
        async with asyncio.timeout(seconds):
            await _read(process, kept)
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        # After a normal end, too: processes left in the background are ended.
        ending = asyncio.ensure_future(_end(process))
        ending.add_done_callback(lambda _: _groups.discard(process.pid))
        await asyncio.shield(ending)
    code = None if timed_out else process.returncode
    output, left_out = kept.end()
    return CommandEnd(output, code, timed_out, left_out)


def end_all() -> None:
    """End every command that runs, at once and by force: this process is about to leave."""
    for group in list(_groups):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform != "win32":
                os.killpg(group, signal.SIGKILL)
            else:
                os.kill(group, signal.SIGTERM)


async def _read(process: asyncio.subprocess.Process, kept: HeadAndTail) -> None:
    assert process.stdout is not None
    exited = asyncio.ensure_future(process.wait())
    try:
        while True:
            reading = asyncio.ensure_future(process.stdout.read(_CHUNK))
            await asyncio.wait({reading, exited}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                # The command ended; a child that keeps its output open must not hold us up.
                await asyncio.wait({reading}, timeout=0.2)
            if not reading.done():
                reading.cancel()
                return
            data = reading.result()
            if not data:
                return
            kept.add(data)
    finally:
        exited.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Terminate the whole process group, and kill it if it does not end."""
    _signal(process, getattr(signal, "SIGTERM", signal.SIGINT))
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await process.wait()
    finally:  # when the loop ends, too, which cancels every task
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_SECONDS):
            await process.wait()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform != "win32":
            os.killpg(process.pid, number)
        elif process.returncode is None:
            process.kill()
