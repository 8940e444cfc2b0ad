"""The running turn and the waiting ones."""

from __future__ import annotations

from collections import deque

from attrs import define, field

from tierline.errors import TierlineError
from tierline.session.state.turn import Turn


@define
class TurnQueue:
    """Written by ``turns/turn.py`` and ``turns/waiting_prompts.py``; read by all parts."""

    current: Turn | None = None
    """The turn that runs."""
    waiting: deque[Turn] = field(factory=deque)
    paused: bool = False
    """True while waiting prompts are rewritten: none of them may begin."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Ids of turns that have not begun; their prompts are in no request yet."""
        return tuple(turn.group_id for turn in self.waiting)

    @property
    def idle(self) -> bool:
        """True while no turn runs and none waits."""
        return self.current is None and not self.waiting

    def contains(self, group_id: str) -> bool:
        """True if this turn runs or waits."""
        running = self.current is not None and self.current.group_id == group_id
        return running or group_id in self.groups

    def require_quiet(self) -> None:
        """Check that no reply streams; a prompt may wait.

        Raises:
            TierlineError: ``conflict`` while a reply streams.
        """
        if self.current is not None:
            raise TierlineError(
                "conflict", "A reply is still streaming.", "Stop it first, or wait for its end."
            )

    def require_idle(self) -> None:
        """Raises:
        TierlineError: ``conflict`` while a reply streams or a prompt waits.
        """
        self.require_quiet()
        if self.waiting:
            raise TierlineError(
                "conflict",
                "A prompt waits to be sent.",
                "Stop it first, or wait for the end of its reply.",
            )
