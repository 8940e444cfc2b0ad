"""Cache reports, tiers, and figures of requests, turns and sessions."""

from __future__ import annotations

from typing import Literal

from attrs import field

from tierline.protocol.base import CacheOutcome, define


@define
class CacheDecision:
    """Something that the policy decided, with the numbers that it decided by."""

    code: str
    sentence: str
    numbers: dict[str, float] = field(factory=dict)


@define
class CacheReport:
    """What the provider's cache gave one request, and why. Tokens; -1 where nobody knows."""

    outcome: CacheOutcome
    code: str
    """Reason: ``none``, ``new_session``, ``provider``, ``model``, ``tools``, ``system``,
    ``policy``, ``expired``, ``restarted``, ``edited``, ``reordered``, ``removed``, ``added``,
    ``compacted``, ``lookback``, ``evicted``, ``unreported``, ``small`` or ``no_cache``."""
    sentence: str
    turn_id: str = ""
    plan_id: str = ""
    at: str = ""
    """ISO 8601, UTC."""
    provider: str = ""
    model: str = ""
    policy: str = ""
    item: str = ""
    """Key of the first item that differs from what was sent before; empty if none is to blame."""
    item_label: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    read_tokens: int = -1
    written_tokens: int = -1
    uncached_tokens: int = -1
    """Input that was neither read nor written."""
    offered_tokens: int = 0
    """What the request before had left in the cache."""
    readable_tokens: int = 0
    """How much of that this request begins with."""
    idle_seconds: float = 0.0
    """Since the cache was used last; 0 for the first request."""
    cost: float = 0.0
    """US dollars; 0 without known prices."""
    saved: float = 0.0
    decisions: list[CacheDecision] = field(factory=list)


@define
class ChangeForecastParams:
    """A change that the user thinks of. An empty ``change`` only asks how the next request stands:
    a long pause is the same as no change.
    """

    change: Literal["", "model", "effort", "tools"] = ""
    provider: str = ""
    model: str = ""
    base_url: str = ""
    """With ``model``: what would be selected (as in ``provider/select``)."""
    effort: str = ""


@define
class ChangeForecast:
    """What the next request would cost without the change and with it. Tokens are our own counts,
    money is the input's, in US dollars; 0 where prices are not known.
    """

    tokens: int
    readable_tokens: int
    """What the cache should give without the change."""
    readable_then: int
    cost: float
    cost_then: float
    seconds_left: float
    """Until what is cached expires; -1 where nobody knows."""
    warn: bool
    """True if the change costs more than ``spending.warn_change_cost``."""
    sentence: str


@define
class CacheExplainParams:
    """A turn; the newest request of the session when empty."""

    turn_id: str = ""


@define
class CacheExplainResult:
    """Why a request did or did not hit the cache."""

    sentence: str
    report: CacheReport | None = None
    """The turn's last request; null before the first one."""
    requests: list[CacheReport] = field(factory=list)
    """All requests of the turn, in their order."""
    last_miss: CacheReport | None = None
    """The session's newest request that did not read all that was cached; null if there is none."""


@define
class CacheTiersParams:
    """``next`` is the request as it would be sent now, ``last`` the one that was sent last."""

    which: Literal["next", "last"] = "next"


@define
class CacheItem:
    """One piece of a request in its tier. Sizes in tokens."""

    key: str
    label: str
    section: str
    kind: Literal["item", "delta", "full", "gone", "confirmed"]
    """``item``: as it is; the others are updates in the conversation."""
    tokens: int
    path: str = ""
    age: int = 0
    """Requests since it was put here; with the counter policy its N."""
    hazard: float = 0.0
    """Probability that it changes by the next request, 0 to 1; 0 if the policy does not use it."""
    stale: bool = False
    """Something later in the request replaces these bytes."""
    cached: bool = False
    """The provider has these bytes in its cache, and the request begins with them."""
    marked: bool = False
    """A cache breakpoint stands behind it."""
    change: Literal["", "new", "edited", "moved"] = ""
    """Since the request before."""


@define
class CacheTier:
    """One tier, from the most stable to the least. Sizes in tokens."""

    tier: str
    name: str
    tokens: int
    cached_tokens: int
    stale_tokens: int
    delta_tokens: int
    """Updates that were appended instead of rewriting a tier."""
    items: list[CacheItem] = field(factory=list)


