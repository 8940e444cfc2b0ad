"""The editor's own language models, through requests from server to client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from lsp.editor import Editor
from tierline import protocol as p

OFFERED = [
    p.EditorModelInfo("mini", "Mini", "acme", "acme-mini", 20_000),
    p.EditorModelInfo("maxi", "Maxi", "acme", "acme-maxi", 90_000),
]
CAPABLE = lsp.ClientCapabilities(experimental={"tierline": {"languageModels": True}})


class Host:
    """An editor that offers models: what it was asked, and how it answers."""

    def __init__(self, workspace: Path) -> None:
        self.editor = Editor(workspace)
        self.asked: list[p.EditorChatParams] = []
        self.cancelled: list[str] = []
        self.stopped = asyncio.Event()
        self.offered = list(OFFERED)
        self.answer: Callable[[p.EditorChatParams], Any] = self.plain
        client = self.editor.client

        @client.feature(p.EDITOR_MODELS.name)
        def models(_params: Any) -> p.EditorModelsResult:
            return p.EditorModelsResult(self.offered)

        @client.feature(p.EDITOR_CHAT.name)
        async def chat(params: p.EditorChatParams) -> p.EditorChatResult:
            self.asked.append(params)
            result: p.EditorChatResult = await self.answer(params)
            return result

        @client.feature(p.EDITOR_CANCEL)
        def cancel(params: Any) -> None:
            self.cancelled.append(params.requestId)
            self.stopped.set()

    def part(self, request_id: str, **fields: str) -> None:
        self.editor.client.protocol.notify(p.EDITOR_PART, p.EditorPartParams(request_id, **fields))

    async def plain(self, params: p.EditorChatParams) -> p.EditorChatResult:
        for word in ("From ", "the ", "editor."):
            self.part(params.request_id, text=word)
            await asyncio.sleep(0.01)
        return p.EditorChatResult(input_tokens=123, output_tokens=3)


@pytest_asyncio.fixture
async def host(workspace: Path) -> AsyncIterator[Host]:
    host = Host(workspace)
    await host.editor.start(settings={"provider": {"name": "editor"}}, capabilities=CAPABLE)
    yield host
    await host.editor.stop()


async def send(host: Host, text: str = "Hello?") -> tuple[p.TurnFinished, str]:
    sent = await host.editor.ask("chat/send", p.ChatSendParams(text=text))
    end = await host.editor.finished(sent.turn_id)
    return end, end.message.text if end.message else ""


async def test_the_reply_streams_through_the_editor(host: Host) -> None:
    await host.editor.ask("files/add", p.FileParams(path="src/a.py"))
    end, text = await send(host)
    assert (end.outcome, text) == ("ok", "From the editor.")
    assert end.usage is not None
    assert (end.usage.input_tokens, end.usage.estimated) == (123, False)
    assert [delta.text for delta in host.editor.bodies(p.TextDelta)] == ["From ", "the ", "editor."]
    (asked,) = host.asked
    assert asked.model == "mini", "the first that the editor offers"
    assert "def alpha()" in json.dumps(asked.body["messages"])
    assert set(asked.body) == {"model", "tools", "messages"}, "nothing for a server only"


async def test_the_window_is_the_one_that_the_editor_names(host: Host) -> None:
    budget = await host.editor.ask("budget/get", p.NoParams())
    assert (budget.max_input_tokens, budget.limit_source) == (20_000, "provider")
    assert budget.model == "acme:mini"


async def test_models_are_listed_and_chosen(host: Host) -> None:
    listed = await host.editor.ask("provider/list", p.NoParams())
    (mine,) = [info for info in listed.providers if info.name == "editor"]
    assert (mine.models, mine.active) == (["acme:mini", "acme:maxi"], True)
    chosen = await host.editor.ask(
        "provider/select", p.ProviderSelectParams(name="editor", model="acme:maxi")
    )
    assert chosen.model == "acme:maxi"
    await send(host)
    assert host.asked[-1].model == "maxi"


async def test_stopping_tells_the_editor_and_keeps_what_has_arrived(host: Host) -> None:
    going = asyncio.Event()

    async def endless(params: p.EditorChatParams) -> p.EditorChatResult:
        host.part(params.request_id, text="Half ")
        going.set()
        await host.stopped.wait()
        return p.EditorChatResult()

    host.answer = endless
    sent = await host.editor.ask("chat/send", p.ChatSendParams(text="Tell me."))
    await going.wait()
    await host.editor.until(lambda: host.editor.bodies(p.TextDelta))
    await host.editor.ask("chat/cancel", p.ChatCancelParams())
    end = await host.editor.finished(sent.turn_id)
    assert end.outcome == "interrupted"
    assert end.message is not None
    assert end.message.text == "Half "
    await asyncio.wait_for(host.stopped.wait(), 5)
    assert host.cancelled == [host.asked[0].request_id]


@pytest.mark.parametrize(
    ("code", "words"), [("auth", "Allow Tierline"), ("unavailable", "another model")]
)
async def test_a_refusal_is_explained(host: Host, code: str, words: str) -> None:
    async def refuse(_params: p.EditorChatParams) -> p.EditorChatResult:
        raise JsonRpcException("The user said no.", -32000, {"code": code})

    host.answer = refuse
    end, _ = await send(host)
    assert (end.outcome, end.code, end.error) == ("error", code, "The user said no.")
    assert words in end.advice


async def test_an_editor_without_a_model_says_what_to_do(host: Host) -> None:
    host.offered = []
    await host.editor.ask("provider/list", p.NoParams())
    end, _ = await send(host)
    assert (end.outcome, end.code) == ("error", "no_provider")
    assert "offers no language model" in end.error


async def test_a_client_that_declares_nothing_is_never_asked(workspace: Path) -> None:
    host = Host(workspace)
    await host.editor.start(settings={"provider": {"name": "editor"}})
    try:
        listed = await host.editor.ask("provider/list", p.NoParams())
        assert "editor" not in [info.name for info in listed.providers]
        end, _ = await send(host)
        assert end.code == "no_provider"
        assert host.asked == []
    finally:
        await host.editor.stop()


REPORTS: list[tuple[dict[str, Any], int, int | None]] = [
    ({"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 640}}, 900, 640),
    ({"prompt_tokens": 900, "completion_tokens": 3, "prompt_tokens_details": None}, 900, None),
    ({"input_tokens": 100, "cache_read_input_tokens": 800, "output_tokens": 3}, 900, 800),
    ({"prompt_tokens": "900", "cached_tokens": 640}, 900, 640),
]


async def test_thinking_is_folded_and_the_models_own_report_counts(host: Host) -> None:
    for report, whole, read in REPORTS:

        async def answer(
            params: p.EditorChatParams, report: dict[str, Any] = report
        ) -> p.EditorChatResult:
            host.part(params.request_id, thinking="Let me see. ")
            host.part(params.request_id, text="Yes.")
            return p.EditorChatResult(usage=report)

        host.answer = answer
        end, text = await send(host, f"Is it {whole} {read}?")
        assert (end.outcome, text) == ("ok", "Yes."), report
        assert end.usage is not None and not end.usage.estimated, report
        assert (end.usage.input_tokens, end.usage.cache_read_tokens) == (whole, read), report
    thought = "".join(delta.text for delta in host.editor.bodies(p.ReasoningDelta))
    assert thought == "Let me see. " * len(REPORTS)
