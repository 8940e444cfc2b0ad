"""One proposed edit and its state transitions."""

from __future__ import annotations

import asyncio
import difflib
import os
import uuid
from collections.abc import Sequence

from attrs import define

from tierline import protocol as p
from tierline.context.edits.blocks import Proposal, SearchReplaceBlock
from tierline.context.text import sha256
from tierline.tools.registry import Call
from tierline.workspace.paths import ResolvedPath

TORN = (
    "Tierline ended while {path} was being changed, and the file is neither as it was before nor "
    "as it would be after it. Look at the file."
)


@define
class Edit:
    """An edit and its state."""

    info: p.EditInfo
    place: ResolvedPath
    proposal: Proposal | None
    """Its result on the text that it was checked against; None if that text is unknown, because the
    edit comes from an earlier run and the file has changed.
    """
    blocks: tuple[SearchReplaceBlock, ...]
    content: str = ""
    """The whole text of a new file."""
    base: str = ""
    result: str = ""
    """``base`` and ``result``: SHA-256 of the text that it was checked against, and of that text
    with the whole edit applied.
    """
    waiting: asyncio.Future[None] | None = None
    told: bool = False
    """The model knows the current state."""
    mentioned: bool = False
    """The model knows that it is still open."""
    exact: bool = False
    """The file had exactly the expected text afterwards."""
    saved: bool = False
    before: str = ""
    after: str = ""
    """SHA-256 of the whole text before and after the change, as it was applied."""
    kept: str = ""
    """SHA-256 of the file's bytes before it was applied, if they are kept."""
    identity: tuple[int, int] | None = None
    """Device and inode of the file that it was checked against; None for a new file, or after a
    restart.
    """
    shown: tuple[str, str] = ("", "")
    """Hashes of the file as the context shows it, before and after an edit applied as proposed."""
    versions: tuple[str, str] = ("", "")
    """Names of the file's versions before and after, if this process applied the edit."""

    def same_file(self) -> bool:
        """False if the file was replaced by one that also has another name (a hard link): the
        change would appear there, too. Editors replace files as well, but theirs have one name.
        """
        try:
            now = os.lstat(self.place.path)
        except OSError:
            return True
        return self.identity in (None, (now.st_dev, now.st_ino)) or now.st_nlink == 1

    # --- transitions ----------------------------------------------------------------------

    def rejected(self, reason: str) -> None:
        """The user rejected it."""
        self.info.state, self.info.reason = "rejected", " ".join(reason.split())[:1000]

    def failed(self, reason: str) -> None:
        """It could not be applied."""
        self.info.state, self.info.reason = "failed", reason

    def torn(self) -> None:
        """The process ended while it was being applied, and the file has neither the old nor the
        new text.
        """
        self.failed(TORN.format(path=self.info.path))

    def applied(self, indexes: Sequence[int], before: str, after: str, *, exact: bool) -> None:
        """These hunks are in the file; ``before`` and ``after`` are the hashes around them."""
        self.found_applied(indexes, exact=exact)
        self.info.reason = ""
        self.before, self.after = before, after

    def found_applied(self, indexes: Sequence[int], *, exact: bool = True) -> None:
        """The file shows that these hunks were applied by a process that has ended."""
        whole = len(indexes) == len(self.info.hunks)
        self.info.state = "applied" if whole else "partly"
        self.info.accepted, self.exact = list(indexes), exact

    def undone(self) -> None:
        """The user undid it in the editor."""
        self.info.state, self.told = "undone", False
        self.info.review = ""

    def took_out(self, indexes: Sequence[int]) -> None:
        """The user took some hunks out of the file again."""
        info = self.info
        info.accepted = [index for index in info.accepted if index not in indexes]
        for hunk in info.hunks:
            if hunk.index in indexes:
                hunk.choice = "leave"
        self.told = False
        if info.accepted:
            info.state = "partly"
        else:
            self.undone()

    def take_decision(self, other: Edit) -> None:
        """Another window has decided."""
        self.info.state, self.info.reason = other.info.state, other.info.reason
        self.info.accepted, self.told = other.info.accepted, other.told

    def tell(self) -> None:
        """The model was told the current state."""
        self.told = self.info.state != "open"
        self.mentioned = True

    @property
    def unknown(self) -> bool:
        """True if the model was not told the current state yet."""
        return not self.told and not (self.info.state == "open" and self.mentioned)

    def undecided(self) -> bool:
        """True until the user has decided."""
        return self.info.state == "open"

    def show(self, proposal: Proposal) -> bool:
        """Set the edit's result on the file's current text. False if it differs from what the user
        was shown.
        """
        hunks = _shown(proposal)
        same = [(h.before, h.after) for h in hunks] == [
            (h.before, h.after) for h in self.info.hunks
        ]
        if same:
            for hunk, old in zip(hunks, self.info.hunks, strict=True):
                hunk.choice = old.choice
        self.info.hunks = hunks
        return same

    @classmethod
    def make(
        cls,
        call: Call,
        place: ResolvedPath,
        uri: str,
        proposal: Proposal,
        blocks: tuple[SearchReplaceBlock, ...],
    ) -> Edit:
        """A new, undecided edit; without blocks it creates a file."""
        added, removed = _lines(proposal)
        info = p.EditInfo(
            id=uuid.uuid4().hex[:12],
            turn_id=call.turn_id,
            message_id=call.message_id,
            call_id=call.id,
            path=place.key,
            uri=uri,
            state="open",
            create=not blocks,
            added=added,
            removed=removed,
            hunks=_shown(proposal),
        )
        return cls(
            info,
            place,
            proposal,
            blocks,
            content="" if blocks else proposal.after,
            base=sha256(proposal.before),
            result=sha256(proposal.after),
            identity=_identity(place.path) if blocks else None,
        )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _shown(proposal: Proposal) -> list[p.EditHunk]:
    return [p.EditHunk(h.index, h.line, h.before, h.after) for h in proposal.hunks]


def _lines(proposal: Proposal) -> tuple[int, int]:
    """Lines added and removed."""
    added = removed = 0
    for hunk in proposal.hunks:
        old, new = hunk.before.splitlines(), hunk.after.splitlines()
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=True)
        for tag, a1, a2, b1, b2 in matcher.get_opcodes():
            if tag != "equal":
                removed, added = removed + a2 - a1, added + b2 - b1
    return added, removed
