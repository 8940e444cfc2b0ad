"""Requests that change the conversation run one at a time, first in, first out.

Each of them waits for the disk at some point. Without an order, a prompt could be written to one
session and answered in another, a prompt that names a large file could be overtaken by later ones,
and two clicks on Retry would ask twice.
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
    """Run a service's method when its turn has come, and then to completion.

    A cancellation while it waits removes it; once started, it completes, and clients hear of the
    result. Such a method must not call another one, which would deadlock.
    """

    @wraps(method)
    async def run(self: Service, params: Params) -> T:
        async with self._conversation.changes:
            return await shield(method(self, params))

    return run


def opens_session(
    method: Callable[[Service, Params], Coroutine[Any, Any, T]],
) -> Callable[[Service, Params], Awaitable[T]]:
    """``in_order`` for methods that open another session: later requests about the list of files
    wait for them, too.
    """
    ordered = in_order(method)

    @wraps(method)
    async def run(self: Service, params: Params) -> T:
        with _counted(self._conversation):
            return await ordered(self, params)

    return run


@asynccontextmanager
async def after_openings(conversation: Conversation) -> AsyncIterator[None]:
    """Wait for running ``opens_session`` methods, and for those queued before this call. Must not
    be used in a method that is ``in_order``.
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
    """Run ``work`` to completion even if the caller is cancelled: half a record is worse than a
    late stop.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait([task])
        raise
