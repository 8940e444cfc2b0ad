"""Churn of the files in the context from git's history, read in the background and cached."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from tierline.context.files import FileContext
from tierline.context.tiers.hazard import churn
from tierline.workspace import git
from tierline.workspace.ignore import repository
from tierline.workspace.paths import Root, Roots

log = logging.getLogger(__name__)


@define
class _Folder:
    """One workspace folder's history."""

    git: str
    common: str
    state: Any = None
    history: list[frozenset[str]] = field(factory=list)
    known: dict[str, float | None] = field(factory=dict)
    """Path below the folder to its probability; None if git does not track it."""


class ChurnService:
    """Answers at once with the known values; missing ones are computed for the next request."""

    def __init__(self, roots: Roots, context: FileContext) -> None:
        self._roots = roots
        self._context = context
        self._folders: dict[str, _Folder] = {}
        self._task: asyncio.Task[None] | None = None

    def known(self) -> Mapping[str, float]:
        """Probability of a change by the next request, by item (``file:src/a.py``)."""
        found: dict[str, float] = {}
        wanted = self._wanted()
        for root, paths in wanted:
            folder = self._folders.get(root.real)
            values = folder.known if folder is not None else {}
            for path, key in paths.items():
                value = values.get(path)
                if value is not None:
                    found[f"file:{key}"] = value
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._read(wanted))
        return found

    async def close(self) -> None:
        """Cancel running work."""
        if self._task is not None:
            self._task.cancel()

    def _wanted(self) -> Sequence[tuple[Root, dict[str, str]]]:
        """Per workspace folder: paths below it of the files in the context, with their keys."""
        roots = self._roots
        keys = [entry.key for entry in self._context.entries()]
        several = len(roots) > 1
        wanted = []
        for root in roots:
            head = f"{root.name}/" if several else ""
            paths = {key.removeprefix(head): key for key in keys if key.startswith(head)}
            if paths:
                wanted.append((root, paths))
        return wanted

    async def _read(self, wanted: Sequence[tuple[Root, dict[str, str]]]) -> None:
        for root, paths in wanted:
            try:
                await asyncio.to_thread(self._look, root.real, list(paths))
            except OSError as error:
                log.info("No history of %s: %s", root.name, error)

    def _look(self, real: str, paths: Sequence[str]) -> None:
        """Ask git for missing values. Blocking."""
        folder = self._folders.get(real)
        if folder is None:
            found = repository(real)
            folder = self._folders[real] = _Folder(found.git, found.common)
        if not folder.git:
            return
        state = git.head_state(folder.git, folder.common)
        if state != folder.state:
            history = git.newest(real)
            folder.known, folder.history, folder.state = {}, history, state
        new = [path for path in paths if path not in folder.known]
        if not new:
            return
        kept = git.tracked(real, new) if folder.history else frozenset()
        values = churn(folder.history, kept)
        folder.known = {**folder.known, **{path: values.get(path) for path in new}}
