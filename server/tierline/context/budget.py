"""The budget: the size of the next request by section, and the provider's report on the last one.

``used`` is the request as it would be sent now: pending prompt, tools, system and pictures
included. The sums over earlier requests are kept apart.
"""

from __future__ import annotations

from attrs import define, field, frozen

from tierline.context.accuracy import Accuracy
from tierline.context.enforce import PlanCode
from tierline.context.items import Section
from tierline.context.limits import Limits, should_compact
from tierline.context.models import LimitSource, ModelFacts
from tierline.context.plan import ContextPlan, PlanEntry


@frozen
class ReportedUsage:
    """The provider's report on one request, in tokens."""

    input_tokens: int = 0
    """The whole prompt: cached, written and uncached together."""
    output_tokens: int = 0
    cache_read_tokens: int | None = None
    """None where the provider says nothing of its cache."""
    cache_write_tokens: int | None = None

    @property
    def total(self) -> int:
        """Request and reply together: what the conversation occupies after it."""
        return self.input_tokens + self.output_tokens

    @property
    def uncached_tokens(self) -> int:
        """Input that was neither read from the cache nor written to it."""
        cached = (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)
        return max(0, self.input_tokens - cached)


@define
class UsageLedger:
    """The last report, and the sums of all: what was paid, not what is in use."""

    last: ReportedUsage | None = None
    requests: int = 0
    lifetime: ReportedUsage = field(factory=ReportedUsage)

    def record(
        self,
        input_tokens: int | None,
        output_tokens: int | None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
    ) -> None:
        """Add a report. One without an input size also drops the last report, which is then no
        longer about the newest request.
        """
        self.requests += 1
        report = ReportedUsage(
            max(0, input_tokens or 0),
            max(0, output_tokens or 0),
            None if cache_read_tokens is None else max(0, cache_read_tokens),
            None if cache_write_tokens is None else max(0, cache_write_tokens),
        )
        self.last = report if report.input_tokens else None
        self.lifetime = ReportedUsage(
            self.lifetime.input_tokens + report.input_tokens,
            self.lifetime.output_tokens + report.output_tokens,
            (self.lifetime.cache_read_tokens or 0) + (report.cache_read_tokens or 0),
            (self.lifetime.cache_write_tokens or 0) + (report.cache_write_tokens or 0),
        )


@frozen
class SectionSize:
    """One section of the next request."""

    name: Section
    tokens: int
    items: int
    detail: str
    """The largest items, for a person."""


@frozen
class BudgetReport:
    """The size of the next request. Token counts without margin; the sections sum to ``used``."""

    model: str
    provider: str
    used: int
    max_input_tokens: int
    max_output_tokens: int
    """Room for the reply beside this request."""
    remaining: int
    """Input tokens still free; never negative."""
    percent: float
    """``used`` as a share of ``max_input_tokens``, 0 to 100."""
    sections: tuple[SectionSize, ...]
    """All sections in the order of ``Section``; an unused one has 0."""
    accuracy: Accuracy
    margin: float
    """Error that enforcement adds, as a fraction; not part of ``used``."""
    limit_source: LimitSource
    history_tokens: int
    max_history_tokens: int
    compaction_trigger_tokens: int
    last: ReportedUsage | None = None
    lifetime: ReportedUsage = field(factory=ReportedUsage)


def budget(
    plan: ContextPlan,
    facts: ModelFacts,
    limits: Limits,
    *,
    provider: str = "",
    accuracy: Accuracy = Accuracy.ESTIMATED,
    ledger: UsageLedger | None = None,
) -> BudgetReport:
    """The report on a plan for the next request."""
    parts: dict[Section, list[PlanEntry]] = {section: [] for section in Section}
    for entry in plan.included:
        parts[_shown_under(entry)].append(entry)
    history = sum(entry.tokens for entry in parts[Section.HISTORY])
    verdict = should_compact(history, limits)
    most = limits.max_input_tokens
    return BudgetReport(
        model=plan.model or facts.name,
        provider=provider,
        used=plan.tokens,
        max_input_tokens=most,
        max_output_tokens=plan.max_output_tokens,
        remaining=max(0, most - plan.tokens),
        percent=min(100.0, max(0.0, 100 * plan.tokens / most)),
        sections=tuple(_section(section, entries) for section, entries in parts.items()),
        accuracy=accuracy,
        margin=limits.margin,
        limit_source=facts.limit_source,
        history_tokens=history,
        max_history_tokens=most // 16,
        compaction_trigger_tokens=verdict.trigger_tokens,
        last=ledger.last if ledger else None,
        lifetime=ledger.lifetime if ledger else ReportedUsage(),
    )


def _shown_under(entry: PlanEntry) -> Section:
    """The section to show an entry under: the prompt being answered is part of the history."""
    if entry.section is Section.HISTORY and entry.code == PlanCode.REQUIRED:
        return Section.PROMPT
    return entry.section


def _section(section: Section, entries: list[PlanEntry]) -> SectionSize:
    largest = sorted(entries, key=lambda entry: (-entry.tokens, entry.key))[:3]
    named = ", ".join(f"{entry.path or entry.key} {entry.tokens:,}" for entry in largest)
    more = f" and {len(entries) - 3} more" if len(entries) > 3 else ""
    return SectionSize(section, sum(e.tokens for e in entries), len(entries), named + more)
