"""Stored plans: what was in a request, what was not, and why."""

from __future__ import annotations

from attrs import field

from tierline.protocol.base import ContextMode, define
from tierline.protocol.values import SentKind


@define
class PlanParams:
    """A plan by id; the newest when empty. Showing the context without an id shows that of the next
    request: without a prompt, or as it would be with this one.
    """

    plan_id: str = ""
    prompt: str = ""


@define
class PlanListParams:
    """How many plans, newest first."""

    limit: int = 20


@define
class PlanExplainParams:
    """Ask why ``key`` (``file:src/a.py``, or just a path) is in or out."""

    key: str
    plan_id: str = ""


@define
class PlanExplainResult:
    """One sentence."""

    key: str
    included: bool
    sentence: str
    plan_id: str


@define
class PlanDiffParams:
    """Two plans to compare, the older first."""

    a: str
    b: str


@define
class PlanDiffResult:
    """What changed between two plans, line by line, and what broke the cached prefix."""

    lines: list[str]
    first_break: str = ""


@define
class PlanEntryInfo:
    """One item of a plan."""

    key: str
    section: str
    tier: str
    tokens: int
    included: bool
    code: str
    reason: str


@define
class PlanInfo:
    """A stored plan."""

    plan_id: str
    session_id: str
    turn_id: str
    created: str
    model: str
    mode: ContextMode
    total_tokens: int
    request_sha256: str = ""
    entries: list[PlanEntryInfo] = field(factory=list)


@define
class PlanListResult:
    """Newest first, without entries."""

    plans: list[PlanInfo]


@define
class PlanSentParams:
    """What was sent with a turn's prompt. With a key of its entries: that entry's text, too."""

    turn_id: str
    key: str = ""


@define
class SentEntry:
    """Something that was sent beside the conversation and stands in the request as text."""

    key: str
    kind: SentKind
    label: str
    tokens: int


@define
class PlanSentResult:
    """Of the turn's first request. ``text`` is what was sent of the entry that was asked for; if a
    change of it was appended since, that stands behind it.
    """

    plan_id: str
    entries: list[SentEntry]
    text: str = ""


@define
class PromptTextResult:
    """The exact assembled context as a person can read it."""

    text: str
    plan_id: str = ""
