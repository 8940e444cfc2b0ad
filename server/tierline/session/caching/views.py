"""Conversions between the cache service's results, the protocol's values and the stored rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import asdict

from tierline import protocol as p
from tierline.context.models import ModelFacts
from tierline.context.tiers.attribution import Attribution, label, title
from tierline.context.tiers.base import Arrangement, Decision
from tierline.context.tiers.bill import Bill
from tierline.context.tiers.shape import Shape
from tierline.context.tiers.tiermap import TierRow, rows_from_json
from tierline.context.tiers.toprows import with_known_tools
from tierline.store.usage import StoredRequest


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


def report_to_json(found: p.CacheReport) -> dict[str, Any]:
    """JSON values."""
    return asdict(found)


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
    rows = rows_from_json(items if isinstance(items, list) else ())
    return with_known_tools(rows, Shape.from_json(row.detail.get("shape")))


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
