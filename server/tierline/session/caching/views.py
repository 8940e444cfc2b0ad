"""The cache service's results and stored rows as the protocol's values, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tierline import protocol as p
from tierline.context.models import ModelFacts
from tierline.context.tiers.attribution import Attribution, label, title
from tierline.context.tiers.base import LIFETIMES, Arrangement, Decision
from tierline.context.tiers.request_cost import Bill
from tierline.context.tiers.shape import Shape
from tierline.context.tiers.tiermap import TierRow, rows_from_json
from tierline.store.usage import BESIDE, KEEP_ALIVE, StoredRequest, UsageStore


def report(found: Attribution, paid: Bill, sent: Shape, arranged: Arrangement) -> p.CacheReport:
    """The report on a request, for clients."""
    return p.CacheReport(
        outcome=found.outcome,
        code=str(found.cause),
        sentence=found.sentence,
        at=time(sent.at),
        provider=sent.provider,
        model=sent.model,
        policy=sent.policy,
        item=found.item,
        item_label=label(found.item) if found.item else "",
        input_tokens=found.input,
        output_tokens=found.output,
        read_tokens=known_or(found.read),
        written_tokens=known_or(found.written),
        uncached_tokens=known_or(found.uncached),
        offered_tokens=found.offered,
        readable_tokens=found.readable,
        idle_seconds=round(found.idle, 1),
        cost=paid.cost,
        saved=paid.saved,
        decisions=decisions(arranged.decisions),
    )


def time(at: float) -> str:
    """ISO 8601, UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def known_or(value: int | None) -> int:
    """The value, or -1 if the provider did not report it."""
    return -1 if value is None else value


def decisions(found: Sequence[Decision]) -> list[p.CacheDecision]:
    """A policy's decisions, for clients."""
    return [
        p.CacheDecision(d.code, d.sentence, {k: _finite(v) for k, v in d.numbers.items()})
        for d in found
    ]


def _finite(value: float) -> float:
    """The value, with infinities made finite, which JSON lacks."""
    return min(max(float(value), -1e15), 1e15)


def stored_report(row: StoredRequest) -> p.CacheReport:
    """The stored explanation; for an old request only its figures."""
    try:
        kept = dict(row.detail["report"])
        kept["outcome"] = p.CacheOutcome(kept["outcome"])
        kept["decisions"] = [p.CacheDecision(**decision) for decision in kept["decisions"]]
        return p.CacheReport(**kept)
    except (KeyError, TypeError, ValueError):
        return p.CacheReport(
            outcome=p.known(p.CacheOutcome, row.outcome, p.CacheOutcome.UNKNOWN),
            code=row.cause,
            sentence="The explanation of this old request is no longer kept.",
            turn_id=row.turn_id,
            plan_id=row.plan_id,
            at=time(row.at),
            provider=row.provider,
            model=row.model,
            input_tokens=row.input,
            output_tokens=row.output,
            read_tokens=known_or(row.read),
            written_tokens=known_or(row.written),
        )


def stored_rows(row: StoredRequest) -> tuple[TierRow, ...]:
    """The tiers of a request as they were stored."""
    items = row.detail.get("items")
    return rows_from_json(items if isinstance(items, list) else ())


def tiers(
    which: Any, rows: tuple[TierRow, ...], policy: str, sent: Shape, facts: ModelFacts
) -> p.CacheTiers:
    """A request's tiers for a viewer."""
    shown = [
        p.CacheTier(
            tier=one.tier,
            name=one.name,
            tokens=one.tokens,
            cached_tokens=one.cached,
            stale_tokens=one.stale,
            delta_tokens=one.delta,
            items=[
                p.CacheItem(
                    key=item.key,
                    label=title(item.key),
                    section=item.section,
                    kind=item.kind,  # type: ignore[arg-type]
                    tokens=item.tokens,
                    path=item.path,
                    age=item.streak or item.age,
                    hazard=item.hazard,
                    stale=item.stale,
                    cached=item.cached,
                    marked=item.marked,
                    change=item.change,  # type: ignore[arg-type]
                )
                for item in one.items
            ],
        )
        for one in rows
    ]
    return p.CacheTiers(
        which=which,
        policy=policy,
        provider=sent.provider,
        model=sent.model or facts.name,
        caching=facts.caching,
        tokens=sum(tier.tokens for tier in shown),
        cached_tokens=sum(tier.cached_tokens for tier in shown),
        tiers=shown,
        ttl=sent.ttl if facts.explicit_markers else "",
    )


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
