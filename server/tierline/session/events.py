"""The one stream of events, in order and numbered."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from tierline import protocol as p
from tierline.context.display import visible_text
from tierline.protocol import Event, EventBody


class EventBus:
    """Numbers events and hands them to the client. Used from the event loop's thread only.

    A client that notices a gap in ``seq`` asks for the whole state, which carries ``seq`` too.
    """

    def __init__(self, sink: Callable[[Event], None]) -> None:
        self._sink = sink
        self.seq = 0
        self.session_id = ""
        self.on_context: Callable[[bool], None] = lambda _files: None
        """Called when the next request has changed; with True if the files must be shown anew."""

    def publish(self, body: EventBody) -> None:
        """Send one event. Invisible characters in notices become visible."""
        if isinstance(body, p.Notice):
            body = evolve(body, text=visible_text(body.text))
        self.seq += 1
        self._sink(Event(seq=self.seq, session_id=self.session_id, body=body))

    def notice(self, level: p.NoticeLevel, text: str, code: str = "", turn_id: str = "") -> None:
        """Send a notice to the user."""
        self.publish(p.Notice(level=level, text=text, code=code, turn_id=turn_id))

    def context_changed(self, *, files: bool = False) -> None:
        """Note that the next request has changed; its budget is published after a quiet moment."""
        self.on_context(files)
