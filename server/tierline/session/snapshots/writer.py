"""Writing a file's whole content: through the editor if it is open there, else to the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tierline import disk
from tierline.context.edits.hunks import hunks_of
from tierline.context.edits.merge import spans
from tierline.context.edits.positions import changes
from tierline.context.filetext import FileText, file_text
from tierline.context.refusals import Refusal
from tierline.context.text import sha256
from tierline.session.snapshots.content import FileContent, on_disk, present
from tierline.session.state.preferences import Preferences
from tierline.session.workbench import SAVE, Annotation, FileChange, Workbench
from tierline.workspace.buffers import Buffer
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath

SETTLE_SECONDS = 2.0
"""How long the editor may take to report its own change."""


class FileWriter:
    """Writes whole contents. A file that the user changes at the same moment is left alone."""

    def __init__(self, preferences: Preferences, loader: Loader, workbench: Workbench) -> None:
        self._preferences = preferences
        self._loader = loader
        self._workbench = workbench

    async def write(self, path: str, now: FileContent, then: FileContent, label: str) -> str:
        """Replace the content ``now`` by ``then``. Returns why that was not possible; empty if it
        was. A document with unsaved changes is changed in the editor and not saved.
        """
        place = self._loader.roots.resolve(path)
        if isinstance(place, Refusal) or place.key != path:
            return f"{path}: another file has its place."
        fresh = await asyncio.to_thread(present, self._loader, path)
        disk_only = await asyncio.to_thread(on_disk, self._loader, place)
        gone = now.data is None and disk_only.same(now)  # the editor may still show it
        if not fresh.same(now) and not gone:
            return f"{path} was changed at the same moment; it was left as it is."
        buffer = self._loader.buffers.get(path, self._loader.roots)
        text = then.text
        if isinstance(buffer, Buffer) and text is not None:
            problem = await self._in_editor(path, buffer, text, label)
            if problem and now.unsaved:
                return f"{path}: {problem}"
            if now.unsaved or (not problem and not await self._saved(path)):
                return ""
        try:
            await asyncio.to_thread(_to_disk, self._loader, place, then)
        except OSError as error:
            return f"{path}: {disk.explain(error)}."
        return ""

    def put_back(self, path: str, before: FileContent, after: FileContent) -> bool:
        """Replace ``after`` by ``before``, on disk only. False if the file has neither.
        Blocking.
        """
        place = self._loader.roots.resolve(path)
        if isinstance(place, Refusal) or place.key != path:
            return False
        now = on_disk(self._loader, place)
        if now.same(before):
            return True
        if not now.same(after):
            return False
        try:
            _to_disk(self._loader, place, before)
        except OSError:
            return False
        return True

    async def _in_editor(self, path: str, buffer: Buffer, text: FileText, label: str) -> str:
        shown = file_text(buffer.text)
        hunks = hunks_of(shown.text, spans(shown.text, text.text))
        if not hunks:
            return ""
        bom = buffer.text.startswith("\ufeff")
        made = changes(shown.text, hunks, shown.facts, units=self._workbench.units, bom=bom)
        change = FileChange(buffer.uri, tuple(made), buffer.version, base=sha256(shown.text))
        applied = await self._workbench.apply(change, Annotation(f"Tierline: {label}", path))
        if not applied.ok:
            return f"the editor did not apply it: {applied.reason or 'no reason given'}."
        return "" if await self._settled(path, text.sha256) else "the editor changed it further."

    async def _settled(self, path: str, sha: str) -> bool:
        """Wait until the editor has reported its own change; false if it does not."""
        deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            buffer = self._loader.buffers.get(path, self._loader.roots)
            if not isinstance(buffer, Buffer) or file_text(buffer.text).sha256 == sha:
                return True
            await asyncio.sleep(0.02)
        return False

    async def _saved(self, path: str) -> bool:
        """Whether the document is saved, or could be saved now; otherwise the change stays in the
        editor.
        """
        if not self._preferences.settings.tools.save_edits or SAVE not in self._workbench.features:
            return False
        return bool(await self._workbench.save([self._loader.uri(path)]))


def _to_disk(loader: Loader, place: ResolvedPath, then: FileContent) -> None:
    """Write a content to disk, unless it has the same bytes already. Blocking."""
    if on_disk(loader, place).same(then):
        return
    if then.data is None:
        disk.remove(place.path)
        return
    Path(place.path).parent.mkdir(parents=True, exist_ok=True)
    disk.replace(place.path, then.data, mode=then.mode)
