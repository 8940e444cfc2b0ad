"""What a session keeps in memory grows with what is said, by so much a turn, and with nothing else.

Bytes and blocks of Python's own allocator, after a collection: no machine's load changes them.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tierline import protocol as p
from tierline.session.caching.service import MAX_SESSIONS
from tierline.session.session import Session
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

TURN_KB = 20
"""A prompt and a reply of some words: 14 KB, of which a fifth is the messages themselves."""


@pytest.fixture
async def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """A session with one file, and the provider's server."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("a = 1\n" * 50, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with wire_server("openai", [o_reply(*(f"word{i} " for i in range(40)))]) as model:
        for name, value in {
            "TIERLINE_PROVIDER_NAME": "openai",
            "TIERLINE_PROVIDER_BASE_URL": model.url,
            "TIERLINE_PROVIDER_MODEL": "gpt-5",
            "OPENAI_API_KEY": "nobody",
            "TIERLINE_SYMBOLS_ENABLED": "false",
        }.items():
            monkeypatch.setenv(name, value)
        made = Session(
            [("work", (tmp_path / "work").as_uri())],
            editor_settings={},
            publish=lambda _event: None,
        )
        await made.start()
        await made.files.add(p.FileParams(path="a.py"))
        yield made, model
        await made.close()


async def turns(session: Session, model: WireServer, count: int) -> None:
    for _ in range(count):
        number = len(session.conversation.groups())
        await session.turns.send(p.ChatSendParams(text=f"Question {number} about a.py"))
        await asyncio.sleep(0)
        assert session.turns._task is not None
        await asyncio.wait_for(session.turns._task, 30)
        await session.budget(p.NoParams())
    model.requests.clear()


async def toggle(session: Session, count: int) -> None:
    for number in range(count):
        change = session.files.pin if number % 2 == 0 else session.files.unpin
        await change(p.FileParams(path="a.py"))
    await asyncio.sleep(0.3)  # the budget follows
    session.conversation.timeline()


async def test_a_toggle_of_a_pin_leaves_nothing_behind(session: Any) -> None:
    """Each is a record in the log; the newest one alone counts."""
    one, _ = session
    await toggle(one, 200)
    gc.collect()
    before = sys.getallocatedblocks()
    await toggle(one, 600)
    gc.collect()
    kept = sys.getallocatedblocks() - before
    assert kept < 4 * 600, "each kept some 25 objects; it is one now, and a thousand once"
    assert len(one.conversation.store._known.entries) < 5
    log = one.home / "history.jsonl"
    assert len(log.read_text("utf-8").splitlines()) > 800, "the log has them all"


async def test_a_turn_costs_so_much_and_no_more(session: Any) -> None:
    one, model = session
    await turns(one, model, 15)
    tracemalloc.start()
    try:
        await turns(one, model, 15)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await turns(one, model, 30)
        gc.collect()
        turn_kb = (tracemalloc.get_traced_memory()[0] - before) / 30 / 1024
    finally:
        tracemalloc.stop()
    assert 1 < turn_kb < TURN_KB


async def test_sessions_that_were_left_are_not_kept(session: Any) -> None:
    one, model = session
    for _ in range(MAX_SESSIONS + 3):
        await one.history.new(p.NewSessionParams())
        await turns(one, model, 1)
    assert len(one.cache._before) == MAX_SESSIONS
    sessions = one.conversation.store.list_sessions()
    oldest = sessions[-1].session_id
    assert oldest not in one.cache._before
    assert one.cache._known(oldest).shape is not None, "read again from disk"
