"""The cache service: explains every request, shows the tiers, sums up what the cache saved."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from attrs import asdict, define, evolve, field, frozen

from tierline import protocol as p
from tierline.context.models import ModelFacts
from tierline.context.strict import strict
from tierline.context.tiers.attribution import Attribution, Cause, ReportedTokens, attribute
from tierline.context.tiers.base import Pricing, Tier
from tierline.context.tiers.outcome import Outcome
from tierline.context.tiers.request_cost import Forecast, bill, forecast, seen
from tierline.context.tiers.shape import Shape, lifetime, shape
from tierline.context.tiers.tiermap import TOOLS_KEY, TierRow, rows_to_json, tier_rows, with_top
from tierline.errors import TierlineError
from tierline.providers.base import (
    Provider,
    RequestAdapted,
    RetryScheduled,
    StreamEvent,
    TextChunk,
    Usage,
)
from tierline.session.caching import views
from tierline.session.caching.views import requests, stats
from tierline.session.conversation import Conversation
from tierline.session.counting import Counters
from tierline.session.models import ModelService
from tierline.session.requests.composer import ComposedRequest, Composer
from tierline.session.state.preferences import Preferences
from tierline.store.usage import KEEP_ALIVE, SpendingTotals, StoredRequest, UsageStore

log = logging.getLogger(__name__)

_LOOKED_UP = 100
"""Sessions whose titles are looked up one by one; for more, all are listed."""
MAX_SESSIONS = 4
"""Sessions whose newest request is kept in memory."""
MAX_REPORTS = 16


@frozen
class PreviousRequest:
    """The newest request of a session that the provider accepted."""

    shape: Shape | None = None
    items: tuple[dict[str, Any], ...] = ()
    """The request's tiers (``rows_to_json``)."""


