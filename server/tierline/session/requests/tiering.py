"""The stability policy in force, and what it must remember between requests and across restarts."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tierline import disk
from tierline.config import CacheConfig
from tierline.context.tiers.base import CacheState, StabilityPolicy
from tierline.context.tiers.counter import Counter
from tierline.context.tiers.fixed import Fixed
from tierline.context.tiers.log_structured import LogStructured

log = logging.getLogger(__name__)

_MOST_BYTES = 64 * 1024 * 1024


def policy(settings: CacheConfig, count: Callable[[str], int]) -> StabilityPolicy:
    """The policy that the settings name."""
    if settings.policy == "counter":
        return Counter()
    if settings.policy == "fixed":
        return Fixed()
    return LogStructured(count=count, ttl=settings.ttl)


class SentState:
    """What was sent in each session's last accepted request. Losing it costs a cold cache."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session = ""
        self._sent = CacheState()

    def get(self, session_id: str) -> CacheState:
        """The state of a session; a fresh one if nothing is known."""
        if session_id != self._session:
            self._session = session_id
            self._sent = self._read(session_id)
        return self._sent

    def keep(self, session_id: str, sent: CacheState) -> None:
        """The provider accepted a request: this is what its cache holds now. Blocking."""
        self._session, self._sent = session_id, sent
        value: Mapping[str, Any] = {"session": session_id, "sent": sent.to_json()}
        try:
            disk.replace(self._path, json.dumps(value).encode(), mode=0o600, sync=False)
        except (OSError, TypeError, ValueError) as error:
            log.info("The cache state is not kept: %s", error)

    def _read(self, session_id: str) -> CacheState:
        try:
            value = json.loads(disk.read_text(self._path, _MOST_BYTES))
        except (OSError, ValueError):
            return CacheState()
        if not isinstance(value, dict) or value.get("session") != session_id:
            return CacheState()
        return CacheState.from_json(value.get("sent"))
