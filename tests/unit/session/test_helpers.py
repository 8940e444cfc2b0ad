"""The session's pure helpers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tierline import protocol as p
from tierline.config import CacheConfig, Settings
from tierline.context.blocks import Maker
from tierline.context.tiers.base import CacheState
from tierline.context.tiers.counter import CounterPolicy
from tierline.context.tiers.fixed import FixedPolicy
from tierline.context.tiers.log_structured import LogStructuredPolicy
from tierline.session.events import EventBus
from tierline.session.models import problems
from tierline.session.requests.candidates import selection_of
from tierline.session.requests.context_line import short_count
from tierline.session.requests.tiering import MAX_FILES, MAX_KEPT, CacheLine, SentState, policy


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (2149, "2.1k"),
        (99_949, "99.9k"),
        (99_999, "100k"),
        (128_000, "128k"),
        (999_499, "999k"),
        (999_999, "1M"),
        (1_250_000, "1.25M"),
    ],
)
def test_token_counts_are_short(tokens: int, shown: str) -> None:
    assert short_count(tokens) == shown


@pytest.mark.parametrize(
    ("strategy", "window", "used"),
    [("full", 0, "full"), ("full", 3, "window"), ("window", 0, "window"), ("ranked", 5, "ranked")],
)
def test_a_window_that_was_set_means_that_it_is_wanted(
    strategy: str, window: int, used: str
) -> None:
    """Seed 000: "/context window N"."""
    assert selection_of(strategy, window) == used


@pytest.mark.parametrize(
    ("window", "reply", "count"), [(0, 4096, 0), (1000, 4096, 1), (1000, 1000, 1), (1000, 999, 0)]
)
def test_a_reply_that_cannot_fit_is_named_once(window: int, reply: int, count: int) -> None:
    """BR-028."""
    settings = Settings()
    context = evolve(settings.context, max_input_tokens=window, max_output_tokens=reply)
    found = problems(evolve(settings, context=context))
    assert len(found) == count
    assert all(str(window) in text and str(reply) in text for text in found)


def test_events_are_numbered_without_gaps_and_carry_the_session() -> None:
    events: list[p.Event] = []
    bus = EventBus(events.append)
    bus.publish(p.ModeChanged(p.ContextMode.LIGHT))
    bus.session_id = "sess_1"
    bus.publish(p.ModeChanged(p.ContextMode.HEAVY))
    assert [(e.seq, e.session_id) for e in events] == [(1, ""), (2, "sess_1")]
    assert bus.seq == 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [("log_structured", LogStructuredPolicy), ("counter", CounterPolicy), ("fixed", FixedPolicy)],
)
def test_settings_name_the_policy(name: Any, kind: type) -> None:
    assert type(policy(evolve(CacheConfig(), policy=name), len)) is kind


ONE, TWO = CacheLine("one", "main", Maker("s", "m")), CacheLine("two", "main", Maker("s", "m"))


def _sent(number: int, model: str = "m") -> CacheState:
    return evolve(CacheState(), model=model, at=float(number), requests=number)


def test_what_was_sent_is_remembered_for_its_session_only(tmp_path: Path) -> None:
    """BR-044: a restart sends the same prefix."""
    SentState(tmp_path).keep(ONE, _sent(1))
    assert SentState(tmp_path).get(ONE) == _sent(1)
    assert SentState(tmp_path).get(TWO) == CacheState()
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_session_a_branch_and_a_model_that_one_returns_to_find_their_own_record(
    tmp_path: Path, restarted: bool
) -> None:
    lines = [ONE, evolve(ONE, branch="b"), evolve(ONE, reader=Maker("s", "n")), TWO]
    state = SentState(tmp_path)
    for number, line in enumerate(lines, 1):
        state.keep(line, _sent(number))
    if restarted:
        state = SentState(tmp_path)
    assert [state.get(line).requests for line in lines] == [1, 2, 3, 4]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_new_branch_and_another_model_begin_with_the_sessions_newest_record(
    tmp_path: Path, restarted: bool
) -> None:
    state = SentState(tmp_path)
    state.keep(TWO, _sent(9))
    state.keep(ONE, _sent(1))
    state.keep(evolve(ONE, branch="b"), _sent(2))
    if restarted:
        os.utime(tmp_path / ONE.name, (1, 1))
        state = SentState(tmp_path)
    assert state.get(evolve(ONE, branch="c")) == _sent(2)
    elsewhere = evolve(ONE, reader=Maker("gateway", "m"))
    assert state.get(elsewhere) == _sent(2, model=""), "a cache of its own"
    state.keep(ONE, _sent(3))
    assert state.get(elsewhere).requests == 3


def test_few_records_are_kept(tmp_path: Path) -> None:
    state = SentState(tmp_path)
    lines = [CacheLine(f"session {n}") for n in range(MAX_FILES + 3)]
    for number, line in enumerate(lines):
        state.keep(line, _sent(number))
        os.utime(tmp_path / line.name, (number + 1, number + 1))
    assert len(list(tmp_path.iterdir())) == MAX_FILES
    assert len(state._kept) == MAX_KEPT
    assert state.get(lines[0]) == CacheState()
    assert state.get(lines[5]) == _sent(5)


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "null", '{"session": 5}', "\x00", '{"reader": [1]}']
)
def test_a_damaged_state_file_costs_a_cold_cache_only(tmp_path: Path, damage: str) -> None:
    path = tmp_path / ONE.name
    path.write_text(damage, encoding="utf-8")
    assert SentState(tmp_path).get(ONE) == CacheState()
    whole = {"session": "one", "branch": "main", "reader": ["s", "m"], "sent": damage}
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert SentState(tmp_path).get(ONE) == CacheState()


def test_a_state_that_cannot_be_written_is_used_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    state = SentState(tmp_path / "file" / "state")
    state.keep(ONE, _sent(1))
    assert state.get(ONE) == _sent(1)
