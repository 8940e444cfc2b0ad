"""The stability policy in force, and its state between requests and across restarts."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from attrs import evolve, field, frozen

from tierline import disk
from tierline.config import CacheConfig
from tierline.context.blocks import Maker
from tierline.context.text import sha256
from tierline.context.tiers.base import CacheState, StabilityPolicy
from tierline.context.tiers.counter import CounterPolicy
from tierline.context.tiers.fixed import FixedPolicy
from tierline.context.tiers.log_structured import LogStructuredPolicy
from tierline.disk.folder import make

log = logging.getLogger(__name__)

MAX_FILES, MAX_BYTES = 16, 64 * 1024 * 1024
"""Records on disk and their total bytes; the oldest are deleted."""
MAX_KEPT = 4
"""Records in memory."""
_END = ".json"


def policy(settings: CacheConfig, count: Callable[[str], int]) -> StabilityPolicy:
    """The policy that the settings name."""
    if settings.policy == "counter":
        return CounterPolicy()
    if settings.policy == "fixed":
        return FixedPolicy()
    return LogStructuredPolicy(count=count, ttl=settings.ttl)


@frozen
class CacheLine:
    """One conversation with one model, which has a cache of its own at the provider."""

    session: str
    branch: str = ""
    reader: Maker = field(factory=Maker)

    @property
    def name(self) -> str:
        """Its file name: those of a session have the same prefix."""
        rest = "\0".join((self.branch, self.reader.service, self.reader.model))
        return f"{_start(self.session)}{sha256(rest)[:16]}{_END}"


class SentState:
    """The last request of each line, so that returning to a session, a branch or a model continues
    where the provider's cache ends. Losing a record costs a cold cache.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: dict[CacheLine, CacheState] = {}
        """Records of this process, the newest last."""
        self._begun: dict[CacheLine, CacheState] = {}
        """Initial states of lines without a record."""

    def get(self, line: CacheLine) -> CacheState:
        """The state of a line. A new line begins with the session's newest state: a branch shares
        its beginning, and another model gets the same bytes. A fresh state if there is none.
        """
        with self._lock:
            found = self._kept.get(line) or self._begun.get(line)
        if found is not None:
            return found
        own = self._read(line.name, line)
        if own is not None:
            self._remember(line, own)
            return own
        begun = self._newest(line)
        with self._lock:
            self._begun = {line: begun}
        return begun

    def keep(self, line: CacheLine, sent: CacheState) -> None:
        """Store the state after a request that the provider accepted. Blocking."""
        self._remember(line, sent)
        value = {
            "session": line.session,
            "branch": line.branch,
            "reader": [line.reader.service, line.reader.model],
            "sent": sent.to_json(),
        }
        try:
            make(self._folder)
            disk.replace(
                self._folder / line.name, json.dumps(value).encode(), mode=0o600, sync=False
            )
            self._prune()
        except (OSError, TypeError, ValueError) as error:
            log.info("The cache state is not kept: %s", error)

    def _remember(self, line: CacheLine, sent: CacheState) -> None:
        with self._lock:
            self._begun = {}
            self._kept.pop(line, None)
            self._kept[line] = sent
            while len(self._kept) > MAX_KEPT:
                self._kept.pop(next(iter(self._kept)))

    def _newest(self, line: CacheLine) -> CacheState:
        """The session's newest record, made the initial state of another line."""
        with self._lock:
            known = {other: s for other, s in self._kept.items() if other.session == line.session}
        names = [name for name in self._names() if name.startswith(_start(line.session))]
        last = max(names, key=self._status, default="")
        if known:
            other, sent = max(known.items(), key=lambda pair: pair[1].at)
        else:
            read = self._parsed(last) if last else None
            if read is None or read[0].session != line.session:
                return CacheState()
            other, sent = read
        # A model of the same name at another provider has another cache.
        return sent if other.reader == line.reader else evolve(sent, model="")

    def _read(self, name: str, line: CacheLine) -> CacheState | None:
        found = self._parsed(name)
        return found[1] if found is not None and found[0] == line else None

    def _parsed(self, name: str) -> tuple[CacheLine, CacheState] | None:
        """A record on disk; None if it is missing or invalid."""
        try:
            value = json.loads(disk.read_text(self._folder / name, MAX_BYTES))
            service, model = map(str, value["reader"])
            line = CacheLine(str(value["session"]), str(value["branch"]), Maker(service, model))
            return line, CacheState.from_json(value["sent"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _names(self) -> list[str]:
        try:
            return [name for name in disk.names(self._folder) if name.endswith(_END)]
        except OSError:
            return []

    def _status(self, name: str) -> tuple[float, int]:
        """When a record was written, and its bytes."""
        found = disk.regular(self._folder / name)
        return (found.st_mtime, found.st_size) if found is not None else (0.0, 0)

    def _prune(self) -> None:
        """Delete all but the newest records."""
        files = sorted(((*self._status(name), name) for name in self._names()), reverse=True)
        total = 0
        for place, (_, size, name) in enumerate(files):
            total += size
            if place >= MAX_FILES or (place and total > MAX_BYTES):
                with suppress(OSError):
                    disk.remove(self._folder / name)


def _start(session: str) -> str:
    return f"{sha256(session)[:16]}-"
