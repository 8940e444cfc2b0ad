"""Code lenses and code actions through plain LSP: what is in the context, questions about code."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from tierline import protocol as p
from tierline.context.text import clip
from tierline.context.tiers.base import TIER_WORDS
from tierline.lsp import proposals
from tierline.lsp.chat_documents import SUFFIX, ChatDocuments
from tierline.lsp.host import TierlineServer
from tierline.lsp.proposals import Proposals
from tierline.lsp.workbench import LspWorkbench
from tierline.session.workbench import ASK

if TYPE_CHECKING:
    from tierline.session.session import Session

ACTION = "source.tierline"
"""Kind of our code actions: offered in the source-action menu, not among quick fixes."""
_BETWEEN = " · "
_HELD = {
    "sticky": "Tierline: pinned",
    "leased": "Tierline: held while it is used",
    "ephemeral": "Tierline: for this prompt",
    "none": "Tierline: in the context",
}
_STATES = {
    "shed": "Tierline: left out, the window is full",
    "missing": "Tierline: no such file",
    "refused": "Tierline: refused",
}


def register(
    server: TierlineServer, shown: Proposals, chats: ChatDocuments, workbench: LspWorkbench
) -> None:
    """Answer ``textDocument/codeLens`` and ``textDocument/codeAction``."""

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(resolve_provider=False))
    async def code_lens(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        session, uri = await server.ready(), params.text_document.uri
        asked = await proposals.lenses(session, uri) if shown.shown_here else []
        found = asked + (lenses(session, uri) if session.settings.symbols.lenses else [])
        for lens in found:
            if lens.command is not None:
                parts = lens.command.title.split(_BETWEEN)
                lens.command.title = _BETWEEN.join(map(server.language.say, parts))
        return found

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[ACTION, ASK_KIND, FIX, proposals.KIND]),
    )
    async def code_action(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri, only = params.text_document.uri, params.context.only
        session = await server.ready()
        found: list[lsp.CodeAction] = []
        if shown.shown_here and _wanted(proposals.KIND, only):
            found += await proposals.actions(session, uri, params.range, server.language.say)
        for kind, action in asking_actions(session, params, workbench.features):
            if _wanted(kind, only):
                found.append(action)
        if not _wanted(ACTION, only):
            return _said(server, found)
        ask = chats.action(uri)
        found += [ask] if ask is not None else []
        return _said(server, found + await actions(session, uri, params.range.start.line + 1))


def _said(server: TierlineServer, found: list[lsp.CodeAction]) -> list[lsp.CodeAction]:
    """The actions with their titles in the client's language."""
    for action in found:
        action.title = server.language.say(action.title)
    return found


def _wanted(kind: str, only: Sequence[str] | None) -> bool:
    """True if actions of a kind are requested, by the kind itself or a parent kind."""
    return not only or any(kind == k or kind.startswith(f"{k}.") for k in only)


def lenses(session: Session, uri: str) -> list[lsp.CodeLens]:
    """The lenses: one on the first line of a file in the context, one on each held symbol."""
    key = session.files.key(uri)
    found: list[lsp.CodeLens] = []
    info = session.files.info(uri)
    if info is not None:
        held = _HELD[info.pin] if info.state == "ok" else _STATES.get(info.state, _HELD["none"])
        verb, click = ("unpin", "unpin it") if info.pin == "sticky" else ("pin", "pin it")
        title = _title(held, info.tier, info.tokens, click)
        found.append(_lens(1, title, f"tierline.files.{verb}", {"uri": uri}))
    for pin in session.pins.info().pins:
        if pin.symbol and pin.path == key:
            title = _title(_HELD[pin.pin], session.last_plan.tier(pin.key), pin.tokens, "unpin it")
            found.append(_lens(pin.line, title, "tierline.pins.remove", {"key": pin.key}))
    return found


def _title(held: str, tier: str, tokens: int, click: str) -> str:
    place = [TIER_WORDS.get(tier, tier)] if tier else []
    return _BETWEEN.join([held, *place, f"{tokens:,} tokens", click])


