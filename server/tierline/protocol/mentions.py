"""Mentions: what a prompt can name with ``@``, its size, and what the editor has to give for it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import field

from tierline.protocol.base import define

MentionKind: TypeAlias = Literal[
    "file",
    "folder",
    "symbol",
    "problems",
    "terminal",
    "selection",
    "git",
    "editors",
    "web",
    "session",
    "memo",
]
MentionState: TypeAlias = Literal["ok", "ask", "unknown", "refused"]
GivenKind: TypeAlias = Literal["problems", "terminal", "selection", "editors"]
"""What only the editor has."""


@define
class MentionInfo:
    """Something that a prompt names, or that it could name."""

    text: str
    """As it is written in the prompt, with the ``@``: ``@src/a.py``, ``@git:staged``."""
    kind: MentionKind
    label: str
    detail: str = ""
    """A few words more: where it is, what it holds."""
    tokens: int | None = None
    """What it adds to the request; null where that is not known before it is read."""
    files: int = 0
    """Of a folder or of the open editors: how many files it brings."""
    state: MentionState = "ok"
    """``ask``: is sent only after the user agreed. ``unknown``: names nothing. ``refused``: is not
    sent, whatever the user says."""
    why: str = ""
    """A sentence for all but ``ok``."""
    expands: bool = False
    """In a completion: it is only a prefix (``@symbol:``); ask again with it."""


@define
class MentionCompleteParams:
    """The text after the ``@`` so far; empty at the beginning."""

    query: str
    limit: int = 50


@define
class MentionCompleteResult:
    """What it can become, the likeliest first."""

    items: list[MentionInfo]
    incomplete: bool = False
    """There are more, or some are not known yet: ask again in a moment, or after the next key."""


@define
class Problem:
    """A diagnostic of the editor."""

    uri: str
    message: str
    line: int = 0
    """From 1; 0 where that is not known."""
    severity: Literal["error", "warning", "information", "hint"] = "error"
    source: str = ""
    """Who says so: ``ruff``."""
    code: str = ""


@define
class EditorContent:
    """What only the editor has, at the time when it was read: problems, the text of a terminal, a
    selection, the open documents.
    """

    kind: GivenKind
    mention: str = ""
    """The mention in the prompt that it stands for (``@terminal``); empty for what is sent without
    being named."""
    label: str = ""
    """The terminal's name."""
    text: str = ""
    """Of a terminal or a selection."""
    uri: str = ""
    """Of a selection's document, or of the one whose problems these are; empty for all."""
    first_line: int = 0
    last_line: int = 0
    """Of a selection, from 1."""
    problems: list[Problem] = field(factory=list)
    uris: list[str] = field(factory=list)
    """Of the open documents."""


@define
class MentionResolveParams:
    """A prompt, and what the editor gives for its mentions. What is lacking it is asked for, if it
    declares ``provides``.
    """

    text: str
    given: list[EditorContent] = field(factory=list)


@define
class MentionResolveResult:
    """The prompt's mentions in its order, without what only looks like one (``@property``)."""

    mentions: list[MentionInfo]
    given: list[MentionInfo] = field(factory=list)
    """What is sent without being named, in the order in which it was given."""
    tokens: int = 0
    """Of everything that would be sent, where it is known."""


@define
class EditorProvideParams:
    """What a mention needs of the editor."""

    kind: GivenKind
    argument: str = ""
    """After the colon: a terminal's name, or ``selection`` for what is selected in the terminal."""
    uri: str = ""
    """Problems: of this document only."""
