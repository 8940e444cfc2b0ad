"""LiteLLM's proxy (PyPI, MIT) between Tierline and the enforcing servers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from attrs import frozen

from lsp.conftest import Start
from real.conftest import (
    KEY,
    MOST_ERROR_PERCENT,
    Program,
    budget_error,
    free_port,
    serving,
    turns,
)
from tierline import protocol as p
from wire.agents import Use
from wire.enforcing import Answer, EnforcingServer, enforcing

AGENT = [
    Answer("I look.", "", uses=(Use("read_file", {"path": "rates.md"}),)),
    Answer("It has rates.", ""),
    Answer("The last one.", ""),
    Answer("Because it is.", ""),
    Answer("So it is.", ""),
]


@frozen
class Gateway:
    """The proxy's address, and what stands behind it."""

    url: str
    claude: EnforcingServer
    gpt: EnforcingServer


@pytest.fixture(scope="module")
def gateway(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("litellm")
    with enforcing("anthropic", AGENT) as claude, enforcing("openai", AGENT) as gpt:
        models = [
            {
                "model_name": name,
                "litellm_params": {"model": route, "api_base": url, "api_key": "k"},
            }
            for name, route, url in (
                ("claude-sonnet-5-5", "anthropic/claude-sonnet-5-5", claude.url),
                ("gpt-5.6", "openai/gpt-5.6", gpt.url),
            )
        ]
        config = folder / "config.yaml"
        config.write_text(json.dumps({"model_list": models}))  # JSON is YAML, too
        port = free_port()
        command = [
            program("litellm", "litellm"), "--config", str(config), "--telemetry", "False",
            "--host", "127.0.0.1", "--port", str(port),
        ]  # fmt: skip
        env = {
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks another machine
            "LITELLM_MASTER_KEY": KEY,
        }
        with serving(command, port, "/health/liveliness", folder / "server.log", env) as url:
            yield Gateway(f"{url}/v1", claude, gpt)


async def test_claude_behind_it_gets_marks_and_its_figures_and_cost_come_back(
    start: Start, gateway: Gateway
) -> None:
    editor = await start(gateway.url, "litellm", "claude-sonnet-5-5")
    await editor.ask("files/add", p.FileParams(path="rates.md"))
    ends = await turns(editor, "What is in rates.md?", "Which is largest?", "Why?", "So?")
    assert gateway.claude.refused == []
    assert len(gateway.claude.taken) == 5, "the tool's result goes on to the model"
    for taken in gateway.claude.taken:
        assert 1 <= json.dumps(taken.body).count('"cache_control"') <= 4
    for end in ends[1:]:
        assert end.usage is not None and end.usage.cost > 0
        assert (end.usage.cache_read_tokens or 0) > 3_000
    assert any(end.usage and end.usage.cache_write_tokens for end in ends)
    assert await budget_error(editor) < MOST_ERROR_PERCENT


async def test_gpt_behind_it_calls_tools_and_its_figures_and_cost_come_back(
    start: Start, gateway: Gateway
) -> None:
    editor = await start(gateway.url, "litellm", "gpt-5.6")
    await editor.ask("files/add", p.FileParams(path="rates.md"))
    ends = await turns(editor, "What is in rates.md?", "Which is largest?", "Why?", "So?")
    assert gateway.gpt.refused == []
    assert len(gateway.gpt.taken) == 5
    assert all(end.usage is not None and end.usage.cost > 0 for end in ends)
    assert all(end.usage is not None and end.usage.cache_read_tokens for end in ends)


async def test_a_key_is_tried_before_it_is_stored(start: Start, gateway: Gateway) -> None:
    """Without a database the proxy answers a wrong key with an error about that database."""
    editor = await start(gateway.url, "litellm", "gpt-5.6")
    wrong = p.KeyCheckParams("litellm", "sk-wrong", gateway.url)
    assert (await editor.ask("provider/checkKey", wrong)).outcome != "ok"
    right = p.KeyCheckParams("litellm", KEY, gateway.url)
    found = await editor.ask("provider/checkKey", right)
    assert (found.outcome, sorted(found.models)) == ("ok", ["claude-sonnet-5-5", "gpt-5.6"])
