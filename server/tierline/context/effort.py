"""How much a model is asked to think, in the form that the model accepts.

Sources: Anthropic, "Thinking" and "Effort"; OpenAI, "Reasoning models". What each model accepts is
data (``data/models.toml``).
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from tierline.context.models import ModelFacts
from tierline.context.prompt import Thinking

Effort: TypeAlias = Literal["auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""auto leaves it to the model's own default."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)
_ROOM = {
    "none": 0,
    "minimal": 2_000,
    "low": 8_000,
    "medium": 16_000,
    "high": 32_000,
    "xhigh": 64_000,
    "max": 64_000,
}
"""Tokens for thinking beside the reply. Generous guesses: unused tokens cost nothing."""


def choices(facts: ModelFacts) -> tuple[Effort, ...]:
    """The efforts that a user can choose for this model; none if it does not think on request."""
    known = tuple(effort for effort in EFFORTS if effort in facts.efforts)
    return ("auto", *known) if known else ()


def nearest(facts: ModelFacts, wanted: Effort) -> Effort:
    """The model's effort that is nearest to the wanted one."""
    known = choices(facts)
    if not known or wanted in known:
        return wanted if known else "auto"
    place = EFFORTS.index(wanted)
    return min(known[1:], key=lambda effort: abs(EFFORTS.index(effort) - place))


def thinking(facts: ModelFacts, wanted: Effort, *, drop: bool = False) -> Thinking:
    """The thinking that a request asks for. ``drop``: the service itself shall leave out thinking
    that is bound to another beginning (only Anthropic's own service can).
    """
    effort = nearest(facts, wanted)
    if not facts.adaptive:
        return Thinking(effort="" if effort == "auto" else effort)
    if effort == "none":
        return Thinking(mode=facts.thinking_off)
    if effort == "auto" and not facts.thinks:
        return Thinking()
    return Thinking("adaptive", "" if effort == "auto" else effort, shown=True, drop=drop)


def room(facts: ModelFacts, wanted: Effort) -> int:
    """Tokens that thinking may take beside the reply: it counts into the reply's limit."""
    effort = nearest(facts, wanted)
    if effort == "auto":
        effort = "high" if facts.thinks or facts.reasoning == "always" else "none"
    return _ROOM[effort]
