"""Edits: proposed by the model, decided by the user, applied by the editor, told to the model.

An edit is checked against the text as it is now (unsaved changes included) when it is proposed, and
again when it is applied. It changes the document through the editor (``workspace/applyEdit``), so
undo, encodings and line ends are the editor's own. What becomes of it is the result of the call; a
decision that comes later is told at the beginning of the next turn.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from tierline.context.edits.blocks import Block, Misfit, Proposal, apply, create, propose
from tierline.context.edits.hunks import Hunk
from tierline.context.edits.positions import changes
from tierline.context.fences import render_file
from tierline.context.filetext import FileFacts, FileText, file_text
from tierline.context.prompt import ToolSpec
from tierline.context.refusals import Refusal
from tierline.context.text import sha256
from tierline.context.tiers.base import AppliedEdit
from tierline.errors import TierlineError
from tierline.lsp import protocol as p
from tierline.session import editfeedback as words
from tierline.session.editfeedback import Edit, refused
from tierline.session.workbench import EDITS, SAVE, Annotation, FileChange
from tierline.tools.reading import told
from tierline.tools.registry import Call, Consent, Output, Tool
from tierline.workspace.buffers import Buffer
from tierline.workspace.paths import Resolved

if TYPE_CHECKING:
    from tierline.session.session import Session

APPLY, REJECT = "Apply", "Reject"
SETTLE_SECONDS = 2.0
"""How long the editor may take to report its own change."""
MOST_KEPT = 200

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
                    "properties": {
                        "search": {"type": "string"},
                        "replace": {"type": "string"},
                    },
                    "required": ["search", "replace"],
                },
            },
            "content": {"type": "string", "description": "Only for a file that does not exist."},
        },
        "required": ["path"],
    },
)


class EditService:
    """Keeps the edits of this run, oldest first."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._edits: dict[str, Edit] = {}
        self._lock = asyncio.Lock()
        self.tool = Tool(
            PROPOSE_EDIT, self._propose, Consent.EDIT, title=lambda a: str(a.get("path", ""))
        )

    # --- requests --------------------------------------------------------------------------------

    def infos(self) -> list[p.EditInfo]:
        """All edits."""
        return [edit.info for edit in self._edits.values()]

    async def listed(self, _params: p.NoParams) -> p.EditListResult:
        """All edits."""
        return p.EditListResult(self.infos())

    async def accept(self, params: p.EditAcceptParams) -> p.EditInfo:
        """Apply an edit, or some of its hunks.

        Raises:
            TierlineError: ``not_found``; ``conflict`` if it is decided already, the file no longer
                fits, or the editor did not apply it. The edit then stays as it was.
        """
        edit = self._open(params.id)
        if not self._session.settings.tools.workspace_trusted:
            raise TierlineError("conflict", words.UNTRUSTED, "Trust the workspace first.")
        known = {hunk.index for hunk in edit.info.hunks}
        if wrong := sorted(set(params.hunks) - known):
            raise TierlineError(
                "not_found", f"The edit has no part {wrong[0]}.", "Look at the edit again."
            )
        async with self._lock:
            edit = self._open(params.id)
            problem = await self._apply(edit, sorted(set(params.hunks) or known))
        if problem:
            raise TierlineError("conflict", problem, "Reject the edit, or undo your own change.")
        self._decided(edit)
        return edit.info

    async def reject(self, params: p.EditRejectParams) -> p.EditInfo:
        """Reject an edit."""
        edit = self._open(params.id)
        edit.info.state, edit.info.reason = "rejected", " ".join(params.reason.split())[:1000]
        self._decided(edit)
        return edit.info

    async def preview(self, params: p.EditParams) -> p.EditPreview:
        """Both texts; against the file as it is now, if that is still possible."""
        edit = self._find(params.id)
        before, after, stale = edit.proposal.before, edit.proposal.after, False
        if edit.info.state == "open" and not edit.info.create:
            current = await asyncio.to_thread(self._session.files.loader.current, edit.place)
            if not isinstance(current, Refusal) and current[0].text != before:
                again, stale = propose(current[0].text, edit.blocks), True
                if isinstance(again, Proposal):
                    before, after = again.before, again.after
        return p.EditPreview(edit.info.id, edit.info.path, edit.info.uri, before, after, stale)

    # --- the tool --------------------------------------------------------------------------------

    async def _propose(self, call: Call) -> Output:
        made = await asyncio.to_thread(self._checked, call)
        if isinstance(made, str):
            return Output(f"Not proposed: {made}", error=True, note="refused")
        self._edits[made.info.id] = made
        while len(self._edits) > MOST_KEPT:
            del self._edits[next(iter(self._edits))]
        self._show(made)
        settings = self._session.settings.tools
        if settings.edits == "apply" and not words.sensitive(made.info.path):
            async with self._lock:
                problem = await self._apply(made, [hunk.index for hunk in made.info.hunks])
            if problem:
                made.info.state, made.info.reason = "failed", problem
        else:
            await self._decision(made, call)
        made.told = True
        self._session.bus.publish(p.EditChanged(made.info))
        return words.output(made)

    def _checked(self, call: Call) -> Edit | str:
        """The edit that a call proposes, or why not. Blocking."""
        arguments, loader = call.arguments, self._session.files.loader
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
        self, place: Resolved, arguments: Mapping[str, Any]
    ) -> tuple[Proposal, tuple[Block, ...], FileText | None, bool] | str:
        loader = self._session.files.loader
        if os.path.lexists(place.path) or loader.buffers.get(place.key, loader.roots) is not None:
            return f"{place.key} exists already; propose `edits` to it."
        made = create(str(arguments["content"]))
        return made.reason if isinstance(made, Misfit) else (made, (), None, False)

    def _replacement(
        self, place: Resolved, arguments: Mapping[str, Any]
    ) -> tuple[Proposal, tuple[Block, ...], FileText | None, bool] | str:
        current = self._session.files.loader.current(place)
        if isinstance(current, Refusal):
            return told(current)
        content, dirty = current
        if content.facts.view:
            return f"{place.key} is a {content.facts.view}; its text cannot be edited this way."
        blocks = tuple(Block(e["search"], e["replace"]) for e in arguments["edits"])
        if why := words.placeholders(content.text, blocks):
            return why
        made = propose(content.text, blocks)
        if isinstance(made, Misfit):
            return made.reason
        if why := words.unencodable(made, content.facts):
            return f"{place.key} {why}"
        return made, blocks, content, dirty

    async def _decision(self, edit: Edit, call: Call) -> None:
        """Wait for the user. A stopped turn leaves the edit open: it can still be accepted."""
        edit.waiting = asyncio.get_running_loop().create_future()
        self._session.tools.asking(call, edit.info.id)
        message = None
        if EDITS not in self._session.workbench.features:
            message = asyncio.ensure_future(self._by_message(edit))
        try:
            await edit.waiting
        finally:
            edit.waiting = None
            if message is not None:
                message.cancel()

    async def _by_message(self, edit: Edit) -> None:
        """Plain LSP: a message with the change in it. Closing it means no."""
        while edit.undecided():
            chosen = await self._session.workbench.ask(words.question(edit), [APPLY, REJECT])
            if not edit.undecided():
                return
            if chosen != APPLY:
                await self.reject(p.EditRejectParams(edit.info.id))
                return
            try:
                await self.accept(p.EditAcceptParams(edit.info.id))
            except TierlineError as error:
                edit.info.state, edit.info.reason = "failed", error.message
                self._decided(edit)

    # --- applying --------------------------------------------------------------------------------

    async def _apply(self, edit: Edit, indexes: Sequence[int]) -> str:
        """Apply hunks through the editor. Returns why that was not possible; empty if it was."""
        session, loader = self._session, self._session.files.loader
        base = await asyncio.to_thread(self._base, edit)
        if isinstance(base, str):
            return base
        proposal, content, dirty = base
        if len(proposal.hunks) != len(edit.info.hunks):
            return f"{edit.info.path} has changed; look at the edit again."
        chosen = [proposal.hunks[index] for index in indexes]
        buffer = loader.buffers.get(edit.place.key, loader.roots)
        uri = loader.uri(edit.place.key)
        shown = await asyncio.to_thread(self._rendered, edit.place.key)
        applied = await session.workbench.apply(
            self._change(edit, chosen, content, buffer if isinstance(buffer, Buffer) else None),
            Annotation(f"Tierline: {edit.info.path}", "Proposed in the chat, accepted by you"),
        )
        if not applied.ok:
            return f"The editor did not apply the edit: {applied.reason or 'no reason given'}."
        after = apply(proposal.before, chosen)
        edit.exact = await self._settled(edit, after)
        whole = len(chosen) == len(proposal.hunks)
        edit.info.state = "applied" if whole else "partly"
        edit.info.accepted = list(indexes)
        edit.before, edit.after = sha256(proposal.before), sha256(after)
        edit.saved = not dirty and await self._save(uri)
        if whole and edit.exact:
            edit.shown = (shown, await asyncio.to_thread(self._rendered, edit.place.key))
        return ""

    def _change(
        self, edit: Edit, hunks: Sequence[Hunk], content: FileText | None, buffer: Buffer | None
    ) -> FileChange:
        """The hunks as the editor's document has them: its line ends, its version."""
        facts = content.facts if content is not None else FileFacts()
        if buffer is not None:
            own = file_text(buffer.text).facts
            facts = evolve(facts, line_end=own.line_end, line_ends=own.line_ends)
        uri = self._session.files.loader.uri(edit.place.key)
        text = content.text if content is not None else ""
        bom = buffer is not None and buffer.text.startswith("\ufeff")
        units = self._session.workbench.units
        made = changes(text, hunks, facts, units=units, bom=bom)
        version = buffer.version if buffer is not None else None
        return FileChange(uri, tuple(made), version, edit.info.create)

    def _base(self, edit: Edit) -> tuple[Proposal, FileText | None, bool] | str:
        """What the edit makes of the file as it is now, or why it no longer fits. Blocking."""
        loader = self._session.files.loader
        if loader.roots.resolve(edit.place.key) != edit.place and not edit.info.create:
            return f"{edit.info.path} is another file now."
        if edit.info.create:
            exists = os.path.lexists(edit.place.path)
            return f"{edit.info.path} exists by now." if exists else (edit.proposal, None, False)
        current = loader.current(edit.place)
        if isinstance(current, Refusal):
            return current.message
        content, dirty = current
        if content.text == edit.proposal.before:
            return edit.proposal, content, dirty
        again = propose(content.text, edit.blocks)
        if isinstance(again, Misfit):
            return f"{edit.info.path} has changed, and the edit no longer fits. {again.reason}"
        return again, content, dirty

    async def _settled(self, edit: Edit, after: str) -> bool:
        """True once the file says what the edit made of it. The editor reports its own changes."""
        deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
        while True:
            current = await asyncio.to_thread(self._session.files.loader.current, edit.place)
            if not isinstance(current, Refusal) and current[0].text == after:
                return True
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.02)

    async def _save(self, uri: str) -> bool:
        session = self._session
        if not session.settings.tools.save_edits or SAVE not in session.workbench.features:
            return False
        return bool(await session.workbench.save([uri]))

    def _rendered(self, key: str) -> str:
        """Hash of the file as the context shows it. Blocking."""
        loaded = self._session.files.loader.load(key)
        if isinstance(loaded, Refusal):
            return ""
        return sha256(render_file(loaded.key, loaded.content.text))

    # --- what becomes of it ----------------------------------------------------------------------

    def applied(self) -> tuple[AppliedEdit, ...]:
        """Edits that were applied exactly as proposed, for the stability policy."""
        return tuple(made for e in self._edits.values() if (made := words.for_tiers(e)) is not None)

    async def news(self) -> str:
        """What the model does not know yet: decisions after its turn, edits that were undone."""
        await asyncio.to_thread(self._look_for_undone)
        parts = []
        for edit in self._edits.values():
            if edit.told or (edit.info.state == "open" and edit.mentioned):
                continue
            edit.told = edit.info.state != "open"
            edit.mentioned = True
            parts.append(words.news(edit))
        return "\n".join(parts)

    def expire(self) -> None:
        """Another conversation: what is open there cannot be decided here."""
        for edit in self._edits.values():
            if edit.info.state == "open":
                edit.info.state = "expired"
                edit.told = True
                self._decided(edit)

    def _look_for_undone(self) -> None:
        for edit in self._edits.values():
            if edit.info.state not in ("applied", "partly") or not edit.exact:
                continue
            current = self._session.files.loader.current(edit.place)
            gone = isinstance(current, Refusal) and edit.info.create
            if gone or (not isinstance(current, Refusal) and current[0].sha256 == edit.before):
                edit.info.state, edit.told = "undone", False
                self._session.bus.publish(p.EditChanged(edit.info))

    def _decided(self, edit: Edit) -> None:
        if edit.waiting is not None and not edit.waiting.done():
            edit.waiting.set_result(None)
        elif edit.info.state != "expired":
            edit.told = False
        self._session.bus.publish(p.EditChanged(edit.info))

    def _show(self, edit: Edit) -> None:
        self._session.bus.publish(p.EditChanged(edit.info))

    def _find(self, identifier: str) -> Edit:
        edit = self._edits.get(identifier)
        if edit is None:
            raise TierlineError("not_found", f"There is no edit {identifier}.", "Reload the chat.")
        return edit

    def _open(self, identifier: str) -> Edit:
        edit = self._find(identifier)
        if edit.info.state != "open":
            raise TierlineError(
                "conflict", f"The edit is {edit.info.state} already.", "Use the editor's undo."
            )
        return edit