@define
class CacheTiers:
    """A request's tiers as a viewer draws them."""

    which: Literal["next", "last"]
    policy: str
    provider: str
    model: str
    caching: Literal["explicit", "automatic", "none"]
    """Whether the provider caches at breakpoints, every prefix by itself, or not at all."""
    tokens: int
    cached_tokens: int
    """What of it the provider has cached, by our own count."""
    tiers: list[CacheTier] = field(factory=list)
    ttl: str = ""
    """Lifetime that breakpoints ask for; empty where there are none."""
    seconds_left: float = -1.0
    """Until what is cached expires; 0 if it has, -1 if it does not or nothing was sent."""
    decisions: list[CacheDecision] = field(factory=list)
    report: CacheReport | None = None
    """The newest request's outcome."""


@define
class StatsParams:
    """A session by id (the current one when empty), or all sessions of the workspace."""

    session_id: str = ""
    all: bool = False


@define
class TurnStatsParams:
    """Turns of a session (the current one when empty), or of all sessions, newest first."""

    session_id: str = ""
    all: bool = False
    limit: int = 20


@define
class CallStats:
    """One call of a tool."""

    tool: str
    status: str
    milliseconds: int
    characters: int
    """Of its whole result."""


@define
class TurnStats:
    """What a turn was given, did and came to."""

    session_id: str
    turn_id: str
    began: float
    """Seconds since the epoch."""
    seconds: float
    outcome: str
    """``ok``, ``interrupted`` or ``error``."""
    retrieval_set: str
    plans: list[str]
    """One plan per request."""
    input_tokens: int
    output_tokens: int
    read_tokens: int | None
    """None where the provider says nothing of its cache."""
    """From the provider's cache."""
    error_percent: float | None
    """How far the estimates were from what the provider reported; null if it reported nothing."""
    calls: list[CallStats]
    edits: list[str]
    """``path: state`` of every edit that was proposed."""
    cost: float = 0.0
    """US dollars, all requests together; 0 without known prices."""
    saved: float = 0.0
    """Against the same requests without any cache."""


@define
class TurnStatsResult:
    """Newest first."""

    turns: list[TurnStats]


@define
class KeepAliveStats:
    """What keep-alive requests did. Money in US dollars."""

    requests: int = 0
    read_tokens: int = 0
    cost: float = 0.0
    saved: float = 0.0
    """What writing the prefix anew would have cost more in pauses that they bridged."""
    enabled: bool = False
    decision: CacheDecision | None = None
    """The last decision of this run, with its numbers."""


@define
class SessionStats:
    """Sums over a session's requests. Tokens; money in US dollars by the model table's prices."""

    session_id: str
    title: str = ""
    requests: int = 0
    reported: int = 0
    """Requests for which the provider gave figures of its cache; rates are of these."""
    input_tokens: int = 0
    output_tokens: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    uncached_tokens: int = 0
    hit_rate: float = 0.0
    """Share of input that was read from the cache, 0 to 1, over reported requests."""
    cost: float = 0.0
    saved: float = 0.0
    """Against the same requests with no cache at all; keep-alive requests are subtracted."""
    priced: int = 0
    """Requests whose prices are known."""
    beside: int = 0
    """Requests of Tierline's own, such as summaries; their price is in ``cost``, nothing else."""
    causes: dict[str, int] = field(factory=dict)
    """Requests that did not read all that was cached, by reason code."""
    keep_alive: KeepAliveStats = field(factory=KeepAliveStats)


@define
class Stats:
    """Per session, the newest first, and in total."""

    sessions: list[SessionStats]
    total: SessionStats


@define
class RequestStatsParams:
    """The newest requests of a session (the current one when empty), at most ``limit``."""

    session_id: str = ""
    limit: int = 200


@define
class TierTokens:
    """How large one tier of a request was, by Tierline's own count. Sizes in tokens."""

    tier: str
    name: str
    tokens: int
    cached_tokens: int


@define
class RequestStats:
    """One request of a turn. Tokens, -1 where the provider reported none."""

    turn_id: str
    at: str
    """ISO 8601, UTC."""
    provider: str
    model: str
    outcome: CacheOutcome
    code: str
    """As in ``CacheReport``."""
    window_tokens: int
    """Most input that the model takes."""
    input_tokens: int
    output_tokens: int
    read_tokens: int = -1
    written_tokens: int = -1
    cost: float | None = None
    """US dollars; null without known prices."""
    saved: float | None = None
    """Against the same request with no cache."""
    tiers: list[TierTokens] = field(factory=list)
    """From the most stable to the least; empty for requests older than the newest 40."""


@define
class RequestStatsResult:
    """Oldest first."""

    session_id: str
    requests: list[RequestStats]
    left_out: int = 0
    """Older requests that the limit left out."""
