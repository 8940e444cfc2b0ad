"""What is set now: the settings in force, the context mode, a selection for this run."""

from __future__ import annotations

from attrs import define, field

from tierline.config import Settings
from tierline.context.effort import Effort
from tierline.context.mode import ContextMode


@define
class Preferences:
    """Written by the session when the user changes something; everybody else reads."""

    settings: Settings = field(factory=Settings)
    mode: ContextMode = ContextMode.LIGHT
    strategy_now: str = ""
    """A history selection for this run alone (``tierline build --strategy``)."""
    effort_now: Effort | None = None
    """How much the model is to think, in this run alone."""
    edits_now: bool = False
    """In this session, edits are applied without being asked about."""
    read_only: bool = False
    """Nothing is written, no unfinished reply is taken up, nothing is indexed."""

    @property
    def applies_edits(self) -> bool:
        """True if edits are applied at once and looked at afterwards."""
        return self.edits_now or self.settings.tools.edits == "apply"

    @property
    def effort(self) -> Effort:
        """How much the model is to think."""
        return self.effort_now or self.settings.provider.effort
