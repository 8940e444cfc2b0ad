"""Requests that change the conversation: one at a time, in the order in which they came.

Each of them waits for the disk somewhere in its middle. Without an order, a prompt could be written
into one session and answered in another, a prompt that names a large file would come behind the
ones that were sent after it, and two clicks on Retry would ask twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from typing import Any, Protocol, TypeVar

from tierline.session.conversation.service import Conversation


class HasConversation(Protocol):
    """A service that changes the conversation."""

    _conversation: Conversation


T = TypeVar("T")
Params = TypeVar("Params")
Service = TypeVar("Service", bound=HasConversation)


def in_order(
    method: Callable[[Service, Params], Coroutine[Any, Any, T]],
) -> Callable[[Service, Params], Awaitable[T]]:
    """Run a service's method when its turn has come, and then to its end.

    A client that cancels it while it waits undoes it; later it is done whole, and clients hear of
    it. No method in order may call another one: it would wait for itself.
    """

    @wraps(method)
    async def run(self: Service, params: Params) -> T:
        async with self._conversation.changes:
            return await shield(method(self, params))

    return run


def opens(
    method: Callable[[Service, Params], Coroutine[Any, Any, T]],
) -> Callable[[Service, Params], Awaitable[T]]:
    """``in_order`` for what makes another session the present one: what is asked of its list of
    files behind it comes behind it, too.
    """
    ordered = in_order(method)

    @wraps(method)
    async def run(self: Service, params: Params) -> T:
        with _counted(self._conversation):
            return await ordered(self, params)

    return run


@asynccontextmanager
async def behind_openings(conversation: Conversation) -> AsyncIterator[None]:
    """Wait for the sessions that are being opened, and for those that wait for them already. Not
    for methods in order.
    """
    if not conversation.opening:
        yield
        return
    with _counted(conversation):
        async with conversation.changes:
            yield


@contextmanager
def _counted(conversation: Conversation) -> Iterator[None]:
    conversation.opening += 1
    try:
        yield
    finally:
        conversation.opening -= 1


async def shield(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end even if cancelled meanwhile: half a record is worse than a late stop."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait([task])
        raise
