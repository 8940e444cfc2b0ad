"""The one stream of what happens, in order and numbered."""

from __future__ import annotations

from collections.abc import Callable

from tierline.protocol import Event, EventBody


class EventBus:
    """Numbers events and hands them to the client. Used from the event loop's thread only.

    A client that notices a gap in ``seq`` asks for the whole state, which carries ``seq`` too.
    """

    def __init__(self, sink: Callable[[Event], None]) -> None:
        self._sink = sink
        self.seq = 0
        self.session_id = ""

    def publish(self, body: EventBody) -> None:
        """Send one event."""
        self.seq += 1
        self._sink(Event(seq=self.seq, session_id=self.session_id, body=body))
