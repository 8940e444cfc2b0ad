"""Going back to a prompt and forward again: the files of that moment with the conversation."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import field

from tierline.protocol.base import define

Take: TypeAlias = Literal["old", "merge", "mine"]


@define
class BackChoice:
    """What is to become of a file that the user has changed since."""

    path: str
    take: Take
    """``old``: what it was; ``merge``: the same with the user's changes; ``mine``: as it is."""


@define
class BackParams:
    """A moment, and what is to become of files that the user has changed since."""

    group_id: str = ""
    """The turn whose prompt is gone back to; empty for the newest."""
    forward: bool = False
    """True for what was there before the newest going back."""
    move_id: str = ""
    """The moment before an earlier move, by its id (``BackResult.moveId``)."""
    choices: list[BackChoice] = field(factory=list)
    """For each file that is not named, what its preview says is taken."""


@define
class BackFile:
    """A file that is another one at the moment."""

    path: str
    uri: str
    change: Literal["restore", "create", "delete"]
    take: Take
    """What is taken if nothing is chosen: never something that loses a change of the user."""
    choices: list[Take]
    """What can be taken."""
    yours: bool = False
    """The user has changed it since."""
    unsaved: bool = False
    """It has unsaved changes; it is changed in the editor and not saved."""
    added: int = 0
    removed: int = 0
    """Lines, if that is taken."""
    why: str = ""
    """Why it cannot be brought back."""


@define
class BackPreview:
    """What going back would change; nothing is changed yet."""

    group_id: str
    forward: bool
    prompt: str
    """The prompt that is gone back to; empty for going forward."""
    branch: str
    """The branch that is gone to; empty for a new one."""
    files: list[BackFile]
    notes: list[str]
    """What is not known, in sentences."""
    text: str
    """All of it, to be read."""


@define
class BackResult:
    """Where the conversation and the files are now."""

    move_id: str
    branch: str
    prompt: str
    """The prompt that was gone back to, to be changed and sent again."""
    changed: list[str]
    """Paths of files that were brought back."""
    kept: list[str]
    """Paths of files that are as the user has them."""
    problems: list[str]
    text: str
    """All of it, to be read."""
