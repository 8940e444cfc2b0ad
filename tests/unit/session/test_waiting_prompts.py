"""What waits for the list of files, waits once: for the changes that were asked for before."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tierline import protocol as p
from tierline.session.session import Session

ASKS: dict[str, Callable[[Session], Awaitable[Any]]] = {
    "budget": lambda session: session.budget(p.NoParams()),
    "state": lambda session: session.state(p.NoParams()),
    "tiers": lambda session: session.cache.tiers(p.CacheTiersParams()),
    "plan": lambda session: session.plans.get(p.PlanParams()),
    "status": lambda session: session.history.status(p.NoParams()),
}


@pytest.mark.parametrize("name", ASKS)
async def test_it_waits_once_and_sees_what_has_changed(
    cli_workspace: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TIERLINE_SYMBOLS_ENABLED", "false")
    file = cli_workspace / "a.py"
    file.write_text("ALPHA = 1\n")
    session = Session(
        [("work", cli_workspace.as_uri())], editor_settings={}, publish=lambda _event: None
    )
    await session.start()
    try:
        await session.files.add(p.FileParams(path="a.py"))
        waited: list[None] = []
        settled = session.files.settled

        async def counted() -> None:
            waited.append(None)
            await settled()

        monkeypatch.setattr(session.files, "settled", counted)
        file.write_text("ALPHA = 'much longer than before'\n" * 20)
        session.files.touched([file.as_uri()])
        await ASKS[name](session)
        assert len(waited) == 1
        entry = session.files.context.get("a.py")
        assert entry is not None and "much longer" in entry.text
    finally:
        await session.close()


async def test_a_session_is_opened_while_the_list_is_cleared(
    cli_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are read beside the loop; the list is another one in one step, before or after."""
    monkeypatch.setenv("TIERLINE_SYMBOLS_ENABLED", "false")
    session = Session(
        [("work", cli_workspace.as_uri())], editor_settings={}, publish=lambda _event: None
    )
    await session.start()
    for name in ("a.py", "b.py"):
        (cli_workspace / name).write_text(f"{name} = 1\n", encoding="utf-8")
        await session.files.pin(p.FileParams(path=name))
    began, go = threading.Event(), threading.Event()
    read = session.files.loader.restore_text

    def slowly(key: str, confirmed: bool = False) -> Any:
        began.set()
        assert go.wait(10)
        return read(key, confirmed)

    session.files.loader.restore_text = slowly  # type: ignore[method-assign]

    async def open_it() -> None:
        async with session.files.order:
            await session.files.take_up(session.files.context.snapshot())

    opening = asyncio.ensure_future(open_it())
    await asyncio.to_thread(began.wait, 10)
    clearing = asyncio.ensure_future(session.files.clear(p.NoParams()))
    await asyncio.sleep(0.02)
    assert session.files.context.get_files() == ["a.py", "b.py"], "as it was, until then"
    go.set()
    await opening
    assert (await clearing).files == []
    await session.close()
