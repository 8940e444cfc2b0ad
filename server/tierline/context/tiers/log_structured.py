"""The policy ``log_structured``: a base that rarely changes and a log that only grows.

Like a log-structured merge tree. The base (tiers L0 to L3) holds a version of every document; the
conversation is the log. Bytes that were sent stay as they are: when a document changes, its change
is appended to the log, before the next prompt, as a difference to what the model has. From time to
time the base is consolidated: rewritten from some tier on with current versions, without the
updates that this makes needless. That is done when it costs nothing, because the cache is cold or
what lies behind is new anyway, or when carrying the overhead has cost as much (``cost.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from tierline.context.items import Item, Section
from tierline.context.prompt import Ttl
from tierline.context.text import sha256
from tierline.context.tiers import updates
from tierline.context.tiers.base import (
    BASE_TIERS,
    Arrangement,
    Decision,
    Evidence,
    Moment,
    Parts,
    Sent,
    Signals,
    Tariff,
    Tier,
    advance,
    is_cold,
)
from tierline.context.tiers.changes import Changes
from tierline.context.tiers.cost import Account, Verdict, weigh
from tierline.context.tiers.hazard import hazard, observe
from tierline.context.tiers.lifetime import choose_ttl
from tierline.context.tiers.logstate import MAX_ENDS, End, Kept, LogState, with_rents
from tierline.context.tiers.ways import Request, Way

RULES_KEY = "system:updates"


def bytes_count(text: str) -> int:
    """Tokens by length alone: four bytes of UTF-8 each."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


@frozen
class LogStructured:
    """The policy. ``count`` gives the tokens of an update's words; ``ttl`` is the user's setting
    (``auto``, ``5m``, ``1h``).
    """

    count: Callable[[str], int] = bytes_count
    ttl: str = "auto"
    name: str = field(default="log_structured", init=False)

    def arrange(
        self, items: Sequence[Item], sent: Sent, clock: Moment, prices: Tariff
    ) -> Arrangement:
        """Keep what was sent, append what is new, consolidate where that pays."""
        parts = Parts.of(items)
        head = (_rules(self.count), *parts.head)
        digest = sha256("\0".join(item.text for item in head))
        state = Kept.read(sent.state) if sent.policy == self.name else None
        if state is not None and sent.kept:
            state = state.used(sent.kept)
        cold = is_cold(sent, clock, prices)
        if not cold and state is None:
            cold = "policy"
        if not cold and state is not None and state.head != digest:
            cold = "head"
        evidence = observe(sent.hazards, sent.seen, parts.docs)
        request = Request(
            head=head,
            parts=parts,
            state=state or LogState(),
            number=sent.requests + 1,
            clock=clock,
            prices=prices,
            ttl=sent.ttl,
            hazards=_hazards(parts.docs, evidence, clock.signals),
            changes=Changes(
                docs=parts.docs,
                talk=parts.talk,
                texts=state.texts if state is not None else {},
                edits=clock.edits,
                number=sent.requests + 1,
                count=self.count,
            ),
        )
        ttl, decisions = self._lifetime(sent, request, cold)
        way, verdicts = _choose(request, ttl, cold)
        decisions += [_decision(tier, verdict, cold) for tier, verdict in verdicts.items()]
        pieces, marks = request.pieces(way)
        rents = _rents(verdicts, way.tier, cold)
        next_state = LogState(
            base=way.base,
            log=way.log,
            ends=_ends(request, way),
            head=digest,
            texts=request.texts(way),
        )
        return Arrangement(
            policy=self.name,
            pieces=tuple(pieces),
            marks=marks,
            ttl=ttl,
            next=advance(
                sent,
                clock,
                parts,
                self.name,
                ttl=ttl,
                hazards=evidence,
                state=Kept(with_rents(next_state, rents)),
            ),
            decisions=tuple(decisions),
        )

    def purge(self, sent: Sent, prefix: str) -> Sent:  # noqa: ARG002
        """Nothing to do: a conversation that was rewritten differs from the log by itself."""
        return sent

    def _lifetime(self, sent: Sent, request: Request, cold: str) -> tuple[Ttl, list[Decision]]:
        """A lifetime is chosen when everything is written anew: what is cached keeps its own."""
        if not cold:
            return sent.ttl, []
        gaps = [*sent.gaps, request.clock.now - sent.at] if sent.at else list(sent.gaps)
        talk = request.parts.talk
        total = sum(item.tokens for item in (*request.head, *request.parts.docs, *talk))
        growth = 2 * sum(item.tokens for item in talk) // max(len(talk), 1)
        choice = choose_ttl(gaps, total, growth, request.prices, self.ttl)
        words = f"Cache entries are asked to live for {choice.ttl}."
        return choice.ttl, [Decision("ttl", words, choice.numbers)]


