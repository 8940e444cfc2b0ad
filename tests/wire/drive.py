"""Driving an adapter in tests: short prompts, short waits, everything it says in a list."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import aclosing
from typing import Any

import pytest
from attrs import field, frozen

from tierline.context.blocks import Block, Role, Text
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec, Ttl
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.base import (
    Provider,
    ProviderError,
    RenderedRequest,
    RetryScheduled,
    Stop,
    StreamEvent,
    TextChunk,
    Usage,
)
from tierline.providers.openai import OpenAIProvider
from tierline.providers.retry import RetryPolicy
from tierline.providers.transport import Endpoint
from wire.scripts import a_error, a_reply, a_start, a_texts, o_error, o_reply, o_texts
from wire.servers import Kind, Reply, WireServer

QUICK = RetryPolicy(retries=4, first_wait=0.01, longest_wait=0.05)
KEY = "sk-test-0123456789abcdef"


def said(role: Role, *blocks: Block | PromptBlock) -> PromptMessage:
    return PromptMessage(
        role, tuple(b if isinstance(b, PromptBlock) else PromptBlock(b, "x") for b in blocks)
    )


def prompt(
    *messages: PromptMessage,
    system: Iterable[PromptBlock] = (PromptBlock(Text("You help."), "system"),),
    tools: Iterable[ToolSpec] = (),
    tools_mark: Ttl | None = None,
    **more: Any,
) -> Prompt:
    messages = messages or (said("user", Text("Say hi.")),)
    more = {"max_output_tokens": 16, **more}
    return Prompt("mock-a", tuple(system), messages, tuple(tools), tools_mark, **more)


def adapter(server: WireServer, **options: Any) -> AnthropicProvider | OpenAIProvider:
    """The adapter of the server's wire format, with short waits between attempts."""
    endpoint = Endpoint(server.url, **{"key": KEY, "retry": QUICK, **options})
    if server.kind == "anthropic":
        return AnthropicProvider(endpoint)
    return OpenAIProvider(endpoint)


@frozen
class Heard:
    """Everything that a stream gave."""

    events: list[StreamEvent] = field(factory=list)
    error: ProviderError | None = None

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.of(TextChunk))

    @property
    def stop(self) -> Stop:
        (stop,) = self.of(Stop)
        assert self.events[-1] is stop
        assert isinstance(stop, Stop)
        return stop

    @property
    def usage(self) -> Usage | None:
        found = self.of(Usage)
        return found[-1] if found else None

    @property
    def waits(self) -> list[RetryScheduled]:
        return self.of(RetryScheduled)

    @property
    def failed(self) -> ProviderError:
        assert self.error is not None, self.events
        return self.error


async def hear(provider: Provider, request: RenderedRequest | None = None) -> Heard:
    """Stream to the end; an error is kept beside what came before it."""
    events: list[StreamEvent] = []
    try:
        async with aclosing(provider.stream(request or provider.render(prompt()))) as stream:
            async for event in stream:
                events.append(event)  # noqa: PERF401 (kept if the stream fails)
    except ProviderError as error:
        return Heard(events, error)
    finally:
        await provider.close()
    return Heard(events)


async def ask(server: WireServer, **options: Any) -> Heard:
    return await hear(adapter(server, **options))


def reply(kind: Kind, *pieces: str) -> Reply:
    """A whole reply of the text in pieces."""
    return a_reply(*pieces) if kind == "anthropic" else o_reply(*pieces)


def begun(kind: Kind, *pieces: str) -> list[bytes]:
    """The beginning of a reply, without its end."""
    if kind == "openai":
        return o_texts(*pieces)
    return [a_start(), *a_texts(0, *pieces)[:-1]] if pieces else [a_start()]


def refusal(kind: Kind, status: int, message: str = "no", **headers: str) -> Reply:
    if kind == "anthropic":
        return a_error("overloaded_error" if status == 529 else "x", message, status, **headers)
    return o_error(message, status, **headers)


async def stopped_in_a_wait(server: WireServer, wait: float) -> float:
    """Ask a server that refuses, stop while the adapter waits to try again. Seconds it took."""
    policy = RetryPolicy(first_wait=wait, longest_wait=wait)
    task = asyncio.ensure_future(ask(server, retry=policy))
    assert await asyncio.to_thread(server.asked.wait, 5)
    await asyncio.sleep(0.1)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.monotonic() - began
