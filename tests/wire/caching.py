"""A loopback Anthropic server with a prompt cache: it reads, writes and reports as the real one.

The cache is the benchmark's independent simulator, so usage figures follow from the bytes that came
in. ``skew`` seconds are added to the clock, so that a test can let time pass.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from attrs import evolve

from benchmarks.cache_simulator import CacheSimulator, Outcome
from wire.scripts import a_reply
from wire.servers import Reply, Request, WireServer


class CachingServer(WireServer):
    """Answers every prompt with one word, or with a script's replies, the last one ever after."""

    def __init__(
        self, minimum: int = 1024, word: str = "Yes.", script: Iterable[Reply] = ()
    ) -> None:
        super().__init__("anthropic", script)
        self.cache = CacheSimulator(minimum)
        self.outcomes: list[Outcome] = []
        self.skew = 0.0
        self.word = word

    def forget(self) -> None:
        """Lose the cache, as a provider may at any time."""
        self.cache.entries.clear()

    def _next(self, request: Request) -> Reply:
        with self._lock:
            place = len(self.requests)
            self.requests.append(request)
            self.asked.set()
            body: Any = request.body
            for message in body["messages"]:
                if isinstance(message["content"], str):
                    message["content"] = [{"type": "text", "text": message["content"]}]
            outcome = self.cache.send(body, time.time() + self.skew)
            self.outcomes.append(outcome)
        answer = a_reply(
            self.word,
            input_tokens=round(outcome.plain),
            cache_read_input_tokens=round(outcome.read),
            cache_creation_input_tokens=round(outcome.written),
        )
        if not self.script:
            return answer
        said = self.script[min(place, len(self.script) - 1)]
        return evolve(said, body=[answer.body[0], *said.body[1:]])
