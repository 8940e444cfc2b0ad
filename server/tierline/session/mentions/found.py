"""A mention with what it was found to mean."""

from __future__ import annotations

from attrs import define, field

from tierline import protocol as p
from tierline.context.refusals import Refusal
from tierline.workspace.loader import Loaded

LARGE_TOKENS = 8_000
"""What adds more than this is asked about, like a folder."""
MOST_CHARACTERS = 60_000
"""Of one text that a mention brings; what goes beyond is left out, which it says."""


@define
class ResolvedMention:
    """What one mention means, and what it would bring."""

    info: p.MentionInfo
    loaded: list[Loaded] = field(factory=list)
    """Files that it brings."""
    reference: str = ""
    """What a folder or a refused file is added by."""
    refusal: Refusal | None = None
    attached: p.Attachment | None = None
    """What stays at the message; its text is what is sent."""
    url: str = ""
    """A web page that it brings."""
    notices: list[str] = field(factory=list)

    @property
    def sentence(self) -> str:
        """What the user is asked."""
        return self.info.why

    def measured(self, tokens: int) -> ResolvedMention:
        """The same with its size; one that is large is to be asked about."""
        self.info.tokens = tokens
        if tokens > LARGE_TOKENS and self.info.state == "ok":
            self.info.state = "ask"
            self.info.why = f"{self.info.text} brings {tokens:,} tokens."
        return self


def lacking(text: str, kind: p.MentionKind, why: str, *, refused: bool = False) -> ResolvedMention:
    """A mention that brings nothing, and why."""
    state: p.MentionState = "refused" if refused else "unknown"
    return ResolvedMention(
        p.MentionInfo(text, kind, text.lstrip("@"), tokens=0, state=state, why=why)
    )
