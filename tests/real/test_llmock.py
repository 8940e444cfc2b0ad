"""llmock (PyPI, MIT): an independent mock of Chat Completions, Responses and Messages.

It calls the tools that it is offered and then answers with what they said, counts in its own way,
refuses what does not fit its window in each service's own words, and judges its clients.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Start
from real.conftest import MOST_ERROR_PERCENT, Program, budget_error, free_port, serving, turns
from tierline import protocol as p

# It counts a token for every four characters, whatever the model; for a model of OpenAI's our own
# count is exact and learns from nobody, so these have names that nobody knows.
TRANSLATED_FIELDS = {
    "Chat Completions": ("openai", "/v1", "mock-large", "chat"),
    "Responses": ("openai", "/v1", "mock-large", "responses"),
    "Messages": ("anthropic", "/anthropic", "claude-sonnet-4-5", "auto"),
}


@pytest.fixture(scope="module")
def mock(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _llmock(program, tmp_path_factory.mktemp("llmock")) as url:
        yield url


def _llmock(program: Program, folder: Path, *options: str) -> Any:
    port = free_port()
    command = [program("llmock", "llmock"), "serve", "--host", "127.0.0.1", "--port", str(port)]
    return serving([*command, *options], port, "/v1/models", folder / "llmock.log")


def _said(url: str, page: str) -> Any:
    with urllib.request.urlopen(f"{url}/_llmock/{page}", timeout=10) as answer:
        return json.load(answer)


@pytest.mark.parametrize("form", TRANSLATED_FIELDS)
async def test_tools_are_called_and_then_the_reply_comes(
    start: Start, mock: str, form: str
) -> None:
    provider, path, model, api = TRANSLATED_FIELDS[form]
    editor = await start(mock + path, provider, model, api)
    await turns(editor, "What is in rates.md?")
    done = (await editor.ask("stats/turns", p.TurnStatsParams(limit=1))).turns[0]
    assert done.calls and len(done.plans) == 2


@pytest.mark.parametrize("form", TRANSLATED_FIELDS)
async def test_the_budget_is_right_after_three_turns(start: Start, mock: str, form: str) -> None:
    """The mock leaves the definitions of tools out of its figures, which no service does."""
    provider, path, model, api = TRANSLATED_FIELDS[form]
    editor = await start(mock + path, provider, model, api, tools={"enabled": "off"})
    await editor.ask("files/add", p.FileParams(path="rates.md"))
    ends = await turns(editor, "What is in rates.md?", "Which rate is the largest?", "Why?", "So?")
    assert all(end.usage and end.usage.input_tokens > 1_000 for end in ends)
    assert await budget_error(editor) < MOST_ERROR_PERCENT


@pytest.mark.parametrize("form", TRANSLATED_FIELDS)
async def test_a_window_that_is_smaller_than_thought_is_learnt_from_its_refusal(
    start: Start, program: Program, tmp_path: Path, form: str, workspace: Path
) -> None:
    provider, path, model, api = TRANSLATED_FIELDS[form]
    (workspace / "long.txt").write_text("consideration " * 9_000, encoding="utf-8")
    with _llmock(program, tmp_path, "--context-window", "8000") as url:
        editor = await start(url + path, provider, model, api)
        await editor.ask("files/add", p.FileParams(path="long.txt"))
        end = await editor.chat("Is it long?")
        assert (end.outcome, end.error) == ("ok", "")
        assert (await editor.ask("budget/get")).max_input_tokens <= 8_000
        assert any("8,000 tokens" in notice.text for notice in editor.bodies(p.Notice))


async def test_the_mock_finds_no_fault_with_its_client(mock: str) -> None:
    """It watches for prompts that are sent again after a refusal, or before the time that it named.
    Several editors asked it above, and each asks for the pages of Ollama and others once.
    """
    verdict = _said(mock, "verdict")
    found = [f for f in verdict["findings"] if "/v1/" in f["path"]]
    assert verdict["calls"] > 12
    assert found == []
