"""Texts about going back and forward."""

from __future__ import annotations

from collections.abc import Sequence

from tierline import protocol as p

_WHAT = {"restore": "changed back", "create": "made again", "delete": "deleted"}
_TAKES = {
    "old": "as it was then",
    "merge": "as it was then, with your changes",
    "mine": "left as it is",
}


def described(forward: bool, files: Sequence[p.BackFile], notes: Sequence[str]) -> str:
    """What a move would change."""
    what = "forward" if forward else "back"
    if not files:
        return "\n".join([f"No file changes; the conversation goes {what}.", *notes])
    lines = [f"Going {what} changes these files:"]
    for one in files:
        how = "left as it is" if one.take == "mine" else _WHAT[one.change]
        size = f" (+{one.added} −{one.removed})" if one.take != "mine" else ""
        yours = ""
        if one.yours and not one.why:
            offered = ", ".join(f"{take}: {_TAKES[take]}" for take in one.choices)
            yours = f" You have changed it since ({offered})."
        lines.append(f"- {one.path}: {how}{size}.{yours}{' ' + one.why if one.why else ''}")
    return "\n".join([*lines, *notes])


def told(
    forward: bool,
    branch: str,
    before: str,
    changed: Sequence[str],
    kept: Sequence[str],
    problems: Sequence[str],
) -> str:
    """What a move has changed."""
    where = (
        f"You are on the branch {branch} again, as before you went back."
        if forward
        else f"You are before that prompt, on the new branch {branch}; what followed it is on "
        f"{before}."
    )
    parts = [where]
    parts.append(
        f"Files brought back: {', '.join(changed)}." if changed else "No file was changed."
    )
    if kept:
        parts.append(f"Left as you have them: {', '.join(kept)}.")
    if not forward:
        parts.append("/forward takes you there again.")
    return " ".join([*parts, *problems])


def cut_off(complete: bool, left: Sequence[str]) -> str:
    """The outcome of a move whose process was killed. ``left``: files with neither text."""
    if complete:
        return "Tierline ended just after it had gone to another moment: files and chat are there."
    more = f" Changed since, and left as they are: {', '.join(left)}." if left else ""
    return f"Going to another moment was cut off: the files are as they were before it.{more}"
