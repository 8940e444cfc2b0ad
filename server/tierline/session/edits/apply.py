"""Checking edits against their files' current texts, and applying them through the editor."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence

from attrs import define, evolve, frozen

from tierline.context.edits.blocks import EditMismatch, Proposal, apply, create, propose
from tierline.context.edits.hunks import Hunk
from tierline.context.edits.positions import changes
from tierline.context.fences import render_file
from tierline.context.filetext import FileFacts, FileText, file_text
from tierline.context.refusals import Refusal
from tierline.context.text import sha256
from tierline.context.tiers.updates import version
from tierline.session.edits.edit import Edit
from tierline.session.snapshots.content import FileContent, encoded
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.preferences import Preferences
from tierline.session.workbench import SAVE, Annotation, FileChange, Workbench
from tierline.workspace.buffers import Buffer
from tierline.workspace.loader import Loader

NOT_EXACT = (
    "The file was changed at the same moment: it is not what you agreed to, and was not saved. "
    "Look at it, and undo in the editor."
)
SETTLE_SECONDS = 2.0
"""How long the editor may take to report its own change."""


@frozen
class EditCheck:
    """The result of an edit on the file's current text."""

    proposal: Proposal
    content: FileText | None
    """None for a file that does not exist yet."""
    dirty: bool
    """True if the editor has unsaved changes of the file."""


@define(eq=False, repr=False, slots=False)
class EditApplier:
    """Checks edits against their files, and applies them through the editor."""

    _preferences: Preferences
    _loader: Loader
    _workbench: Workbench
    _snapshots: SnapshotService

    def fit(self, edit: Edit) -> EditCheck | str:
        """The result of an edit on the file's current text, or why it no longer fits. Blocking."""
        if edit.info.create:
            return self._fit_new(edit)
        loader, path = self._loader, edit.info.path
        current = loader.current(edit.place)
        moved = loader.roots.resolve(edit.place.key) != edit.place or not edit.same_file()
        if isinstance(current, Refusal) or moved:
            return (
                current.message if isinstance(current, Refusal) else f"{path} is another file now."
            )
        content, dirty = current
        if edit.proposal is not None and content.text == edit.proposal.before:
            return EditCheck(edit.proposal, content, dirty)
        now = content.sha256
        if now == edit.result:
            return f"{path} says already what the edit would make of it."
        again = propose(content.text, edit.blocks)
        if isinstance(again, EditMismatch):
            return f"{path} has changed, and the edit no longer fits. {again.reason}"
        if now == edit.base:
            edit.proposal = again
        return EditCheck(again, content, dirty)

    def _fit_new(self, edit: Edit) -> EditCheck | str:
        if os.path.lexists(edit.place.path) or self._opened(edit) is not None:
            return f"{edit.info.path} exists by now."
        if why := self._loader.refusal(edit.place):
            return why.message
        made = create(edit.content)
        return EditCheck(made, None, False) if isinstance(made, Proposal) else made.reason

    async def apply(
        self, edit: Edit, indexes: Sequence[int], intend: Callable[[str, str], Awaitable[None]]
    ) -> str:
        """Apply hunks through the editor. Returns why that was not possible; empty if it was.

        ``intend`` is called with the hashes of the text before and after, just before the editor is
        asked.
        """
        found = await asyncio.to_thread(self.fit, edit)
        if isinstance(found, str):
            return found
        proposal = found.proposal
        if not edit.show(proposal):
            return f"{edit.info.path} has changed; look at the edit again."
        chosen = [proposal.hunks[index] for index in indexes]
        after = apply(proposal.before, chosen)
        before_hash, after_hash = sha256(proposal.before), sha256(after)
        shown = await asyncio.to_thread(self._rendered, edit.place.key)
        expected = FileContent(after.encode("utf-8", "replace"))
        if found.content is not None:
            expected = FileContent(encoded(found.content, after))
        change = await self._snapshots.changing(edit.info.turn_id, edit.info.path, expected)
        edit.kept = change.before
        await intend(before_hash, after_hash)
        applied = await self._workbench.apply(
            self._change(edit, chosen, found.content),
            Annotation(f"Tierline: {edit.info.path}", "Proposed in the chat, accepted by you"),
        )
        if not applied.ok:
            await self._snapshots.changed(change, edit.info.path, expected)
            return f"The editor did not apply the edit: {applied.reason or 'no reason given'}."
        exact = await self._settled(edit, after)
        edit.applied(indexes, before_hash, after_hash, exact=exact)
        if not exact:
            edit.info.reason = NOT_EXACT
        # A result other than the agreed one is not saved: it stays in the editor and can be undone.
        edit.saved = exact and not found.dirty and await self._save(edit)
        await self._snapshots.changed(change, edit.info.path, expected)
        if edit.info.state == "applied" and exact:
            now = await asyncio.to_thread(self._rendered, edit.place.key)
            edit.shown, edit.versions = (shown[0], now[0]), (shown[1], now[1])
        return ""

    def _rendered(self, key: str) -> tuple[str, str]:
        """Hash of the file as the context shows it, and the name of its version; empty if it is not
        shown. Blocking.
        """
        loaded = self._loader.load(key)
        if isinstance(loaded, Refusal):
            return "", ""
        text = loaded.content.text
        return sha256(render_file(loaded.key, text)), version(text)

    def _opened(self, edit: Edit) -> Buffer | None:
        loader = self._loader
        found = loader.buffers.get(edit.place.key, loader.roots)
        return found if isinstance(found, Buffer) else None

    def _change(self, edit: Edit, hunks: Sequence[Hunk], content: FileText | None) -> FileChange:
        """The hunks as a change of the editor's document, with its line ends and version."""
        buffer = self._opened(edit)
        facts = content.facts if content is not None else FileFacts()
        if buffer is not None:
            own = file_text(buffer.text).facts
            facts = evolve(facts, line_end=own.line_end, line_ends=own.line_ends)
        uri = self._loader.uri(edit.place.key)
        text = content.text if content is not None else ""
        bom = buffer is not None and buffer.text.startswith("\ufeff")
        made = changes(text, hunks, facts, units=self._workbench.units, bom=bom)
        version = buffer.version if buffer is not None else None
        return FileChange(uri, tuple(made), version, edit.info.create, sha256(text))

    async def _settled(self, edit: Edit, after: str) -> bool:
        """True once the file has the expected text; the editor reports its change with a delay."""
        deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
        while True:
            current = await asyncio.to_thread(self._loader.current, edit.place)
            if not isinstance(current, Refusal) and current[0].text == after:
                return True
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.02)

    async def _save(self, edit: Edit) -> bool:
        if not self._preferences.settings.tools.save_edits or SAVE not in self._workbench.features:
            return False
        return bool(await self._workbench.save([self._loader.uri(edit.place.key)]))
