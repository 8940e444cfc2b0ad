"""Usage of turns, from their reflections in the log, and the message it is shown with.

A turn takes several requests if the model calls tools; its figure is their sum. The reflection is
written when the turn has ended, so that a turn shows after a restart what it showed before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import Any

from attrs import evolve, frozen

from tierline.history.events import EventKind, LogEvent
from tierline.history.groups import Group
from tierline.history.messages import Message, Status

_MOST = 1e15
"""Larger figures are not believed; JSON also allows infinities and NaN."""


@frozen
class UsageFigures:
    """Usage of one request, or sums over several. Tokens; money in US dollars."""

    input: int = 0
    output: int = 0
    read: int | None = None
    """Input tokens read from and written to the provider's cache; None if not reported."""
    written: int | None = None
    estimated: bool = False
    """True if the provider reported nothing for one of the requests, and we counted it."""
    cost: float = 0.0
    """0 if the prices are not known."""
    saved: float = 0.0
    requests: int = 1

    def __add__(self, other: UsageFigures) -> UsageFigures:
        return UsageFigures(
            self.input + other.input,
            self.output + other.output,
            _known_sum(self.read, other.read),
            _known_sum(self.written, other.written),
            self.estimated or other.estimated,
            self.cost + other.cost,
            self.saved + other.saved,
            self.requests + other.requests,
        )


@frozen
class TurnUsage:
    """Usage of a turn."""

    total: UsageFigures
    last: UsageFigures
    """The last request alone."""
    outcome: str = ""
    """The cache outcome of the last request; empty if it was not recorded."""
    message: str = ""
    """Id of the message that it belongs to; records of earlier versions do not name it."""
    line: str = ""
    """What context went with the prompt, in words."""
    went: Sequence[tuple[str, int, str]] = ()
    """The context that went with the prompt: kind, number of items, the name of a single one."""


class PackedReflection(Mapping[str, Any]):
    """A reflection's data as JSON text, which takes a tenth of the memory, with its figures parsed,
    because the timeline needs them at every change.
    """

    __slots__ = ("_text", "usage")

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._text = json.dumps(dict(data), separators=(",", ":")).encode()
        self.usage = _read(data)

    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self._text)
        return data

    def __getitem__(self, name: str) -> Any:
        return self._data()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data())

    def __len__(self) -> int:
        return len(self._data())


def turn_usage(data: Mapping[str, Any]) -> TurnUsage | None:
    """The figures in a reflection, senseless ones as missing; None if no request was answered."""
    return data.usage if isinstance(data, PackedReflection) else _read(data)


def add(usages: dict[str, TurnUsage], data: Mapping[str, Any], message: str = "") -> None:
    """Add a reflection's figures to ``usages`` under its message id, or ``message`` if it names
    none. Figures of a prompt that was asked again without a reply in between are summed.
    """
    later = turn_usage(data)
    if later is None:
        return
    message = later.message or message
    earlier = usages.get(message)
    if earlier is not None:
        later = evolve(later, total=earlier.total + later.total)
    usages[message] = later


def with_events(
    known: Mapping[str, TurnUsage], entries: Sequence[Message | LogEvent]
) -> Mapping[str, TurnUsage]:
    """``known`` with the figures of the reflections among these entries."""
    if not entries:
        return known
    found = dict(known)
    for entry in entries:
        if isinstance(entry, LogEvent) and entry.kind == EventKind.REFLECTION:
            add(found, entry.data)
    return found


def of_messages(turns: Iterable[Group], known: Mapping[str, TurnUsage]) -> dict[str, TurnUsage]:
    """Message id to the figures that are shown with it. ``known`` are those of reflections.

    A turn without a reflection (an older version's, or its process was killed just then) gets the
    tokens of its replies' own records, without a price, if all of them have them.
    """
    found: dict[str, TurnUsage] = {}
    for turn in turns:
        found.update((m.id, known[m.id]) for m in turn.messages if m.id in known)
        replies = [m for m in turn.messages if m.role == "assistant"]
        if not replies or any(m.id in found for m in replies):
            continue
        counted = all(reply.usage.get("input_tokens", 0) > 0 for reply in replies)
        if counted and replies[-1].status is not Status.TOOL_CALL:
            each = [_of_record(m) for m in replies]
            found[replies[-1].id] = TurnUsage(_sum(each), each[-1])
    return found


def _read(data: Mapping[str, Any]) -> TurnUsage | None:
    requests = data.get("requests")
    entries = [r for r in requests if isinstance(r, Mapping)] if isinstance(requests, list) else []
    if not entries:
        return None
    each = [_of_request(r) for r in entries]
    total, outcome, message = _sum(each), entries[-1].get("cache"), data.get("message")
    return TurnUsage(
        total,
        total if len(each) == 1 else each[-1],
        outcome if isinstance(outcome, str) else "",
        message if isinstance(message, str) else "",
        line if isinstance(line := data.get("line"), str) else "",
        _went(data.get("went")),
    )


def _went(value: Any) -> Sequence[tuple[str, int, str]]:
    found = value if isinstance(value, list) else []
    return tuple(
        (intern(kind), _tokens(count), label)
        for kind, count, label in (one for one in found if isinstance(one, list) and len(one) == 3)
        if isinstance(kind, str) and isinstance(label, str) and _tokens(count)
    )


def _of_request(request: Mapping[str, Any]) -> UsageFigures:
    return UsageFigures(
        input=_tokens(request.get("input")),
        output=_tokens(request.get("output")),
        read=_tokens_or_none(request.get("read")),
        written=_tokens_or_none(request.get("written")),
        estimated=request.get("reported") is False,
        cost=_money(request.get("cost")),
        saved=_money(request.get("saved")),
    )


def _of_record(message: Message) -> UsageFigures:
    usage = message.usage
    return UsageFigures(
        input=_tokens(usage.get("input_tokens")),
        output=_tokens(usage.get("output_tokens")),
        read=_tokens_or_none(usage.get("cache_read_tokens")),
        # A service that reports cache reads but no writes does not charge for writing.
        written=_tokens_or_none(
            usage.get("cache_write_tokens", 0 if "cache_read_tokens" in usage else None)
        ),
    )


def _sum(each: list[UsageFigures]) -> UsageFigures:
    total = each[0]
    for one in each[1:]:
        total += one
    return total


def _tokens(value: Any) -> int:
    return max(int(_money(value)), 0)


def _tokens_or_none(value: Any) -> int | None:
    return None if value is None else _tokens(value)


def _known_sum(one: int | None, other: int | None) -> int | None:
    """The sum of the known values; None if neither is known."""
    return None if one is None and other is None else (one or 0) + (other or 0)


def _money(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return value if known and -_MOST < value < _MOST else 0.0
