"""A loopback Anthropic server with a prompt cache: it reads, writes and reports as the real one.

The cache is the benchmark's independent simulator, so usage figures follow from the bytes that came
in. ``skew`` seconds are added to the clock, so that a test can let time pass.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.cache_simulator import CacheSimulator, Outcome
from wire.scripts import a_reply
from wire.servers import Reply, Request, WireServer


class CachingServer(WireServer):
    """Answers every prompt with one word."""

    def __init__(self, minimum: int = 1024, word: str = "Yes.") -> None:
        super().__init__("anthropic", [])
        self.cache = CacheSimulator(minimum)
        self.outcomes: list[Outcome] = []
        self.skew = 0.0
        self.word = word

    def forget(self) -> None:
        """Lose the cache, as a provider may at any time."""
        self.cache.entries.clear()

    def _next(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            self.asked.set()
            body: Any = request.body
            for message in body["messages"]:
                if isinstance(message["content"], str):
                    message["content"] = [{"type": "text", "text": message["content"]}]
            outcome = self.cache.send(body, time.time() + self.skew)
            self.outcomes.append(outcome)
        return a_reply(
            self.word,
            input_tokens=round(outcome.plain),
            cache_read_input_tokens=round(outcome.read),
            cache_creation_input_tokens=round(outcome.written),
        )
