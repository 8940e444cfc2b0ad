"""A loopback provider that answers by what it is asked: chat, summaries, topic boundaries."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

from tierline.history.boundaries.model import INSTRUCTIONS as BOUNDARY
from tierline.history.summarise import INSTRUCTIONS as SUMMARY
from wire.scripts import a_reply, o_reply
from wire.servers import Kind, Reply, Request, WireServer

What = Literal["chat", "summary", "boundary"]


def what_is_asked(body: Any) -> What:
    """Which kind of request a body is."""
    text = json.dumps(body, ensure_ascii=False)
    if SUMMARY[:60] in text:
        return "summary"
    return "boundary" if BOUNDARY[:60] in text else "chat"


class ChoosingServer(WireServer):
    """``answer`` gets the kind of request and its number among its kind, from 1, and the body."""

    def __init__(self, kind: Kind, answer: Callable[[What, int, Any], Reply | str]) -> None:
        super().__init__(kind, [])
        self._answer = answer
        self._counts: dict[What, int] = {"chat": 0, "summary": 0, "boundary": 0}

    def of(self, what: What) -> list[Any]:
        """Bodies of one kind, in the order of arrival."""
        return [r.body for r in list(self.requests) if what_is_asked(r.body) == what]

    def _next(self, request: Request) -> Reply:
        what = what_is_asked(request.body)
        with self._lock:
            self.requests.append(request)
            self._counts[what] += 1
            number = self._counts[what]
        self.asked.set()
        given = self._answer(what, number, request.body)
        if isinstance(given, Reply):
            return given
        return a_reply(given) if self.kind == "anthropic" else o_reply(given)
