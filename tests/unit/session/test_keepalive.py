"""Keep-alive through a real session and the real Anthropic adapter, with a clock that is told."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from attrs import evolve

from support.terminal import lead_to
from tierline import protocol as p
from tierline.session.session import Session
from wire.caching import CachingServer

LONG = "".join(f"def function_{n}() -> int:\n    return {n}\n\n\n" for n in range(400))


class Clock:
    """Seconds since the epoch; sleeping moves it on, and the provider's with it."""

    def __init__(self, model: CachingServer) -> None:
        self.model = model
        self.slept: list[float] = []

    def now(self) -> float:
        return time.time() + self.model.skew

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.model.skew += seconds
        await asyncio.sleep(0)


Begin = Callable[..., Any]


@pytest_asyncio.fixture
async def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Begin]:
    """``await begin(keep_alive=True)``: a session after one turn, its clock and its provider."""
    (tmp_path / "big.py").write_text(LONG, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TIERLINE_DATA_DIR", str(tmp_path / "data"))
    running: list[Session] = []
    with CachingServer() as model:
        lead_to(model, monkeypatch)

        async def start(**cache: Any) -> tuple[Session, CachingServer, Clock]:
            ends: asyncio.Queue[p.Event] = asyncio.Queue()
            session = Session(
                [("work", tmp_path.as_uri())],
                editor_settings={"cache": {"ttl": "5m", **cache}},
                publish=ends.put_nowait,
            )
            clock = Clock(model)
            session.keep_alive.clock, session.keep_alive.sleep = clock.now, clock.sleep
            running.append(session)
            await session.start()
            await session.files.add(p.FileParams(path="big.py"))
            await turn(session, "One?")
            return session, model, clock

        yield start
        for session in running:
            await session.close()


async def turn(session: Session, text: str) -> None:
    await session.turns.send(p.ChatSendParams(text=text))
    await asyncio.sleep(0)
    task = session.turns._task
    assert task is not None
    await asyncio.wait_for(task, 30)


def pauses(session: Session, *gaps: float) -> None:
    """This user makes such pauses between prompts."""
    session.keep_alive.stop()
    last = session.keep_alive._last
    assert last is not None
    arranged = last.composed.arrangement
    arranged = evolve(arranged, next=evolve(arranged.next, gaps=gaps))
    last.composed = evolve(last.composed, arrangement=arranged)
    session.keep_alive.begin()


async def watched(session: Session) -> None:
    """Until keep-alive has made up its mind to let go."""
    task = session.keep_alive._task
    assert task is not None
    await asyncio.wait_for(task, 30)


async def test_without_the_setting_nothing_is_sent(begin: Begin) -> None:
    session, model, clock = await begin()
    assert session.keep_alive._task is None
    assert clock.slept == []
    assert len(model.bodies) == 1
    assert (await session.cache.stats(p.StatsParams())).total.keep_alive.decision is None


async def test_a_ping_reads_the_same_prefix_and_asks_for_one_token(begin: Begin) -> None:
    session, model, clock = await begin(keep_alive=True)
    pauses(session, *[400.0, 800.0] * 6)
    await watched(session)
    first, *pings = model.bodies
    assert len(pings) == 3, "after 280, 560 and 840 seconds; longer pauses are too rare"
    for body, outcome in zip(pings, model.outcomes[1:], strict=True):
        assert body["max_tokens"] == 1
        assert body["system"] == first["system"]
        assert body["messages"] == first["messages"]
        assert body["model"] == first["model"]
        assert json.dumps(body["messages"][-1]).count("cache_control") >= 1, "ends at the marker"
        assert outcome.written == 0
        assert outcome.read == pytest.approx(model.outcomes[0].written)
    assert all(gap <= 280 for gap in clock.slept), "each before the five minutes are over"
    decision = session.cache.decision
    assert decision is not None
    assert decision.code == "let go"
    assert decision.numbers["price"] > 0
    assert decision.numbers["spent"] + decision.numbers["price"] > decision.numbers["loss"] or (
        decision.numbers["chance"] * decision.numbers["loss"] <= decision.numbers["price"]
    )
    found = (await session.cache.stats(p.StatsParams())).sessions[0]
    assert found.requests == 1, "pings are no requests of the user's"
    assert found.keep_alive.requests == len(pings)
    assert found.keep_alive.read_tokens == sum(round(o.read) for o in model.outcomes[1:])
    assert found.keep_alive.cost > 0
    assert found.keep_alive.decision == decision
    assert found.keep_alive.enabled


async def test_nothing_is_sent_for_a_user_who_does_not_come_back_in_time(begin: Begin) -> None:
    """The distribution of pauses decides: after five minutes this user was always away longer."""
    session, model, _clock = await begin(keep_alive=True)
    pauses(session, *[60.0] * 20, *[5000.0] * 5)
    await watched(session)
    assert len(model.bodies) == 1
    decision = session.cache.decision
    assert decision is not None
    assert (decision.code, decision.numbers["chance"]) == ("let go", 0)
    assert "unlikely" in decision.sentence


async def test_it_never_costs_more_than_the_loss_that_it_insures(begin: Begin) -> None:
    """Rent or buy: with a user who is always about to be back, it stops when the rent is paid."""
    session, model, _clock = await begin(keep_alive=True)
    session.keep_alive.stop()
    session.keep_alive._activity = float("inf")  # typing for ever
    session.keep_alive.begin()
    await watched(session)
    pings = len(model.bodies) - 1
    assert pings == 11, "11 reads at 0.1 are within a write at 1.25 that becomes a read at 0.1"


async def test_a_turn_after_a_long_pause_reads_what_was_kept(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, model, clock = await begin(keep_alive=True)
    session.keep_alive.stop()
    last = session.keep_alive._last
    assert last is not None
    clock.model.skew += 290
    assert await session.keep_alive._ping(last)
    clock.model.skew += 100
    monkeypatch.setattr("tierline.session.requests.composer.time", SimpleNamespace(time=clock.now))
    await turn(session, "Two?")
    session.keep_alive.stop()
    assert model.outcomes[2].read > 1024
    report = await session.cache.explain(p.CacheExplainParams())
    assert report.report is not None
    assert report.report.outcome == "hit"
    assert report.report.idle_seconds < 300, "since the cache was used last"
    found = (await session.cache.stats(p.StatsParams())).total
    assert found.keep_alive.saved > found.keep_alive.cost > 0


async def test_a_lost_cache_is_not_kept_alive(begin: Begin) -> None:
    session, model, _clock = await begin(keep_alive=True)
    session.keep_alive.stop()
    before = len(model.bodies)
    model.forget()
    session.keep_alive.begin()
    await watched(session)
    decision = session.cache.decision
    assert decision is not None
    assert decision.code in ("lost", "let go")
    assert len(model.bodies) - before <= 1
