"""The stability policy in force, and what it must remember between requests and across restarts."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tierline.config import CacheConfig
from tierline.context.tiers.base import Sent, StabilityPolicy
from tierline.context.tiers.counter import Counter
from tierline.context.tiers.fixed import Fixed
from tierline.context.tiers.log_structured import LogStructured

log = logging.getLogger(__name__)


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
        self._sent = Sent()

    def get(self, session_id: str) -> Sent:
        """The state of a session; a fresh one if nothing is known."""
        if session_id != self._session:
            self._session = session_id
            self._sent = self._read(session_id)
        return self._sent

    def keep(self, session_id: str, sent: Sent) -> None:
        """The provider accepted a request: this is what its cache holds now. Blocking."""
        self._session, self._sent = session_id, sent
        value: Mapping[str, Any] = {"session": session_id, "sent": sent.to_json()}
        partial = self._path.with_suffix(".partial")
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                json.dump(value, stream)
            os.replace(partial, self._path)  # noqa: PTH105
        except (OSError, TypeError, ValueError) as error:
            log.info("The cache state is not kept: %s", error)

    def _read(self, session_id: str) -> Sent:
        try:
            value = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return Sent()
        if not isinstance(value, dict) or value.get("session") != session_id:
            return Sent()
        return Sent.from_json(value.get("sent"))
