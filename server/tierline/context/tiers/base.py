"""The interface of every stability policy.

A policy decides the order of a request's bytes: which stay as they were sent, where items go, and
where the cache breakpoints go. It is a function of its arguments: the plan's items, what was sent
before, the moment, the prices. It changes nothing; the arrangement carries the next state, which
the caller keeps once the provider has accepted the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from attrs import asdict, astuple, evolve, field, fields_dict, frozen

from tierline.context.items import Item, Section
from tierline.context.models import ModelFacts
from tierline.context.prefix import PrefixEnd
from tierline.context.prompt import LONG, PromptMessage, Ttl
from tierline.context.transcript import Transcript

MAX_GAPS = 64
"""Gaps between requests that are remembered."""
LIFETIMES: dict[str, float] = {"5m": 300.0, "30m": 1800.0, "1h": 3600.0, "12h": 43_200.0}
"""Seconds that a cache entry lives after its last use, by the lifetime of its marker."""
AUTOMATIC_LIFETIME = 3600.0
"""Seconds that a provider with automatic prefix caching is assumed to keep a prefix. Assuming too
long misses a chance to rewrite for free; assuming too short discards a warm cache.
"""


class Tier(StrEnum):
    """Where a piece is, from the most stable bytes to the least."""

    HEAD = "head"
    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"
    ACTIVE = "active"
    """Files, trees and pages that no tier holds: sent anew each time, before the conversation."""
    LOG = "log"
    """The conversation, and updates that were appended to it."""
    TAIL = "tail"
    """Items for this request alone."""


TIER_WORDS = {
    "head": "system prompt and tools",
    "L0": "changes least",
    "L1": "changes rarely",
    "L2": "changes sometimes",
    "L3": "settling",
    "active": "changes often, sent anew each time",
    "log": "in the conversation",
    "tail": "this prompt alone",
}
"""What each tier holds, in words."""
BASE_TIERS = (Tier.L0, Tier.L1, Tier.L2, Tier.L3)


class PieceKind(StrEnum):
    """The kind of a piece."""

    ITEM = "item"
    """An item in its current version, or in that which was sent."""
    DELTA = "delta"
    """The difference between what the model has and the current text."""
    FULL = "full"
    """The whole current text, in the log: an addition, or shorter than the difference."""
    GONE = "gone"
    """A tombstone: the item is no longer there."""
    CONFIRMED = "confirmed"
    """The model's own edit made the change; one line says so."""


@frozen
class Signals:
    """Facts about an item besides its content. All are optional."""

    churn: float | None = None
    """Probability that it changes by the next request, from version control; None if unknown."""
    dirty: bool = False
    """Its buffer in the editor differs from the disk."""
    visible: bool = False
    """It is on screen in the editor."""
    references: float = 0.0
    """Its rank in the reference graph, on any scale."""


@frozen
class AppliedEdit:
    """An edit that the model proposed and that was applied exactly as proposed."""

    item: str
    """Key of the item that it changed."""
    before: str
    """SHA-256 of the item's content before it (``Item.sha256``)."""
    after: str
    """SHA-256 of the item's content after it."""
    history: str
    """Key of the history item with the proposal: while that is sent, the model knows the edit."""
    reference: str
    """The edit's name for the model: its call id as it is sent, without white space. Leave the edit
    out of the list if the id had to be changed for sending.
    """


@frozen
class RequestContext:
    """The time of a request, and the facts that hold then."""

    now: float
    """Seconds since the epoch."""
    model: str = ""
    tools: str = ""
    """Hash of the tool definitions as they are sent; they come first in every cached prefix."""
    group_id: str = ""
    """The turn that the request answers."""
    signals: Mapping[str, Signals] = field(factory=dict)
    """Signals by item key."""
    edits: tuple[AppliedEdit, ...] = ()
    """Edits of this conversation, oldest first. Old ones may stay in the list."""
    anew: Mapping[str, Item | None] = field(factory=dict)
    """For items of the conversation that a rewrite would change, by key: the rewritten item, or
    None if it would leave.
    """
    forced: bool = False
    """Everything must be written anew, because the request would not fit otherwise."""
    tool_tokens: int = 0
    """Tokens of the tool definitions: a part of the request that no item stands for."""


