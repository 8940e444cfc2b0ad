"""Child processes of ours that leave when their input is closed."""

from __future__ import annotations

import asyncio
from contextlib import suppress


async def end(process: asyncio.subprocess.Process | None, seconds: float) -> None:
    """Close a child's input and wait until it has left; end it by force if it has not after
    ``seconds``, or if nobody waits any more.
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
    with suppress(ProcessLookupError):  # it has left in this very moment
        process.kill()
