"""Texts of prompts and files: credential shapes are replaced; long texts are looked through in a
thread, or by their two ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tierline.workspace import secrets

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


def redact(text: str) -> tuple[str, list[str]]:
    """The text with credential shapes replaced, and a sentence if there were any."""
    clean, findings = secrets.redact(text)
    if not findings:
        return clean, []
    kinds = ", ".join(sorted({str(finding.kind) for finding in findings}))
    return clean, [f"Replaced before sending, because it looks secret: {kinds}."]


async def redacted(text: str) -> tuple[str, list[str]]:
    """Like ``redact``, in a thread for a long text."""
    return await in_thread_when_long(text, redact, text)