def _rules(count: Callable[[str], int]) -> Item:
    return Item.of_text(
        RULES_KEY,
        Section.SYSTEM,
        updates.RULES,
        count(updates.RULES),
        required=True,
    )


def _hazards(
    docs: Iterable[Item], evidence: Mapping[str, Evidence], signals: Mapping[str, Signals]
) -> dict[str, float]:
    return {
        doc.key: hazard(evidence[doc.key], signals.get(doc.key, Signals()), doc.section)
        for doc in docs
    }


def _ends(request: Request, way: Way) -> tuple[End, ...]:
    """Where requests ended whose bytes are all in this one, and this one's end. The entry that this
    request reads is used again by it.
    """
    now = request.clock.now
    ends = [
        evolve(end, at=now) if end.length == way.ended else end
        for end in request.state.ends
        if end.length <= way.kept
    ]
    return (*ends, End(len(way.log), now))[-MAX_ENDS:]


def _choose(request: Request, ttl: Ttl, cold: str) -> tuple[Way, dict[Tier, Verdict]]:
    """The way to send the request, and what was considered."""
    prices = request.prices
    keep = None if cold else request.keep()
    if keep is None or keep.layout.read < prices.minimum:
        return request.rewrite(Tier.L0), {Tier.L0: Verdict(True, "cold", 0.0, 0.0, Account())}
    ways = {tier: request.rewrite(tier) for tier in _boundaries(request.state, prices)}
    verdicts = {
        tier: weigh(
            Account(request.state.rents.get(str(tier), 0.0)), keep.layout, way.layout, prices, ttl
        )
        for tier, way in ways.items()
    }
    sizes = {t: (w.layout.cost(prices, ttl), w.layout.total) for t, w in ways.items()}
    free = [t for t, v in verdicts.items() if v.code == "free"]
    best = min(free, key=lambda t: sizes[t], default=None)
    if best and sizes[best] < (keep.layout.cost(prices, ttl), keep.layout.total):
        return ways[best], verdicts
    due = [t for t, v in verdicts.items() if v.code == "due"]
    if due:
        return ways[max(due, key=lambda t: (verdicts[t].ratio, t))], verdicts
    return keep, verdicts


def _rents(verdicts: Mapping[Tier, Verdict], bought: Tier | None, cold: str) -> dict[str, float]:
    """The accounts to keep. Rewriting from a tier on settles what its own account holds; before
    that tier everything is still carried, and the rest of those accounts stays.
    """
    if cold:
        return {}
    if bought is None:
        return {str(tier): verdict.account.rent for tier, verdict in verdicts.items()}
    paid = verdicts[bought].rent
    return {str(t): max(v.rent - paid, 0.0) for t, v in verdicts.items() if t < bought}


def _boundaries(state: LogState, prices: Tariff) -> tuple[Tier, ...]:
    """Where rewriting may begin. With breakpoints only what a breakpoint stands behind can still be
    read; with automatic caching any place will do.
    """
    filled = {b.tier for b in state.base}
    inner = (Tier.L1,) if prices.explicit else BASE_TIERS[1:]
    return (Tier.L0, *(t for t in inner if any(f >= t for f in filled)), Tier.LOG)


def _decision(tier: Tier, verdict: Verdict, cold: str) -> Decision:
    numbers = {"rent": verdict.rent, "price": verdict.price}
    where = "the log" if tier is Tier.LOG else f"everything from tier {tier} on"
    if verdict.code == "cold":
        why = cold or "the request was too small"
        return Decision("cold", f"Nothing was cached ({why}): {where} was written anew.", numbers)
    if verdict.rewrite:
        return Decision("consolidate", f"Rewriting {where} pays now ({verdict.code}).", numbers)
    return Decision("defer", f"Rewriting {where} does not pay yet.", numbers)
