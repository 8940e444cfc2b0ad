"""Code actions that ask the model about the code at the cursor: for every LSP client."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from tierline.context.text import clip
from tierline.lsp.chat_documents import SUFFIX
from tierline.session.workbench import ASK

if TYPE_CHECKING:
    from tierline.session.session import Session

KIND = "refactor.tierline"
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


def actions(
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
        yield KIND, lsp.CodeAction(title, kind=KIND, command=command)
    if ASK in features:
        title = "Ask about this with Tierline"
        command = lsp.Command(title, _CLIENT, arguments=[{**argument, "what": "ask"}])
        yield KIND, lsp.CodeAction(title, kind=KIND, command=command)


def _problem(uri: str, found: lsp.Diagnostic) -> dict[str, Any]:
    return {
        "uri": uri,
        "line": found.range.start.line + 1,
        "message": found.message,
        "severity": _SEVERITIES.get(int(found.severity or 1), "error"),
        "source": found.source or "",
        "code": "" if found.code is None else str(found.code),
    }
