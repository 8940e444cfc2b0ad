"""Redacting a growing text incrementally."""

from __future__ import annotations

from tierline.context.text import well_formed
from tierline.store.redaction import Redact

WINDOW = 4_096
"""Characters at the end of the text that are always scanned again: a secret may be unfinished."""


class IncrementalRedaction:
    """The redacted form of a growing text, and what each step adds to it.

    Text far enough from the end is settled and not scanned again. The text is cut only where both
    parts redact to the same apart as together, so never inside a secret.
    """

    def __init__(self, redact: Redact | None) -> None:
        self._redact: Redact = redact if redact is not None else lambda text: text
        self._raw = 0
        """Characters of the text that are settled."""
        self._settled = ""
        self._tail = ""
        self._grown = ""
        self._cut_at = 2 * WINDOW
        """The unsettled text is cut once it has more characters than this."""
        self._rest = ""

    @property
    def written(self) -> int:
        """Characters of redacted text that the last ``keep`` marked as written."""
        return len(self._settled) + len(self._tail)

    @property
    def whole(self) -> str:
        """The whole text of the last ``grow``, redacted."""
        return self._settled + self._grown

    def grow(self, text: str) -> str | None:
        """The redacted text since the last ``keep``; None if text that was kept has changed.
        ``text`` must begin with the text of the previous call.
        """
        self._rest = text[self._raw :]
        self._grown = self._redact(well_formed(self._rest))
        if not self._grown.startswith(self._tail):
            return None
        return self._grown[len(self._tail) :]

    def keep(self) -> None:
        """Mark the result of the last ``grow`` as written."""
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
