"""Reviewing edits after they were applied: keep or undo them by part, file, turn or all at once.

A part is undone by a three-way merge of the edit's result, the current text, and the edit's result
without the part. If the user has changed the same lines since, nothing is done and the user is
told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from attrs import define

from tierline import protocol as p
from tierline.context.edits.merge import merge
from tierline.context.text import sha256
from tierline.errors import TierlineError
from tierline.session.edits import feedback as words
from tierline.session.edits import log as editlog
from tierline.session.edits.book import EditBook
from tierline.session.edits.edit import Edit
from tierline.session.snapshots.content import FileContent, encoded, present
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.preferences import Preferences
from tierline.session.workbench import Workbench
from tierline.workspace.decoding import decode
from tierline.workspace.loader import Loader

CHANGED = "{path}: you have changed the same lines since; they were left as they are."
GONE = "{path}: what it said before is no longer kept. Use the editor's undo."
MADE = "{path} was made by the edit, and you have changed it since; it was left as it is."


@define(eq=False, repr=False, slots=False)
class EditReview:
    """Keeps and undoes edits that are in their files."""

    _preferences: Preferences
    _loader: Loader
    _workbench: Workbench
    _snapshots: SnapshotService
    _book: EditBook
    _lock: asyncio.Lock
    """Held while files are changed."""
    _show: Callable[[Edit], None]
    """Publishes an edit to the clients."""

    async def keep(self, params: p.EditReviewParams) -> p.EditReviewResult:
        """Say that edits, or parts of one, are good as they are in their files.

        Raises:
            TierlineError: ``not_found``: there is no such edit or part.
        """

        async def kept(edit: Edit, hunks: Sequence[int]) -> str:
            for hunk in edit.info.hunks:
                if hunk.index in hunks:
                    hunk.choice = "take"
            return ""

        chosen = [edit for edit in self._chosen(params) if edit.info.review == "open"]
        return await self._each(chosen, params, kept)

    async def undo(self, params: p.EditReviewParams) -> p.EditReviewResult:
        """Take edits, or parts of one, out of their files again, the newest first.

        Raises:
            TierlineError: ``not_found``: there is no such edit or part; ``conflict``: the
                workspace is not trusted.
        """
        if not self._preferences.settings.tools.workspace_trusted:
            raise TierlineError("conflict", words.UNTRUSTED, "Trust the workspace first.")
        chosen = self._chosen(params)
        if not params.id:  # edits that the user has kept stay
            chosen = [edit for edit in chosen if edit.info.review == "open"]
        await self._workbench.refresh([edit.info.uri for edit in chosen])
        async with self._lock:
            return await self._each(chosen[::-1], params, self._undo)

    # --- which edits -----------------------------------------------------------------------------

    def _chosen(self, params: p.EditReviewParams) -> list[Edit]:
        """Edits that are in their files, oldest first."""
        there = [e for e in self._book.present() if e.info.state in ("applied", "partly")]
        if not params.id:
            return [
                edit
                for edit in there
                if params.turn_id in ("", edit.info.turn_id) and params.path in ("", edit.info.path)
            ]
        found = [edit for edit in there if edit.info.id == params.id]
        known = set(found[0].info.accepted) if found else set()
        if not found or set(params.hunks) - known:
            raise TierlineError(
                "not_found", "There is no such edit or part in a file.", "Look at the edit again."
            )
        return found

    async def _each(
        self,
        edits: Sequence[Edit],
        params: p.EditReviewParams,
        act: Callable[[Edit, Sequence[int]], Awaitable[str]],
    ) -> p.EditReviewResult:
        problems = []
        for edit in edits:
            open_ones = [h.index for h in edit.info.hunks if h.choice != "take" or params.id]
            hunks = [n for n in edit.info.accepted if n in (params.hunks or open_ones)]
            if problem := await act(edit, hunks):
                problems.append(problem)
                continue
            choices = {hunk.index: hunk.choice for hunk in edit.info.hunks}
            if all(choices[n] == "take" for n in edit.info.accepted):
                edit.info.review = "kept" if edit.info.accepted else ""
            await self._book.keep(edit, editlog.outcome(edit))
            self._show(edit)
        return p.EditReviewResult([edit.info for edit in edits], problems)

    # --- out of the file again -------------------------------------------------------------------

    async def _undo(self, edit: Edit, hunks: Sequence[int]) -> str:
        info = edit.info
        now = await asyncio.to_thread(present, self._loader, info.path)
        then = self._without(edit, hunks, now)
        if isinstance(then, str):
            return then.format(path=info.path)
        change = await self._snapshots.changing(info.turn_id, info.path, then)
        problem = await self._snapshots.writer.write(info.path, now, then, "undo")
        await self._snapshots.changed(change, info.path, then)
        if not problem:
            edit.took_out(hunks)
        return problem

    def _without(self, edit: Edit, hunks: Sequence[int], now: FileContent) -> FileContent | str:
        """The file without these parts, or why not."""
        text = now.text
        if edit.info.create:
            same = text is not None and text.text == edit.content
            return FileContent() if same and not now.unsaved else MADE
        before = self._before(edit)
        if before is None:
            return GONE
        if text is None:
            return CHANGED
        left = [n for n in edit.info.accepted if n not in hunks]
        made = replaced(before, [h for h in edit.info.hunks if h.index in edit.info.accepted])
        wanted = replaced(before, [h for h in edit.info.hunks if h.index in left])
        merged = merge(made, text.text, wanted)
        return CHANGED if merged is None else FileContent(encoded(text, merged), now.mode)

    def _before(self, edit: Edit) -> str | None:
        """The text that the edit was applied to."""
        if edit.proposal is not None and sha256(edit.proposal.before) == edit.before:
            return edit.proposal.before
        data = self._snapshots.store.load(edit.kept) if edit.kept else None
        found = decode(data) if data is not None else None
        text = getattr(found, "text", None)
        return text if isinstance(text, str) and sha256(text) == edit.before else None


def replaced(text: str, hunks: Sequence[p.EditHunk]) -> str:
    """A text with the whole lines of hunks replaced."""
    starts = [0]
    for line in text.split("\n"):  # as in hunks: form feeds and the like do not end lines
        starts.append(starts[-1] + len(line) + 1)
    for hunk in sorted(hunks, key=lambda one: -one.line):
        start = min(starts[min(hunk.line, len(starts)) - 1], len(text))
        text = text[:start] + hunk.after + text[start + len(hunk.before) :]
    return text


def places(info: p.EditInfo, text: str) -> dict[int, tuple[int, int]]:
    """Where the parts that were applied are now: first and last line from 0, by index. A part whose
    lines were changed since has no place.
    """
    lines = text.split("\n")
    found: dict[int, tuple[int, int]] = {}
    shift = 0
    for hunk in info.hunks:
        if hunk.index not in info.accepted:
            continue
        after = _lines(hunk.after)
        expected = hunk.line - 1 + shift
        shift += len(after) - len(_lines(hunk.before))
        near = sorted(range(len(lines) - len(after) + 1), key=lambda at: abs(at - expected))
        first = next((at for at in near if lines[at : at + len(after)] == after), None)
        if first is not None:
            found[hunk.index] = (first, first + max(0, len(after) - 1))
    return found


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
