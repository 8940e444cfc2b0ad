"""A prompt cache as Anthropic documents it, for whole request bodies. Shares no code with Tierline.

What it models (platform documentation, "Prompt caching"):

* the cached prefix is tools, then system, then messages, block by block;
* an entry is written only where a block carries ``cache_control``, and only if the prefix up to
  there has at least the model's minimum of tokens;
* a marker finds an entry at its own place or at most 20 blocks before it, at the longest prefix;
* an entry lives five minutes or one hour after its last use; a use renews it;
* what is found is read; from there to the last marker is written; what follows is plain input.

Assumption: a request that reads an entry also renews the shorter entries at its own markers.

Tokens are bytes of UTF-8 by four, per block. Prices are relative to one input token.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Lifetimes: TypeAlias = tuple[str, ...]
"""What writes may ask for: ``5m``, ``1h``."""

READ, INPUT = 0.1, 1.0
WRITE = {"5m": 1.25, "1h": 2.0}
SECONDS = {"5m": 300.0, "1h": 3600.0}
LOOKBACK = 20
MAX_MARKERS = 4


@dataclass
class Outcome:
    """Tokens and price of one request's input."""

    read: float
    written: float
    plain: float
    cost: float
    by_ttl: dict[str, float] = field(default_factory=dict)
    """What was written, by lifetime."""

    @property
    def total(self) -> float:
        return self.read + self.written + self.plain


@dataclass
class CacheSimulator:
    """One organisation's cache."""

    minimum: int = 1024
    entries: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Hash of a prefix: when it was last used, and its lifetime."""

    def send(self, body: dict[str, Any], now: float) -> Outcome:
        """Account for one request. Raises ValueError for a body that the service would refuse."""
        blocks = _blocks(body)
        sizes, hashes, totals, marks = [], [], [], []
        digest = hashlib.sha256(str(body["model"]).encode())
        total = 0.0
        for place, (role, block) in enumerate(blocks):
            marker = block.get("cache_control")
            plain = {k: v for k, v in block.items() if k != "cache_control"}
            text = json.dumps([role, plain], ensure_ascii=False, sort_keys=True)
            digest.update(text.encode("utf-8"))
            size = weigh(plain)
            total += size
            sizes.append(size)
            totals.append(total)
            hashes.append(digest.hexdigest())
            if marker:
                if size == 0:
                    raise ValueError("a marker on an empty block")
                if total >= self.minimum:
                    marks.append((place, marker.get("ttl", "5m")))
        if sum("cache_control" in b for _, b in blocks) > MAX_MARKERS:
            raise ValueError("too many markers")
        hit = self._longest(marks, hashes, now)
        read = totals[hit] if hit >= 0 else 0.0
        cost = read * READ
        written: dict[str, float] = {}
        start = read
        for place, ttl in marks:
            if place <= hit:
                self._renew(hashes[place], now)
                continue
            cost += (totals[place] - start) * WRITE[ttl]
            written[ttl] = written.get(ttl, 0.0) + totals[place] - start
            start = totals[place]
            self.entries[hashes[place]] = (now, ttl)
        if hit >= 0:
            self._renew(hashes[hit], now)
        uncached = total - start
        return Outcome(read, sum(written.values()), uncached, cost + uncached * INPUT, written)

    def _alive(self, key: str, now: float) -> bool:
        entry = self.entries.get(key)
        return entry is not None and now - entry[0] <= SECONDS[entry[1]]

    def _renew(self, key: str, now: float) -> None:
        if self._alive(key, now):
            self.entries[key] = (now, self.entries[key][1])

    def _longest(self, marks: list[tuple[int, str]], hashes: list[str], now: float) -> int:
        for place, _ in reversed(marks):
            for back in range(place, max(place - LOOKBACK, -1), -1):
                if self._alive(hashes[back], now):
                    return back
        return -1


def weigh(block: dict[str, Any]) -> float:
    """Tokens of a block: the bytes of its content by four."""
    kind = block.get("type")
    if kind == "text":
        content: Any = block["text"]
    elif kind == "tool_use":
        content = block["name"] + json.dumps(block["input"], ensure_ascii=False)
    elif kind == "thinking":
        content = block["thinking"]
    elif kind == "tool_result":
        given = block.get("content", ())
        parts = [{"text": given}] if isinstance(given, str) else given
        content = "".join(part.get("text", "") for part in parts)
    else:
        content = json.dumps(block, ensure_ascii=False)
    return len(content.encode("utf-8")) / 4


def _blocks(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = [("tools", tool) for tool in body.get("tools", ())]
    found += [("system", block) for block in body.get("system", ())]
    for message in body["messages"]:
        found += [(message["role"], block) for block in message["content"]]
    return found
