"""Proposed edits in editors without our views: in the file itself, through plain LSP.

Each part of an open edit is a diagnostic at its place in the text, with code actions and code
lenses to take or leave it. All of them are requests like any other (``tierline.edit.choose``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from lsprotocol import types as lsp

from tierline import protocol as p
from tierline.context.edits.hunks import Hunk
from tierline.context.edits.positions import length
from tierline.context.text import clip
from tierline.lsp.host import TierlineServer
from tierline.lsp.workbench import LspWorkbench
from tierline.session.workbench import EDITS

if TYPE_CHECKING:
    from tierline.session.session import Session

KIND = "quickfix.tierline"
"""Kind of the actions, which are offered with the diagnostic."""
MARK = "proposed-edit"
_LINES = 12
"""Most lines of a part that its diagnostic shows."""


@frozen
class OpenHunk:
    """One part of an open edit at its current place."""

    edit: p.EditInfo
    hunk: Hunk
    first: int
    last: int
    """``first`` and ``last``: lines from 0; for an insertion, the line where it goes."""
    end: int
    """Where the last line ends, in the client's units."""

    @property
    def name(self) -> str:
        """The name of the part."""
        count = len(self.edit.hunks)
        return f"part {self.hunk.index + 1} of {count}" if count > 1 else "the edit"

    @property
    def choice(self) -> str:
        """The decision about it."""
        return self.edit.hunks[self.hunk.index].choice


class Proposals:
    """Keeps the diagnostics of open edits up to date."""

    def __init__(self, server: TierlineServer, workbench: LspWorkbench) -> None:
        self._server, self._workbench = server, workbench
        self._marked: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def shown_here(self) -> bool:
        """False where the client shows edits itself."""
        return EDITS not in self._workbench.features

    def on_event(self, event: p.Event) -> None:
        """Handle an event."""
        if isinstance(event.body, p.EditChanged):
            self.changed(event.body.edit.uri)
        elif isinstance(event.body, p.StateChanged):
            self.opened()

    def opened(self) -> None:
        """Another conversation was opened: update every document."""
        for uri in {*self._marked, *self._server.workspace.text_documents}:
            self.changed(uri)

    def changed(self, uri: str) -> None:
        """A document, or an edit of it, has changed."""
        text = self._server.client_capabilities.text_document
        if not self.shown_here or text is None or text.publish_diagnostics is None:
            return
        running = self._tasks.get(uri)
        if running is None or running.done():
            self._tasks[uri] = asyncio.ensure_future(self._publish(uri))

    async def _publish(self, uri: str) -> None:
        try:
            await asyncio.sleep(0.1)  # edits come in bursts
        finally:
            self._tasks.pop(uri, None)  # later changes need another round
        session = self._server.session
        if session is None:
            return
        found = await parts(session, uri)
        if not found and uri not in self._marked:
            return
        (self._marked.add if found else self._marked.discard)(uri)
        marks = [_diagnostic(part, self._server.language.say) for part in found]
        self._server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, marks))
        workspace = self._server.client_capabilities.workspace
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            self._server.workspace_code_lens_refresh(None)


async def parts(session: Session, uri: str) -> list[OpenHunk]:
    """The parts of a document's open edits that fit its current text."""
    if not session.edits.any_open:
        return []
    places = await asyncio.to_thread(session.edits.places, session.files.key(uri))
    found = []
    for info, fit in places:
        for hunk in fit.proposal.hunks:
            first = hunk.line - 1
            last = first + max(0, hunk.before.count("\n") - hunk.before.endswith("\n"))
            lines = hunk.before.split("\n")
            end = length(lines[last - first], session.workbench.units)
            found.append(OpenHunk(info, hunk, first, last, end))
    return found


