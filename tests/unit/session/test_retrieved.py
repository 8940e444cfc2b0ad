"""What was retrieved for a turn is known as soon as the turn has ended, though disks are slow."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from support.compacting import talking
from tierline import protocol as p
from wire.choosing import ChoosingServer


async def test_a_set_that_is_still_being_stored_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChoosingServer("openai", lambda *_: "Yes.") as server:
        async with talking(tmp_path, server, monkeypatch) as talk:
            retrieval, slow = talk.session.retrieval, threading.Event()
            keep = retrieval.store.keep

            def kept_late(*values: Any) -> None:
                slow.wait(30)
                keep(*values)

            monkeypatch.setattr(retrieval.store, "keep", kept_late)
            sent = await talk.session.turns.send(p.ChatSendParams(text="What is an apple?"))
            await talk.finished(sent.turn_id)
            asked = asyncio.create_task(retrieval.get(p.RetrievalParams()))
            await asyncio.sleep(0)
            slow.set()
            now = await asked
            assert now.turn_id == sent.turn_id and now.set_id
            await talk.send("And a pear?")
            assert await retrieval.get(p.RetrievalParams(turn_id=sent.turn_id)) == now
