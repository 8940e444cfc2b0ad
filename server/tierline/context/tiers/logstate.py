"""The state of the log-structured policy: the base, the log, and the texts of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from attrs import astuple, evolve, field, frozen

from tierline.context.items import Item, Section
from tierline.context.tiers.base import Piece, PieceKind, Tier, piece_of

MAX_ENDS = 24
"""Ends of earlier requests that are remembered; undo goes back to one of them."""


@frozen
class BaseVersion:
    """A version of a document in the base. Its text is kept under ``sha``."""

    key: str
    section: Section
    tier: Tier
    sha: str
    tokens: int
    path: str = ""
    since: int = 0
    """Number of the request that put it here."""


@frozen
class LogEntry:
    """An entry of the log: an item of the conversation, by its hash, or an update."""

    key: str
    sha: str = ""
    """Conversation: ``Item.sha256``. Update: the version of the document after it, empty if gone.
    """
    tokens: int = 0
    kind: PieceKind = PieceKind.ITEM
    text: str = ""
    """Update: its text."""
    section: Section = Section.HISTORY
    path: str = ""
    since: int = 0


@frozen
class LogEnd:
    """Where a request ended in the log, and when its prefix was last used."""

    length: int
    at: float
    turn: bool = False
    """True if it was the last request of its turn."""
    kept: bool = False
    """True at the end of the newest rewrite, which a breakpoint keeps in the cache."""


@frozen
class LogState:
    """Everything that was sent, in order."""

    base: tuple[BaseVersion, ...] = ()
    log: tuple[LogEntry, ...] = ()
    ends: tuple[LogEnd, ...] = ()
    head: str = ""
    """Hash of everything before the base."""
    rents: Mapping[str, float] = field(factory=dict)
    """Rent paid since the last consolidation, by the tier where a rewrite would begin."""
    texts: Mapping[str, str] = field(factory=dict)
    """Rendered texts of documents, by ``Item.sha256``: those in the base, the newest known, and a
    few earlier ones, to which undo may return.
    """

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "base": [list(astuple(version)) for version in self.base],
            "log": [list(astuple(entry)) for entry in self.log],
            "ends": [list(astuple(end)) for end in self.ends],
            "head": self.head,
            "rents": dict(self.rents),
            "texts": dict(self.texts),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LogState | None:
        """The state of JSON values; None if it is incomplete, as if nothing had been sent."""
        try:
            state = cls(
                base=tuple(
                    BaseVersion(str(k), Section(s), Tier(t), str(h), int(n), str(p), int(i))
                    for k, s, t, h, n, p, i in value["base"]
                ),
                log=tuple(
                    LogEntry(
                        str(k), str(h), int(n), PieceKind(d), str(t), Section(s), str(p), int(i)
                    )
                    for k, h, n, d, t, s, p, i in value["log"]
                ),
                ends=tuple(
                    LogEnd(int(n), float(at), *map(bool, flags)) for n, at, *flags in value["ends"]
                ),
                head=str(value["head"]),
                rents={str(k): float(r) for k, r in value["rents"].items()},
                texts={str(k): str(t) for k, t in value["texts"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        whole = {b.sha for b in state.base} | {v for v in state.versions().values() if v}
        return state if whole <= state.texts.keys() else None

    @cached_property
    def updates(self) -> tuple[tuple[int, LogEntry], ...]:
        """The updates of documents with their indexes in the log."""
        return tuple([(i, e) for i, e in enumerate(self.log) if e.kind is not PieceKind.ITEM])

    def used(self, at: float) -> LogState:
        """The state after a keep-alive request used the newest entry."""
        if not self.ends:
            return self
        newest = len(self.ends) - 1
        used = (
            evolve(end, at=max(end.at, at)) if end.kept or n == newest else end
            for n, end in enumerate(self.ends)
        )
        return evolve(self, ends=tuple(used))

    def versions(self) -> dict[str, str]:
        """The version of every document that the model has, by key; see ``versions``."""
        return versions(self.base, [entry for _, entry in self.updates])


class LazyState(Mapping[str, Any]):
    """A state in place of its JSON (``CacheState.state``), which is made only when it is read.

    The log has thousands of entries: converting them at every request would take longer than all
    other work on them.
    """

    def __init__(self, state: LogState) -> None:
        self.state = state
        self._json: dict[str, Any] | None = None

    def _values(self) -> dict[str, Any]:
        if self._json is None:
            self._json = self.state.to_json()
        return self._json

    def __getitem__(self, key: str) -> Any:
        return self._values()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    @staticmethod
    def read(value: Mapping[str, Any]) -> LogState | None:
        """The state of a mapping: the kept object, or read from its JSON."""
        return value.state if isinstance(value, LazyState) else LogState.from_json(value)


def versions(base: Iterable[BaseVersion], updates: Iterable[LogEntry]) -> dict[str, str]:
    """The versions that the model has by base and updates, by key; none of removed documents."""
    known = {b.key: b.sha for b in base}
    for entry in updates:
        if entry.sha:
            known[entry.key] = entry.sha
        else:
            known.pop(entry.key, None)
    return known


def said_piece(item: Item) -> Piece:
    """The piece of a conversation's item. A text item (a summary) becomes a user message."""
    piece: Piece | None = item.memo.get("said")
    if piece is None:
        piece = item.memo["said"] = piece_of(item, Tier.LOG)
    return piece


def with_rents(state: LogState, rents: Mapping[str, float]) -> LogState:
    """The state with other accounts, rounded so that they survive JSON unchanged."""
    return evolve(state, rents={k: round(r, 9) for k, r in rents.items() if r > 0})