@define(eq=False, repr=False, slots=False)
class CacheService:
    """One per session. Its records are on disk and outlive a restart."""

    _preferences: Preferences
    _conversation: Conversation
    _models: ModelService
    _counters: Counters
    _composer: Composer
    store: UsageStore
    on_sent: Callable[[ComposedRequest], None] = field(default=lambda _composed: None, init=False)
    """Called when the provider has begun to answer a request."""
    decision: p.CacheDecision | None = field(default=None, init=False)
    """The last decision of keep-alive, which sets it."""
    _before: dict[str, PreviousRequest] = field(factory=dict, init=False)
    _reports: dict[str, p.CacheReport] = field(factory=dict, init=False)
    _work: asyncio.Task[None] | None = field(default=None, init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)

    # --- for the turn ----------------------------------------------------------------------------

    async def watched(
        self, provider: Provider, composed: ComposedRequest, turn_id: str
    ) -> AsyncGenerator[StreamEvent, None]:
        """The events of a running request. However it ends, its cache outcome is recorded once the
        provider has begun to answer.
        """
        usage, said, known = Usage(), [], False
        try:
            async with aclosing(provider.stream(composed.request)) as events:
                async for event in events:
                    known = known or not isinstance(event, RetryScheduled | RequestAdapted)
                    if isinstance(event, Usage):
                        usage = event
                    elif isinstance(event, TextChunk):
                        said.append(event.text)
                    yield event
        finally:
            if known:
                self._answered(composed, provider, turn_id, usage, "".join(said))

    def _answered(
        self, composed: ComposedRequest, provider: Provider, turn_id: str, usage: Usage, reply: str
    ) -> None:
        """Record a request that was answered, wholly or in part. Returns at once;
        ``report`` waits.
        """
        self.on_sent(composed)
        session_id = self._conversation.session_id
        facts = self._models.facts()
        before_this = self._work

        async def work() -> None:
            if before_this is not None:
                await asyncio.gather(before_this, return_exceptions=True)
            while len(self._reports) > MAX_REPORTS:  # nobody asks for those of stopped turns
                self._reports.pop(next(iter(self._reports)))
            try:
                self._reports[turn_id] = await asyncio.to_thread(
                    self._record, composed, provider, facts, session_id, turn_id, usage, reply
                )
            except Exception:
                log.exception("The cache's outcome of turn %s could not be explained", turn_id)

        self._work = task = asyncio.ensure_future(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _recorded(self) -> None:
        """Wait until the newest answered request is recorded."""
        if self._work is not None:
            await asyncio.gather(self._work, return_exceptions=True)

    async def report(self, turn_id: str) -> p.CacheReport | None:
        """The cache report of the turn's newest request; None if no request was answered."""
        await self._recorded()
        return self._reports.pop(turn_id, None)

    async def forecast(self, composed: ComposedRequest) -> Forecast:
        """What a request that is ready to be sent will cost."""
        await self._recorded()
        session_id, facts = self._conversation.session_id, self._models.facts()

        def work() -> Forecast:
            before, now = self._shapes(composed, facts, session_id)
            return forecast(before, now, facts)

        return await asyncio.to_thread(work)

    def seconds_left(self) -> float:
        """Seconds until the newest request's cache entries expire; -1 if unknown. Blocking."""
        session_id = self._conversation.session_id
        sent = self._known(session_id).shape
        kept = sent.kept_alive(self.store.kept_alive(session_id)) if sent is not None else None
        return _seconds_left(kept, self._models.facts(), datetime.now(UTC).timestamp())

    async def spent(self, session_id: str, turn_id: str = "") -> SpendingTotals:
        """Tokens and cost of a session, or of one of its turns, so far."""
        await self._recorded()
        return await asyncio.to_thread(self.store.spent, session_id, turn_id)

    def _shapes(
        self, composed: ComposedRequest, facts: ModelFacts, session_id: str
    ) -> tuple[Shape | None, Shape]:
        """The shapes of the newest answered request and of the next one. Blocking."""
        prompt = strict(composed.prompt, strategy=self._models.strategy)
        at = composed.arrangement.next.at
        choice = self._models.choice()
        provider = choice.kind if choice is not None else "none"
        now = self._shape(evolve(composed, prompt=prompt), facts, provider, at)
        before = self._comparable(session_id, now)
        if before.shape is not None:
            # A restart of the embedded model is noticed only when it answers.
            now = evolve(now, instance=before.shape.instance)
        return before.shape, now

    def pinged(self, session_id: str, provider: str, usage: Usage, at: float) -> None:
        """Record a keep-alive request that was answered. Blocking."""
        before = self._known(session_id)
        if before.shape is None:
            return
        facts = self._models.facts()
        found = Attribution(
            Outcome.HIT if usage.cache_read_tokens else Outcome.MISS,
            Cause.NONE if usage.cache_read_tokens else Cause.EVICTED,
            "A keep-alive request.",
            input=usage.input_tokens or 0,
            output=usage.output_tokens or 0,
            read=usage.cache_read_tokens,
            written=usage.cache_write_tokens,
        )
        paid = bill(found, facts, before.shape.ttl, charged=usage.cost)
        row = StoredRequest.of(found, paid, session_id, "", at, provider, before.shape.model)
        self.store.add(evolve(row, kind=KEEP_ALIVE))
        self._remember(session_id, evolve(before, shape=before.shape.kept_alive(at)))

    def marked_tokens(self, session_id: str) -> int:
        """Tokens of the session's newest request up to its last breakpoint, by our own count."""
        sent = self._known(session_id).shape
        if sent is None:
            return 0
        end = max((n + 1 for n, part in enumerate(sent.parts) if part.mark), default=0)
        return sum(part.tokens for part in sent.parts[:end])

    async def close(self) -> None:
        """Finish and store reports that are still being made."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.store.close()

    # --- requests --------------------------------------------------------------------------------

    async def explain(self, params: p.CacheExplainParams) -> p.CacheExplainResult:
        """Why the newest request, or a turn's, did or did not hit the cache.

        Raises:
            TierlineError: ``not_found``: no request of that turn is recorded.
        """
        await self._recorded()
        session_id = self._conversation.session_id
        if params.turn_id:
            rows = await asyncio.to_thread(self.store.of_turn, params.turn_id)
            if not rows:
                raise TierlineError(
                    "not_found",
                    f"No request of turn {params.turn_id} is known.",
                    "Ask without a turn for the newest request.",
                )
        else:
            rows = await asyncio.to_thread(self.store.last, session_id)
        reports = [views.stored_report(row) for row in rows]
        lost = await asyncio.to_thread(self.store.last_lost, session_id)
        if not reports:
            return p.CacheExplainResult(
                sentence="Nothing has been sent in this session yet, so nothing is cached."
            )
        return p.CacheExplainResult(
            sentence=reports[-1].sentence,
            report=reports[-1],
            requests=reports,
            last_miss=views.stored_report(lost) if lost is not None else None,
        )

    async def tiers(self, params: p.CacheTiersParams) -> p.CacheTiers:
        """The tiers of the next request, or of the one that was sent last."""
        await self._recorded()
        session_id = self._conversation.session_id
        facts = self._models.facts()
        rows = await asyncio.to_thread(self.store.last, session_id)
        if params.which == "last":
            return self._last(rows[0] if rows else None, facts)
        composed = await self._composer.preview(everything=True)
        return await asyncio.to_thread(
            self._next, composed, facts, session_id, rows[0] if rows else None
        )

    async def stats(self, params: p.StatsParams) -> p.Stats:
        """Figures of a session or of all of them."""
        await self._recorded()
        current = self._conversation.session_id
        wanted = "" if params.all else params.session_id or current
        found = await asyncio.to_thread(self._stats, wanted)
        found.total.keep_alive.enabled = self._preferences.settings.cache.keep_alive
        for one in found.sessions:
            if one.session_id == current:
                one.keep_alive.enabled = self._preferences.settings.cache.keep_alive
                one.keep_alive.decision = self.decision
                found.total.keep_alive.decision = one.keep_alive.decision
        return found

    async def requests(self, params: p.RequestStatsParams) -> p.RequestStatsResult:
        """Figures of every request of a session, for charts."""
        await self._recorded()
        session_id = params.session_id or self._conversation.session_id
        table = self._counters.table

        def facts(name: str, kind: str) -> ModelFacts:
            return table.facts(name, provider=kind)

        return await asyncio.to_thread(requests, self.store, session_id, params.limit, facts)

    # --- the work, in a thread -------------------------------------------------------------------

    def _stats(self, session_id: str) -> p.Stats:
        history = self._conversation.store
        rows = self.store.all(session_id)
        names = {session_id} if session_id else {row.session_id for row in rows}
        if len(names) > _LOOKED_UP:
            listed = list(history.sessions().sessions)
        else:
            listed = [one for name in names if (one := history.session(name)) is not None]
        titles = {s.session_id: s.title or s.preview for s in listed}
        table = self._counters.table
        found = stats(rows, lambda name, kind: table.facts(name, provider=kind), titles)
        if session_id and not found.sessions:
            title = titles.get(session_id, "")
            found.sessions.append(p.SessionStats(session_id=session_id, title=title))
        return found

    def _record(
        self,
        composed: ComposedRequest,
        provider: Provider,
        facts: ModelFacts,
        session_id: str,
        turn_id: str,
        usage: Usage,
        reply: str,
    ) -> p.CacheReport:
        counter = self._counters.counter(facts)
        now = self._shape(composed, facts, provider.name, composed.arrangement.next.at)
        now = evolve(now, instance=str(getattr(provider, "instance", "")))
        before = self._comparable(session_id, now)
        figures = ReportedTokens(
            usage.input_tokens,
            usage.output_tokens or counter.count(reply),
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.written_1h,
            usage.missed,
            usage.missed_tokens,
        )
        found = attribute(before.shape, now, figures, facts)
        paid = bill(found, facts, now.ttl, charged=usage.cost)
        overlapping, _ = seen(before.shape, now, facts)
        items = rows_to_json(_rows(composed, now, overlapping.end, before.items))
        report = views.report(found, paid, now, composed.arrangement)
        report.turn_id, report.plan_id = turn_id, composed.plan.plan_id
        self._remember(session_id, PreviousRequest(now, tuple(items)))
        row = StoredRequest.of(found, paid, session_id, turn_id, now.at, now.provider, now.model)
        detail = {"report": asdict(report), "shape": now.to_json(), "items": items}
        self.store.add(evolve(row, plan_id=report.plan_id, detail=detail))
        return report

    def _shape(
        self, composed: ComposedRequest, facts: ModelFacts, provider: str, at: float
    ) -> Shape:
        counter = self._counters.counter(facts)
        arranged = composed.arrangement
        return shape(
            composed.prompt,
            counter.count,
            volatile={piece.key for piece in arranged.pieces if piece.tier is Tier.TAIL},
            provider=provider,
            policy=arranged.policy,
            at=at,
            ttl=arranged.ttl,
        )

    def _known(self, session_id: str) -> PreviousRequest:
        """The previous request, from memory or, after a restart, from disk."""
        found = self._before.get(session_id)
        if found is None:
            rows = self.store.last(session_id)
            detail = rows[0].detail if rows else {}
            known = Shape.from_json(detail.get("shape"))
            if known is not None:
                known = known.kept_alive(self.store.kept_alive(session_id))
            items = detail.get("items")
            found = PreviousRequest(known, tuple(items) if isinstance(items, list) else ())
            self._remember(session_id, found)
        return found

    def _comparable(self, session_id: str, now: Shape) -> PreviousRequest:
        """The previous request to the same model, because each model has its own cache; if there is
        none, the previous request.
        """
        newest = self._known(session_id)
        last = newest.shape
        if last is None or (last.provider, last.model) == (now.provider, now.model):
            return newest
        row = self.store.last_to(session_id, now.provider, now.model)
        own = Shape.from_json(row.detail.get("shape")) if row is not None else None
        if row is None or own is None:
            return newest
        items = row.detail.get("items")
        return PreviousRequest(own, tuple(items) if isinstance(items, list) else ())

    def _remember(self, session_id: str, found: PreviousRequest) -> None:
        """Keep a session's newest request in memory. It takes some KB for each of its messages, so
        only those of a few sessions are kept; others are read from disk.
        """
        self._before.pop(session_id, None)
        self._before[session_id] = found
        while len(self._before) > MAX_SESSIONS:
            self._before.pop(next(iter(self._before)), None)

    def _next(
        self,
        composed: ComposedRequest,
        facts: ModelFacts,
        session_id: str,
        newest: StoredRequest | None,
    ) -> p.CacheTiers:
        _, now = self._shapes(composed, facts, session_id)
        before = self._comparable(session_id, now)
        at = now.at
        overlapping, _ = seen(before.shape, now, facts)
        rows = _rows(composed, now, overlapping.end, before.items)
        found = views.tiers("next", rows, composed.arrangement.policy, now, facts)
        found.decisions = views.decisions(composed.arrangement.decisions)
        found.seconds_left = _seconds_left(before.shape, facts, at)
        found.report = views.stored_report(newest) if newest is not None else None
        return found

    def _last(self, newest: StoredRequest | None, facts: ModelFacts) -> p.CacheTiers:
        sent = Shape.from_json(newest.detail.get("shape")) if newest is not None else None
        if newest is None or sent is None:
            return views.tiers("last", (), self._preferences.settings.cache.policy, Shape(), facts)
        found = views.tiers("last", views.stored_rows(newest), sent.policy, sent, facts)
        found.report = views.stored_report(newest)
        found.decisions = list(found.report.decisions)
        kept = sent.kept_alive(self.store.kept_alive(newest.session_id))
        found.seconds_left = _seconds_left(kept, facts, datetime.now(UTC).timestamp())
        return found


def _rows(
    composed: ComposedRequest, sent: Shape, readable: int, before: tuple[dict[str, Any], ...]
) -> tuple[TierRow, ...]:
    """The rows of a whole request; they sum to the tokens of its plan, and so of the budget."""
    rows = tier_rows(composed.arrangement, sent, readable, before)
    plan = composed.plan
    tools = sum(entry.tokens for entry in plan.included if entry.key == TOOLS_KEY)
    return with_top(rows, sent, plan.tokens, tools, readable, before)


def _seconds_left(before: Shape | None, facts: ModelFacts, now: float) -> float:
    if before is None or facts.caching == "none" or facts.family == "local":
        return -1.0
    return round(max(lifetime(before, Pricing.of(facts)) - (now - before.at), 0.0), 1)
