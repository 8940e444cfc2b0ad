"""Lists for an @ answer with what there is: neither the paths nor the index are waited for long."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tierline import protocol as p
from tierline.context.retrieval.symbol import Symbol
from tierline.session.mentions.completion import CompletionService
from tierline.session.retrieval.symbols import SymbolService
from tierline.session.turns.waiting_prompts import WaitingPrompts
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots
from tierline.workspace.symbols.client import IndexUnavailable, SymbolClient


class Index:
    """What the service asks of the index."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, int]] | None = [("parse", "a.py", 1)]
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()
        self.go_on.set()

    async def names(
        self, _letters: str, _most: int, _seconds: float
    ) -> list[tuple[str, str, int]] | None:
        self.asked.set()
        await self.go_on.wait()
        return self.found

    async def outline(self, _path: str, _seconds: float = 2.0) -> list[Symbol] | None:
        return None if self.found is None else [Symbol("parse", "function", 1, 2)]


def completing(root: Path, index: Index) -> CompletionService:
    (root / "parser.py").write_text("x")
    loader = Loader(Roots([str(root)]), Buffers(dict, dict))
    files = SimpleNamespace(loader=loader, paths=tuple, key=str)
    urls = SimpleNamespace(infos=tuple)
    workbench = SimpleNamespace(provides=())
    parts: Any = (None, files, urls, index, None, workbench)
    return CompletionService(*parts)


async def listed(service: CompletionService, query: str) -> tuple[list[str], bool]:
    answer = await service.complete(p.MentionCompleteParams(query))
    return [item.text for item in answer.items], answer.incomplete


async def test_paths_and_names_are_looked_for_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index()
    index.go_on.clear()
    service = completing(tmp_path, index)
    best = service._paths.best

    async def together(*given: Any) -> list[str]:
        await index.asked.wait()
        index.go_on.set()
        return await best(*given)

    monkeypatch.setattr(service._paths, "best", together)
    async with asyncio.timeout(20):
        assert await listed(service, "pars") == (["@parser.py", "@symbol:parse"], False)


@pytest.mark.parametrize("query", ["pars", "symbol:pars", "symbol:parser.py#pa"])
async def test_a_list_whose_names_are_not_there_in_time_says_that_more_comes(
    tmp_path: Path, query: str
) -> None:
    index = Index()
    service = completing(tmp_path, index)
    index.found = None
    texts, incomplete = await listed(service, query)
    assert incomplete and "@symbol:parse" not in texts
    index.found = [("parse", "a.py", 1)]
    texts, incomplete = await listed(service, query)
    assert not incomplete
    assert {"@symbol:parse", "@symbol:parser.py#parse"} & set(texts)


async def test_the_index_says_none_where_it_may_say_more_later() -> None:
    given: list[float] = []

    class Slow:
        async def ask(self, _do: str, *, seconds: float, **_values: Any) -> Any:
            given.append(seconds)
            raise IndexUnavailable("The symbol index is busy.")

    service = SymbolService.__new__(SymbolService)
    service._client, service._ready = cast(SymbolClient, Slow()), asyncio.Event()
    for state, answer in (("indexing", None), ("off", []), ("failed", [])):
        service._state = cast(p.SymbolsState, state)
        assert await service.names("pa", 5, 0.07) == answer and not given
    service._ready.set()
    assert await service.names("pa", 5, 0.07) is None
    assert await service.outline("a.py", 0.07) is None
    assert given == [0.07, 0.07]


def test_the_conversation_is_looked_through_once_for_all_prompts_that_wait() -> None:
    looked: list[int] = []

    def visible() -> list[Any]:
        looked.append(1)
        return [SimpleNamespace(id=f"m{n}", content=()) for n in range(50)]

    turns = [SimpleNamespace(group_id=f"g{n}", message_id=f"m{n}", text="x", steer=False)
             for n in range(60)]  # fmt: skip
    parts: Any = (None, SimpleNamespace(waiting=turns), SimpleNamespace(visible=visible), None)
    shown = WaitingPrompts(*parts).shown()
    assert [one.turn_id for one in shown] == [f"g{n}" for n in range(60)]
    assert len(looked) == 1
