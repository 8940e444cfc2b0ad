"""Texts about a proposed edit: for the model, for the user, for the log."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from tierline import protocol as p
from tierline.context.display import visible_text
from tierline.context.edits.blocks import Proposal, SearchReplaceBlock
from tierline.context.filetext import FileFacts
from tierline.context.refusals import Refusal
from tierline.context.text import clip
from tierline.context.tiers.base import AppliedEdit
from tierline.context.tiers.model_edits import UNSAVED, told
from tierline.session.edits.edit import Edit
from tierline.tools.reading import told as in_words
from tierline.tools.registry import ToolOutput
from tierline.workspace.secretfiles import reserved

UNTRUSTED = "This workspace is not trusted: nothing is changed in it."
_PLACEHOLDER = re.compile(r"\[redacted:[^\]\n]{1,60}\]")
_SENSITIVE = re.compile(
    r"(?:^|/)(?:\.(?:vscode|idea|devcontainer|husky|github|gitlab|circleci)(?:/|$)"
    r"|\.envrc$|\.gitattributes$|\.gitmodules$|\.pre-commit-config\.ya?ml$|[^/]*\.code-workspace$)",
    re.IGNORECASE,
)
"""Files that can make tools run programs: their edits are always shown first, even if edits are
applied at once.
"""
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
"""Call ids that are sent as they are to every provider (``context.strict``)."""
_QUESTION_LINES = 25
MAX_NAME = 255


def refused(key: str) -> str:
    """Why edits of a file with this name are refused; empty if they are not."""
    if not key:
        return "that is a folder."
    if any(reserved(part) for part in key.split("/")):
        return f"{key} belongs to git or to Tierline; it cannot be edited here."
    return ""


def unfit(key: str) -> str:
    """Why no file may be created with this name; empty if one may. The user must see the exact name
    on one line, and file systems allow 255 bytes for a component.
    """
    if visible_text(key) != key or "\t" in key or "\n" in key:
        return "the name of a new file may not have line ends or invisible characters in it."
    if any(len(part.encode("utf-8", "replace")) > MAX_NAME for part in key.split("/")):
        return f"a name may have {MAX_NAME} bytes at most."
    return ""


def of(refusal: Refusal | None) -> str:
    """A refusal in words for the model; empty for none."""
    return in_words(refusal) if refusal is not None else ""


def sensitive(key: str) -> bool:
    """True if a change of this file can make other programs run something."""
    return bool(_SENSITIVE.search(key))


def placeholders(text: str, blocks: Sequence[SearchReplaceBlock]) -> str:
    """Why blocks with a credential's placeholder cannot be used; empty if they have none. The
    placeholder must not replace the credential, which the model has not seen.
    """
    for block in blocks:
        for found in _PLACEHOLDER.findall(block.search + "\n" + block.replace):
            if found not in text:
                return (
                    f"{found} stands for a credential that you are not shown. Leave its line out "
                    "of the edit."
                )
    return ""


def unencodable(proposal: Proposal, facts: FileFacts) -> str:
    """Why the file's encoding cannot hold the new text; empty if it can."""
    if facts.encoding.startswith("utf"):
        return ""
    for hunk in proposal.hunks:
        try:
            hunk.text.encode(facts.encoding)
        except UnicodeEncodeError as error:
            sign = hunk.text[error.start]
            return (
                f"is stored as {facts.encoding}, which has no {sign!r} (U+{ord(sign):04X}). Use "
                "characters that it has."
            )
    return ""


def output(edit: Edit) -> ToolOutput:
    """The result of the call. If everything was applied as proposed, it stands for the update of
    the file.
    """
    info = edit.info
    record = {
        "id": info.id,
        "path": info.path,
        "outcome": info.state,
        "hunks": len(info.hunks),
        "accepted": list(info.accepted),
        **({"reason": info.reason} if info.reason else {}),
    }
    changed = info.state in ("applied", "partly")
    facts = {"edit_results": (record,), "files_modified": (info.path,) if changed else ()}
    failed = info.state == "failed"
    named = edit.versions[1] and (edit.versions[0] or info.create)
    exact = info.state == "applied" and edit.exact and named
    said = told(info.path, edit.versions) + _saved(edit) if exact else outcome(edit)
    return ToolOutput(said, error=failed, note=_note(info), facts=facts)


def outcome(edit: Edit) -> str:
    """The outcome of an edit, for the model."""
    info = edit.info
    if info.state == "applied":
        as_proposed = " as proposed" if edit.exact else "; the editor changed the text further"
        return (
            f"The user accepted the edit; it is applied to {info.path}{as_proposed}.{_saved(edit)}"
        )
    if info.state == "partly":
        out = [h for h in info.hunks if h.index not in info.accepted]
        lines = "\n".join(f"- at line {h.line}: {_first(h.after)}" for h in out)
        return (
            f"The user accepted {len(info.accepted)} of {len(info.hunks)} parts of the edit to "
            f"{info.path}. Not applied:\n{lines}{_saved(edit)}"
        )
    if info.state == "rejected":
        why = f" Reason: {info.reason}" if info.reason else ""
        return f"The user rejected the edit to {info.path}; nothing was changed.{why}"
    if info.state == "undone":
        return f"The user has undone the edit to {info.path}: the file is as it was before."
    if info.state == "open":
        return f"The edit to {info.path} is not applied: the user has not decided yet."
    return f"The edit to {info.path} was not applied. {info.reason}".rstrip()


def news(edit: Edit) -> str:
    """The outcome of an edit of an earlier turn, named by its call."""
    return f"Edit {edit.info.call_id}: {outcome(edit)}"


def for_tiers(edit: Edit) -> AppliedEdit | None:
    """The edit for the stability policy, if it was applied as proposed and its call's id is sent
    unchanged; else None.
    """
    before, after = edit.shown
    info = edit.info
    if not (before and after) or info.state != "applied" or not _CALL_ID.fullmatch(info.call_id):
        return None
    return AppliedEdit(
        item=f"file:{info.path}",
        before=before,
        after=after,
        history=f"history:{info.message_id}",
        reference=info.call_id,
    )


def question(edit: Edit) -> str:
    """The change as a message, for editors without our preview."""
    info = edit.info
    what = "create" if info.create else "change"
    old = edit.proposal.before.splitlines() if edit.proposal is not None else []
    new = edit.proposal.after.splitlines() if edit.proposal is not None else []
    lines = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]
    shown = lines[:_QUESTION_LINES]
    more = f"\n… {len(lines) - len(shown)} more lines" if len(lines) > len(shown) else ""
    size = f"+{info.added} −{info.removed}"
    body = "\n".join(clip(line, 200) for line in shown)
    path = visible_text(info.path).replace("\n", "\\n")
    return f"Tierline: {what} {path} ({size} lines)?\n{body}{more}"


def _saved(edit: Edit) -> str:
    return "" if edit.saved else UNSAVED


def _note(info: p.EditInfo) -> str:
    size = f"+{info.added} −{info.removed}"
    if info.state == "partly":
        return f"{len(info.accepted)} of {len(info.hunks)} parts accepted"
    return f"{info.state}, {size}" if info.state == "applied" else info.state


def _first(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return clip(lines[0], 100) if lines else "(lines removed)"
