"""The one place that decides to change bytes that were sent.

Between two rewrites, each request only appends to the last one. A rewrite loses the cache after the
first changed byte, and the thinking there, whose prefix is no longer sent. It saves reading dead
text at every later request: replaced updates, tool results that could be shorter, cards and memos
of earlier prompts. All reasons for a rewrite are weighed here (``cost.py`` has the rule).

There is a limit to outdated text, whatever a rewrite costs (``outdated.py``).

Some rewrites cannot be avoided: another model, other tools or instructions, a conversation that was
changed by undo, hiding or compaction, a request that would not fit. They are named as well. Within
a turn only these happen.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from tierline.context.prefix import continues, end_of
from tierline.context.prompt import Prompt, Ttl
from tierline.context.tiers.base import (
    BASE_TIERS,
    Arrangement,
    CacheState,
    Decision,
    PieceKind,
    Tier,
)
from tierline.context.tiers.cost import RentAccount, Verdict, weigh
from tierline.context.tiers.layout_options import (
    ALL,
    LayoutInput,
    LayoutOption,
    RewritePoint,
    thinking_tokens,
)

_OTHER_FRONT = frozenset({"first", "policy", "head", "tools"})
"""Causes that leave no common prefix: the first bytes differ."""
_CAUSES = {
    "first": "it is the first request",
    "policy": "another policy arranged it",
    "head": "the instructions changed",
    "tools": "the tools changed",
    "model": "another model is asked",
    "expired": "it has expired",
    "small": "the request was too small",
}
NAMES = frozenset({"cold", "consolidate", "history", "window", "form"})
"""Codes of the decisions that name a rewrite."""


@frozen
class RewriteChoice:
    """The way to send a request, and why."""

    option: LayoutOption
    verdicts: Mapping[RewritePoint, Verdict]
    """The verdict on each considered rewrite, with the accounts to keep."""
    cause: str
    """Code of why nothing can be read from the cache; empty if something can."""
    rewrite: Decision | None
    """The decision to change sent bytes; None if none change."""


def rents(
    verdicts: Mapping[RewritePoint, Verdict], bought: RewritePoint | None
) -> dict[str, float]:
    """The accounts to keep. A rewrite from a place on settles its own account; the text before that
    place is still carried, so accounts of earlier places keep the rest.
    """
    if bought is None:
        return {str(cut): verdict.account.rent for cut, verdict in verdicts.items()}
    paid = verdicts[bought].rent
    return {str(cut): max(v.rent - paid, 0.0) for cut, v in verdicts.items() if cut < bought}


def choose(request: LayoutInput, ttl: Ttl, cause: str) -> RewriteChoice:
    """The way to send a request. ``cause`` is a code of why nothing can be read, or empty."""
    if cause in _OTHER_FRONT or request.clock.forced:
        return _without_choice(request, cause)
    request = evolve(request, cold=bool(cause), other_model=cause == "model")
    keep = request.keep()
    if not cause and keep.layout.read < request.prices.minimum and not _thinking(request):
        cause, request = "small", evolve(request, cold=True)
        keep = request.keep()
    options = {cut: request.rewrite(cut) for cut in _cuts(request, keep)}
    verdicts = {
        cut: weigh(
            RentAccount(request.state.rents.get(str(cut), 0.0)),
            keep.layout,
            option.layout,
            request.prices,
            ttl,
            thinking=max(option.thinking - keep.thinking, 0),
            worth=max(option.worth - keep.worth, 0.0),
        )
        for cut, option in options.items()
    }
    if request.goes_on:
        verdicts = {cut: _deferred(verdict) for cut, verdict in verdicts.items()}
    chosen = _best(request, ttl, keep, options, verdicts)
    if not request.goes_on and request.too_much(chosen):
        chosen = _least(request, ttl, options) or chosen
        if chosen.cut is not None and not verdicts[chosen.cut].rewrite:
            of_cut = verdicts[chosen.cut]
            told = evolve(of_cut, rewrite=True, code="outdated")
            verdicts = {**verdicts, chosen.cut: told}
    rewrite = _named(request, keep, chosen, verdicts, cause)
    return RewriteChoice(chosen, verdicts, cause, rewrite)


def accounted(arranged: Arrangement, sent: CacheState, prompt: Prompt) -> Arrangement:
    """The arrangement of a prompt that is about to be sent, with its end. A change that no policy
    decided (pictures that leave, another order of tiers) is named here.
    """
    rewrite, decisions = arranged.rewrite, arranged.decisions
    if rewrite is None and sent.end is not None and not continues(prompt, sent.end):
        words = "Something that was sent before is sent in another form or at another place."
        rewrite = Decision("form", words)
        decisions = (rewrite, *decisions)
    following = evolve(arranged.next, end=end_of(prompt))
    return evolve(arranged, next=following, rewrite=rewrite, decisions=decisions)


def _without_choice(request: LayoutInput, cause: str) -> RewriteChoice:
    option = request.rewrite(ALL)
    code = "window" if request.clock.forced else "cold"
    verdicts = {
        ALL: Verdict(True, "forced" if request.clock.forced else "cold", 0, 0, RentAccount())
    }
    rewrite = None if cause == "first" else _decision(ALL, verdicts[ALL], cause, code)
    if rewrite is not None:
        rewrite = _with_losses(rewrite, 0 if cause else request.keep().layout.read, option.thinking)
    return RewriteChoice(option, verdicts, cause, rewrite)


def _best(
    request: LayoutInput,
    ttl: Ttl,
    keep: LayoutOption,
    options: Mapping[RewritePoint, LayoutOption],
    verdicts: Mapping[RewritePoint, Verdict],
) -> LayoutOption:
    """The best rewrite: a free one first, else the one with the highest rent over price."""

    def cost(option: LayoutOption) -> tuple[float, int]:
        thinking = max(option.worth - keep.worth, 0.0) * request.prices.thinking
        return option.layout.cost(request.prices, ttl) + thinking, option.layout.total

    free = [cut for cut, v in verdicts.items() if v.code == "free"]
    best = min(free, key=lambda cut: cost(options[cut]), default=None)
    if best is not None and (cost(options[best]) < cost(keep) or (request.cold and best == ALL)):
        return options[best]
    due = [cut for cut, v in verdicts.items() if v.code == "due"]
    if due:
        return options[max(due, key=lambda cut: (verdicts[cut].ratio, cut))]
    return keep


def _least(
    request: LayoutInput, ttl: Ttl, options: Mapping[RewritePoint, LayoutOption]
) -> LayoutOption | None:
    """The cheapest rewrite without half of the outdated text, so that the next is not due soon."""
    clean = [option for option in options.values() if not request.too_much(option, 0.5)]
    worth = request.prices.thinking
    return min(
        clean, key=lambda option: option.layout.cost(request.prices, ttl) + option.worth * worth,
        default=None,
    )  # fmt: skip


def _deferred(verdict: Verdict) -> Verdict:
    """The verdict changed to wait: the rent is paid on."""
    return evolve(verdict, rewrite=False, code="wait", account=RentAccount(verdict.rent))


def _cuts(request: LayoutInput, keep: LayoutOption) -> tuple[RewritePoint, ...]:
    """Places where a rewrite may begin. With explicit breakpoints only a prefix that ends at one
    can still be read; with automatic caching any place will do. In the log: the ends of turns and
    of the newest rewrite.
    """
    filled = {based.tier for based in request.state.base}
    inner = (Tier.L1,) if request.prices.explicit else BASE_TIERS[1:]
    tiers = [
        ALL,
        *(RewritePoint(t) for t in inner if any(f >= t for f in filled)),
        RewritePoint(Tier.LOG),
    ]
    dead = _dead(request)
    ends = (end.length for end in request.state.ends if end.turn or end.kept)
    inside = dict.fromkeys(n for n in ends if 0 < n < keep.kept and n <= dead)
    return (*tiers, *(RewritePoint(Tier.LOG, n) for n in inside))


def _dead(request: LayoutInput) -> int:
    """Index of the last entry of the log that a rewrite would change."""
    last = max((place for place, _ in request.state.updates), default=-1)
    anew = request.clock.anew
    if anew:
        said = (n for n, entry in enumerate(request.state.log) if entry.kind is PieceKind.ITEM)
        for place, item in zip(said, request.parts.talk, strict=False):
            if item.key in anew:
                last = max(last, place)
    return last


def _thinking(request: LayoutInput) -> int:
    """Tokens of thinking that a rewrite of everything would lose."""
    return sum(thinking_tokens(item, request.changes.count) for item in request.parts.talk)


def _named(
    request: LayoutInput,
    keep: LayoutOption,
    chosen: LayoutOption,
    verdicts: Mapping[RewritePoint, Verdict],
    cause: str,
) -> Decision | None:
    lost = max(keep.layout.read - chosen.layout.read, 0)
    if chosen.cut is not None:
        verdict = verdicts[chosen.cut]
        code = "cold" if cause and chosen.cut == ALL else "consolidate"
        return _with_losses(_decision(chosen.cut, verdict, cause, code), lost, chosen.thinking)
    if chosen.kept < len(request.state.log):
        words = (
            "The conversation is no longer what was sent (undo, hiding, compaction, another "
            "branch): it is written anew from there."
        )
        if request.other_model:
            words = "Another model is asked: it is not sent the thinking of the one before."
        return _with_losses(Decision("history", words), 0, chosen.thinking)
    return None


def _with_losses(decision: Decision, cached: int, thinking: int) -> Decision:
    numbers = {**decision.numbers, "cached": float(cached), "thinking": float(thinking)}
    return evolve(decision, numbers=numbers)


def _decision(cut: RewritePoint, verdict: Verdict, cause: str, code: str) -> Decision:
    numbers = {"rent": verdict.rent, "price": verdict.price}
    where = "the log" if cut.tier is Tier.LOG else f"everything from tier {cut.tier} on"
    if cut.place:
        where = "the log's end"
    if code == "window":
        return Decision(code, f"The request did not fit: {where} was written anew.", numbers)
    if code == "cold":
        why = _CAUSES.get(cause, cause)
        return Decision(code, f"Nothing was cached ({why}): {where} was written anew.", numbers)
    if verdict.code == "outdated":
        words = f"Too much of the request was outdated text: {where} was written anew."
        return Decision(code, words, numbers)
    if verdict.rewrite:
        return Decision(code, f"Rewriting {where} pays now ({verdict.code}).", numbers)
    return Decision("defer", f"Rewriting {where} does not pay yet.", numbers)


def deferred(choice: RewriteChoice) -> list[Decision]:
    """The decisions to postpone rewrites, with the figures."""
    return [
        _decision(cut, verdict, choice.cause, "consolidate")
        for cut, verdict in choice.verdicts.items()
        if cut != choice.option.cut and not cut.place and not verdict.rewrite
    ]
