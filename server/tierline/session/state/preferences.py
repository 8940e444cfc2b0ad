"""What is set now: the settings in force, the context mode, a selection for this run."""

from __future__ import annotations

from attrs import define, field

from tierline.config import Settings
from tierline.context.mode import ContextMode


@define
class Preferences:
    """Written by the session when the user changes something; everybody else reads."""

    settings: Settings = field(factory=Settings)
    mode: ContextMode = ContextMode.LIGHT
    strategy_now: str = ""
    """A history selection for this run alone (``tierline build --strategy``)."""
    read_only: bool = False
    """Nothing is written, no unfinished reply is taken up, nothing is indexed."""
