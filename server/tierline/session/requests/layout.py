"""From candidates to one request that fits: its items, their order, their exact form.

The tokens of the form (roles, headings, updates in the log, additions of the strict form) are known
only once it is made, and the plan depends on them. So plan and form are made alternately until they
agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import evolve, frozen

from tierline.context.assemble import assemble
from tierline.context.counting import REQUEST_OVERHEAD, TokenCounter
from tierline.context.enforce import FixedPartTooLarge, PlanCode
from tierline.context.images import limit_images
from tierline.context.items import Item
from tierline.context.plan import FRAME_KEY, ContextPlan, plan
from tierline.context.prompt import Prompt
from tierline.context.strict import strict
from tierline.context.thinking import keep_valid
from tierline.context.tiers.base import Arrangement, CacheState, PieceKind, Pricing, RequestContext
from tierline.context.tiers.rewrites import accounted
from tierline.session.requests.candidates import Candidates, RequestSnapshot, signals_of
from tierline.session.requests.tiering import policy
from tierline.session.tools.toolbox import tools_hash

_FOR_ROOM = frozenset(
    {PlanCode.SHED, PlanCode.TOO_LARGE, PlanCode.LOW_PRIORITY, PlanCode.TRUNCATED}
)
"""Codes of items that leave for lack of room."""


@frozen
class Layout:
    """A request in neutral form. ``plan.tokens`` is at least the tokens of ``prompt``."""

    plan: ContextPlan
    prompt: Prompt
    arrangement: Arrangement
    notices: tuple[str, ...]
    """Notices for the user."""


@frozen
class _Form:
    items: tuple[Item, ...]
    """The included items, in the form in which they are sent."""
    arrangement: Arrangement
    prompt: Prompt
    frame: int
    """Tokens of the form beside the items."""
    notices: tuple[str, ...]


def lay_out(found: Candidates, snapshot: RequestSnapshot, counter: TokenCounter) -> Layout:
    """The request made of these candidates.

    If it does not fit as a continuation of sent bytes, everything is first written anew, without
    outdated text; only then are items left out.

    Raises:
        FixedPartTooLarge: what cannot be left out does not fit into the window.
    """
    made = None
    if snapshot.sent.at and not snapshot.after_overflow:
        made = _continued(found, snapshot, counter)
    return made or _anew(found, snapshot, counter)


def _continued(
    found: Candidates, snapshot: RequestSnapshot, counter: TokenCounter
) -> Layout | None:
    """The request as a continuation of sent bytes; None if a sent item would have to leave."""
    try:
        decided = _plan(found.items, snapshot, REQUEST_OVERHEAD)
        if _pressed(decided, snapshot.sent):
            return None
        form = _form(decided.select(found.items), decided.tokens, snapshot, counter, found)
        exact = _plan(form.items, snapshot, form.frame)
    except FixedPartTooLarge:
        return None
    if _keys(exact) != [item.key for item in form.items]:
        return None
    return _layout(_with_figures(decided, exact), form)


def _anew(found: Candidates, snapshot: RequestSnapshot, counter: TokenCounter) -> Layout:
    """The request with everything written anew, as small as possible."""
    candidates, frame = found.rewritten(), REQUEST_OVERHEAD
    while True:
        decided = _plan(candidates, snapshot, frame)
        form = _form(decided.select(candidates), decided.tokens, snapshot, counter)
        if form.frame <= frame:
            exact = _plan(form.items, snapshot, form.frame)
            return _layout(_with_figures(decided, exact), form)
        exact = _plan(candidates, snapshot, form.frame)
        if _keys(exact) == _keys(decided):
            return _layout(exact, form)
        frame = form.frame


def _pressed(decided: ContextPlan, sent: CacheState) -> bool:
    """True if a sent item leaves because there is no room."""
    return any(
        entry.code in _FOR_ROOM and (entry.key in sent.seen or entry.key in sent.talk)
        for entry in decided.excluded
    )


def _keys(made: ContextPlan) -> list[str]:
    return [entry.key for entry in made.included if entry.key != FRAME_KEY]


def _layout(decided: ContextPlan, form: _Form) -> Layout:
    return Layout(
        plan=decided.with_tiers(form.arrangement.tiers()),
        prompt=evolve(form.prompt, max_output_tokens=max(1, decided.max_output_tokens)),
        arrangement=form.arrangement,
        notices=(*decided.notices, *form.notices),
    )


def _with_figures(decided: ContextPlan, exact: ContextPlan) -> ContextPlan:
    """The plan with the exact figures of its form."""
    return evolve(
        decided,
        included=exact.included,
        tokens=exact.tokens,
        estimate=exact.estimate,
        max_output_tokens=exact.max_output_tokens,
    )


def _plan(candidates: Sequence[Item], snapshot: RequestSnapshot, frame: int) -> ContextPlan:
    return plan(
        candidates,
        snapshot.limits,
        model=snapshot.facts.name,
        mode=snapshot.mode,
        absent=(*snapshot.absent, *snapshot.automatic.absent),
        frame_tokens=frame,
        compaction_failed=snapshot.after_overflow or snapshot.compaction_failed,
        branch=snapshot.branch,
        group_id=snapshot.group_id,
        retrieval_set=snapshot.automatic.set_id,
    )


def _form(
    items: Sequence[Item],
    tokens: int,
    snapshot: RequestSnapshot,
    counter: TokenCounter,
    found: Candidates | None = None,
) -> _Form:
    """The arrangement and the prompt: as a continuation of sent bytes if ``found`` is given (it has
    the rewritten items), else with everything written anew.
    """
    sent = snapshot.sent
    arranged = policy(snapshot.cache, counter.count).arrange(
        items,
        sent,
        RequestContext(
            now=snapshot.now,
            model=snapshot.facts.name,
            group_id=snapshot.group_id,
            signals=signals_of(snapshot),
            tools=tools_hash(snapshot.tools),
            tool_tokens=sum(map(counter.count, snapshot.tools)),
            edits=snapshot.edits,
            anew=found.anew if found is not None else {},
            forced=found is None and bool(sent.at),
        ),
        Pricing.of(snapshot.facts, min_tokens=snapshot.cache.min_tokens, input_tokens=tokens),
    )
    prompt = assemble(
        arranged,
        facts=snapshot.facts,
        tools=snapshot.tools,
        count=counter.count,
        cache_key=snapshot.session_id,
    )
    messages, notices = limit_images(prompt.messages, sees=snapshot.facts.sees_images)
    prompt = evolve(prompt, messages=messages)
    if snapshot.group_id:
        prompt, _lost = keep_valid(
            strict(prompt, strategy=snapshot.strategy), snapshot.maker, snapshot.refused
        )
    sizes = _in_calls(arranged)
    used = tuple(
        evolve(one, tokens=sizes[i.key]) if i.key in sizes else one
        for i in items
        if (one := arranged.changed.get(i.key, i)) is not None
    )
    frame = counter.count(prompt) - sum(item.tokens for item in used)
    return _Form(used, accounted(arranged, sent, prompt), prompt, max(frame, 1), tuple(notices))


def _in_calls(arranged: Arrangement) -> dict[str, int]:
    """Files whose text stands in the model's own calls alone: by key, the tokens of what is said of
    them.
    """
    first: dict[str, PieceKind] = {}
    tokens: Counter[str] = Counter()
    for piece in arranged.pieces:
        first.setdefault(piece.key, piece.kind)
        tokens[piece.key] += piece.tokens
    return {key: tokens[key] for key, kind in first.items() if kind is PieceKind.CONFIRMED}
