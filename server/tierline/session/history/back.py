"""Going back to a prompt: the conversation as a branch, the files as they were; and forward again.

The current files are kept first, so that each move can be undone byte for byte. The journal records
each move before it happens; if the process is killed in between, the next start puts the files back
or finds the move complete.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from attrs import define, field, frozen

from tierline import protocol as p
from tierline.context.edits.merge import spans
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.parser import text_of
from tierline.session.conversation import Conversation
from tierline.session.conversation.ordering import in_order
from tierline.session.events import EventBus
from tierline.session.history.history_texts import cut_off, described, told
from tierline.session.snapshots import moments
from tierline.session.snapshots.content import FileContent, on_disk, present, recorded
from tierline.session.snapshots.moments import FileRestoration, JournalRecord
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue
from tierline.session.workbench import Workbench
from tierline.store.snapshots import SnapshotStore
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath

LABEL = "going back"
_UNSAVED = "It has unsaved changes of yours, and was not there then. Save or close it first."


@frozen
class _Moment:
    """The target of a move."""

    start: int
    """Its index in the journal."""
    group_id: str = ""
    prompt: str = ""
    branch: str = ""
    of: str = ""
    """Id of the move that is undone."""


@frozen
class _Planned:
    moment: _Moment
    ways: tuple[FileRestoration, ...]
    notes: tuple[str, ...]


@define(eq=False, repr=False, slots=False)
class BackService:
    """The requests ``tierline/back/…``."""

    _bus: EventBus
    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _loader: Loader
    _snapshots: SnapshotService
    _workbench: Workbench
    _store: SnapshotStore = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._store = self._snapshots.store

    async def preview(self, params: p.BackParams) -> p.BackPreview:
        """Which files would change, and how; nothing is changed.

        Raises:
            TierlineError: ``not_found``: there is no such moment.
        """
        planned = await self._planned(params)
        moment = planned.moment
        files = [self._file(way) for way in planned.ways]
        return p.BackPreview(
            group_id=moment.group_id,
            forward=bool(moment.of),
            prompt=moment.prompt,
            branch=moment.branch,
            files=files,
            notes=list(planned.notes),
            text=described(bool(moment.of), files, planned.notes),
        )

    @in_order
    async def go(self, params: p.BackParams) -> p.BackResult:
        """Take files and conversation to the moment.

        Raises:
            TierlineError: ``conflict`` while a prompt is on its way, or a choice is not offered;
                ``not_found``; ``storage``. Nothing has changed then.
        """
        self._queue.require_idle()
        if not self._preferences.settings.tools.workspace_trusted:
            raise TierlineError(
                "conflict",
                "This workspace is not trusted: nothing is changed in it.",
                "Trust the workspace first.",
            )
        with ExitStack() as stack:
            if self._snapshots.enabled and not await asyncio.to_thread(
                stack.enter_context, self._store.moving()
            ):
                raise TierlineError(
                    "conflict", "Another window is going back just now.", "Try again after it."
                )
            planned = await self._planned(params)
            return await self._go(planned, self._chosen(planned, params.choices))

    async def recover(self) -> None:
        """At start-up: undo a move that was cut off, or note that it was complete."""
        if not self._snapshots.enabled or not self._store.begun():
            return
        for text in await asyncio.to_thread(self._recover):
            self._bus.notice("warning", text, "back")

    # --- what would be done ----------------------------------------------------------------------

    async def _planned(self, params: p.BackParams) -> _Planned:
        keys = self._loader.buffers.open_keys(self._loader.roots)
        await self._workbench.refresh([self._loader.uri(key) for key in keys])
        records = await asyncio.to_thread(self._records)
        wanted = self._forward(params, records) if params.forward or params.move_id else None
        moment = wanted or self._moment(params.group_id, records)
        ways = await asyncio.to_thread(self._ways, records, moment.start)
        notes = [
            f"A command was cut off, so what it changed is not known: {what}"
            for what in moments.cut_off(records, moment.start)
        ]
        return _Planned(moment, tuple(ways), tuple(notes))

    def _records(self) -> Sequence[JournalRecord]:
        return self._store.entries() if self._snapshots.enabled else ()

    def _moment(self, group_id: str, records: Sequence[JournalRecord]) -> _Moment:
        visible = self._conversation.visible()
        order = self._conversation.groups()
        group = group_id or (order[-1] if order else "")
        prompt = next((m for m in visible if m.group_id == group and m.role == "user"), None)
        if prompt is None:
            raise TierlineError(
                "not_found", "There is no such prompt to go back to.", "Reload the chat."
            )
        start = moments.position(records, order[order.index(group) :], prompt.timestamp)
        return _Moment(start, group, text_of(prompt.content))

    def _forward(self, params: p.BackParams, records: Sequence[JournalRecord]) -> _Moment:
        done = [r for r in moments.moves(records) if r.get("session") == self._session]
        taken_back = {r.get("of") for r in done}
        backs = [r for r in done if not r.get("of") and r.get("id") not in taken_back]
        if params.move_id:
            backs = [r for r in done if r.get("id") == params.move_id]
        if not backs:
            raise TierlineError(
                "not_found", "There is nothing to go forward to.", "Go back to a prompt first."
            )
        move = backs[-1]
        return _Moment(records.index(move), branch=str(move["branch"]), of=str(move["id"]))

    def _ways(self, records: Sequence[JournalRecord], start: int) -> list[FileRestoration]:
        """Blocking."""
        found = []
        for path, steps in sorted(moments.since(records, start).items()):
            known = moments.contents(steps, self._store.load)
            pairs = [(recorded(s.before, known), recorded(s.after, known)) for s in steps]
            way = moments.back(path, self._now(path, pairs), pairs)
            if way is not None:
                found.append(way)
        return found

    def _now(self, path: str, pairs: Sequence[tuple[FileContent, FileContent]]) -> FileContent:
        """The file's current content. A deleted file counts as missing even if the editor still
        shows its known text.
        """
        now = present(self._loader, path)
        known = {side.data for pair in pairs for side in pair}
        if now.unsaved and now.data in known:
            place = self._loader.roots.resolve(path)
            gone = isinstance(place, ResolvedPath) and on_disk(self._loader, place)
            return gone if gone and gone.data is None and not gone.why else now
        return now

    def _file(self, way: FileRestoration) -> p.BackFile:
        choices, why = _choices(way)
        target = _target(way, choices[0])
        old, new = way.now.text, target.text if target is not None else None
        added = removed = 0
        before, after = old.text if old else "", new.text if new else ""
        for start, end, text in spans(before, after) if target is not None else ():
            removed += len(before[start:end].splitlines())
            added += len(text.splitlines())
        return p.BackFile(
            path=way.path,
            uri=self._loader.uri(way.path),
            change="delete" if way.then.data is None and not way.then.why
            else "create" if way.now.data is None else "restore",
            take=choices[0],
            choices=choices,
            yours=way.yours,
            unsaved=way.now.unsaved,
            added=added,
            removed=removed,
            why=why,
        )  # fmt: skip

    def _chosen(self, planned: _Planned, choices: Sequence[p.BackChoice]) -> dict[str, p.Take]:
        wanted: dict[str, p.Take] = {c.path: c.take for c in choices}
        chosen: dict[str, p.Take] = {}
        for way in planned.ways:
            offered, why = _choices(way)
            take = wanted.get(way.path, offered[0])
            if take not in offered:
                raise TierlineError(
                    "conflict",
                    f"{way.path}: {take} cannot be taken. {why}".rstrip(),
                    "Look at the preview again. Nothing was changed.",
                )
            chosen[way.path] = take
        return chosen

    # --- doing it --------------------------------------------------------------------------------

    async def _go(self, planned: _Planned, chosen: Mapping[str, p.Take]) -> p.BackResult:
        moment, now = planned.moment, self._conversation.timeline()
        made = [] if moment.of else [actions.fork_before(now, moment.group_id)]
        branch = str(made[0].data["branch"]) if made else moment.branch
        if moment.of:
            actions.switch(now, branch)  # refuses an unknown branch
        targets = [(way, t) for way in planned.ways if (t := _target(way, chosen[way.path]))]
        identifier = uuid.uuid4().hex[:12]
        if self._snapshots.enabled:
            await self._keep(
                {
                    "kind": "move",
                    "id": identifier,
                    "session": self._session,
                    "branch": now.branch,
                    "to": branch,
                    "of": moment.of,
                    "files": [_record(way.path, way.now, then) for way, then in targets],
                },
                *(content for way, then in targets for content in (way.now, then)),
            )
        done, problems = await self._written(targets)
        problem = ""
        for action in (*made, None):
            step = action or actions.switch(self._conversation.timeline(), branch)
            problem = problem or await self._conversation.act(step)
        if problem:
            await self._written(
                [(FileRestoration(w.path, then, w.now, None, False), w.now) for w, then in done]
            )
            await self._end(identifier, False, [])
            raise TierlineError("storage", problem, "The files are as they were before.")
        try:
            await self._end(identifier, True, done)
        except TierlineError as error:  # the next start finds it complete
            problems.append(error.message)
        self._bus.publish(p.StateChanged(reason="back"))
        self._bus.context_changed(files=True)
        changed = [way.path for way, _ in done]
        kept = [path for path, take in chosen.items() if take == "mine"]
        return p.BackResult(
            move_id=identifier,
            branch=branch,
            prompt=moment.prompt,
            changed=changed,
            kept=kept,
            problems=problems,
            text=told(bool(moment.of), branch, now.branch, changed, kept, problems),
        )

    async def _written(
        self, targets: Sequence[tuple[FileRestoration, FileContent]]
    ) -> tuple[list[tuple[FileRestoration, FileContent]], list[str]]:
        done, problems = [], []
        for way, then in targets:
            problem = await self._snapshots.writer.write(way.path, way.now, then, LABEL)
            if problem:
                problems.append(problem)
            else:
                done.append((way, then))
        return done, problems

    async def _end(
        self, identifier: str, complete: bool, done: Sequence[tuple[FileRestoration, FileContent]]
    ) -> None:
        """Record the outcome for each file as it is now: the editor may have formatted it."""
        if not self._snapshots.enabled:
            return
        files, contents = [], []
        for way, then in done:
            now = await asyncio.to_thread(self._now, way.path, [(way.now, then)])
            files.append(_record(way.path, way.now, now))
            contents.append(now)
        record = {"kind": "moved", "id": identifier, "done": complete, "files": files}
        await self._keep(record, *contents)

    async def _keep(self, record: dict[str, Any], *contents: FileContent) -> None:
        try:
            await asyncio.to_thread(self._snapshots.keep, [record], contents)
        except OSError as error:
            raise TierlineError(
                "storage",
                f"What the files say now could not be kept: {error}.",
                "Free some space in the .tierline folder, then try again.",
            ) from error

    def _recover(self) -> list[str]:
        """Blocking; only the disk is read, as the editor has not sent its documents yet."""
        said: list[str] = []
        with self._store.moving() as free:
            for move in moments.unfinished(self._store.entries()) if free else ():
                session = str(move.get("session", ""))
                now = self._conversation.store.timeline(session)
                complete = now.branch == move.get("to")
                listed = move.get("files")
                files = (
                    [f for f in listed if isinstance(f, dict)] if isinstance(listed, list) else []
                )
                left = [] if complete else [f["path"] for f in files if not self._put_back(f)]
                record = {
                    "kind": "moved",
                    "id": move.get("id"),
                    "done": complete,
                    "files": files if complete else [],
                }
                try:
                    self._snapshots.keep([record])
                except OSError as error:
                    return [*said, f"Going back was cut off, and that cannot be written: {error}."]
                said.append(cut_off(complete, left))
        return said

    def _put_back(self, file: Mapping[str, Any]) -> bool:
        """Put back a file as it was before a move that was cut off. False if it has neither text,
        and is left alone.
        """
        step = moments.JournalStep(file.get("before", {}), file.get("after", {}))
        contents = moments.contents([step], self._store.load)
        before, after = recorded(step.before, contents), recorded(step.after, contents)
        return self._snapshots.writer.put_back(str(file.get("path", "")), before, after)

    @property
    def _session(self) -> str:
        return self._conversation.session_id


def _choices(way: FileRestoration) -> tuple[list[p.Take], str]:
    """The choices for a file, the harmless ones first; and why there are none."""
    if way.then.why:
        return ["mine"], f"It cannot be brought back: {way.then.why}."
    if way.now.why:
        return ["mine"], f"It cannot be changed: {way.now.why}."
    if way.now.unsaved and way.then.data is None:
        return ["mine"], _UNSAVED
    if not way.yours:
        return ["old", "mine"], ""
    merges = way.merged is not None and not way.merged.why
    if merges and way.merged is not None and way.merged.same(way.then):
        return ["old", "mine"], ""
    return (["merge", "mine", "old"], "") if merges else (["mine", "old"], "")


def _target(way: FileRestoration, take: p.Take) -> FileContent | None:
    """The content that the file shall get; None to leave it."""
    return {"old": way.then, "merge": way.merged, "mine": None}[take]


def _record(path: str, before: FileContent, after: FileContent) -> dict[str, Any]:
    return {"path": path, "before": before.record(), "after": after.record()}
