"""Timestamps as minutes. No clock is read here."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tierline.history.ids import epoch_ms
from tierline.history.messages import Message

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|([+-])(\d\d):?(\d\d))?"
)


def minutes(timestamp: str) -> float | None:
    """Minutes since 1970 of an ISO 8601 timestamp (UTC if it names no zone); None if it is none."""
    match = _ISO.match(timestamp)
    if match is None:
        return None
    year, month, day, hour, minute = (int(match[i]) for i in range(1, 6))
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    shift = 0
    if match[7]:
        shift = (int(match[8]) * 60 + int(match[9])) * (-1 if match[7] == "+" else 1)
    whole = ((_days(year, month, day) * 24 + hour) * 60) + minute + shift
    return whole + int(match[6] or 0) / 60


def begun(messages: Iterable[Message], default: float = 0.0) -> float:
    """When messages began, in minutes since 1970, by the first timestamp or id that has a time."""
    for message in messages:
        when = minutes(message.timestamp)
        if when is None and (ms := epoch_ms(message.id)) is not None:
            when = ms / 60_000
        if when is not None:
            return when
    return default


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
