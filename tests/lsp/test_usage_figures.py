"""Figures of the cache and of money, as services say them; what nobody says is unknown."""

from __future__ import annotations

from typing import Any

import pytest

from lsp.conftest import Start
from tierline import protocol as p
from wire.scripts import O_DONE, o_chunk, o_data, o_reply, o_texts
from wire.servers import Reply, wire_server

DEEPSEEK = {
    "prompt_tokens": 2000,
    "completion_tokens": 5,
    "prompt_cache_hit_tokens": 896,
    "prompt_cache_miss_tokens": 1104,
}
KIMI = {"prompt_tokens": 2000, "completion_tokens": 5, "cached_tokens": 896}
SILENT = {"prompt_tokens": 2000, "completion_tokens": 5}
ROUTER = {
    "prompt_tokens": 2000,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 896, "cache_write_tokens": 100},
    "cost": 0.0123,
}
IN_TEXT = {"prompt_tokens": "2000", "completion_tokens": "5", "prompt_tokens_details": None}
ZEROS = {"prompt_tokens": 0, "completion_tokens": 0, "prompt_cache_hit_tokens": 0}


def in_choice(usage: Any) -> Reply:
    """Moonshot's place for it."""
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}
    return Reply([*o_texts("Yes."), o_data(last), O_DONE])


def in_every_chunk(usage: Any, end: Any) -> Reply:
    grown = [o_chunk({"content": "Yes."}, usage={**usage, "completion_tokens": 1})]
    return Reply([*grown, o_chunk({}, "stop", usage=usage), o_chunk(None, usage=end), O_DONE])


CASES: dict[str, tuple[Reply, int | None, float]] = {
    "DeepSeek": (o_reply("Yes.", usage=DEEPSEEK), 896, 0),
    "Kimi": (o_reply("Yes.", usage=KIMI), 896, 0),
    "in the choice": (in_choice(KIMI), 896, 0),
    "nothing said": (o_reply("Yes.", usage=SILENT), None, 0),
    "null": (o_reply("Yes.", usage={**SILENT, "prompt_tokens_details": None}), None, 0),
    "OpenRouter, with money": (o_reply("Yes.", usage=ROUTER), 896, 0.0123),
    "numbers as text": (o_reply("Yes.", usage=IN_TEXT), None, 0),
    "in every chunk, zeros at the end": (in_every_chunk(DEEPSEEK, ZEROS), 896, 0),
    "in every chunk, null at the end": (in_every_chunk(DEEPSEEK, None), 896, 0),
}


async def test_what_was_read_from_the_cache_is_what_the_service_says(start: Start) -> None:
    with wire_server("openai", [reply for reply, _, _ in CASES.values()]) as model:
        env = {"TIERLINE_PROVIDER_MODEL": "some-model"}
        editor = await start(model, env=env, tools={"enabled": "off"})
        for how, (_, read, cost) in CASES.items():
            end = await editor.chat(f"Is it? {how}")
            assert end.usage is not None and end.message is not None, how
            assert (end.usage.input_tokens, end.usage.estimated) == (2000, False), how
            assert (end.usage.output_tokens, end.usage.cache_read_tokens) == (5, read), how
            assert end.usage.cost == pytest.approx(cost), how
            assert end.cache is not None and end.cache.read_tokens == (-1 if read is None else read)
            assert end.message.usage == end.usage, how
        shown = [m.usage for m in (await editor.ask("state/get")).messages if m.usage]
        await editor.stop()
        editor = await start(model, env=env)
        again = [m.usage for m in (await editor.ask("state/get")).messages if m.usage]
    assert shown == again
    assert [usage.cache_read_tokens for usage in again] == [read for _, read, _ in CASES.values()]


async def test_money_that_the_service_names_wins_over_the_table(start: Start) -> None:
    with wire_server("openai", [o_reply("Yes.", usage=ROUTER)]) as model:
        editor = await start(model)  # gpt-5 has prices in the table
        end = await editor.chat("Is it?")
        assert end.usage is not None and end.usage.cost == pytest.approx(0.0123)
        stats = await editor.ask("stats/get", p.StatsParams())
    assert stats.total.cost == pytest.approx(0.0123)
