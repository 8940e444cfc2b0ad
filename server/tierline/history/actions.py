"""Actions on a conversation: each command becomes one event, or says why it cannot.

Pure: the store gives the event its id and time and appends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from tierline.errors import TierlineError
from tierline.history.branches import fork_name
from tierline.history.events import EventKind
from tierline.history.selection import Strategy
from tierline.history.timeline import Timeline


@frozen
class Action:
    """An event to be appended, without its id and time."""

    kind: EventKind
    data: Mapping[str, Any] = field(factory=dict)


def undo(now: Timeline, *, to: str = "", count: int = 1) -> Action:
    """Take back the newest ``count`` groups, or all after the group ``to``.

    A queued prompt is the newest group and goes first; a compaction that covered what is taken back
    ends with it.

    Raises:
        TierlineError: ``not_found`` if there is no group ``to``, or nothing to undo.
    """
    if to and to not in {g.id for g in now.groups()}:
        raise _not_found("group", to)
    targets = now.undo_groups(to=to, count=count)
    if not targets:
        raise TierlineError("not_found", "There is nothing to undo.", "Send a prompt first.")
    return Action(EventKind.UNDO, {"groups": list(targets)})


def remove(now: Timeline, group_id: str) -> Action:
    """Delete a group for good, from every branch. The log keeps it, flagged, as it keeps all.

    Raises:
        TierlineError: ``not_found``.
    """
    if group_id not in {m.group_id for m in now.messages}:
        raise _not_found("group", group_id)
    return Action(EventKind.REMOVE, {"groups": [group_id]})


def remove_all(names: Iterable[str]) -> Action:
    """Delete queued turns for good, after they were written again in a new order."""
    return Action(EventKind.REMOVE, {"groups": list(names)})


def drop(now: Timeline, group_id: str) -> Action:
    """Hide a group from what is sent, searched and summarised, until it is restored.

    Raises:
        TierlineError: ``not_found``.
    """
    if group_id not in {g.id for g in now.groups()}:
        raise _not_found("group", group_id)
    return Action(EventKind.DROP, {"groups": [group_id]})


def restore(now: Timeline, group_id: str = "") -> Action:
    """Bring back a dropped or undone group, or (without a name) what was hidden last.

    Raises:
        TierlineError: ``not_found`` if there is no such group, or nothing is hidden.
    """
    hidden = [g for g, why in now.hidden.items() if why != EventKind.REMOVE]
    if group_id and group_id not in hidden:
        raise _not_found("hidden group", group_id)
    if not hidden:
        raise TierlineError("not_found", "Nothing is hidden.", "There is nothing to restore.")
    return Action(EventKind.RESTORE, {"groups": [group_id or hidden[-1]]})


def summarise(
    text: str, covers: Iterable[str], case: str = "summarize", keeps: Iterable[str] = ()
) -> Action:
    """``text`` (none: a truncation) stands for the groups ``covers``, but for ``keeps``."""
    return Action(
        EventKind.SUMMARY,
        {"text": text, "covers": list(covers), "case": case, "keeps": list(keeps)},
    )


def unsummarise(now: Timeline, summary: str = "") -> Action:
    """Undo a compaction, the newest one in force by default; what it stood for comes back.

    Raises:
        TierlineError: ``not_found`` if there is no such compaction, or none is in force.
    """
    known = [s.id for s in now.summaries]
    if summary and summary not in known:
        raise _not_found("compaction", summary)
    if not known:
        raise TierlineError(
            "not_found", "There is no compaction to undo.", "The whole conversation is there."
        )
    return Action(EventKind.UNSUMMARISE, {"summaries": [summary or known[-1]]})


def rename(title: str) -> Action:
    """Give the session a title."""
    return Action(EventKind.RENAME, {"title": " ".join(title.split())[:200]})


def fork(now: Timeline, at: str = "", name: str = "") -> Action:
    """Begin a branch after the message ``at`` (the newest by default).

    Raises:
        TierlineError: ``not_found``.
    """
    visible = now.visible()
    if not visible or (at and at not in {m.id for m in visible}):
        raise _not_found("message", at or "(the conversation is empty)")
    branch = fork_name([b.id for b in now.branches], name)
    return Action(
        EventKind.FORK, {"branch": branch, "parent": now.branch, "at": at or visible[-1].id}
    )


def fork_before(now: Timeline, group_id: str, name: str = "") -> Action:
    """Begin a branch before a group: it inherits everything before the group, perhaps nothing.

    Raises:
        TierlineError: ``not_found``.
    """
    visible = now.visible()
    place = next((n for n, m in enumerate(visible) if m.group_id == group_id), None)
    if place is None:
        raise _not_found("group", group_id)
    branch = fork_name([b.id for b in now.branches], name)
    data = {"branch": branch, "parent": now.branch}
    if place == 0:
        return Action(EventKind.FORK, {**data, "at": "", "start": True})
    return Action(EventKind.FORK, {**data, "at": visible[place - 1].id})


def switch(now: Timeline, branch: str) -> Action:
    """Make another branch the current one.

    Raises:
        TierlineError: ``not_found``.
    """
    if branch not in {b.id for b in now.branches}:
        raise _not_found("branch", branch)
    return Action(EventKind.SWITCH, {"branch": branch})


def window(size: int) -> Action:
    """Set the rolling window, in groups; 0 for all.

    Raises:
        TierlineError: ``invalid_params`` for a negative size.
    """
    if size < 0:
        raise TierlineError("invalid_params", "The window cannot be negative.", "Use 0 for all.")
    return Action(EventKind.WINDOW, {"size": size})


def strategy(name: str) -> Action:
    """Choose the selection strategy.

    Raises:
        TierlineError: ``invalid_params`` for an unknown name.
    """
    if name not in set(Strategy):
        choices = ", ".join(Strategy)
        raise TierlineError("invalid_params", f"There is no strategy {name}.", f"Use {choices}.")
    return Action(EventKind.STRATEGY, {"name": name})


def compress(now: Timeline) -> Action:
    """Compress the memory levels now, up to the newest turn.

    Raises:
        TierlineError: ``not_found`` if there is no turn.
    """
    turns = now.groups()
    if not turns:
        raise _not_found("turn", "to compress")
    return Action(EventKind.COMPRESS, {"after": turns[-1].id})


def level_summary(now: Timeline, summary: str, text: str) -> Action:
    """Store the text that a model wrote for a summary of the memory levels."""
    turns = now.groups()
    after = turns[-1].id if turns else ""
    return Action(EventKind.LEVEL_SUMMARY, {"summary": summary, "text": text, "after": after})


def state(text: str, group_id: str = "", message: str = "") -> Action:
    """Store a STATE block, the group that it was derived from, and the message that it ended."""
    data = {"text": text, "group": group_id}
    return Action(EventKind.STATE, data | ({"message": message} if message else {}))


def scratchpad(text: str) -> Action:
    """Store the whole scratchpad."""
    return Action(EventKind.SCRATCHPAD, {"text": text})


def reflection(data: Mapping[str, Any]) -> Action:
    """Store a turn's reflection: its context, its actions and its outcome."""
    return Action(EventKind.REFLECTION, dict(data))


def edit(identifier: str, data: Mapping[str, Any]) -> Action:
    """Store a proposed edit, or a later change of its state."""
    return Action(EventKind.EDIT, {"edit": identifier, **data})


def files(selection: Iterable[Any]) -> Action:
    """Store the file selection and pins, to be restored at the next start."""
    return Action(EventKind.FILES, {"files": list(selection)})


def urls(addresses: Iterable[str]) -> Action:
    """Store which web pages are in the context, to be restored at the next start."""
    return Action(EventKind.URLS, {"urls": list(addresses)})


def _not_found(kind: str, name: str) -> TierlineError:
    return TierlineError(
        "not_found", f"There is no {kind} {name} here.", "List the conversation to see what is."
    )
