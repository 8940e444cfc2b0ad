"""llama.cpp's own server (PyPI's xllamacpp) with the small model that the tests already have."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Start
from real.conftest import MOST_ERROR_PERCENT, budget_error, free_port, serving, turns
from tierline import protocol as p
from tierline.providers.gguf import find_model

pytestmark = pytest.mark.model
WINDOW = 6_144
BRIEF: dict[str, Any] = {"context": {"max_output_tokens": 16}, "tools": {"enabled": "off"}}
"""The model is too small for tools, and would ramble."""
SERVER = """
import json, sys, threading, xllamacpp
given, params = json.loads(sys.argv[1]), xllamacpp.CommonParams()
params.model.path, params.model_alias, params.hostnames = given["model"], ["smol"], ["127.0.0.1"]
params.port, params.n_ctx, params.n_parallel, params.ui = given["port"], given["window"], 1, False
# More threads would wait for each other on a busy machine.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    given = {"model": str(find_model().path), "port": port, "window": WINDOW}
    command = [sys.executable, "-c", SERVER, json.dumps(given)]
    log = tmp_path_factory.mktemp("llamacpp") / "server.log"
    with serving(command, port, "/health", log) as url:
        yield url


async def test_window_usage_cache_and_budget_are_what_the_server_says(
    start: Start, llama: str, workspace: Path
) -> None:
    (workspace / "rates.py").write_text("RATE = 1.5\n" * 60, encoding="utf-8")
    editor = await start(f"{llama}/v1", "llamacpp", "smol", **BRIEF)
    await editor.ask("files/add", p.FileParams(path="rates.py"))
    ends = await turns(editor, "What is RATE?", "Is it a number?", "Is it large?", "Why?")
    budget = await editor.ask("budget/get")
    assert budget.limit_source == "provider"
    assert budget.max_input_tokens == WINDOW
    read = [end.usage.cache_read_tokens or 0 for end in ends if end.usage]
    given = [end.usage.input_tokens for end in ends if end.usage]
    assert read[-1] > 0.9 * given[-2], "the beginning of the prompt is not read anew"
    assert await budget_error(editor) < MOST_ERROR_PERCENT
    cards = await editor.ask("provider/models", p.ModelsParams("llamacpp", f"{llama}/v1"))
    assert (cards.source, [card.name for card in cards.models]) == ("server", ["smol"])


async def test_a_prompt_beyond_its_window_is_made_smaller(
    start: Start, llama: str, workspace: Path
) -> None:
    (workspace / "long.txt").write_text("consideration " * 9_000, encoding="utf-8")
    editor = await start(f"{llama}/v1", "llamacpp", "smol", **BRIEF)
    await editor.ask("files/add", p.FileParams(path="long.txt"))
    end = await editor.chat("Is it long?")
    assert (end.outcome, end.error) == ("ok", "")
    assert any(f"{WINDOW:,} tokens" in notice.text for notice in editor.bodies(p.Notice))
