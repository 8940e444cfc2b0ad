"""A branch switch is told in messages of a thousand files: requests behind them do not wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from tierline.session.files.service import FileService
from tierline.session.retrieval import symbols as module
from tierline.session.retrieval.symbols import SymbolService
from tierline.workspace.symbols.client import IndexUnavailable, SymbolClient


class Workspace:
    """A loader that counts where keys are looked for."""

    def __init__(self) -> None:
        self.here = self.elsewhere = 0
        self.buffers = SimpleNamespace(open_keys=lambda _roots: {})
        self.roots = SimpleNamespace(path_of=lambda key: f"/project/{key}")

    def key(self, uri: str) -> str:
        if threading.current_thread() is threading.main_thread():
            self.here += 1
        else:
            self.elsewhere += 1
        return uri.removeprefix("file:///project/")


class Index:
    """What it was told; ``busy`` while it cannot answer."""

    def __init__(self) -> None:
        self.told: list[list[str]] = []
        self.busy = False

    async def ask(self, _do: str, *, paths: list[str], **_values: Any) -> Mapping[str, Any]:
        if self.busy:
            raise IndexUnavailable("The symbol index is busy.")
        self.told.append(paths)
        return {"keys": paths}


def told_by(workspace: Workspace, index: Index) -> SymbolService:
    service = SymbolService.__new__(SymbolService)
    service._state, service._loader = "ready", cast(Any, workspace)
    service._client, service._telling = cast(SymbolClient, index), asyncio.Lock()
    service._changed, service._told, service.edited, service._flush = set(), [], ["old.py"], None
    return service


def uris(first: int, last: int) -> list[str]:
    return [f"file:///project/mod{number}.py" for number in range(first, last)]


async def test_keys_of_many_changed_files_are_found_beside_the_requests() -> None:
    workspace, index = Workspace(), Index()
    service = told_by(workspace, index)
    for first in range(0, 3_000, 1_000):
        service.documents_changed(uris(first, first + 1_000))
    assert workspace.here == 3 * module.EDITED and not workspace.elsewhere
    assert service.edited == [f"mod{number}.py" for number in range(2_999, 2_979, -1)]
    assert await service._tell()
    assert workspace.here == 3 * module.EDITED
    (paths,) = index.told
    assert sorted(paths) == sorted(f"/project/mod{number}.py" for number in range(3_000))
    assert not await service._tell(), "nothing is told twice"


async def test_what_a_busy_index_was_not_told_is_told_later() -> None:
    workspace, index = Workspace(), Index()
    service = told_by(workspace, index)
    service.documents_changed(uris(0, 100))
    index.busy = True
    assert not await service._tell()
    index.busy = False
    service.documents_changed([*uris(100, 101), "file:///project/.tierline/log"])
    assert await service._tell()
    (paths,) = index.told
    assert len(paths) == 101
    assert service.edited[:2] == ["mod100.py", "mod99.py"] and len(service.edited) == 20


def test_of_many_changed_files_none_is_looked_for_in_the_list() -> None:
    workspace = Workspace()
    service = FileService.__new__(FileService)
    service.loader, service._stale = cast(Any, workspace), set()
    service.context = cast(
        Any, SimpleNamespace(get_files=lambda: ["mod7.py", "other.py"], get=lambda _key: None)
    )
    assert service.touched(uris(0, 10)) and service._stale == {"mod7.py"}
    assert not service.touched(uris(20, 30))
    looked = workspace.here
    assert service.touched(uris(0, 1_000)) and workspace.here == looked
    assert service._stale == {"mod7.py", "other.py"}, "each of them may be among the many"
