"""Unanswered prompts, and stopping one before its turn begins."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from attrs import define, field

T = TypeVar("T")


class StoppedError(Exception):
    """The client stopped a prompt before its turn began."""


@define(eq=False)
class PendingPrompt:
    """A prompt that is not answered yet."""

    turn_id: str = ""
    """The turn's id; empty until the prompt is sent."""
    stopped: asyncio.Event = field(factory=asyncio.Event)


async def unless_stopped(prompting: PendingPrompt, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is done before a prompt's turn.

    Raises:
        StoppedError: the client stopped the prompt meanwhile.
    """
    task = asyncio.ensure_future(work)
    stop = asyncio.ensure_future(prompting.stopped.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()
        task.cancel()
    if prompting.stopped.is_set():
        if task.done() and not task.cancelled():
            task.exception()  # a question that was closed with the prompt
        raise StoppedError
    return task.result()
