"""Reads the replies of Chat Completions, streamed or whole, as the many servers send them.

Fields may be missing, null, of another type or in another place. The reader takes what it can, and
never loses text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from tierline.providers.base import ReasoningChunk, Stop, StreamEvent, TextChunk, Usage
from tierline.providers.calls import CallAssembler
from tierline.providers.errors import error_in, from_event
from tierline.providers.thinking_collector import ThinkingCollector
from tierline.providers.usage import completion_usage, merged
from tierline.providers.values import call_parts, figure, first, mapping, rows, string, text_pieces

_STOPS = {
    said: reason
    for reason, words in (
        ("end", "stop end eos eos_token end_turn stop_sequence complete completed "
                "finish_reason_unspecified"),
        ("output_limit", "length max_tokens max_output_tokens model_length"),
        ("tool_use", "tool_calls tool_call tool_use function_call"),
        ("filtered", "content_filter safety refusal"),
    )
    for said in words.split()
}  # fmt: skip
_REASONS = ("finish_reason", "stop_reason", "finishReason", "done_reason")
_SPEECH = ("delta", "message", "text", "content", "response")
_REPEATED = 2
"""After this many pieces, a message with all of their text is their sum and not another piece."""


@define
class CompletionReader:
    """Reads one reply. If a server sends several choices unasked, the first one."""

    service: str
    secret: str = field(default="", repr=False)
    done: bool = False
    _calls: CallAssembler = field(factory=CallAssembler)
    _function: CallAssembler = field(factory=CallAssembler)
    """The one call of the older ``function_call``."""
    _thoughts: ThinkingCollector = field(factory=ThinkingCollector)
    _stop: str | None = None
    _usage: Usage = field(factory=Usage)
    _text: list[str] = field(factory=list)
    _deltas: bool = False
    """True once a piece came in ``delta``: a ``message`` is then the sum of all."""
    _summed: bool = False
    """True if the last object held only usage: that ends a reply that gives no finish reason."""

    def read(self, data: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """See ``Reader.read``."""
        if error := error_in(data):
            raise from_event(self.service, error, secret=self.secret)
        data = _opened(data)
        places: list[Any] = [data]
        self._summed = False
        for choice in _choices(data):
            places += [choice, choice.get("message"), choice.get("delta")]
            yield from self._said(choice)
        yield from self._counted(places, alone=len(places) == 1)
        if data.get("done") is True:  # the end mark of servers that send lines of JSON
            self._stop = self._stop or string(data.get("done_reason"))

    def has_content(self, data: Mapping[str, Any]) -> bool:
        """See ``Reader.says``. A chunk that only names the role does not count."""
        for choice in _choices(_opened(data)):
            place = mapping(choice.get("delta")) or mapping(choice.get("message")) or choice
            if _reason(choice) or any(True for _ in text_pieces(place)):
                return True
            if any(choice.get(name) for name in ("text", "response")):
                return True
            if any(place.get(name) for name in ("tool_calls", "function_call")):
                return True
        return False

    def end(self) -> Iterator[StreamEvent]:
        """See ``Reader.end``. Calls are complete only now: no piece is marked as the last."""
        if self._stop is None and not self.done and not self._summed:
            return
        yield from self._thoughts.done()
        calls = [*self._calls.finish(), *self._function.finish()]
        yield from calls
        reason = self._stop or ""
        mapped = _STOPS.get(reason.lower(), "other" if reason else "end")
        yield Stop("tool_use" if mapped == "end" and calls else mapped, reason)

    def _said(self, choice: Mapping[str, Any]) -> Iterator[StreamEvent]:
        delta, message = choice.get("delta"), choice.get("message")
        if delta is not None and (delta or message is None):
            self._deltas = True
            place = delta if isinstance(delta, Mapping) else {"content": delta}
            yield from self._speak(place)
            self._call(place, whole=False)
        elif message is not None:
            yield from self._message(
                message if isinstance(message, Mapping) else {"content": message}
            )
        else:
            yield from self._speak(
                {**choice, "content": first(choice, "text", "content", "response")}
            )
            self._call(choice, whole=False)
        self._stop = _reason(choice) or self._stop

    def _message(self, message: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """A ``message`` is the whole reply, the sum of the pieces before it, or another piece."""
        text = "".join(words for kind, words in text_pieces(message) if kind == "text")
        before = "".join(self._text)
        if before and text.startswith(before) and (self._deltas or len(self._text) >= _REPEATED):
            rest = text[len(before) :]
            yield from self._speak({"content": rest})
        elif not (self._deltas and before):
            yield from self._speak(message)
        if not (self._deltas and self._calls):
            self._call(message, whole=True)

    def _speak(self, place: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._thoughts.add(place)
        for kind, words in text_pieces(place):
            if kind == "text":
                yield from self._thoughts.done()
                self._text.append(words)
                yield TextChunk(words)
            else:
                yield ReasoningChunk(words)

    def _call(self, place: Mapping[str, Any], *, whole: bool) -> None:
        for piece in rows(place.get("tool_calls")):
            self._calls.add(piece, whole=whole)
        for piece in call_parts(place):
            self._calls.add(piece, whole=True)
        if isinstance(call := place.get("function_call"), Mapping):
            self._function.add({"index": 0, "function": call}, whole=whole)

    def _counted(self, places: list[Any], *, alone: bool) -> Iterator[StreamEvent]:
        """Read usage at the top, in the choice, or among a vendor's extras; the last one counts."""
        found: Usage | None = None
        for place in map(mapping, places):
            for usage in (place.get("usage"), mapping(place.get("x_groq")).get("usage")):
                one = completion_usage(mapping(usage))
                found = merged(found or Usage(), one) if one is not None else found
        if found is None:
            return
        self._usage = merged(self._usage, found)
        self._summed = alone and bool(self._text or self._calls)
        yield self._usage


def _opened(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object itself, taken out of the envelope that some gateways put around it."""
    if "choices" in data:
        return data
    inside = (v for v in data.values() if isinstance(v, Mapping) and "choices" in v)
    return next(inside, data)


def _choices(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The pieces of the first choice. An object without choices but with content is one itself."""
    found = data.get("choices")
    if isinstance(found, Mapping) and not any(name in found for name in (*_SPEECH, *_REASONS)):
        found = list(found.values())
    choices = [choice for choice in rows(found) if isinstance(choice, Mapping)]
    if not choices and not found and any(data.get(name) for name in _SPEECH):
        return [data]
    indexes = [figure(choice.get("index")) or 0 for choice in choices]
    return [c for c, index in zip(choices, indexes, strict=True) if index == min(indexes)]


def _reason(choice: Mapping[str, Any]) -> str:
    """Why the reply ended, in the service's word; empty if it has not ended."""
    reason = first(choice, *_REASONS)
    if isinstance(reason, Mapping):
        reason = first(reason, "type", "reason", "value")
    return reason.strip() if isinstance(reason, str) else ""
