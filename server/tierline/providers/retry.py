"""When a failed request is sent again, and how long to wait before it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from attrs import frozen

from tierline.providers.base import (
    MalformedEvent,
    RequestAdapted,
    RetryScheduled,
    Stop,
    StreamEvent,
    Usage,
)
from tierline.providers.errors import RequestFailed
from tierline.providers.overflows import Overflow


@frozen
class RetryPolicy:
    """Exponential backoff with jitter, bounded in number and in time. All times in seconds."""

    retries: int = 4
    """Attempts after the first."""
    first_wait: float = 1.0
    longest_wait: float = 30.0
    longest_asked: float = 60.0
    """Longest wait that a service may ask for; beyond it, the user is told instead."""
    total_wait: float = 120.0

    def wait(self, attempt: int, asked: float | None, waited: float, chance: float) -> float | None:
        """How long to wait before retry number ``attempt`` (from 1); None to give up.

        ``chance`` is uniform in [0, 1): a wait is between half of the step and all of it, so that
        many clients do not retry at the same moment, and none at once. It is never shorter than the
        service asks.
        """
        if attempt > self.retries or (asked is not None and asked > self.longest_asked):
            return None
        step = min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait)
        seconds = step * (0.5 + chance / 2)
        if asked is not None:
            seconds = max(seconds, asked)
        return seconds if waited + seconds <= self.total_wait else None


async def with_retries(
    attempt: Callable[[], AsyncGenerator[StreamEvent, None]],
    policy: RetryPolicy,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> AsyncGenerator[StreamEvent, None]:
    """Stream one attempt after another until one succeeds.

    There is no further attempt once a part of the reply was passed on: the text would appear twice.
    ``RetryScheduled`` comes before each wait.

    Raises:
        ProviderError: the last attempt's.
    """
    waited, number, broken = 0.0, 0, 0
    while True:
        passed_on = False
        try:
            async with aclosing(attempt()) as events:
                async for event in events:
                    passed_on = passed_on or not isinstance(
                        event, Usage | MalformedEvent | Stop | RequestAdapted
                    )
                    yield event
            return
        except RequestFailed as error:
            number += 1
            broken = broken + 1 if error.large else 0
            if broken > 1 and not passed_on:
                # Some servers close the connection without an answer if the body is too large.
                error.overflow = Overflow(size=True, passing=True)
                error.code = "overflow"
                raise
            seconds = policy.wait(number, error.retry_after, waited, chance())
            if passed_on or not error.retryable or seconds is None:
                raise
            reason = error.message
        yield RetryScheduled(number, policy.retries, seconds, reason)
        await sleep(seconds)
        waited += seconds
