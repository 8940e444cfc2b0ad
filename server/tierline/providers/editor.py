"""The editor's own language models: the request goes to the client, which asks its model API.

VS Code offers these models to extensions as ``vscode.lm`` (its documentation: "Language Model
API"). The body is that of Chat Completions, which the rest of Tierline can already read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from tierline.context.prompt import Prompt
from tierline.providers import render_openai
from tierline.providers.base import (
    OfferedModel,
    ProviderError,
    ReasoningChunk,
    RenderedRequest,
    Stop,
    StreamEvent,
    TextChunk,
    Usage,
)
from tierline.providers.calls import tool_call
from tierline.providers.canonical import dumps, rendered
from tierline.providers.choice import ProviderChoice
from tierline.providers.editor_port import EditorPort, ReplyEnd
from tierline.providers.usage import completion_usage, message_figures, message_usage

_WITHOUT = ("stream", "stream_options", "max_tokens")


def make(choice: ProviderChoice, editor: EditorPort | None) -> EditorProvider:
    """See ``Adapter.make``."""
    if editor is None or choice.offered is None:
        raise ProviderError(
            "unavailable", "No editor is connected.", "Choose another provider for this."
        )
    return EditorProvider(
        editor,
        choice.offered.id,
        first_byte_seconds=choice.endpoint.first_byte_seconds,
        stall_seconds=choice.endpoint.stall_seconds,
    )


class EditorProvider:
    """Sends through the editor. No key, no address: the editor asks the user for consent itself."""

    name = "editor"
    strategy = "openai"

    def __init__(
        self,
        port: EditorPort,
        model_id: str,
        *,
        first_byte_seconds: float = 300.0,
        stall_seconds: float = 60.0,
    ) -> None:
        self._port = port
        self._model = model_id
        self._first_byte_seconds = first_byte_seconds
        self._stall_seconds = stall_seconds

    def render(self, prompt: Prompt) -> RenderedRequest:
        """See ``Provider.render``."""
        return rendered(self.name, self.strategy, prompt.model, dumps(body(prompt)))

    async def stream(self, request: RenderedRequest) -> AsyncGenerator[StreamEvent, None]:
        """See ``Provider.stream``. One attempt: the editor retries as it sees fit."""
        calls = 0
        answered = False
        async with aclosing(self._port.chat(self._model, request.body)) as answers:
            while True:
                limit = self._stall_seconds if answered else self._first_byte_seconds
                try:
                    answer = await asyncio.wait_for(anext(answers), limit)
                except StopAsyncIteration:
                    yield Stop("incomplete")
                    return
                except TimeoutError as error:
                    raise ProviderError(
                        "stalled",
                        f"The editor's model sent nothing for {limit:.0f} s.",
                        "Retry, or choose another model.",
                    ) from error
                answered = True
                if isinstance(answer, ReplyEnd):
                    if (usage := _usage(answer)) is not None:
                        yield usage
                    yield Stop("tool_use" if calls else "end")
                    return
                if answer.call_name:
                    calls += 1
                    yield tool_call(answer.call_id, answer.call_name, answer.call_arguments)
                elif answer.thinking:
                    yield ReasoningChunk(answer.thinking)
                elif answer.text:
                    yield TextChunk(answer.text)

    async def count_tokens(self, request: RenderedRequest) -> int | None:  # noqa: ARG002
        """None: the API counts single texts only, not requests."""
        return None

    async def listed(self, path: str = "") -> list[OfferedModel]:  # noqa: ARG002
        """Nothing: ``EditorPort.models`` lists them."""
        return []

    async def close(self) -> None:
        """See ``Provider.close``. There is nothing to release."""


def _usage(answer: ReplyEnd) -> Usage | None:
    """Usage as the model reports it, with the cache's figures, else as the client counted it."""
    report = answer.usage
    if "input_tokens" in report:
        return message_usage(message_figures({}, report))
    if (found := completion_usage(report)) is not None:
        return found
    if answer.input_tokens is None and answer.output_tokens is None:
        return None
    return Usage(answer.input_tokens, answer.output_tokens)


def body(prompt: Prompt) -> dict[str, Any]:
    """Chat Completions without the fields that only a server understands."""
    shape = render_openai.body(prompt, official=False)
    return {key: value for key, value in shape.items() if key not in _WITHOUT}


BODIES = (body,)
