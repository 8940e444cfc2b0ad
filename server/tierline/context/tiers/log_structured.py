"""The policy ``log_structured``: a base that rarely changes and a log that only grows.

Like a log-structured merge tree. The base (tiers L0 to L3) holds a version of every document; the
conversation is the log. Bytes that were sent stay as they are: when a document changes, the
difference to the version that the model has is appended to the log, before the next prompt. From
time to time the base is consolidated: rewritten from some tier on with current versions, without
the updates that become needless. ``rewrites.py`` decides when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from tierline.context.items import Item, Section
from tierline.context.prompt import Ttl
from tierline.context.text import sha256
from tierline.context.tiers import updates
from tierline.context.tiers.base import (
    Arrangement,
    CacheState,
    ChangeEvidence,
    Decision,
    PlanParts,
    Pricing,
    RequestContext,
    Signals,
    advance,
    is_cold,
)
from tierline.context.tiers.document_updates import DocumentUpdates
from tierline.context.tiers.hazard import hazard, observe
from tierline.context.tiers.layout_options import LayoutInput, LayoutOption
from tierline.context.tiers.lifetime import choose_ttl, missed
from tierline.context.tiers.logstate import MAX_ENDS, LazyState, LogEnd, LogState, with_rents
from tierline.context.tiers.outdated import LIMIT
from tierline.context.tiers.rewrites import RewriteChoice, choose, deferred, rents

RULES_KEY = "system:updates"


def bytes_count(text: str) -> int:
    """Tokens by length alone: four bytes of UTF-8 each."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


@frozen
class LogStructuredPolicy:
    """The policy. ``count`` counts the tokens of an update's text; ``ttl`` is the user's setting
    (``auto``, ``5m``, ``1h``); ``limit`` is the share of a request that may be outdated when a turn
    begins (1: no limit).
    """

    count: Callable[[str], int] = bytes_count
    ttl: str = "auto"
    limit: float = LIMIT
    name: str = field(default="log_structured", init=False)

    def arrange(
        self, items: Sequence[Item], sent: CacheState, clock: RequestContext, prices: Pricing
    ) -> Arrangement:
        """Keep sent bytes, append new ones, consolidate where that pays."""
        parts = PlanParts.of(items)
        parts = evolve(parts, talk=(*parts.talk, *parts.tail), tail=())
        head = (_rules(self.count), *parts.head)
        digest = sha256("\0".join(item.text for item in head))
        state = LazyState.read(sent.state) if sent.policy == self.name else None
        if state is not None and sent.kept:
            state = state.used(sent.kept)
        cause = _cold_cause(sent, state, clock, prices, digest)
        evidence = observe(sent.hazards, sent.seen, parts.docs)
        request = LayoutInput(
            head=head,
            parts=parts,
            state=state or LogState(),
            number=sent.requests + 1,
            clock=clock,
            prices=prices,
            ttl=sent.ttl,
            hazards=_hazards(parts.docs, evidence, clock.signals),
            changes=self._updates(parts, state, sent, clock),
            limit=self.limit,
            goes_on=bool(clock.group_id) and clock.group_id == sent.group,
        )
        sent = _with_missed(sent, request, cause)
        ttl, decisions = self._lifetime(sent, request, cause)
        choice = choose(request, ttl, cause)
        decisions += [d for d in (choice.rewrite, *deferred(choice)) if d is not None]
        option = choice.option
        pieces, marks = request.pieces(option)
        return Arrangement(
            policy=self.name,
            pieces=tuple(pieces),
            marks=marks,
            ttl=ttl,
            next=advance(
                sent,
                clock,
                evolve(parts, talk=option.talk),
                self.name,
                ttl=ttl,
                hazards=evidence,
                state=_next_state(request, choice, digest),
            ),
            decisions=tuple(decisions),
            rewrite=choice.rewrite,
            changed=option.changed,
        )

    def purge(self, sent: CacheState, prefix: str) -> CacheState:  # noqa: ARG002
        """Do nothing: a rewritten conversation is recognised by its difference from the log."""
        return sent

    def _updates(
        self, parts: PlanParts, state: LogState | None, sent: CacheState, clock: RequestContext
    ) -> DocumentUpdates:
        return DocumentUpdates(
            docs=parts.docs,
            texts=state.texts if state is not None else {},
            edits=clock.edits,
            number=sent.requests + 1,
            count=self.count,
        )

    def _lifetime(
        self, sent: CacheState, request: LayoutInput, cold: str
    ) -> tuple[Ttl, list[Decision]]:
        """The lifetime: chosen when all is written anew, since cached entries keep theirs."""
        if not cold:
            return sent.ttl, []
        choice = choose_ttl(sent.missed, sent.size, request.prices, self.ttl)
        words = f"Cache entries are asked to live for {choice.ttl}."
        return choice.ttl, [Decision("ttl", words, choice.numbers)]


def _cold_cause(
    sent: CacheState, state: LogState | None, clock: RequestContext, prices: Pricing, head: str
) -> str:
    """Why nothing can be read from the cache; empty if something can."""
    cause = is_cold(sent, clock, prices)
    if cause == "first":
        return cause
    if state is None:
        return "policy"
    if sent.tools != clock.tools:
        return "tools"
    return "head" if state.head != head else cause


def _next_state(request: LayoutInput, choice: RewriteChoice, head: str) -> LazyState:
    option = choice.option
    state = LogState(
        base=option.base,
        log=option.log,
        ends=_ends(request, option),
        head=head,
        texts=request.texts(option),
    )
    return LazyState(with_rents(state, rents(choice.verdicts, option.cut)))


def _with_missed(sent: CacheState, request: LayoutInput, cold: str) -> CacheState:
    """The state with the size of this request, and what longer lifetimes would have saved by it."""
    items = (*request.head, *request.parts.docs, *request.parts.talk)
    total = sum(item.tokens for item in items)
    last = max(sent.at, sent.kept)
    gap = request.clock.now - last if cold in ("", "expired") else None
    return evolve(
        sent, size=total, missed=missed(sent.missed, sent.size, total, gap, request.prices)
    )


def _rules(count: Callable[[str], int]) -> Item:
    return Item.of_text(
        RULES_KEY, Section.SYSTEM, updates.RULES, count(updates.RULES), required=True
    )


def _hazards(
    docs: Iterable[Item], evidence: Mapping[str, ChangeEvidence], signals: Mapping[str, Signals]
) -> dict[str, float]:
    return {
        doc.key: hazard(evidence[doc.key], signals.get(doc.key, Signals()), doc.section)
        for doc in docs
    }


def _ends(request: LayoutInput, option: LayoutOption) -> tuple[LogEnd, ...]:
    """The ends of earlier requests whose bytes are all in this one, and this one's end. Ends at
    which this request has a breakpoint count as used now.
    """
    now = request.clock.now
    before = request.state.ends
    if before and not request.goes_on:
        before = (*before[:-1], evolve(before[-1], turn=True))
    place = request.checkpoint(option)
    ends = [
        evolve(
            end, at=now if end.length in (option.ended, place) else end.at, kept=end.length == place
        )
        for end in before
        if end.length <= option.kept
    ]
    ends.append(LogEnd(len(option.log), now, kept=len(option.log) == place))
    kept = [end for end in ends[:-MAX_ENDS] if end.kept]
    return (*kept, *ends[-MAX_ENDS:])
