"""From candidates to one request that fits: what is in it, in which order, in which exact form.

How much the form costs (roles, headings, updates in the log, what the strict form adds) is known
only once it is made, and what may be in depends on that. So plan and form are made in turns until
they agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from tierline.context.assemble import assemble
from tierline.context.counting import REQUEST_OVERHEAD, TokenCounter
from tierline.context.enforce import FixedPartTooLarge
from tierline.context.imagelimits import limit_images
from tierline.context.items import Item
from tierline.context.plan import ContextPlan, plan
from tierline.context.prompt import Prompt
from tierline.context.strict import strict
from tierline.context.thinking import keep_valid
from tierline.context.tiers.base import Arrangement, Moment, Sent, Tariff
from tierline.session.requests.candidates import Snapshot, signals_of
from tierline.session.requests.tiering import policy
from tierline.session.tools.toolbox import tools_hash


@frozen
class Layout:
    """A request in neutral form. ``plan.tokens`` is never less than ``prompt`` has."""

    plan: ContextPlan
    prompt: Prompt
    arrangement: Arrangement
    notices: tuple[str, ...]
    """What the user should be told."""


@frozen
class _Form:
    arrangement: Arrangement
    prompt: Prompt
    frame: int
    """What the form costs beside the items, in tokens."""
    notices: tuple[str, ...]


def lay_out(candidates: Sequence[Item], snapshot: Snapshot, counter: TokenCounter) -> Layout:
    """The request made of these candidates.

    If it does not fit as a continuation of what was sent, it is first made anew, without what that
    carries along; only then does more leave.

    Raises:
        FixedPartTooLarge: what cannot be left out does not fit into the window.
    """
    frame, sent = REQUEST_OVERHEAD, snapshot.sent
    while True:
        decided = _plan(candidates, snapshot, frame)
        form = _form(decided.select(candidates), decided.tokens, snapshot, sent, counter)
        if form.frame == frame:
            return _layout(decided, form)
        if form.frame < frame:
            return _layout(_exactly(decided, candidates, snapshot, form.frame), form)
        try:
            exact = _plan(candidates, snapshot, form.frame)
        except FixedPartTooLarge:
            if not sent.at:
                raise
        else:
            if _keys(exact) == _keys(decided):
                return _layout(exact, form)
        if sent.at:
            sent = Sent()
        else:
            frame = form.frame


def _keys(made: ContextPlan) -> list[str]:
    return [entry.key for entry in made.included]


def _layout(decided: ContextPlan, form: _Form) -> Layout:
    return Layout(
        plan=decided.with_tiers(form.arrangement.tiers()),
        prompt=evolve(form.prompt, max_output_tokens=max(1, decided.max_output_tokens)),
        arrangement=form.arrangement,
        notices=(*decided.notices, *form.notices),
    )


def _exactly(
    decided: ContextPlan, candidates: Sequence[Item], snapshot: Snapshot, frame: int
) -> ContextPlan:
    """The same decision with the figures of a form that costs less than was assumed."""
    exact = _plan(decided.select(candidates), snapshot, frame)
    return evolve(
        decided,
        included=exact.included,
        tokens=exact.tokens,
        estimate=exact.estimate,
        max_output_tokens=exact.max_output_tokens,
    )


def _plan(candidates: Sequence[Item], snapshot: Snapshot, frame: int) -> ContextPlan:
    return plan(
        candidates,
        snapshot.limits,
        model=snapshot.facts.name,
        mode=snapshot.mode,
        absent=(*snapshot.absent, *snapshot.automatic.absent),
        frame_tokens=frame,
        compaction_failed=snapshot.after_overflow or snapshot.compaction_failed,
        branch=snapshot.branch,
        turn=snapshot.active_group,
        retrieval_set=snapshot.automatic.set_id,
    )


def _form(
    items: Sequence[Item], tokens: int, snapshot: Snapshot, sent: Sent, counter: TokenCounter
) -> _Form:
    """The order of bytes and the prompt."""
    arranged = policy(snapshot.cache, counter.count).arrange(
        items,
        sent,
        Moment(
            now=snapshot.now,
            model=snapshot.facts.name,
            active_group=snapshot.active_group,
            signals=signals_of(snapshot),
            tools=tools_hash(snapshot.tools),
            edits=snapshot.edits,
        ),
        Tariff.of(snapshot.facts, min_tokens=snapshot.cache.min_tokens, input_tokens=tokens),
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
    if snapshot.active_group:
        prompt, _lost = keep_valid(
            strict(prompt, strategy=snapshot.strategy), snapshot.maker, snapshot.refused
        )
    frame = counter.count(prompt) - sum(item.tokens for item in items)
    return _Form(arranged, prompt, max(frame, 1), tuple(notices))
