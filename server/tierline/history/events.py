"""Events: what was done to a conversation, as records beside its messages.

The log is append-only, so undo, drop, fork and the like never change a message: they append an
event, and :mod:`tierline.history.timeline` folds messages and events into the present state.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen


class EventKind(StrEnum):
    """What can happen to a session besides a new message. ``data`` of each kind in brackets."""

    SESSION = "session"
    """The session was created [``title``]."""
    UNDO = "undo"
    """The newest groups were taken back [``groups``; or ``to``: the last group that stays]."""
    REMOVE = "remove"
    """Groups were removed for good from everything that is sent or searched [``groups``]."""
    DROP = "drop"
    """Groups are hidden until they are restored [``groups``]."""
    RESTORE = "restore"
    """Dropped or undone groups are active again [``groups``]."""
    SUMMARY = "summary"
    """A compaction [``text``, ``covers``: groups that the summary stands for, ``case``, ``keeps``:
    ids of messages in them that stay]."""
    UNSUMMARISE = "unsummarise"
    """Compactions were undone [``summaries``: their ids]."""
    RENAME = "rename"
    """[``title``]"""
    FORK = "fork"
    """A new branch [``branch``, ``parent``, ``at``: id of the last message that is inherited;
    ``start``: true if none is]."""
    SWITCH = "switch"
    """Another branch is current [``branch``]."""
    STATE = "state"
    """A new STATE block [``text``, ``group``: the group that it was derived from, ``message``: the
    reply that ended with it; none if it was rebuilt]."""
    SCRATCHPAD = "scratchpad"
    """The whole scratchpad [``text``]."""
    WINDOW = "window"
    """The rolling window's size in groups [``size``; 0 = all]."""
    STRATEGY = "strategy"
    """The selection strategy [``name``]."""
    FILES = "files"
    """The file selection and pins, for the next start [``files``: list of paths or objects]."""
    URLS = "urls"
    """The web pages in the context, for the next start [``urls``: addresses]."""
    DELETE = "delete"
    """The whole session was deleted by the user []."""
    ARCHIVE = "archive"
    """The session left the usual lists and searches, or came back [``away``]. Whoever goes on with
    it brings it back."""
    COMPRESS = "compress"
    """The memory levels were compressed by hand [``after``: the newest group]."""
    LEVEL_SUMMARY = "level_summary"
    """A model's words for a summary of the memory levels [``summary``: its id, ``text``,
    ``after``: the newest group]. They are used from the next compression on."""
    REFLECTION = "reflection"
    """What a turn was given, did and came to [``group``, ``outcome``, ``requests``, …]."""
    EDIT = "edit"
    """An edit was proposed, or its state changed [``edit``: its id, ``state``, and what
    :mod:`tierline.session.edits.log` writes]. Later events of an edit add to the earlier ones.
    """
    STATUS = "status"
    """A message's status changed [``id``, ``status``]."""


ORDERING = frozenset(
    {
        EventKind.SESSION, EventKind.UNDO, EventKind.REMOVE, EventKind.DROP, EventKind.RESTORE,
        EventKind.RENAME, EventKind.FORK, EventKind.SWITCH, EventKind.DELETE, EventKind.ARCHIVE,
    }
)  # fmt: skip
"""Kinds that order, hide and name what was said, without any other effect."""


@frozen
class LogEvent:
    """One event. ``kind`` is one of :class:`EventKind` or a later version's word, which is kept."""

    id: str
    session_id: str
    timestamp: str
    kind: str
    branch_id: str = "main"
    data: Mapping[str, Any] = field(factory=dict)