async def actions(
    session: Session, uri: str, span: lsp.Range, say: Callable[[str], str]
) -> list[lsp.CodeAction]:
    """Take or leave the parts in a range; accept or reject the edits of the document. ``say``
    translates a diagnostic's text into the client's language.
    """
    all_parts = await parts(session, uri)
    found = []
    for part in all_parts:
        near = part.first <= span.end.line and span.start.line <= part.last
        if near and len(part.edit.hunks) > 1:
            for title, take in ((f"Accept {part.name}", True), (f"Reject {part.name}", False)):
                found.append(_action(title, *_choose(part, take), [_diagnostic(part, say)]))
    for info in {part.edit.id: part.edit for part in all_parts}.values():
        wanted = [hunk.index for hunk in info.hunks if hunk.choice != "leave"]
        some = 0 < len(wanted) < len(info.hunks)
        title = f"Accept {len(wanted)} of {len(info.hunks)} parts" if some else "Accept the edit"
        more = {"hunks": wanted} if some else {}
        accept = ("tierline.edit.accept", {"id": info.id, **more})
        found.append(_action(f"{title} that Tierline proposes", *accept))
        found.append(_action("Reject Tierline's edit", "tierline.edit.reject", {"id": info.id}))
    return [*found, *await _review(session, uri, span)]


async def _review(session: Session, uri: str, span: lsp.Range) -> list[lsp.CodeAction]:
    """The actions to keep or undo edits that were applied at once, and their parts in the range."""
    if not any(info.review == "open" for info in session.edits.infos()):
        return []
    found = []
    for info, places in await asyncio.to_thread(
        session.edits.applied_places, session.files.key(uri)
    ):
        for index, (first, last) in places.items():
            near = first <= span.end.line and span.start.line <= last
            if near and len(info.accepted) > 1:
                part = {"id": info.id, "hunks": [index]}
                found.append(_action(f"Keep part {index + 1}", "tierline.edit.keep", part))
                found.append(_action(f"Undo part {index + 1}", "tierline.edit.undo", part))
        whole = {"id": info.id}
        found.append(_action("Keep Tierline's edit", "tierline.edit.keep", whole))
        found.append(_action("Undo Tierline's edit", "tierline.edit.undo", whole))
    return found


async def lenses(session: Session, uri: str) -> list[lsp.CodeLens]:
    """The lenses: two above each undecided part."""
    found = []
    for part in await parts(session, uri):
        if part.choice:
            continue
        one = len(part.edit.hunks) == 1
        place = lsp.Range(lsp.Position(part.first, 0), lsp.Position(part.first, 0))
        if one:
            takes: Any = ("tierline.edit.accept", {"id": part.edit.id})
            leaves: Any = ("tierline.edit.reject", {"id": part.edit.id})
        else:
            takes, leaves = _choose(part, True), _choose(part, False)
        for title, (command, argument) in (
            (f"Tierline: accept {part.name}", takes),
            (f"Tierline: reject {part.name}", leaves),
        ):
            found.append(lsp.CodeLens(place, lsp.Command(title, command, arguments=[argument])))
    return found


def _choose(part: OpenHunk, take: bool) -> tuple[str, dict[str, Any]]:
    argument = {"id": part.edit.id, "hunk": part.hunk.index, "take": take}
    return "tierline.edit.choose", argument


def _action(
    title: str,
    command: str,
    argument: dict[str, Any],
    marks: Sequence[lsp.Diagnostic] | None = None,
) -> lsp.CodeAction:
    run = lsp.Command(title, command, arguments=[argument])
    return lsp.CodeAction(title, kind=KIND, diagnostics=marks, command=run)


def _diagnostic(part: OpenHunk, say: Callable[[str], str]) -> lsp.Diagnostic:
    match part.choice:
        case "take":
            head = f"Tierline proposes, {part.name} (accepted):"
        case "leave":
            head = f"Tierline proposes, {part.name} (rejected):"
        case _:
            head = f"Tierline proposes, {part.name}:"
    lines = [f"- {line}" for line in part.hunk.before.splitlines()]
    lines += [f"+ {line}" for line in part.hunk.after.splitlines()]
    body = "\n".join(clip(line, 200) for line in lines[:_LINES])
    more = "\n…" if len(lines) > _LINES else ""
    return lsp.Diagnostic(
        range=lsp.Range(lsp.Position(part.first, 0), lsp.Position(part.last, part.end)),
        message=f"{say(head)}\n{body}{more}",
        severity=lsp.DiagnosticSeverity.Information,
        source="Tierline",
        code=MARK,
    )
