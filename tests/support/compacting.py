"""A real session in this process, against a loopback provider, with short waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from tierline import protocol as p
from tierline.session.session import Session
from wire.choosing import ChoosingServer

PAUSE = 0.005


@define
class Talk:
    """A session with its events."""

    session: Session
    server: ChoosingServer
    events: list[p.Event] = field(factory=list)
    _heard: asyncio.Event = field(factory=asyncio.Event)

    def hear(self, event: p.Event) -> None:
        self.events.append(event)
        self._heard.set()

    def bodies(self, kind: type) -> list[Any]:
        return [e.body for e in self.events if isinstance(e.body, kind)]

    async def send(self, text: str) -> p.TurnFinished:
        """A whole turn, and whatever compaction follows it."""
        sent = await self.session.turns.send(p.ChatSendParams(text=text))
        end = await self.finished(sent.turn_id)
        if (task := self.session.turns._task) is not None:  # what follows the reply
            await asyncio.wait([task])
        compaction = self.session.compaction
        if (check := compaction._soon) is not None:
            await asyncio.wait([check])
        for begun in (compaction._attempt, compaction._levels._task):  # by that check
            if begun is not None:
                await asyncio.wait([begun])
        return end

    async def compacting(self) -> None:
        """Wait until a compaction runs."""
        while not self.session.compaction.running:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.005)

    async def finished(self, turn_id: str) -> p.TurnFinished:
        async def wait() -> p.TurnFinished:
            while True:
                self._heard.clear()
                for body in reversed(self.bodies(p.TurnFinished)):
                    if body.turn_id == turn_id:
                        return body  # type: ignore[no-any-return]
                await self._heard.wait()

        return await asyncio.wait_for(wait(), 60)

    def kinds(self) -> list[str]:
        """Compaction's events so far."""
        kinds = [e.body.kind for e in self.events]
        return [kind for kind in kinds if kind.startswith("compaction")]


@asynccontextmanager
async def talking(
    folder: Path,
    server: ChoosingServer,
    monkeypatch: pytest.MonkeyPatch,
    *,
    model: str = "gpt-5",
    **settings: dict[str, Any],
) -> AsyncIterator[Talk]:
    """Open a session on a folder. ``settings`` by section; retries are off unless set."""
    for name, value in {
        "TIERLINE_PROVIDER_NAME": server.kind,
        "TIERLINE_PROVIDER_BASE_URL": server.url,
        "TIERLINE_PROVIDER_MODEL": model,
        "TIERLINE_SYMBOLS_ENABLED": "false",
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "TIERLINE_DATA_DIR": str(folder / ".data"),
        f"{server.kind.upper()}_API_KEY": "test-key-of-nobody",
    }.items():
        monkeypatch.setenv(name, value)
    settings = {
        "provider": {"maxRetries": 0},
        "history": {"stateAnchor": "off"},
        "context": {"mode": "off"},
        **settings,
    }
    talk: list[Talk] = []

    def hear(event: p.Event) -> None:
        talk[0].hear(event)

    session = Session(
        [(folder.name, folder.as_uri())],
        editor_settings=settings,
        publish=hear,
    )
    talk.append(Talk(session, server))
    session.compaction.times.pause = PAUSE
    await session.start()
    try:
        yield talk[0]
    finally:
        await session.close()
