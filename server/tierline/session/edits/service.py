"""Edits: proposed by the model, decided by the user, applied by the editor, told to the model.

An edit is checked against the text as it is now (unsaved changes included) when it is proposed, and
again when it is applied. It changes the document through the editor (``workspace/applyEdit``), so
undo, encodings and line ends are the editor's own. Its outcome is the result of the call; a later
decision is reported to the model at the beginning of the next turn. Everything is in the history's
log, so open edits survive a restart and reappear with their conversation.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from attrs import evolve

from tierline import protocol as p
from tierline.context.edits.blocks import (
    EditMismatch,
    Proposal,
    SearchReplaceBlock,
    create,
    propose,
)
from tierline.context.edits.fitting import fit
from tierline.context.prompt import ToolSpec
from tierline.context.refusals import Refusal
from tierline.context.tiers.base import AppliedEdit
from tierline.errors import TierlineError
from tierline.session.conversation import Conversation
from tierline.session.edits import feedback as words
from tierline.session.edits import log as editlog
from tierline.session.edits.apply import EditApplier, EditCheck
from tierline.session.edits.book import EditBook
from tierline.session.edits.edit import Edit
from tierline.session.edits.feedback import refused
from tierline.session.edits.review import EditReview, places
from tierline.session.events import EventBus
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.preferences import Preferences
from tierline.session.tools.toolbox import ToolService
from tierline.session.workbench import EDITS, Workbench
from tierline.tools.reading import told
from tierline.tools.registry import Call, Consent, Tool, ToolOutput
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath

LISTEN_SECONDS = 1.0
"""Interval at which the log is read for other windows' decisions while an edit is open."""
APPLY, PARTS, REJECT = "Apply", "Choose parts in the file", "Reject"

PROPOSE_EDIT = ToolSpec(
    name="propose_edit",
    description=(
        "Propose a change to one file. `edits` replaces parts of an existing file: each `search` "
        "must be a part of the file word for word, long enough to occur only once; all are "
        "searched in the file as it is now. `content` is the whole text of a new file. The user "
        "sees the change and accepts it, parts of it, or rejects it; the result says which."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path relative to the workspace."},
            "edits": {
                "type": "array",
                "minItems": 1,
                "maxItems": 100,
                "items": {
                    "type": "object",
                    "properties": {"search": {"type": "string"}, "replace": {"type": "string"}},
                    "required": ["search", "replace"],
                },
            },
            "content": {"type": "string", "description": "Only for a file that does not exist."},
        },
        "required": ["path"],
    },
)