async def actions(session: Session, uri: str, line: int) -> list[lsp.CodeAction]:
    """The actions: add, pin and unpin the file; pin and unpin the symbol at a line (from 1)."""
    key = session.loader.key(uri)
    if not key:
        return []
    info = session.files.info(uri)
    found: list[lsp.CodeAction] = []
    if info is None:
        found.append(_action("Add to Tierline context", "tierline.files.add", {"uri": uri}))
    if info is None or info.pin != "sticky":
        found.append(_action("Pin to Tierline context", "tierline.files.pin", {"uri": uri}))
    else:
        found.append(_action("Unpin from Tierline context", "tierline.files.unpin", {"uri": uri}))
    if info is not None:
        found.append(_action("Remove from Tierline context", "tierline.files.remove", {"uri": uri}))
    pinned = {pin.key: pin for pin in session.pins.info().pins if pin.pin == "sticky"}
    inner = [s for s in await session.symbols.outline(key) or () if s.line <= line <= s.end]
    if inner:
        symbol = max(inner, key=lambda s: (s.line, -s.end)).qualified
        card = f"card:{key}#{symbol}"
        if card in pinned:
            title = f"Unpin {symbol} from Tierline context"
            found.append(_action(title, "tierline.pins.remove", {"key": card}))
        else:
            title = f"Pin {symbol} to Tierline context"
            found.append(_action(title, "tierline.pins.add", {"path": key, "symbol": symbol}))
    return found


def refresh(server: TierlineServer, event: p.Event) -> None:
    """Ask the client to draw its lenses again when what they show has changed."""
    workspace = server.client_capabilities.workspace
    lens = workspace.code_lens if workspace else None
    if lens and lens.refresh_support and isinstance(event.body, p.FilesChanged | p.PinsChanged):
        server.workspace_code_lens_refresh(None)


def _lens(line: int, title: str, command: str, argument: dict[str, Any]) -> lsp.CodeLens:
    place = lsp.Position(max(0, line - 1), 0)
    return lsp.CodeLens(lsp.Range(place, place), lsp.Command(title, command, arguments=[argument]))


def _action(title: str, command: str, argument: dict[str, Any]) -> lsp.CodeAction:
    return lsp.CodeAction(
        title, kind=ACTION, command=lsp.Command(title, command, arguments=[argument])
    )


ASK_KIND = "refactor.tierline"
"""Kind of actions for any code; menus show them with the refactorings."""
FIX = "quickfix.tierline.fix"
"""Kind of actions for a diagnostic of another server."""
MAX_FIXES = 5
_COMMAND = "tierline.chat.ask"
_CLIENT = "tierline.ask"
"""A command of the client, which asks the user for a question and then runs ``_COMMAND``."""
_OFFERED = (
    ("explain", "Explain with Tierline"),
    ("tests", "Write tests with Tierline"),
    ("document", "Document with Tierline"),
)
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def asking_actions(
    session: Session, params: lsp.CodeActionParams, features: Collection[str]
) -> Iterator[tuple[str, lsp.CodeAction]]:
    """The actions with their kinds. None for a file that may not be sent, or is a chat document
    itself.
    """
    uri = params.text_document.uri
    if not session.loader.key(uri) or uri.endswith(SUFFIX):
        return
    span = params.range
    selected = span.start != span.end
    # A selection that ends before a line's first character does not include that line.
    last = span.end.line + (span.end.character > 0 or not selected)
    argument: dict[str, Any] = {
        "editor": {
            "uri": uri,
            "firstLine": span.start.line + 1,
            "lastLine": max(last, span.start.line + 1),
            "cursorLine": span.start.line + 1,
        },
        "selected": selected,
    }
    foreign = [d for d in params.context.diagnostics if d.source != "Tierline"]
    for found in foreign[:MAX_FIXES]:
        title = f"Fix with Tierline: {clip(' '.join(found.message.split()), 60)}"
        given = {**argument, "what": "fix", "problems": [_problem(uri, found)]}
        command = lsp.Command(title, _COMMAND, arguments=[given])
        yield FIX, lsp.CodeAction(title, kind=FIX, diagnostics=[found], command=command)
    for what, title in _OFFERED:
        command = lsp.Command(title, _COMMAND, arguments=[{**argument, "what": what}])
        yield ASK_KIND, lsp.CodeAction(title, kind=ASK_KIND, command=command)
    if ASK in features:
        title = "Ask about this with Tierline"
        command = lsp.Command(title, _CLIENT, arguments=[{**argument, "what": "ask"}])
        yield ASK_KIND, lsp.CodeAction(title, kind=ASK_KIND, command=command)


def _problem(uri: str, found: lsp.Diagnostic) -> dict[str, Any]:
    return {
        "uri": uri,
        "line": found.range.start.line + 1,
        "message": found.message,
        "severity": _SEVERITIES.get(int(found.severity or 1), "error"),
        "source": found.source or "",
        "code": "" if found.code is None else str(found.code),
    }
