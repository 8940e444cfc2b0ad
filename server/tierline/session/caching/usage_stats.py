"""Sums over stored requests: what was read from the cache and what that saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tierline import protocol as p
from tierline.context.models import ModelFacts
from tierline.context.tiers.base import LIFETIMES
from tierline.session.caching.views import known_or, stored_rows, time
from tierline.store.usage import BESIDE, KEEP_ALIVE, StoredRequest, UsageStore

FactsLookup = Callable[[str, str], ModelFacts]
"""Facts of a model by its name and provider."""
_LOST = ("miss", "partial")


def stats(
    requests: Iterable[StoredRequest], facts: FactsLookup, titles: Mapping[str, str] | None = None
) -> p.Stats:
    """Sums per session, the one used last first, and over all. ``requests`` oldest first."""
    by_session: dict[str, list[StoredRequest]] = {}
    for request in requests:
        by_session.setdefault(request.session_id, []).append(request)
    order = sorted(by_session, key=lambda session: -by_session[session][-1].seq)
    sessions = [_session(name, by_session[name], facts, titles or {}) for name in order]
    return p.Stats(sessions=sessions, total=_total(sessions))


def _session(
    session_id: str, requests: list[StoredRequest], facts: FactsLookup, titles: Mapping[str, str]
) -> p.SessionStats:
    found = p.SessionStats(session_id=session_id, title=titles.get(session_id, ""))
    before: StoredRequest | None = None
    pings = 0
    for request in requests:
        found.cost += request.cost or 0.0
        if request.kind == BESIDE:
            found.beside += 1
            continue
        if request.kind == KEEP_ALIVE:
            pings += 1
            _add_ping(found, request)
            continue
        _add(found, request)
        if pings and before is not None and (request.read or 0) > 0:
            found.keep_alive.saved += _averted(before, request, facts)
        before, pings = request, 0
    _rate(found)
    return found


def _add(found: p.SessionStats, request: StoredRequest) -> None:
    found.requests += 1
    found.input_tokens += request.input
    found.output_tokens += request.output
    if request.read is not None:
        found.reported += 1
        found.read_tokens += request.read
        found.written_tokens += request.written or 0
        found.uncached_tokens += max(request.input - request.read - (request.written or 0), 0)
    if request.cost is not None and request.uncached_cost is not None:
        found.priced += 1
        found.saved += request.uncached_cost - request.cost
    if request.outcome in _LOST:
        found.causes[request.cause] = found.causes.get(request.cause, 0) + 1


def _add_ping(found: p.SessionStats, request: StoredRequest) -> None:
    found.keep_alive.requests += 1
    found.keep_alive.read_tokens += request.read or 0
    found.keep_alive.cost += request.cost or 0.0
    found.saved -= request.cost or 0.0


def _averted(before: StoredRequest, request: StoredRequest, facts: FactsLookup) -> float:
    """The cost of a pause that keep-alive averted, if it outlasted the cache's shortest
    lifetime.
    """
    if request.at - before.at <= LIFETIMES["5m"]:
        return 0.0
    prices = facts(request.model, request.provider).prices_for(request.input)
    # The shorter lifetime has the lower price, so the saving is rather under- than overestimated.
    return (request.read or 0) * max(prices.write_5m - prices.read, 0.0) / 1_000_000


def _rate(found: p.SessionStats) -> None:
    known = found.read_tokens + found.written_tokens + found.uncached_tokens
    found.hit_rate = round(found.read_tokens / known, 4) if known else 0.0


def _total(sessions: Iterable[p.SessionStats]) -> p.SessionStats:
    total = p.SessionStats(session_id="")
    for one in sessions:
        for name in (
            "requests", "reported", "input_tokens", "output_tokens", "read_tokens",
            "written_tokens", "uncached_tokens", "cost", "saved", "priced", "beside",
        ):  # fmt: skip
            setattr(total, name, getattr(total, name) + getattr(one, name))
        for name in ("requests", "read_tokens", "cost", "saved"):
            sum_of = getattr(total.keep_alive, name) + getattr(one.keep_alive, name)
            setattr(total.keep_alive, name, sum_of)
        for cause, count in one.causes.items():
            total.causes[cause] = total.causes.get(cause, 0) + count
    _rate(total)
    return total


MAX_REQUESTS = 2_000


def requests(
    store: UsageStore, session_id: str, limit: int, facts: FactsLookup
) -> p.RequestStatsResult:
    """The newest requests of a session that turns made, oldest first. Blocking."""
    wanted = min(max(limit, 1), MAX_REQUESTS)
    found = store.last(session_id, wanted)[::-1]
    return p.RequestStatsResult(
        session_id=session_id,
        requests=[_request(one, facts) for one in found],
        left_out=max(store.count(session_id) - len(found), 0),
    )


def _request(one: StoredRequest, facts: FactsLookup) -> p.RequestStats:
    priced = one.cost is not None and one.uncached_cost is not None
    return p.RequestStats(
        turn_id=one.turn_id,
        at=time(one.at),
        provider=one.provider,
        model=one.model,
        outcome=p.known(p.CacheOutcome, one.outcome, p.CacheOutcome.UNKNOWN),
        code=one.cause,
        window_tokens=facts(one.model, one.provider).max_input_tokens,
        input_tokens=one.input,
        output_tokens=one.output,
        read_tokens=known_or(one.read),
        written_tokens=known_or(one.written),
        cost=one.cost,
        saved=(one.uncached_cost or 0.0) - (one.cost or 0.0) if priced else None,
        tiers=[
            p.TierTokens(row.tier, row.name, row.tokens, row.cached) for row in stored_rows(one)
        ],
    )
