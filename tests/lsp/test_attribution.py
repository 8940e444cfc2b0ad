"""Why a request hit or missed the cache, from the editor's side, against a provider that caches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from wire.caching import CachingServer
from wire.scripts import o_reply
from wire.servers import wire_server

LONG = "".join(f"def function_{n}() -> int:\n    return {n}\n\n\n" for n in range(400))
EDITED = LONG.replace("return 7\n", "return 7777\n")


@pytest.fixture
def cached() -> Iterator[CachingServer]:
    """A provider with a prompt cache."""
    with CachingServer() as server:
        yield server


def write(workspace: Path, text: str) -> None:
    (workspace / "src" / "big.py").write_text(text, encoding="utf-8")


async def begun(start: Start, workspace: Path, cached: CachingServer) -> tuple[Any, Any]:
    """A session with a long file and one answered prompt, and what that prompt's cache did."""
    write(workspace, LONG)
    editor = await start(cached)
    await editor.ask("files/add", p.FileParams(path="src/big.py"))
    return editor, (await editor.chat("One?")).cache


async def test_the_first_request_writes_and_the_second_reads(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    write(workspace, LONG)
    editor = await start(cached)
    nothing = await editor.ask("cache/explain")
    assert nothing.report is None
    assert "Nothing has been sent" in nothing.sentence
    await editor.ask("files/add", p.FileParams(path="src/big.py"))
    first = (await editor.chat("One?")).cache
    assert (first.outcome, first.code) == ("first", "new_session")
    assert first.read_tokens == 0
    assert first.written_tokens == round(cached.outcomes[0].written) > 1024
    write(workspace, EDITED)
    end = await editor.chat("Two?")
    assert (end.cache.outcome, end.cache.code, end.cache.item) == ("hit", "none", "")
    assert end.cache.read_tokens == round(cached.outcomes[1].read) > 1024
    assert end.cache.input_tokens == end.usage.input_tokens
    assert (
        end.cache.read_tokens + end.cache.written_tokens + end.cache.uncached_tokens
        == end.cache.input_tokens
    )
    explained = await editor.ask("cache/explain")
    assert explained.report == end.cache
    assert explained.sentence == end.cache.sentence
    assert explained.last_miss is None


async def test_a_miss_names_the_first_item_that_differs(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    """With one fixed order an edit breaks the prefix at the file that was edited."""
    write(workspace, LONG)
    editor = await start(cached, cache={"policy": "fixed"})
    await editor.ask("files/add", p.FileParams(path="src/a.py"))
    await editor.ask("files/add", p.FileParams(path="src/big.py"))
    await editor.chat("One?")
    write(workspace, EDITED)
    end = await editor.chat("Two?")
    assert end.cache.outcome in ("partial", "miss"), "tools and instructions may be read still"
    assert end.cache.read_tokens < end.cache.offered_tokens / 2
    assert (end.cache.code, end.cache.item) == ("edited", "file:src/big.py")
    assert "src/big.py was edited" in end.cache.sentence
    assert end.cache.item_label == "src/big.py"
    assert end.cache.offered_tokens > 1024
    await editor.ask("files/remove", p.FileParams(path="src/a.py"))
    removed = (await editor.chat("Three?")).cache
    assert (removed.code, removed.item) == ("removed", "file:src/a.py")
    hit = (await editor.chat("Four?")).cache
    assert hit.outcome == "hit"
    explained = await editor.ask("cache/explain")
    assert explained.report.outcome == "hit"
    assert explained.last_miss.item == "file:src/a.py"
    of_two = await editor.ask("cache/explain", p.CacheExplainParams(turn_id=end.turn_id))
    assert of_two.report == end.cache


async def test_a_dropped_cache_is_the_providers(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    editor, _ = await begun(start, workspace, cached)
    cached.forget()
    lost = (await editor.chat("Two?")).cache
    assert (lost.outcome, lost.code) == ("miss", "evicted")


async def test_another_model_and_another_policy(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    editor, _ = await begun(start, workspace, cached)
    choice = p.ProviderSelectParams(name="anthropic", model="claude-opus-4-1")
    await editor.ask("provider/select", choice)
    other = (await editor.chat("Two?")).cache
    assert (other.outcome, other.code) == ("miss", "model")
    assert "claude-opus-4-1" in other.sentence


async def test_back_at_a_model_its_own_cache_is_explained(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    editor, first = await begun(start, workspace, cached)
    choice = p.ProviderSelectParams(name="anthropic", model="claude-opus-4-1")
    await editor.ask("provider/select", choice)
    await editor.chat("Two?")
    await editor.ask("provider/select", evolve(choice, model=first.model))
    back = (await editor.chat("Three?")).cache
    assert (back.outcome, back.code) == ("hit", "none"), back.sentence
    assert back.read_tokens and back.read_tokens > 1024
    await editor.ask("provider/select", choice)
    await editor.chat("Four?")
    await editor.ask("provider/select", evolve(choice, model=first.model))
    cached.forget()
    lost = (await editor.chat("Five?")).cache
    assert (lost.outcome, lost.code) == ("miss", "evicted"), lost.sentence


async def test_a_restart_keeps_the_cache_warm(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    """Between two turns the server is started anew: the prefix has the same bytes, is read from the
    provider's cache, and the explanation still knows what was sent before the restart.
    """
    editor, _ = await begun(start, workspace, cached)
    write(workspace, EDITED)
    await editor.chat("Two?")
    await editor.stop()
    again = await start(cached)
    before = await again.ask("cache/explain")
    assert before.report.outcome == "hit"
    seen = await again.ask("cache/tiers")
    assert seen.cached_tokens > 1024
    third = await again.chat("Three?")
    assert (third.cache.outcome, third.cache.code) == ("hit", "none")
    second_body, third_body = cached.bodies[1:3]
    assert second_body["system"] == third_body["system"]
    held = [unmarked(m) for m in second_body["messages"]]
    assert [unmarked(m) for m in third_body["messages"]][: len(held)] == held
    total = await again.ask("stats/get")
    assert total.total.requests == 3


def unmarked(message: object) -> str:
    """A message's exact bytes without markers, which move."""
    return re.sub(r', "cache_control": \{[^}]*\}', "", json.dumps(message))


async def test_the_viewer_shows_tiers_and_what_changed(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    write(workspace, LONG)
    editor = await start(cached, cache={"ttl": "5m"})
    empty = await editor.ask("cache/tiers", p.CacheTiersParams(which="last"))
    assert empty.tiers == []
    await editor.ask("files/add", p.FileParams(path="src/big.py"))
    await editor.ask("files/add", p.FileParams(path="src/a.py"))
    await editor.chat("One?")
    write(workspace, EDITED)
    shown = await editor.ask("cache/tiers")
    assert (shown.policy, shown.caching, shown.ttl) == ("log_structured", "explicit", "5m")
    assert 0 < shown.seconds_left <= 300
    items = [(tier.tier, item) for tier in shown.tiers for item in tier.items]
    base = next(i for t, i in items if i.key == "file:src/big.py" and t != "log")
    assert base.stale
    assert base.cached
    assert base.kind == "item"
    assert 0 < base.hazard < 1
    assert base.age == 1
    update = next(i for t, i in items if i.key == "file:src/big.py" and t == "log")
    assert update.kind == "delta"
    assert update.change == "edited"
    assert not update.cached
    log_tier = next(tier for tier in shown.tiers if tier.tier == "log")
    assert log_tier.delta_tokens == update.tokens > 0
    assert any(item.marked for _, item in items)
    assert shown.tokens == sum(tier.tokens for tier in shown.tiers)
    assert shown.cached_tokens == sum(tier.cached_tokens for tier in shown.tiers)
    await editor.chat("Two?")
    last = await editor.ask("cache/tiers", p.CacheTiersParams(which="last"))
    assert last.report.outcome == "hit"
    kinds = {item.kind for tier in last.tiers for item in tier.items}
    assert "delta" in kinds


@pytest.mark.parametrize("tools", [True, False])
async def test_the_tiers_add_up_to_the_budget(
    start: Start, workspace: Path, cached: CachingServer, tools: bool
) -> None:
    """The viewer and the budget's meter stand side by side; both are of the whole request."""
    write(workspace, LONG)
    editor = await start(cached, tools={"enabled": "on" if tools else "off"})
    await editor.ask("files/add", p.FileParams(path="src/big.py"))
    for prompt in ("One?", "Two?"):
        # The viewer looks at every file; the budget at those that are said to have changed.
        shown, budget = await editor.ask("cache/tiers"), await editor.ask("budget/get")
        assert shown.tokens == sum(tier.tokens for tier in shown.tiers) == budget.used
        assert shown.tiers[0].tier == "head"
        first = shown.tiers[0].items[0]
        section = next(one.tokens for one in budget.sections if one.name == "tools")
        assert (section > 0, first.key == "tools") == (tools, tools)
        if tools:
            assert (first.label, first.tokens) == ("Tool definitions", section)
            assert first.cached == (prompt == "Two?")
        await editor.chat(prompt)
        write(workspace, EDITED)
        last = await editor.ask("cache/tiers", p.CacheTiersParams(which="last"))
        sent = (await editor.ask("stats/requests")).requests[-1]
        assert last.tokens == sum(tier.tokens for tier in sent.tiers)
        assert ("tools" in {i.key for i in last.tiers[0].items}) == tools
        if tools:
            assert sent.tiers[0].tokens > section


async def test_stats_count_money_by_the_models_prices(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    """claude-sonnet-4-5, dollars per million tokens: 3 in, 15 out, 3.75 a write, 0.3 a read."""
    write(workspace, LONG)
    editor = await start(cached, cache={"ttl": "5m"})
    await editor.ask("files/add", p.FileParams(path="src/big.py"))
    for prompt in ("One?", "Two?", "Three?"):
        await editor.chat(prompt)
    found = (await editor.ask("stats/get")).sessions[0]
    sent = [(round(o.read), round(o.written), round(o.plain)) for o in cached.outcomes]
    read, written, plain = (sum(column) for column in zip(*sent, strict=True))
    assert (found.requests, found.reported, found.priced) == (3, 3, 3)
    assert (found.read_tokens, found.written_tokens) == (read, written)
    assert found.uncached_tokens == plain
    assert found.hit_rate == pytest.approx(read / (read + written + plain), abs=1e-4)
    output = 3 * 5 * 15
    cost = (plain * 3 + read * 0.3 + written * 3.75 + output) / 1e6
    assert found.cost == pytest.approx(cost)
    without = ((read + written + plain) * 3 + output) / 1e6
    assert found.saved == pytest.approx(without - cost)
    assert found.saved > 0
    assert not found.keep_alive.enabled
    assert found.keep_alive.requests == 0
    other = await editor.ask("history/newSession")
    await editor.chat("Elsewhere?")
    everything = await editor.ask("stats/get", p.StatsParams(all=True))
    assert everything.sessions[0].session_id == other.session_id
    assert everything.total.requests == 4
    assert everything.total.cost == pytest.approx(sum(s.cost for s in everything.sessions))
    assert found.title == "One?"


async def test_every_request_has_its_figures_for_charts(
    start: Start, workspace: Path, cached: CachingServer
) -> None:
    write(workspace, LONG)
    editor = await start(cached)
    assert (await editor.ask("stats/requests")).requests == []
    await editor.ask("files/add", p.FileParams(path="src/big.py"))
    ends = [await editor.chat(prompt) for prompt in ("One?", "Two?", "Three?")]
    found = await editor.ask("stats/requests")
    assert found.left_out == 0
    assert [one.turn_id for one in found.requests] == [end.cache.turn_id for end in ends]
    sent = [(round(o.read), round(o.written)) for o in cached.outcomes]
    assert [(one.read_tokens, one.written_tokens) for one in found.requests] == sent
    sums = (await editor.ask("stats/get")).sessions[0]
    assert sum(one.input_tokens for one in found.requests) == sums.input_tokens
    assert sum(one.cost for one in found.requests) == pytest.approx(sums.cost)
    assert sum(one.saved for one in found.requests) == pytest.approx(sums.saved)
    for one in found.requests:
        assert one.window_tokens == 200_000
        names = [tier.tier for tier in one.tiers]
        assert names[0] == "head"
        assert "log" in names
        assert all(0 <= tier.cached_tokens <= tier.tokens for tier in one.tiers)
    assert sum(tier.cached_tokens for tier in found.requests[0].tiers) == 0
    assert sum(tier.cached_tokens for tier in found.requests[2].tiers) > 0
    newest = await editor.ask("stats/requests", p.RequestStatsParams(limit=1))
    assert [one.turn_id for one in newest.requests] == [ends[-1].cache.turn_id]
    assert newest.left_out == 2


async def test_a_provider_that_says_nothing_of_its_cache(start: Start, workspace: Path) -> None:
    with wire_server("openai", [o_reply("Yes.", usage=None)]) as silent:
        editor = await start(silent)
        await editor.chat("One?")
        end = await editor.chat("Two?")
        assert (end.cache.outcome, end.cache.read_tokens) == ("unknown", -1)
        found = await editor.ask("stats/get")
        assert found.total.reported == 0
        assert found.total.hit_rate == 0


async def test_an_unknown_turn_is_a_clear_error(start: Start, cached: CachingServer) -> None:
    editor = await start(cached)
    with pytest.raises(JsonRpcException) as caught:
        await editor.ask("cache/explain", p.CacheExplainParams(turn_id="nobody"))
    assert caught.value.data
    assert caught.value.data["code"] == "not_found"
