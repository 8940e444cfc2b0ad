"""The interface of every provider adapter, and the events and errors of a stream."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from attrs import field, frozen

from tierline.errors import CodedError

if TYPE_CHECKING:  # the language server imports this module before it answers ``initialize``
    from tierline.context.prompt import Prompt


@frozen
class RenderedRequest:
    """An exact request body. ``payload`` is its canonical JSON; ``sha256`` its hash."""

    provider: str
    strategy: str
    model: str
    payload: bytes
    sha256: str
    prompt: Prompt | None = field(default=None, eq=False, repr=False)
    """The prompt as adapted to this server; it renders to the same bytes."""

    @cached_property
    def body(self) -> Mapping[str, Any]:
        """The payload as JSON values."""
        value: Mapping[str, Any] = json.loads(self.payload)
        return value


@frozen
class TextChunk:
    """More visible text of the reply."""

    text: str


@frozen
class ReasoningChunk:
    """More of the model's thinking, for display only."""

    text: str


@frozen
class ReasoningDone:
    """A whole piece of thinking, opaque, that must be sent back unchanged to the provider that sent
    it.

    Comes after its deltas, and before the text or call that it led to. Thinking that comes in
    deltas alone is shown and kept, but never sent back.
    """

    data: Mapping[str, Any]


@frozen
class ToolCall:
    """A complete call. ``error`` is set if its arguments were not a JSON object; ``signature``:
    fields that must be sent back on the call unchanged.
    """

    id: str
    name: str
    input: Mapping[str, Any] = field(factory=dict)
    error: str = ""
    signature: Mapping[str, Any] = field(factory=dict)


@frozen
class Usage:
    """Token figures as the provider reports them; None where it says nothing. ``input_tokens``
    counts the whole prompt: cached, written and uncached together.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: float | None = None
    """Cost of the request in US dollars, where the service reports it."""
    written_1h: int | None = None
    """The part of ``cache_write_tokens`` kept for an hour, where it is told apart."""
    reply_id: str = ""
    """The service's id of its reply."""
    missed: str = ""
    """Why the cache missed, in the service's word (``tools_changed``)."""
    missed_tokens: int | None = None
    """About how many tokens that miss cost, as the service reports."""


@frozen
class TextWasThinking:
    """All of the reply's text so far was thinking: its closing tag came without an opening one."""


@frozen
class RetryScheduled:
    """The request failed in a way that may be temporary; the adapter waits and tries again."""

    attempt: int
    of: int
    wait_seconds: float
    reason: str


@frozen
class RequestAdapted:
    """The server refused a part of the request; it is sent again without it, as ``request``.

    ``reason`` says what was learnt, for the user.
    """

    request: RenderedRequest
    reason: str


@frozen
class MalformedEvent:
    """A stream event that could not be parsed was skipped."""

    detail: str


@frozen
class Stop:
    """The reply's end. ``reason``: ``end``, ``output_limit``, ``tool_use``, ``filtered``, ``other``
    or ``incomplete`` (the connection closed without an end event). ``raw`` is the provider's word.
    """

    reason: str
    raw: str = ""


StreamEvent: TypeAlias = (
    TextChunk
    | ReasoningChunk
    | ReasoningDone
    | TextWasThinking
    | ToolCall
    | Usage
    | RetryScheduled
    | RequestAdapted
    | MalformedEvent
    | Stop
)


class ProviderError(CodedError):
    """A request failed.

    ``code`` is stable: ``auth``, ``rate_limited``, ``overloaded``, ``overflow`` (the input is too
    large), ``bad_request``, ``stalled``, ``network``, ``unavailable``, ``protocol``. ``message``
    says what happened in one sentence, ``advice`` what to do. No key is ever in either.
    """

    def __init__(
        self, code: str, message: str, advice: str, *, http_status: int | None = None
    ) -> None:
        super().__init__(code, message, advice)
        self.http_status = http_status


@frozen
class OfferedModel:
    """One model. ``window``: input tokens as the service reports; None if it does not."""

    name: str
    window: int | None = None


class Provider(Protocol):
    """A language-model service. Adapters know wire formats and nothing of policy."""

    name: str
    strategy: str
    """The ``parsing_strategy`` that its messages are tagged with: ``anthropic`` or ``openai``."""

    def render(self, prompt: Prompt) -> RenderedRequest:
        """Turn a prompt into an exact body. Pure: the same prompt gives the same bytes."""
        ...

    def stream(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        """Send and stream. Ends with Stop; raises ProviderError. Closing the iterator cancels the
        request at once (the caller uses ``aclosing``).
        """
        ...

    async def count_tokens(self, request: RenderedRequest) -> int | None:
        """The provider's own count of the input, or None if it has no such endpoint."""
        ...

    async def listed(self, path: str = "") -> list[OfferedModel]:
        """The models that the service lists. Another ``path`` checks the key, where the list needs
        none.

        Raises:
            ProviderError: the service refused or was not reached.
        """
        ...

    async def close(self) -> None:
        """Release connections and child processes."""
        ...
