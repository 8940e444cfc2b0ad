"""Tool calls, assembled from the deltas and arguments that servers send.

The format numbers the calls of a reply by ``index``, and only the first piece of a call has its id
and name. Servers send every call under index 0, or no index, or whole calls; ids are absent or the
same for all; a name is repeated in each piece; arguments are objects, or encoded twice.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from attrs import define, evolve, field

from tierline.providers.base import ToolCall
from tierline.providers.thinking_collector import SIGNATURE
from tierline.providers.values import figure, first, mapping

_DEEPEST = 3
"""How many times arguments may have been JSON-encoded."""


def tool_call(identifier: str, name: str, arguments: str) -> ToolCall:
    """A call from the text of its arguments; ``error`` says why they cannot be used."""
    try:
        value = _decoded(arguments)
    except RecursionError:
        return ToolCall(identifier, name, {}, "The arguments are nested too deeply.")
    except ValueError as error:
        return ToolCall(identifier, name, {}, f"The arguments are not JSON ({error}).")
    if not isinstance(value, dict):
        return ToolCall(identifier, name, {}, "The arguments are not a JSON object.")
    return ToolCall(identifier, name, value)


def _decoded(text: str) -> Any:
    """The value of arguments, if their text has one meaning.

    Raises:
        ValueError: they are not JSON.
    """
    value: Any = text
    for _ in range(_DEEPEST):
        if isinstance(value, str):
            value = _only(value) if value.strip() else {}
        if isinstance(value, list) and (
            not value or (len(value) == 1 and isinstance(value[0], dict))
        ):
            value = value[0] if value else {}
        if value is None:
            return {}
        if not isinstance(value, str):
            break
    return value


def _only(text: str) -> Any:
    """The one value in a text; an empty object before it and a repetition of it are ignored."""
    try:
        return json.loads(text, strict=False)
    except ValueError:
        found = _several(text.strip())
        if not found:
            raise
    kept = [value for value in found if value != {}] or found[:1]
    if any(value != kept[0] for value in kept):
        raise ValueError("several objects, one after the other")
    return kept[0]


def _several(text: str) -> list[Any]:
    """Consecutive JSON objects; none if the text holds anything else."""
    decoder, found, place = json.JSONDecoder(strict=False), [], 0
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            return []
        if not isinstance(value, dict):
            return []
        found.append(value)
        while place < len(text) and text[place].isspace():
            place += 1
    return found


@define
class _Call:
    """A call while its pieces come."""

    id: str = ""
    index: int | None = None
    name: str = ""
    arguments: list[str] = field(factory=list)
    signature: dict[str, Any] = field(factory=dict)
    """Fields that its service wants back on it."""

    @property
    def text(self) -> str:
        """The pieces joined; only the last one if each repeats all before it."""
        joined = "".join(self.arguments)
        growing = len(self.arguments) > 1 and all(
            later.startswith(before) for before, later in pairwise(self.arguments)
        )
        grown = growing and _whole(self.arguments[-1]) and not _whole(joined)
        return self.arguments[-1] if grown else joined

    @property
    def whole(self) -> bool:
        """True if the arguments so far are an object, so that only another call can follow."""
        return _whole(self.text)


def _whole(text: str) -> bool:
    text = text.strip()
    if not text.endswith("}") or text == "{}":
        return False
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


@define
class _Piece:
    id: str
    index: int | None
    name: str
    arguments: str


@define
class CallAssembler:
    """Puts the calls of one reply together."""

    _calls: list[_Call] = field(factory=list)

    def __bool__(self) -> bool:
        return any(call.name or call.arguments for call in self._calls)

    def add(self, value: object, *, whole: bool = False) -> None:
        """Add one entry of ``tool_calls``. ``whole``: it is a complete call, not a piece."""
        if not isinstance(value, Mapping):
            return
        piece = _piece(value)
        if not (piece.id or piece.name or piece.arguments or piece.index is not None):
            return
        call = None if whole else self._of(piece)
        if call is None:
            call = _Call(piece.id, piece.index)
            self._calls.append(call)
        call.id = call.id or piece.id
        call.name = _name(call, piece)
        if SIGNATURE in value:
            call.signature[SIGNATURE] = value[SIGNATURE]
        if piece.arguments:
            call.arguments.append(piece.arguments)

    def finish(self) -> Iterator[ToolCall]:
        """The calls, in their order. One without an id gets one."""
        calls = [call for call in self._calls if call.name or call.arguments]
        indexes = [-1 if call.index is None else call.index for call in calls]
        if len(set(indexes)) == len(indexes):
            calls.sort(key=lambda call: call.index or 0)
        before: _Call | None = None
        for call in calls:
            if before is None or not _echo(call, before):
                identifier = call.id or f"call_{uuid.uuid4().hex[:16]}"
                made = tool_call(identifier, call.name, call.text)
                yield evolve(made, signature=call.signature)
            before = call

    def _of(self, piece: _Piece) -> _Call | None:
        """The call that a piece belongs to; None if it begins another."""
        known = [c for c in self._calls if piece.id and c.id == piece.id]
        call = next((c for c in reversed(known) if c.index == piece.index), None)
        call = call or (known[-1] if known else None)
        if call is not None:
            elsewhere = None not in (piece.index, call.index) and piece.index != call.index
            again = call.whole and _whole(piece.arguments) and piece.arguments != call.text
            return None if piece.name and (elsewhere or again) else call
        there = [c for c in self._calls if piece.index is None or c.index == piece.index]
        if not there and self._calls and not (piece.id or piece.name):
            there = self._calls  # a piece with neither can only continue a call
        if not there:
            return None
        call = there[-1]
        if piece.id and call.id:  # a call's id, or a new one for each piece
            return None if piece.name or call.whole else call
        return call if _goes_on(piece, call) else None


def _goes_on(piece: _Piece, call: _Call) -> bool:
    """True if a piece without an id continues the call, false if it must begin the next one."""
    if not piece.name or not call.name:
        return True
    if call.whole:
        return False
    return piece.name == call.name or (
        not call.arguments and (piece.name.startswith(call.name) or _name_goes_on(piece, call))
    )


def _name_goes_on(piece: _Piece, call: _Call) -> bool:
    """True for the rest of a name that came in pieces: the same index, an id only in the first."""
    same_place = piece.index is not None and piece.index == call.index
    return same_place and bool(call.id) and not piece.id and not call.arguments


def _echo(call: _Call, before: _Call) -> bool:
    """True for a final piece that only repeats the name of the call before it."""
    same = (call.name, call.index) == (before.name, before.index)
    return same and not call.id and not call.arguments and before.whole


def _name(call: _Call, piece: _Piece) -> str:
    """The name so far: sent once, repeated in each piece, growing, or in pieces."""
    if not piece.name or piece.name == call.name:
        return call.name
    if call.name and _name_goes_on(piece, call) and not piece.name.startswith(call.name):
        return call.name + piece.name
    return piece.name if not call.name or piece.name.startswith(call.name) else call.name


def _piece(value: Mapping[str, Any]) -> _Piece:
    function = value.get("function")
    inner = mapping(function)
    place = inner or value
    given = first(place, "arguments", "input", "parameters", "args")
    if given is None:
        given = first(value, "arguments", "input", "parameters", "args")
    name = first(place, "name") or (function if isinstance(function, str) else "") or ""
    identifier = first(value, "id", "call_id", "tool_call_id")
    return _Piece(
        id=str(identifier) if isinstance(identifier, str | int) else "",
        index=figure(value.get("index")),
        name=name if isinstance(name, str) else "",
        arguments=_text(given),
    )


def _text(arguments: object) -> str:
    """Arguments as text; objects, which some servers send, are serialised."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)
