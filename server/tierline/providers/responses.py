"""OpenAI's Responses API: beside Chat Completions, for models that think between calls and for
those that exist only here. Nothing is stored at the service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from attrs import define, field

from tierline.context.prompt import Prompt
from tierline.providers import render_responses
from tierline.providers.base import (
    ReasoningChunk,
    ReasoningDone,
    RenderedRequest,
    Stop,
    StreamEvent,
    TextChunk,
)
from tierline.providers.calls import tool_call
from tierline.providers.choice import ProviderChoice
from tierline.providers.editor_port import EditorPort
from tierline.providers.errors import from_event
from tierline.providers.openai import OpenAIProvider
from tierline.providers.transport import Endpoint, Reader
from tierline.providers.usage import completion_usage
from tierline.providers.values import mapping, rows, string

_TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THINKING = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ENDS = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)
_INCOMPLETE = {"max_output_tokens": "output_limit", "content_filter": "filtered"}
_ALIVE = frozenset({"response.created", "response.queued", "response.in_progress", "keepalive"})


@define
class ResponseReader:
    """Reads one reply. Events of later versions are passed over."""

    service: str
    secret: str = field(default="", repr=False)
    done: bool = False
    _spoken: set[str] = field(factory=set)
    """Ids of items whose text came in pieces."""
    _pieces: list[str] = field(factory=list)
    """The texts of those items: some servers give a complete item another id, or none."""
    _finished: set[str] = field(factory=set)
    """Ids of items that came complete."""
    _calls: int = 0
    _stop: str | None = None
    _raw: str = ""

    def read(self, data: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """See ``Reader.read``."""
        kind = string(data.get("type"))
        if kind in _TEXT:
            self._spoken.add(string(data.get("item_id")))
            if text := string(data.get("delta")):
                self._pieces.append(text)
                yield TextChunk(text)
        elif kind in _THINKING:
            self._spoken.add(string(data.get("item_id")))
            if text := string(data.get("delta")):
                yield ReasoningChunk(text)
        elif kind == "response.reasoning_summary_part.added":
            if data.get("summary_index"):
                yield ReasoningChunk("\n\n")
        elif kind == "response.output_item.done":
            yield from self._item(mapping(data.get("item")))
        elif kind in _ENDS:
            yield from self._end(mapping(data.get("response")))
        elif kind == "error" or data.get("error"):
            raise from_event(self.service, data, secret=self.secret)
        elif data.get("object") == "response":
            yield from self._end(data)

    def has_content(self, data: Mapping[str, Any]) -> bool:
        """See ``Reader.says``."""
        return string(data.get("type")) not in _ALIVE

    def end(self) -> Iterator[StreamEvent]:
        """See ``Reader.end``."""
        if self._stop is not None:
            yield Stop("tool_use" if self._stop == "end" and self._calls else self._stop, self._raw)

    def _item(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        names = {string(item.get("id")), string(item.get("call_id"))} - {""}
        if names & self._finished:
            return
        self._finished |= names
        identifier = string(item.get("id")) or string(item.get("call_id"))
        kind = string(item.get("type")) or ("function_call" if "arguments" in item else "")
        match kind:
            case "message" if identifier not in self._spoken:
                told = "".join(self._pieces)
                for part in map(mapping, rows(item.get("content"))):
                    text = string(part.get("text")) or string(part.get("refusal"))
                    if text and text not in told:
                        self._pieces += [] if names else [text]
                        yield TextChunk(text)
            case "function_call":
                self._calls += 1
                yield tool_call(
                    string(item.get("call_id")) or identifier,
                    string(item.get("name")),
                    string(item.get("arguments")),
                )
            case "reasoning":
                if identifier not in self._spoken:
                    parts = [*rows(item.get("summary")), *rows(item.get("content"))]
                    texts = [string(mapping(part).get("text")) for part in parts]
                    if text := "\n\n".join(filter(None, texts)):
                        yield ReasoningChunk(text)
                if item.get("encrypted_content"):
                    kept = ("type", "id", "summary", "encrypted_content")
                    yield ReasoningDone({"summary": []} | {k: item[k] for k in kept if k in item})

    def _end(self, response: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Read the whole response: items that did not come in pieces, usage, and why it ended."""
        if error := response.get("error"):
            raise from_event(self.service, {"error": error}, secret=self.secret)
        for item in rows(response.get("output")):
            yield from self._item(mapping(item))
        usage = completion_usage(mapping(response.get("usage")))
        if usage is not None:
            yield usage
        self._raw = string(response.get("status"))
        reason = string(mapping(response.get("incomplete_details")).get("reason"))
        self._stop = "end"
        if self._raw == "incomplete" or reason:
            self._stop, self._raw = _INCOMPLETE.get(reason, "other"), reason or self._raw
        self.done = True


_COUNTED = ("model", "tools", "input", "reasoning")
# The model decides which of them is used, and a plan does not store it.
BODIES = tuple(
    partial(render_responses.body, retention=retention, summary=summary, listed=listed)
    for retention in (False, True)
    for summary in (False, True)
    for listed in (False, True)
)


def make(choice: ProviderChoice, _editor: EditorPort | None) -> ResponsesProvider:
    """See ``Adapter.make``."""
    title = "" if choice.spec.compatible else choice.spec.title
    return ResponsesProvider(
        choice.endpoint,
        service=choice.found or title,
        retention=choice.retention,
        summary=choice.reasons,
        listed=choice.listed,
    )


class ResponsesProvider(OpenAIProvider):
    """Like Chat Completions, with encrypted reasoning, and breakpoints where models know them."""

    name = "responses"
    path = "/responses"

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        service: str = "",
        retention: bool = False,
        summary: bool = False,
        listed: bool = False,
    ) -> None:
        super().__init__(endpoint, service=service)
        self._write = partial(
            render_responses.body, retention=retention, summary=summary, listed=listed
        )

    async def count_tokens(self, request: RenderedRequest) -> int | None:
        """See ``Provider.count_tokens``."""
        return await self._count(f"{self.path}/input_tokens", request, _COUNTED)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        return self._write(prompt)

    def _reader(self) -> Reader:
        return ResponseReader(self.service, self._endpoint.key)