@frozen
class Pricing:
    """Prices and cache rules as the policies need them. Prices are per token in one unit; only
    their ratios matter to a decision.
    """

    input: float = 1.0
    read: float = 0.1
    write_5m: float = 1.25
    write_1h: float = 2.0
    minimum: int = 1024
    """Shorter prefixes are not cached (tokens)."""
    target: int = 1126
    """The counter policy's ``cache_target_tokens``."""
    max_marks: int = 4
    lookback: int = 20
    """A marker finds an earlier entry at most this many blocks before it; 0 for any distance."""
    explicit: bool = True
    """True if only marked prefixes are cached."""
    ttls: tuple[str, ...] = ("5m", "1h")
    lifetime: float = AUTOMATIC_LIFETIME
    """Seconds that a prefix lives where there are no markers; infinite for the embedded model."""
    thinking: float = 2.5
    """Worth of a token of thinking that a rewrite makes invalid: half the price of generating it.
    Measured (docs/tiers.md): with less, thinking is lost more often; with more, sessions cost more.
    """

    @classmethod
    def of(cls, facts: ModelFacts, *, min_tokens: int = 0, input_tokens: int = 0) -> Pricing:
        """The pricing of a model. ``min_tokens`` is the user's own minimum for a tier;
        ``input_tokens`` the expected size, which decides between normal and long-prompt prices.

        A model without prices (a local one) is charged by time: reading a cached token is about a
        fiftieth of the work of computing it, and there is no surcharge for keeping it.
        """
        prices = facts.prices_for(input_tokens)
        priced = prices.input > 0
        price = prices.input or 1.0
        thinking = (prices.output or price * 5) / 2
        target = max(min_tokens, round(facts.min_cacheable_tokens * 1.1))
        if facts.explicit_markers:
            return cls(
                input=price,
                read=prices.read if priced else 0.1,
                write_5m=prices.write_5m or price * 1.25,
                write_1h=prices.write_1h or price * 2,
                minimum=facts.min_cacheable_tokens,
                target=target,
                max_marks=facts.max_marks,
                lookback=facts.lookback_blocks,
                ttls=facts.ttls or ("5m",),
                thinking=thinking,
            )
        automatic = facts.caching == "automatic"
        local = facts.family == "local"
        return cls(
            input=price,
            read=prices.read if priced and prices.read else price * (0.02 if local else 0.5),
            write_5m=prices.write_5m or price,
            write_1h=prices.write_1h or price,
            minimum=facts.min_cacheable_tokens if automatic and not local else 0,
            target=target,
            max_marks=0,
            lookback=0,
            explicit=False,
            ttls=(),
            lifetime=float("inf") if local else AUTOMATIC_LIFETIME,
            thinking=thinking,
        )

    def write(self, ttl: Ttl) -> float:
        """Price of a token that is written to the cache."""
        return self.write_1h if ttl in LONG else self.write_5m

    def alive(self, idle: float, ttl: Ttl) -> bool:
        """True if a prefix that was used ``idle`` seconds ago is still cached."""
        return idle <= (LIFETIMES[ttl] if self.explicit else self.lifetime)


@frozen
class ChangeEvidence:
    """How often an item changed, as decayed counts of requests (see ``hazard.py``)."""

    changed: float = 0.0
    quiet: float = 0.0


