"""When a failed request is sent again, and how long to wait before it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from attrs import define, evolve, field, frozen

from tierline.context.prompt import Prompt
from tierline.providers.base import (
    MalformedEvent,
    RenderedRequest,
    RequestAdapted,
    RetryScheduled,
    Stop,
    StreamEvent,
    Usage,
)
from tierline.providers.errors import RequestFailed
from tierline.providers.overflows import Overflow
from tierline.providers.profile import Profile, Profiles, corrected, sentence
from tierline.providers.refusals import refusal


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


MAX_CORRECTIONS = 8
_CORRECTABLE = frozenset({"bad_request", "unavailable", "thinking_unknown"})


@define
class Corrections:
    """Corrections by the refusals of one request, each tried once: never the same bytes twice."""

    request: RenderedRequest
    """The request with all corrections so far."""
    _base_url: str
    _profiles: Profiles
    _render: Callable[[Prompt, Profile], RenderedRequest]
    _profile: Profile = field(init=False)
    _sent: set[str] = field(factory=set)
    _learnt: list[tuple[dict[str, Any], str]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        form = self.request.prompt.form if self.request.prompt is not None else {}
        self._profile = Profile.of(form)
        self._sent.add(self.request.sha256)

    def after(self, error: RequestFailed) -> RequestAdapted | None:
        """The request corrected after a refusal; None if it cannot be corrected."""
        prompt, said = self.request.prompt, error.said
        if prompt is None or said is None or error.code not in _CORRECTABLE:
            return None
        if error.code == "thinking_unknown" and prompt.thinking.drop:
            return None  # other refusals about thinking are handled in ``ThinkingRefusals``
        found = refusal(said, self.request.body) if len(self._sent) <= MAX_CORRECTIONS else None
        changed = corrected(self._profile, found) if found is not None else {}
        if found is None or not changed:
            return None
        profile = evolve(self._profile, **changed)
        request = self._render(prompt, profile)
        if request.sha256 in self._sent:
            return None
        self._sent.add(request.sha256)
        self._profile, self.request = profile, request
        why = sentence(request.model, changed, found)
        self._learnt.append((changed, why))
        return RequestAdapted(request, why)

    def taken(self) -> None:
        """The server has begun to answer: keep what was learnt."""
        for changed, why in self._learnt:
            self._profiles.learn(self._base_url, self.request.model, changed, why)
        self._learnt.clear()


async def with_corrections(
    send: Callable[[RenderedRequest], AsyncGenerator[StreamEvent, None]], corrections: Corrections
) -> AsyncGenerator[StreamEvent, None]:
    """One attempt at a request, and ``RequestAdapted`` before each time that it is sent again.

    Raises:
        RequestFailed: nothing more can be corrected.
    """
    while True:
        try:
            async with aclosing(send(corrections.request)) as events:
                async for event in events:
                    corrections.taken()
                    yield event
            return
        except RequestFailed as error:
            adapted = corrections.after(error)
            if adapted is None:
                raise
        yield adapted
