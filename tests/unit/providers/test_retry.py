"""How often, how long, and when not."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.providers.base import (
    ProviderError,
    RetryScheduled,
    Stop,
    StreamEvent,
    TextChunk,
    Usage,
)
from tierline.providers.errors import RequestFailed
from tierline.providers.retry import RetryPolicy, with_retries

BUSY = RequestFailed("overloaded", "Busy.", "Wait.", retryable=True)


async def run(
    attempts: list[list[StreamEvent | RequestFailed]], policy: RetryPolicy
) -> tuple[list[StreamEvent], list[float], RequestFailed | None]:
    waits: list[float] = []
    left = iter(attempts)

    async def attempt() -> AsyncGenerator[StreamEvent, None]:
        for item in next(left):
            if isinstance(item, RequestFailed):
                raise item
            yield item

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    events: list[StreamEvent] = []
    try:
        async with aclosing(
            with_retries(attempt, policy, sleep=sleep, chance=lambda: 0.5)
        ) as stream:
            async for event in stream:
                events.append(event)  # noqa: PERF401
    except RequestFailed as error:
        return events, waits, error
    return events, waits, None


async def test_waits_grow_and_are_announced() -> None:
    done: list[StreamEvent | RequestFailed] = [TextChunk("x"), Stop("end")]
    events, waits, error = await run([[BUSY], [BUSY], [BUSY], done], RetryPolicy())
    assert error is None
    assert waits == [0.75, 1.5, 3.0]
    retrying = [e for e in events if isinstance(e, RetryScheduled)]
    assert [(e.attempt, e.of, e.reason) for e in retrying] == [
        (1, 4, "Busy."),
        (2, 4, "Busy."),
        (3, 4, "Busy."),
    ]


async def test_it_gives_up_after_the_bound() -> None:
    _, waits, error = await run([[BUSY]] * 50, RetryPolicy(retries=2))
    assert error is BUSY
    assert len(waits) == 2


async def test_no_retries_when_none_are_allowed() -> None:
    events, waits, error = await run([[BUSY]], RetryPolicy(retries=0))
    assert (events, waits, error) == ([], [], BUSY)


async def test_nothing_is_sent_again_once_text_was_shown() -> None:
    events, waits, error = await run([[TextChunk("half"), BUSY], []], RetryPolicy())
    assert (events, waits, error) == ([TextChunk("half")], [], BUSY)


async def test_figures_alone_do_not_stand_in_the_way() -> None:
    _, waits, error = await run([[Usage(1), BUSY], [Stop("end")]], RetryPolicy())
    assert error is None
    assert len(waits) == 1


async def test_what_cannot_pass_is_not_tried_again() -> None:
    fatal = RequestFailed("bad_request", "No.", "Stop.")
    _, waits, error = await run([[fatal]], RetryPolicy())
    assert (waits, error) == ([], fatal)


async def test_the_service_says_how_long() -> None:
    asked = RequestFailed("rate_limited", "Slow.", "Wait.", retryable=True, retry_after=20)
    _, waits, error = await run([[asked], [Stop("end")]], RetryPolicy())
    assert (waits, error) == ([20], None)


async def test_a_service_that_asks_for_an_hour_is_not_waited_for() -> None:
    asked = RequestFailed("rate_limited", "Slow.", "Wait.", retryable=True, retry_after=3600)
    _, waits, error = await run([[asked]], RetryPolicy())
    assert (waits, error) == ([], asked)


async def test_errors_of_another_kind_pass_through() -> None:
    async def attempt() -> AsyncGenerator[StreamEvent, None]:
        yield Usage(1)
        raise ProviderError("unavailable", "No.", "Install it.")

    with pytest.raises(ProviderError, match="No"):
        async with aclosing(with_retries(attempt, RetryPolicy())) as stream:
            assert [event async for event in stream]


@given(
    st.integers(0, 20),
    st.lists(
        st.tuples(st.none() | st.floats(0, 1e6), st.floats(0, 1, exclude_max=True)), max_size=60
    ),
)
def test_waits_are_bounded_in_number_and_time_and_never_zero(
    retries: int, asked: list[tuple[float | None, float]]
) -> None:
    policy = RetryPolicy(retries=retries)
    waited, count = 0.0, 0
    for number, (seconds, chance) in enumerate(asked, 1):
        wait = policy.wait(number, seconds, waited, chance)
        if wait is None:
            break
        assert wait >= 0.5
        assert wait >= (seconds or 0)
        waited, count = waited + wait, count + 1
    assert waited <= policy.total_wait
    assert count <= retries


async def test_waits_of_two_clients_differ() -> None:
    """Unless a test says otherwise, chance has its part: they do not come back together."""
    announced: list[float] = []

    async def attempt() -> AsyncGenerator[StreamEvent, None]:
        raise BUSY
        yield Stop("end")  # type: ignore[unreachable]  # makes it a generator

    async def sleep(_seconds: float) -> None:
        return

    for _ in range(6):
        async with aclosing(with_retries(attempt, RetryPolicy(1), sleep=sleep)) as stream:
            with pytest.raises(RequestFailed):
                async for event in stream:
                    assert isinstance(event, RetryScheduled)
                    announced.append(event.wait_seconds)
    assert len(announced) == 6 and len(set(announced)) > 1
