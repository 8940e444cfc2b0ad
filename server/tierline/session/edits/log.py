"""Proposed edits in the history's log: writing them, and reading them in a later run.

The first event of an edit holds what the model proposed and the hash of the text that it was
checked against; later ones hold its changes of state. Credentials are replaced before anything is
written. An edit with a placeholder must never be applied, so a digest of the proposal tells whether
it was read back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from tierline import protocol as p
from tierline.context.edits.blocks import SearchReplaceBlock
from tierline.context.text import sha256
from tierline.session.edits.edit import Edit
from tierline.workspace.paths import ResolvedPath

MAX_CHARACTERS = 1_000_000
"""Characters of a proposal that is stored; a larger one cannot be decided in a later run."""
ALTERED = (
    "It held a credential, which is not written to disk, so it did not survive the restart. Ask "
    "for the edit again."
)
TOO_LARGE = "It was too large to be kept over the restart. Ask for the edit again."


def proposed(edit: Edit) -> dict[str, Any]:
    """The first event of an edit."""
    info = edit.info
    data: dict[str, Any] = {
        "turn": info.turn_id,
        "message": info.message_id,
        "call": info.call_id,
        "path": info.path,
        "create": info.create,
        "added": info.added,
        "removed": info.removed,
        "base": edit.base,
        "result": edit.result,
    }
    proposal = {
        "blocks": [[block.search, block.replace] for block in edit.blocks],
        "content": edit.content,
        "hunks": [[hunk.line, hunk.before, hunk.after] for hunk in info.hunks],
    }
    text = _canonical(proposal)
    if len(text) <= MAX_CHARACTERS:
        data |= {**proposal, "digest": sha256(text)}
    return data | outcome(edit)


def outcome(edit: Edit) -> dict[str, Any]:
    """An event with the state of an edit."""
    info = edit.info
    return {
        "state": info.state,
        "accepted": list(info.accepted),
        "reason": info.reason if info.state != "open" else "",
        "choices": [hunk.choice for hunk in info.hunks],
        "told": edit.told,
        "mentioned": edit.mentioned,
        "exact": edit.exact,
        "saved": edit.saved,
        "before": edit.before,
        "after": edit.after,
        "shown": list(edit.shown),
        "review": info.review,
        "kept": edit.kept,
        "applying": None,
    }


def applying(hunks: Sequence[int], before: str, after: str) -> dict[str, Any]:
    """An event that is written before the editor is asked to apply hunks: if this process ends
    before the answer, the hashes tell whether they were applied.
    """
    return {"applying": list(hunks), "before": before, "after": after}


def recalled(data: Mapping[str, Any], place: ResolvedPath, uri: str) -> Edit | None:
    """An edit from the log, not checked against the file; None if the log's data are invalid.

    An edit that can no longer be decided is expired, with the reason.
    """
    names = ("edit", "turn", "message", "call", "path")
    words = [data.get(name) for name in names]
    if not all(isinstance(word, str) for word in words) or not data.get("edit"):
        return None
    now = data.get("state")
    state = next((s for s in get_args(p.EditState) if s == now), None)
    if state is None:
        return None
    proposal = {name: data.get(name) for name in ("blocks", "content", "hunks")}
    known = proposal["hunks"] is not None
    whole = known and sha256(_canonical(proposal)) == data.get("digest")
    blocks, hunks, content = _read(proposal) if known else ((), [], "")
    _choose(hunks, data)
    info = _info(data, place.key, uri, state, hunks)
    if state == "open" and not whole:
        info.state, info.reason = "expired", ALTERED if known else TOO_LARGE
    shown = [_word(v) for v in _list(data.get("shown"))][:2]
    return Edit(
        info,
        place,
        None,
        blocks,
        content=content,
        base=_word(data.get("base")),
        result=_word(data.get("result")),
        told=data.get("told") is True,
        mentioned=data.get("mentioned") is True,
        exact=data.get("exact") is True,
        saved=data.get("saved") is True,
        before=_word(data.get("before")),
        after=_word(data.get("after")),
        kept=_word(data.get("kept")),
        shown=(shown[0], shown[1]) if len(shown) == 2 else ("", ""),
    )


def _info(
    data: Mapping[str, Any], path: str, uri: str, state: p.EditState, hunks: list[p.EditHunk]
) -> p.EditInfo:
    info = p.EditInfo(
        id=str(data["edit"]),
        turn_id=str(data["turn"]),
        message_id=str(data["message"]),
        call_id=str(data["call"]),
        path=path,
        uri=uri,
        state=state,
        create=data.get("create") is True,
        added=_count(data.get("added")),
        removed=_count(data.get("removed")),
        hunks=hunks,
        accepted=[n for n in _list(data.get("accepted")) if isinstance(n, int)],
        reason=_word(data.get("reason")),
        review="open" if data.get("review") == "open" else "",
    )
    if data.get("review") == "kept":
        info.review = "kept"
    return info


def choose(edit: Edit, data: Mapping[str, Any]) -> bool:
    """Apply the log's choices to an edit's hunks. True if one changed."""
    return len(_list(data.get("choices"))) == len(edit.info.hunks) and _choose(
        edit.info.hunks, data
    )


def _choose(hunks: Sequence[p.EditHunk], data: Mapping[str, Any]) -> bool:
    changed = False
    for hunk, word in zip(hunks, _list(data.get("choices")), strict=False):
        choice: Any = word if word in ("take", "leave") else ""
        changed |= hunk.choice != choice
        hunk.choice = choice
    return changed


def unfinished(data: Mapping[str, Any]) -> list[int] | None:
    """The hunks that were being applied when the process ended; None if none were."""
    found = data.get("applying")
    return [n for n in found if isinstance(n, int)] if isinstance(found, list) else None


def _read(
    proposal: Mapping[str, Any],
) -> tuple[tuple[SearchReplaceBlock, ...], list[p.EditHunk], str]:
    blocks = [
        SearchReplaceBlock(*map(_word, pair))
        for pair in _list(proposal["blocks"])
        if _size(pair) == 2
    ]
    hunks = [
        p.EditHunk(index, _count(one[0]), _word(one[1]), _word(one[2]))
        for index, one in enumerate(_list(proposal["hunks"]))
        if _size(one) == 3
    ]
    return tuple(blocks), hunks, _word(proposal["content"])


def _canonical(proposal: Mapping[str, Any]) -> str:
    return json.dumps(proposal, ensure_ascii=True, sort_keys=True)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
