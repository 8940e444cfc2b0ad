"""Settings in force, the context mode, and choices for this run."""

from __future__ import annotations

from attrs import define, field

from tierline.config import Settings
from tierline.context.effort import Effort
from tierline.context.mode import ContextMode


@define
class Preferences:
    """Written by the session when the user changes something; read by all parts."""

    settings: Settings = field(factory=Settings)
    mode: ContextMode = ContextMode.LIGHT
    strategy_now: str = ""
    """A history selection for this run alone (``tierline build --strategy``)."""
    effort_now: Effort | None = None
    """The effort, for this run alone."""
    edits_now: bool = False
    """True to apply edits in this session without asking."""
    read_only: bool = False
    """Nothing is written, no interrupted reply is recovered, nothing is indexed."""

    @property
    def applies_edits(self) -> bool:
        """True if edits are applied at once and reviewed afterwards."""
        return self.edits_now or self.settings.tools.edits == "apply"

    @property
    def effort(self) -> Effort:
        """The effort in force."""
        return self.effort_now or self.settings.provider.effort