class EditService:
    """The edits of the current conversation, oldest first."""

    def __init__(
        self,
        bus: EventBus,
        preferences: Preferences,
        conversation: Conversation,
        tools: ToolService,
        loader: Loader,
        workbench: Workbench,
        snapshots: SnapshotService,
    ) -> None:
        self._bus = bus
        self._preferences = preferences
        self._tools = tools
        self._loader = loader
        self._workbench = workbench
        self._applier = EditApplier(preferences, loader, workbench, snapshots)
        self._book = EditBook(conversation, loader)
        self._lock = asyncio.Lock()
        self.review = EditReview(
            preferences, loader, workbench, snapshots, self._book, self._lock, self._show
        )
        self._listening: asyncio.Task[None] | None = None
        self.tool = Tool(
            PROPOSE_EDIT, self._propose, Consent.EDIT, title=lambda a: str(a.get("path", ""))
        )

    # --- requests --------------------------------------------------------------------------------

    def infos(self) -> list[p.EditInfo]:
        """The edits of visible turns: those of an undone turn return with it."""
        return [edit.info for edit in self._book.present()]

    async def listed(self, _params: p.NoParams) -> p.EditListResult:
        """The edits, those that are open checked against their files."""
        await self.refresh()
        return p.EditListResult(self.infos())

    async def propose(self, params: p.EditProposeParams) -> p.EditInfo:
        """Code of a reply that the user wants in a file: an edit like the model's own.

        Raises:
            TierlineError: ``bad_request``: there is no such file here; ``conflict``: it may not be
                changed, or the place for the code cannot be found.
        """
        path = params.path or self._loader.key(params.uri)
        call = Call("", PROPOSE_EDIT.name, {"path": path}, message_id=params.message_id)
        made = await asyncio.to_thread(self._from_code, call, params.code)
        if isinstance(made, str):
            raise TierlineError("conflict", f"Not applied to {path}: {made}")
        await self._book.add(made)
        self._show(made)
        return made.info

    def _from_code(self, call: Call, code: str) -> Edit | str:
        """The edit that brings code into a file, or why not. Blocking."""
        path, loader = str(call.arguments["path"]), self._loader
        place = loader.roots.resolve(path)
        if isinstance(place, Refusal):
            return told(place)
        if not os.path.lexists(place.path):
            return self._checked(evolve(call, arguments={"path": path, "content": code}))
        current = loader.current(place)
        if isinstance(current, Refusal):
            return told(current)
        blocks = fit(current[0].text, code)
        if isinstance(blocks, str):
            return blocks
        edits = [{"search": block.search, "replace": block.replace} for block in blocks]
        return self._checked(evolve(call, arguments={"path": path, "edits": edits}))

    async def accept(self, params: p.EditAcceptParams) -> p.EditInfo:
        """Apply an edit, or some of its hunks.

        Raises:
            TierlineError: ``not_found``; ``conflict`` if it is decided already, the file no longer
                fits, or the editor did not apply it. The edit then stays as it was.
        """
        edit = self._open(params.id)
        if not self._preferences.settings.tools.workspace_trusted:
            raise TierlineError("conflict", words.UNTRUSTED, "Trust the workspace first.")
        known = {hunk.index for hunk in edit.info.hunks}
        if wrong := sorted(set(params.hunks) - known):
            raise _no_part(wrong[0])
        await self._workbench.refresh([edit.info.uri])
        async with self._lock:
            edit = self._open(params.id)
            problem = await self._apply(edit, sorted(set(params.hunks) or known))
        if problem:
            raise TierlineError("conflict", problem, "Reject the edit, or undo your own change.")
        if params.session:
            self._preferences.edits_now = True
        await self._decided(edit)
        return edit.info

    async def reject(self, params: p.EditRejectParams) -> p.EditInfo:
        """Reject an edit."""
        edit = self._open(params.id)
        edit.rejected(params.reason)
        await self._decided(edit)
        return edit.info

    async def choose(self, params: p.EditChooseParams) -> p.EditInfo:
        """Decide about one hunk. With the last one the edit is decided: the accepted hunks are
        applied in one step, or the edit is rejected if there are none.

        Raises:
            TierlineError: ``not_found``: there is no such edit or hunk; otherwise as ``accept``.
        """
        edit = self._open(params.id)
        hunk = next((h for h in edit.info.hunks if h.index == params.hunk), None)
        if hunk is None:
            raise _no_part(params.hunk)
        before, hunk.choice = hunk.choice, "take" if params.take else "leave"
        if any(h.choice == "" for h in edit.info.hunks):
            await self._book.keep(edit, editlog.outcome(edit))
            self._show(edit)
            return edit.info
        taken = [h.index for h in edit.info.hunks if h.choice == "take"]
        if not taken:
            return await self.reject(p.EditRejectParams(edit.info.id))
        try:
            return await self.accept(p.EditAcceptParams(edit.info.id, taken))
        except TierlineError:
            hunk.choice = before  # this hunk can be decided again
            raise

    async def preview(self, params: p.EditParams) -> p.EditPreview:
        """The texts before and after; based on the file's current text if the edit still fits.

        Raises:
            TierlineError: ``not_found``; ``conflict`` if neither text is known any more.
        """
        edit = self._find(params.id)
        found: EditCheck | str = ""
        if edit.info.state == "open":
            found = await asyncio.to_thread(self._applier.fit, edit)
        if isinstance(found, EditCheck):
            shown, stale = found.proposal, found.proposal != edit.proposal
        elif edit.proposal is not None:
            shown, stale = edit.proposal, bool(found)
        else:
            raise TierlineError(
                "conflict",
                found or f"The edit is {edit.info.state}; its text is not kept.",
                "Look at the file itself.",
            )
        return p.EditPreview(
            edit.info.id, edit.info.path, edit.info.uri, shown.before, shown.after, stale
        )

    async def refresh(self) -> None:
        """Read other windows' decisions, and check whether open edits still fit."""
        self._hear()
        for edit in [e for e in self._book.present() if e.undecided()]:
            found = await asyncio.to_thread(self._applier.fit, edit)
            if edit.undecided():
                edit.info.reason = found if isinstance(found, str) else ""
                if isinstance(found, EditCheck):
                    edit.show(found.proposal)

    @property
    def any_open(self) -> bool:
        """True if an edit waits for a decision."""
        return any(edit.undecided() for edit in self._book.edits.values())

    def places(self, key: str) -> list[tuple[p.EditInfo, EditCheck]]:
        """The open edits of a file that fit it, with where their hunks are now. Blocking."""
        found = []
        for edit in self._book.present():
            if edit.undecided() and edit.info.path == key and not edit.info.create:
                now = self._applier.fit(edit)
                if isinstance(now, EditCheck):
                    edit.show(now.proposal)
                    found.append((edit.info, now))
        return found

    def applied_places(self, key: str) -> list[tuple[p.EditInfo, dict[int, tuple[int, int]]]]:
        """The edits of a file that wait to be kept or undone, with the lines of their parts.
        Blocking.
        """
        found = []
        for edit in self._book.present():
            if edit.info.review == "open" and edit.info.path == key:
                current = self._loader.current(edit.place)
                if not isinstance(current, Refusal):
                    found.append((edit.info, places(edit.info, current[0].text)))
        return found

    async def load(self) -> None:
        """Load the edits of the current conversation. Consents given in another one do not apply
        here.
        """
        self._preferences.edits_now = False
        await self._book.load()
        self._listen()

    def close(self) -> None:
        """Stop listening to other windows."""
        if self._listening is not None:
            self._listening.cancel()

    # --- the tool --------------------------------------------------------------------------------

    async def _propose(self, call: Call) -> ToolOutput:
        made = await asyncio.to_thread(self._checked, call)
        if isinstance(made, str):
            return ToolOutput(f"Not proposed: {made}", error=True, note="refused")
        await self._book.add(made)
        self._show(made)
        if self._preferences.applies_edits and not words.sensitive(made.info.path):
            async with self._lock:
                problem = await self._apply(made, [h.index for h in made.info.hunks])
            if problem:
                made.failed(problem)
            else:
                made.info.review = "open"
        else:
            await self._decision(made, call)
        made.told = True
        await self._book.keep(made, editlog.outcome(made))
        self._show(made)
        return words.output(made)

    def _checked(self, call: Call) -> Edit | str:
        """The edit that a call proposes, or why not. Blocking."""
        arguments, loader = call.arguments, self._loader
        if ("edits" in arguments) == ("content" in arguments):
            return "give either `edits` or `content`."
        place = loader.roots.resolve(str(arguments["path"]))
        if isinstance(place, Refusal):
            return told(place)
        if why := refused(place.key) or words.of(loader.refusal(place)):
            return why
        if "content" in arguments:
            made = self._creation(place, arguments)
        else:
            made = self._replacement(place, arguments)
        if isinstance(made, str):
            return made
        return Edit.make(call, place, loader.uri(place.key), *made)

    def _creation(
        self, place: ResolvedPath, arguments: Mapping[str, Any]
    ) -> tuple[Proposal, tuple[SearchReplaceBlock, ...]] | str:
        loader = self._loader
        if os.path.lexists(place.path) or loader.buffers.get(place.key, loader.roots) is not None:
            return f"{place.key} exists already; propose `edits` to it."
        if why := words.unfit(place.key):
            return why
        made = create(str(arguments["content"]))
        return made.reason if isinstance(made, EditMismatch) else (made, ())

    def _replacement(
        self, place: ResolvedPath, arguments: Mapping[str, Any]
    ) -> tuple[Proposal, tuple[SearchReplaceBlock, ...]] | str:
        current = self._loader.current(place)
        if isinstance(current, Refusal):
            return told(current)
        content, _ = current
        if content.facts.view:
            return f"{place.key} is a {content.facts.view}; its text cannot be edited this way."
        blocks = tuple(SearchReplaceBlock(e["search"], e["replace"]) for e in arguments["edits"])
        if why := words.placeholders(content.text, blocks):
            return why
        made = propose(content.text, blocks)
        if isinstance(made, EditMismatch):
            return made.reason
        if why := words.unencodable(made, content.facts):
            return f"{place.key} {why}"
        return made, blocks

    async def _decision(self, edit: Edit, call: Call) -> None:
        """Wait for the user. A stopped turn leaves the edit open: it can still be accepted."""
        edit.waiting = asyncio.get_running_loop().create_future()
        self._tools.is_asking(call, edit.info.id)
        message = None
        if EDITS not in self._workbench.features:
            message = asyncio.ensure_future(self._by_message(edit))
        try:
            await edit.waiting
        finally:
            edit.waiting = None
            if message is not None:
                message.cancel()

    async def _by_message(self, edit: Edit) -> None:
        """Plain LSP: a message with the change in it. Closing it means no. Parts are decided in
        the file, by code actions.
        """
        several = [PARTS] if len(edit.info.hunks) > 1 else []
        workbench = self._workbench
        while edit.undecided():
            chosen = await workbench.ask(words.question(edit), [APPLY, *several, REJECT])
            if not edit.undecided():
                return
            if chosen == PARTS:
                await workbench.reveal(edit.info.uri, edit.info.hunks[0].line)
                return
            if chosen != APPLY:
                await self.reject(p.EditRejectParams(edit.info.id))
                return
            try:
                await self.accept(p.EditAcceptParams(edit.info.id))
            except TierlineError as error:
                edit.failed(error.message)
                await self._decided(edit)

    async def _apply(self, edit: Edit, indexes: Sequence[int]) -> str:
        """Apply hunks. Returns why that was not possible; empty if it was."""

        async def intend(before: str, after: str) -> None:
            await self._book.keep(edit, editlog.applying(indexes, before, after))

        problem = await self._applier.apply(edit, indexes, intend)
        if problem:
            await self._book.keep(edit, editlog.outcome(edit))
        return problem

    # --- outcomes ----------------------------------------------------------------------

    def applied(self) -> tuple[AppliedEdit, ...]:
        """Edits that were applied exactly as proposed, for the stability policy."""
        return tuple(
            made for e in self._book.edits.values() if (made := words.for_tiers(e)) is not None
        )

    async def news(self) -> str:
        """News for the model: decisions after its turn, edits that were undone."""
        self._hear()
        for edit in await asyncio.to_thread(self._undone):
            edit.undone()
            self._show(edit)
        parts = []
        for edit in self._book.present():
            if not edit.unknown:
                continue
            edit.tell()
            parts.append(words.news(edit))
            await self._book.keep(edit, editlog.outcome(edit))
        return "\n".join(parts)

    def _undone(self) -> list[Edit]:
        """Edits that the user undid in the editor. Blocking: reads files."""
        found = []
        for edit in self._book.present():
            if edit.info.state not in ("applied", "partly") or not edit.exact:
                continue
            current = self._loader.current(edit.place)
            gone = isinstance(current, Refusal) and edit.info.create
            if gone or (not isinstance(current, Refusal) and current[0].sha256 == edit.before):
                found.append(edit)
        return found

    def _hear(self) -> None:
        for edit in self._book.read_changes():
            if edit.undecided():
                self._show(edit)
            else:
                self._released(edit)
        self._listen()

    def _listen(self) -> None:
        """While an edit is open, look whether another window decides something about it."""
        idle = self._listening is None or self._listening.done()
        if idle and self.any_open and not self._preferences.read_only:
            self._listening = asyncio.ensure_future(self._heard())

    async def _heard(self) -> None:
        while self.any_open:
            await asyncio.sleep(LISTEN_SECONDS)
            with suppress(OSError, TierlineError):  # the log is away for now
                self._hear()

    async def _decided(self, edit: Edit) -> None:
        if edit.waiting is None or edit.waiting.done():
            edit.told = False
        await self._book.keep(edit, editlog.outcome(edit))
        self._released(edit)

    def _released(self, edit: Edit) -> None:
        """Resume the call that waits for the decision, and tell the clients."""
        if edit.waiting is not None and not edit.waiting.done():
            edit.waiting.set_result(None)
        self._show(edit)

    def _show(self, edit: Edit) -> None:
        self._bus.publish(p.EditChanged(edit.info))
        self._listen()

    def _find(self, identifier: str) -> Edit:
        edit = self._book.edits.get(identifier)
        if edit is None:
            raise TierlineError(
                "not_found", f"There is no edit {identifier} here.", "Reload the chat."
            )
        return edit

    def _open(self, identifier: str) -> Edit:
        self._hear()
        edit = self._find(identifier)
        if edit.info.state != "open":
            advice = edit.info.reason or "Use the editor's undo."
            raise TierlineError("conflict", f"The edit is {edit.info.state} already.", advice)
        return edit


def _no_part(index: int) -> TierlineError:
    return TierlineError("not_found", f"The edit has no part {index}.", "Look at the edit again.")
