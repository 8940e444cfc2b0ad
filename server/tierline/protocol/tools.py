"""Questions of tools, proposed edits, allowed commands."""

from __future__ import annotations

from typing import Literal

from attrs import field

from tierline.protocol.base import define
from tierline.protocol.values import EditInfo


@define
class ConsentAnswerParams:
    """The user's answer to a question. ``always`` counts as ``once`` where it may not be given."""

    id: str
    answer: Literal["once", "always", "deny"]
    reason: str = ""
    """Told to the model with a denial."""


@define
class EditParams:
    """An edit by id."""

    id: str


@define
class EditAcceptParams:
    """Accept an edit, or some of its hunks."""

    id: str
    hunks: list[int] = field(factory=list)
    """Indexes; empty for all."""
    session: bool = False
    """Further edits of this session are applied at once, without being asked about."""


@define
class EditProposeParams:
    """Bring code of a reply into a file, as an edit that the user decides about."""

    code: str
    message_id: str
    """The reply that it stands in."""
    path: str = ""
    uri: str = ""
    """The file; one of both. A file that does not exist is made with the code in it."""


@define
class EditRejectParams:
    """Reject an edit. The reason is told to the model."""

    id: str
    reason: str = ""


@define
class EditChooseParams:
    """Decide about one hunk of an edit."""

    id: str
    hunk: int
    """Its index."""
    take: bool = True
    """False to leave it out."""


@define
class EditReviewParams:
    """Edits that are in their files: one, or those of a turn, of a file, or all."""

    id: str = ""
    hunks: list[int] = field(factory=list)
    """Indexes of parts of that one; empty for all of it."""
    turn_id: str = ""
    path: str = ""


@define
class EditReviewResult:
    """The edits after the review, and those that could not be changed."""

    edits: list[EditInfo]
    problems: list[str]
    """A sentence for each that was left as it is."""


@define
class EditListResult:
    """Edits, oldest first."""

    edits: list[EditInfo]


@define
class EditPreview:
    """Both texts of an edit, for a diff view. Line ends are LF."""

    id: str
    path: str
    uri: str
    before: str
    after: str
    stale: bool = False
    """True if the file has changed since; ``before`` is then what it says now, and ``after`` what
    the edit would make of that."""


@define
class AllowedCommands:
    """Commands that run in this workspace without being asked about, each as its argument list."""

    commands: list[list[str]]


@define
class ForgetCommandParams:
    """A command to ask about again; all of them if ``argv`` is empty."""

    argv: list[str] = field(factory=list)


@define
class SaveParams:
    """Documents that the client is asked to save."""

    uris: list[str]


@define
class SaveResult:
    """Those that are saved now."""

    saved: list[str]