@frozen
class CacheState:
    """The part of earlier requests that the next arrangement depends on, kept as JSON."""

    policy: str = ""
    model: str = ""
    tools: str = ""
    at: float = 0.0
    """Seconds since the epoch of the last accepted request; 0 before the first."""
    kept: float = 0.0
    """Seconds since the epoch of the last keep-alive request since then; 0 for none."""
    ttl: Ttl = "5m"
    requests: int = 0
    gaps: tuple[float, ...] = ()
    """Seconds between requests that began a turn, newest last."""
    size: int = 0
    """Tokens of the last request."""
    missed: float = 0.0
    """What longer lifetimes would have saved so far (``lifetime.missed``)."""
    group: str = ""
    """The turn of the last request."""
    seen: Mapping[str, str] = field(factory=dict)
    """SHA-256 of every text item of the last request, by key."""
    talk: frozenset[str] = frozenset()
    """Keys of the conversation's items in the last request."""
    hazards: Mapping[str, ChangeEvidence] = field(factory=dict)
    transcript: Transcript = field(factory=Transcript)
    """The form in which the conversation was sent."""
    end: PrefixEnd | None = None
    """Where the last request ended; None if that is not known."""
    state: Mapping[str, Any] = field(factory=dict)
    """The policy's own state, as JSON values."""

    def to_json(self) -> dict[str, Any]:
        """JSON values. ``state`` may hold texts that were sent (under ``texts``, by hash)."""
        value = asdict(self, recurse=False)
        value["gaps"] = list(self.gaps)
        value["state"] = dict(self.state)
        value["hazards"] = {k: [e.changed, e.quiet] for k, e in self.hazards.items()}
        value["talk"] = sorted(self.talk)
        value["transcript"] = self.transcript.to_json()
        value["end"] = astuple(self.end) if self.end is not None else None
        return value

    @classmethod
    def from_json(cls, value: Any) -> CacheState:
        """The state of JSON values. Invalid ones are dropped as a whole: the next request then
        begins anew, which costs money but loses nothing.
        """
        try:
            known = {name: value[name] for name in fields_dict(cls) if name in value}
            hazards = {str(k): ChangeEvidence(*map(float, e)) for k, e in known["hazards"].items()}
            end = known["end"]
            restored = {
                "hazards": hazards,
                "gaps": tuple(map(float, known["gaps"])),
                "talk": frozenset(map(str, known["talk"])),
                "transcript": Transcript.from_json(known["transcript"]),
                "end": PrefixEnd(int(end[0]), int(end[1]), str(end[2])) if end else None,
            }
            sent = cls(**known | restored)
            plain = (
                isinstance(sent.seen, Mapping)
                and isinstance(sent.state, Mapping)
                and isinstance(sent.at, int | float)
                and isinstance(sent.kept, int | float)
                and isinstance(sent.requests, int)
                and isinstance(sent.size, int)
                and isinstance(sent.missed, int | float)
                and sent.ttl in LIFETIMES
            )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            return cls()
        return sent if plain else cls()


@frozen
class Piece:
    """A part of the request in its place. ``text`` or ``messages`` is sent byte for byte."""

    key: str
    tier: Tier
    section: Section
    tokens: int
    text: str = ""
    messages: tuple[PromptMessage, ...] = ()
    kind: PieceKind = PieceKind.ITEM
    path: str = ""
    stale: bool = False
    """True for bytes that a later piece replaces, and for those of a removed item."""
    age: int = 0
    """Requests since a document or an update was put here; 0 for the conversation."""
    hazard: float = 0.0
    """Probability that the item changes by the next request."""
    streak: int = 0
    """Counter policy: the item's N."""


@frozen
class Decision:
    """A policy's decision and its numbers: costs in ``Pricing``'s unit, per token or as named."""

    code: str
    """``cold``, ``consolidate``, ``defer``, ``ttl``, ``promote``, ``demote``, …"""
    sentence: str
    numbers: Mapping[str, float] = field(factory=dict)


@frozen
class Arrangement:
    """The order of a request's bytes."""

    policy: str
    pieces: tuple[Piece, ...]
    marks: tuple[int, ...]
    """Indexes of ``pieces`` after which a breakpoint belongs, the most useful first."""
    ttl: Ttl
    next: CacheState
    """The state to keep if, and only if, the provider accepts the request."""
    decisions: tuple[Decision, ...] = ()
    rewrite: Decision | None = None
    """The decision to change bytes that were sent; None if the request only appends."""
    changed: Mapping[str, Item | None] = field(factory=dict)
    """Rewritten items, as in ``RequestContext.anew``."""

    def tiers(self) -> dict[str, str]:
        """The tier of every item by key, for the plan (``ContextPlan.with_tiers``).

        An item whose current text is in the log has the tier ``log``, even if the base still has an
        old version.
        """
        return {piece.key: str(piece.tier) for piece in self.pieces}


class StabilityPolicy(Protocol):
    """A way to order requests so that the provider's cache can be used."""

    @property
    def name(self) -> str:
        """Its name in the settings."""
        ...

    def arrange(
        self, items: Sequence[Item], sent: CacheState, clock: RequestContext, prices: Pricing
    ) -> Arrangement:
        """Order the items of a plan. The same arguments give the same arrangement.

        The model always gets every item's current content, whatever ``sent`` holds.
        """
        ...

    def purge(self, sent: CacheState, prefix: str) -> CacheState:
        """Forget items whose key begins with ``prefix`` (compaction: ``history:``)."""
        ...


# --- shared by the policies ----------------------------------------------------------------------

_TALK = frozenset({Section.SUMMARIES, Section.HISTORY, Section.PROMPT})


