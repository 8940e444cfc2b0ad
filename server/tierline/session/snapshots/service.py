"""Contents of files before they are changed, kept in the workspace's own state folder.

No failure here stops a change: if the disk cannot be written, the user is told once that the change
cannot be undone later.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve, frozen

from tierline import disk
from tierline.context.text import clip
from tierline.session.conversation.ordering import shield
from tierline.session.events import EventBus
from tierline.session.snapshots.change_detector import ChangeDetector
from tierline.session.snapshots.content import FileContent, present
from tierline.session.snapshots.writer import FileWriter
from tierline.session.state.preferences import Preferences
from tierline.session.texts import redact
from tierline.session.workbench import Workbench
from tierline.store.snapshots import SnapshotStore
from tierline.workspace.loader import Loader

T = TypeVar("T")
_NO_WAY_BACK = "What files said before a change could not be kept, so there is no way back: {why}."


@frozen
class JournaledChange:
    """A change in the journal; without an id it could not be recorded."""

    id: str = ""
    before: str = ""
    """Hash of the content before it."""
    mode: int | None = None
    """The file's permission bits, which an edit keeps; None for a new file."""


class SnapshotService:
    """``store`` and ``writer`` are also used to bring contents back."""

    def __init__(
        self,
        bus: EventBus,
        preferences: Preferences,
        loader: Loader,
        workbench: Workbench,
        home: Path,
    ) -> None:
        self._bus = bus
        self._preferences = preferences
        self._loader = loader
        self.store = SnapshotStore(home, preferences.settings.history.snapshot_mb * 1_000_000)
        self.writer = FileWriter(preferences, loader, workbench)
        self.known: Callable[[], Iterable[str]] = tuple
        """Keys of the most important files, which are read first."""
        self._told = False

    @property
    def enabled(self) -> bool:
        """Whether contents are kept."""
        keeps = self._preferences.settings.history.snapshot_mb > 0
        return keeps and not self._preferences.read_only

    async def prompt(self, group_id: str) -> None:
        """Record the begin of a turn, the moment to which its prompt leads back."""
        if self.enabled and self.store.begun():
            await self._kept({"kind": "prompt", "group": group_id})

    async def changing(self, group_id: str, path: str, after: FileContent) -> JournaledChange:
        """Record that a file is about to become ``after``."""
        if not self.enabled:
            return JournaledChange()
        before = await asyncio.to_thread(present, self._loader, path)
        expected = evolve(after, mode=before.mode) if before.data is not None else after
        return await self._change(group_id, path, before, expected)

    async def changed(self, change: JournaledChange, path: str, expected: FileContent) -> None:
        """Record the result of a change: the editor may have formatted the file, or refused."""
        if not change.id:
            return
        now = await asyncio.to_thread(present, self._loader, path)
        if not now.same(evolve(expected, mode=now.mode)) or change.mode not in (None, now.mode):
            await self._kept({"kind": "after", "id": change.id, "after": now.record()}, now)

    async def around(self, group_id: str, what: str, work: Awaitable[T]) -> T:
        """Run ``work``, which may change files, and keep their contents from before."""
        if not self.enabled:
            return await work
        watch = await asyncio.to_thread(ChangeDetector, self._loader, list(self.known()))
        identifier = uuid.uuid4().hex[:12]
        shown = clip(redact(what)[0], 200)
        await self._kept({"kind": "command", "id": identifier, "group": group_id, "what": shown})
        try:
            return await work
        finally:
            await shield(self._ended(watch, group_id, identifier))

    async def _ended(self, watch: ChangeDetector, group_id: str, identifier: str) -> None:
        for path, before, after in await asyncio.to_thread(watch.changed):
            await self._change(group_id, path, before, after)
        await self._kept({"kind": "ended", "id": identifier})

    async def _change(
        self, group_id: str, path: str, before: FileContent, after: FileContent
    ) -> JournaledChange:
        identifier = uuid.uuid4().hex[:12]
        record = {
            "kind": "change",
            "id": identifier,
            "group": group_id,
            "path": path,
            "before": before.record(),
            "after": after.record(),
        }
        if not await self._kept(record, before, after):
            return JournaledChange()
        there = before.data is not None
        return JournaledChange(identifier, before.sha, before.mode if there else None)

    async def _kept(self, record: dict[str, Any], *contents: FileContent) -> bool:
        try:
            await asyncio.to_thread(self.keep, [record], contents)
        except OSError as error:
            if not self._told:
                self._told = True
                text = _NO_WAY_BACK.format(why=disk.explain(error))
                self._bus.notice("warning", text, "storage")
            return False
        return True

    def keep(self, records: Sequence[dict[str, Any]], contents: Iterable[FileContent] = ()) -> None:
        """Write records with the contents that they name. Blocking.

        Raises:
            OSError: the records are not written.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self.store.held():
            for content in contents:
                if content.data is not None and not content.why:
                    self.store.keep(content.data)
            self.store.write(*({**record, "at": now} for record in records))
            self.store.prune()
