"""Which of a session's entries are kept in memory while the session is open.

Messages are kept whole, since every request is made of them. An event is kept as long as the
timeline depends on it. Of events that replace all earlier ones (files and pins, web pages,
scratchpad) only the newest is kept; of reflections, the packed text and the figures. Leaving out
the others does not change the timeline, as a property test checks; the log has all of them.
"""

from __future__ import annotations

from collections import deque

import attrs
from attrs import define, field

from tierline.history.events import EventKind, LogEvent
from tierline.history.messages import Message
from tierline.history.timeline import MAIN
from tierline.history.usage import PackedReflection

WHOLE = frozenset({EventKind.FILES, EventKind.URLS, EventKind.SCRATCHPAD})
"""Kinds whose events replace all earlier ones: the newest counts."""
PACKED = frozenset({EventKind.REFLECTION})
"""Kinds of which the timeline uses only figures."""
REMEMBERED = 1_000
"""Number of left-out event ids that are remembered, to recognise an event that the log repeats."""


@define
class SessionEntries:
    """A session's entries in the order of its log, without those that were replaced."""

    entries: list[Message | LogEvent] = field(factory=list)
    _ids: set[str] = field(factory=set)
    _newest: dict[str, LogEvent] = field(factory=dict)
    """For each kind in ``WHOLE``, the event that the next one replaces."""
    _branches: set[str] = field(factory=lambda: {MAIN})
    _gone: deque[str] = field(factory=lambda: deque(maxlen=REMEMBERED))

    def add(self, entry: Message | LogEvent) -> None:
        """Add the log's next entry."""
        if entry.id in self._ids or entry.id in self._gone:
            return  # of the same id the first one counts
        self._ids.add(entry.id)
        self.entries.append(self._taken_in(entry))

    def _taken_in(self, entry: Message | LogEvent) -> Message | LogEvent:
        known = entry.branch_id in self._branches
        self._branches.add(entry.branch_id)
        if isinstance(entry, Message):
            return entry
        if entry.kind == EventKind.FORK:
            self._branches.add(str(entry.data.get("branch")))
        if entry.kind in PACKED:
            return attrs.evolve(entry, data=PackedReflection(entry.data))
        if entry.kind in WHOLE:
            self._overtake(entry.kind)
            if known:  # otherwise the branch is there because of it
                self._newest[entry.kind] = entry
        return entry

    def _overtake(self, kind: str) -> None:
        before = self._newest.pop(kind, None)
        if before is None:
            return
        backwards = range(len(self.entries) - 1, -1, -1)
        del self.entries[next(n for n in backwards if self.entries[n] is before)]
        self._ids.discard(before.id)
        self._gone.append(before.id)
