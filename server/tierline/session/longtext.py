"""Searching long texts in a thread, so that other requests are answered meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

LONG = 20_000
"""Characters that a search for secrets, links or mentions takes a few milliseconds for."""
MAX_SEARCHED = 20_000
"""Characters at each end of a prompt that are used to find what it is about."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def in_thread_when_long(
    text: str, work: Callable[_P, _T], *args: _P.args, **more: _P.kwargs
) -> _T:
    """The result of ``work``, run in a thread if the text is long, else directly."""
    if len(text) <= LONG:
        return work(*args, **more)
    return await asyncio.to_thread(work, *args, **more)


def both_ends(text: str) -> str:
    """The text to search by. A prompt of megabytes is mostly pasted text; the question comes before
    or after it.
    """
    if len(text) <= 2 * MAX_SEARCHED:
        return text
    return f"{text[:MAX_SEARCHED]}\n{text[-MAX_SEARCHED:]}"