@frozen
class PlanParts:
    """The items of a plan by their role, each in the plan's order."""

    head: tuple[Item, ...]
    docs: tuple[Item, ...]
    """Documents, which may change: files, symbols, pages, memos, STATE."""
    talk: tuple[Item, ...]
    """Conversation and prompt, with the notes of earlier prompts after each."""
    tail: tuple[Item, ...]
    """Items for this prompt alone that were not sent yet."""

    @classmethod
    def of(cls, items: Sequence[Item]) -> PlanParts:
        """Sort items into parts. Retrieved snippets count as volatile. Empty items (the plan's
        entry for the frame of a request) are left out.
        """
        head, docs, talk, tail = [], [], [], []
        notes: dict[str, list[tuple[int, Item]]] = {}
        for item in items:
            section = item.section
            if not item.text and not item.messages:
                continue
            if item.note is not None:
                notes.setdefault(item.note.after, []).append((item.note.number, item))
            elif item.volatile or section is Section.RETRIEVED:
                tail.append(item)
            elif section is Section.SYSTEM or section is Section.TOOLS:
                head.append(item)
            elif item.messages or section in _TALK:
                talk.append(item)
            else:
                docs.append(item)
        if notes:
            talk = [one for item in talk for one in (item, *_behind(notes.get(item.key, ())))]
        return cls(tuple(head), tuple(docs), tuple(talk), tuple(tail))

    def anew(self, anew: Mapping[str, Item | None]) -> PlanParts:
        """The parts with the conversation written anew."""
        talk, tail = rewritten(self.talk, anew)
        return evolve(self, talk=talk, tail=(*tail, *self.tail))


def _behind(notes: Iterable[tuple[int, Item]]) -> list[Item]:
    return [item for _, item in sorted(notes, key=lambda pair: pair[0])]


def rewritten(
    talk: Iterable[Item], anew: Mapping[str, Item | None]
) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Items of the conversation in the form that a rewrite gives them, and the items for this
    prompt alone, which go after it.
    """
    found = [new for item in talk if (new := anew.get(item.key, item)) is not None]
    return (
        tuple(item for item in found if not item.volatile),
        tuple(item for item in found if item.volatile),
    )


def piece_of(item: Item, tier: Tier, **facts: Any) -> Piece:
    """The piece of an item in its current version."""
    return Piece(
        item.key, tier, item.section, item.tokens, item.text, item.messages, path=item.path, **facts
    )


_PLACES = (Section.SYMBOLS, Section.URLS, Section.FILES, Section.MEMOS, Section.STATE)
TREE_PREFIX = "tree:"
"""Key prefix of file trees."""


def place_of(item: Item | Piece) -> int:
    """Sort key of documents of equal stability: instruction files, map, tree, pages, files; then
    memos and STATE, which change most.
    """
    if item.section is Section.INSTRUCTIONS:
        return -1
    if item.key.startswith(TREE_PREFIX):
        return 1
    place = _PLACES.index(item.section) if item.section in _PLACES else len(_PLACES)
    return place + 1 if place else 0


def common_length(before: Sequence[str], now: Sequence[str]) -> int:
    """Length of the common prefix of two sequences."""
    pairs = zip(before, now, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(before), len(now)))


def is_cold(sent: CacheState, clock: RequestContext, prices: Pricing) -> str:
    """Code of the reason why the provider's cache must be empty; empty if it need not be.

    Codes: ``first``, ``model``, ``tools``, ``expired``.
    """
    if not sent.at:
        return "first"
    if sent.model != clock.model:
        return "model"
    if sent.tools != clock.tools:
        return "tools"
    if not prices.alive(clock.now - max(sent.at, sent.kept), sent.ttl):
        return "expired"
    return ""


def advance(
    sent: CacheState, clock: RequestContext, parts: PlanParts, policy: str, **facts: Any
) -> CacheState:
    """The next state, in the fields that all policies share."""
    gap = clock.now - sent.at
    new_turn = bool(sent.at) and gap >= 0 and (not clock.group_id or clock.group_id != sent.group)
    return evolve(
        sent,
        policy=policy,
        model=clock.model,
        tools=clock.tools,
        at=clock.now,
        kept=0.0,
        requests=sent.requests + 1,
        gaps=(*sent.gaps, gap)[-MAX_GAPS:] if new_turn else sent.gaps,
        group=clock.group_id,
        seen={item.key: item.sha256 for item in (*parts.head, *parts.docs)},
        talk=frozenset(item.key for item in parts.talk),
        transcript=Transcript.of((*parts.talk, *parts.tail)),
        end=None,
        **facts,
    )
