"""Redacting a text that grows, without beginning anew with every piece of it."""

from __future__ import annotations

from tierline.context.text import well_formed
from tierline.store.redaction import Redact

WINDOW = 4_096
"""Characters at the end of the text that are always looked at again: a secret may be unfinished."""


class RunningRedaction:
    """What a growing text reads like once its secrets are replaced, and what is new in that.

    What lies far enough behind the end is settled: it is not looked at again. It is cut only where
    both sides read the same apart as together, so never inside a secret.
    """

    def __init__(self, redact: Redact | None) -> None:
        self._redact: Redact = redact if redact is not None else lambda text: text
        self._raw = 0
        """Characters of the text that are settled."""
        self._settled = ""
        self._tail = ""
        self._grown = ""
        self._cut_at = 2 * WINDOW
        """The text's rest is cut once it is longer than this."""
        self._rest = ""

    @property
    def written(self) -> int:
        """Characters up to the place that ``keep`` was called for."""
        return len(self._settled) + len(self._tail)

    @property
    def whole(self) -> str:
        """All of the text that ``grow`` was called with last, redacted."""
        return self._settled + self._grown

    def grow(self, text: str) -> str | None:
        """What is new since ``keep``; None if what was kept reads otherwise now. ``text`` begins
        with all that it was before.
        """
        self._rest = text[self._raw :]
        self._grown = self._redact(well_formed(self._rest))
        if not self._grown.startswith(self._tail):
            return None
        return self._grown[len(self._tail) :]

    def keep(self) -> None:
        """What ``grow`` gave was written."""
        self._tail = self._grown
        if len(self._rest) > self._cut_at:
            self._settle()

    def _settle(self) -> None:
        rest = self._rest
        cut = rest.rfind("\n", 0, len(rest) - WINDOW) + 1
        if cut:
            head, tail = (self._redact(well_formed(part)) for part in (rest[:cut], rest[cut:]))
            if head + tail == self._tail:
                self._raw += cut
                self._settled += head
                self._tail = self._grown = tail
                self._cut_at = 2 * WINDOW
                return
        self._cut_at = len(rest) + WINDOW
