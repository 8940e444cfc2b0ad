"""Long texts are looked through in a thread, so that others are answered meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

LONG = 20_000
"""Characters that a search for secrets, links or mentions goes through in a few milliseconds."""
MOST_SEARCHED = 20_000
"""Characters at each end of a prompt that say what it is about."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def in_thread_when_long(
    text: str, work: Callable[_P, _T], *args: _P.args, **more: _P.kwargs
) -> _T:
    """What ``work`` returns; in a thread if it goes through a long text, else at once."""
    if len(text) <= LONG:
        return work(*args, **more)
    return await asyncio.to_thread(work, *args, **more)


def both_ends(text: str) -> str:
    """The text to search by. A prompt of megabytes is mostly something pasted; what is asked stands
    before or behind it.
    """
    if len(text) <= 2 * MOST_SEARCHED:
        return text
    return f"{text[:MOST_SEARCHED]}\n{text[-MOST_SEARCHED:]}"
