"""Kinds of mentions, and a mention that was resolved."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import define, field

from tierline import protocol as p
from tierline.context.refusals import Refusal
from tierline.workspace.loader import LoadedFile

LARGE_TOKENS = 8_000
"""The user is asked about a mention of more tokens than this, as about a folder."""
MAX_CHARACTERS = 60_000
"""Characters of one text that a mention adds; the rest is left out, with a note."""


@define
class ResolvedMention:
    """What one mention means, and what it would add."""

    info: p.MentionInfo
    loaded: list[LoadedFile] = field(factory=list)
    """Files that it adds."""
    reference: str = ""
    """The reference by which a folder or a refused file is added."""
    refusal: Refusal | None = None
    attached: p.Attachment | None = None
    """The attachment of the message; its text is sent."""
    url: str = ""
    """Address of a web page that it adds."""
    notices: list[str] = field(factory=list)

    @property
    def sentence(self) -> str:
        """The question to the user."""
        return self.info.why

    def measured(self, tokens: int) -> ResolvedMention:
        """The mention with its size; the user is asked about a large one."""
        self.info.tokens = tokens
        if tokens > LARGE_TOKENS and self.info.state == "ok":
            self.info.state = "ask"
            self.info.why = f"{self.info.text} brings {tokens:,} tokens."
        return self


def unresolved(
    text: str, kind: p.MentionKind, why: str, *, refused: bool = False
) -> ResolvedMention:
    """A mention that adds nothing, and why."""
    state: p.MentionState = "refused" if refused else "unknown"
    return ResolvedMention(
        p.MentionInfo(text, kind, text.lstrip("@"), tokens=0, state=state, why=why)
    )


SpecialKind: TypeAlias = Literal[
    "symbol", "problems", "terminal", "selection", "git", "editors", "web", "session", "memo"
]
ALONE: tuple[SpecialKind, ...] = ("problems", "terminal", "selection", "editors")
"""Kinds that need no argument."""
WITH_ARGUMENT: tuple[SpecialKind, ...] = (
    "symbol",
    "problems",
    "terminal",
    "git",
    "web",
    "session",
    "memo",
)


def special_mention(path: str) -> tuple[SpecialKind, str] | None:
    """Kind and argument of ``problems``, ``git:staged``, ``https://…``; None for the name of a
    file. ``./problems`` names a file called ``problems``.
    """
    if path.startswith(("https://", "http://")):
        return "web", path
    head, colon, argument = path.partition(":")
    if not colon:
        return next(((kind, "") for kind in ALONE if kind == path), None)
    if not argument:
        return None
    return next(((kind, argument) for kind in WITH_ARGUMENT if kind == head), None)


def mention_text(path: str) -> str:
    """A mention as it is written: in quotes if blanks or marks of a sentence are in it."""
    plain = not any(c.isspace() or c in "\"'`" for c in path) and path[-1:] not in ".,;:!?)]}"
    if plain:
        return f"@{path}"
    return '@"{}"'.format(path.replace('"', '\\"'))
