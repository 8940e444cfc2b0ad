"""Ending child processes of ours that exit when their standard input is closed."""

from __future__ import annotations

import asyncio
from contextlib import suppress


async def end(process: asyncio.subprocess.Process | None, seconds: float) -> None:
    """Close a child's standard input and wait until it has exited; kill it after ``seconds``, or if
    this call is cancelled.
    """
    if process is None or process.returncode is not None:
        return
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        _kill(process)
        await process.wait()
    except asyncio.CancelledError:
        _kill(process)
        raise


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):  # it has just exited
        process.kill()
