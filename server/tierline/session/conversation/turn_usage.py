"""Tokens and cost of a turn, for clients."""

from __future__ import annotations

from typing import Any

from tierline import protocol as p
from tierline.history.usage import TurnUsage, UsageFigures, turn_usage


def finished_event(
    turn_id: str,
    outcome: p.TurnOutcome,
    message: p.ChatMessage | None,
    requests: list[dict[str, Any]],
    cache: p.CacheReport | None,
) -> p.TurnFinished:
    """The event that ends a turn, with the same figures as its reflection."""
    found = turn_usage({"requests": requests})
    if message is not None:
        show_usage(message, found)
    return p.TurnFinished(
        turn_id,
        outcome,
        message=message,
        usage=total_usage(found),
        last=last_usage(found),
        cache=cache,
    )


def show_usage(message: p.ChatMessage, found: TurnUsage | None) -> None:
    """The event that shows the turn's figures with this message; None if there are none."""
    message.usage, message.last = total_usage(found), last_usage(found)
    outcome = "" if found is None else found.outcome
    message.cache_outcome = p.known(p.CacheOutcome, outcome, None)


def total_usage(found: TurnUsage | None) -> p.UsageInfo | None:
    """The sum over the turn's requests; None if none was answered."""
    return None if found is None else _info(found.total)


def last_usage(found: TurnUsage | None) -> p.UsageInfo | None:
    """The last of several requests; None if there is only one, which is the sum already."""
    return None if found is None or found.total.requests == 1 else _info(found.last)


def cut_off_usage(found: p.CacheReport, *, reported: bool) -> p.UsageInfo:
    """Figures of a request whose reply was cut off: it is paid for all the same."""
    return p.UsageInfo(
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
        cache_read_tokens=found.read_tokens if found.read_tokens >= 0 else None,
        cache_write_tokens=found.written_tokens if found.written_tokens >= 0 else None,
        estimated=not reported,
        cost=found.cost,
        saved=found.saved,
    )


def _info(figures: UsageFigures) -> p.UsageInfo:
    return p.UsageInfo(
        input_tokens=figures.input,
        output_tokens=figures.output,
        cache_read_tokens=figures.read,
        cache_write_tokens=figures.written,
        estimated=figures.estimated,
        cost=figures.cost,
        saved=figures.saved,
        requests=figures.requests,
    )
