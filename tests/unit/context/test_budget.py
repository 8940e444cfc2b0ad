"""The budget report (seed 004, Testing / ContextManager)."""

from __future__ import annotations

import pytest

from support.planning import atom, file, limits, prompt, system
from tierline.context.accuracy import Accuracy
from tierline.context.budget import ReportedUsage, UsageLedger, budget
from tierline.context.items import Item, Section
from tierline.context.limits import should_compact
from tierline.context.models import ModelFacts
from tierline.context.plan import plan

FACTS = ModelFacts("m", limit_source="default")


def test_the_seeds_token_budget_has_its_keys() -> None:
    """Seed 004, ContextManager: "Token budget has required keys, remaining > 0"."""
    limit = limits(160_000, compaction_trigger_tokens=1_000)
    made = plan([system(), *(atom(n, 300) for n in range(4)), prompt()], limit)
    found = budget(made, FACTS, limit)
    assert (found.history_tokens, found.max_history_tokens) == (1_200, 10_000)
    assert (found.max_input_tokens, found.remaining) == (160_000, 160_000 - 1_350)
    assert should_compact(found.history_tokens, limit).due


def test_needs_summary_follows_should_compact() -> None:
    """Seed 004, Token Budget Reporting: "delegates to should_compact()"."""
    quiet = limits(compaction_trigger_tokens=24_000)
    off = limits(compaction_trigger_tokens=10, compaction_enabled=False)
    for limit in (quiet, off):
        made = plan([atom(1, 300)], limit)
        assert not should_compact(budget(made, FACTS, limit).history_tokens, limit).due


def test_the_pending_request_is_the_prompt_section() -> None:
    made = plan([system(100), atom(1, 300), prompt(50)], limits())
    report = budget(made, FACTS, limits())
    sizes = {section.name: section.tokens for section in report.sections if section.tokens}
    assert sizes == {Section.SYSTEM: 100, Section.HISTORY: 300, Section.PROMPT: 50}
    assert report.used == 450


def test_sections_name_their_largest_items() -> None:
    made = plan([file(f"{n}.py", n) for n in range(1, 6)], limits())
    report = budget(made, FACTS, limits())
    (files,) = [section for section in report.sections if section.name is Section.FILES]
    assert (files.tokens, files.items) == (15, 5)
    assert files.detail == "5.py 5, 4.py 4, 3.py 3 and 2 more"


def test_the_report_carries_accuracy_margin_and_source_of_the_limit() -> None:
    limit = limits(margin=0.2)
    made = plan([file("a.py", 1_000)], limit)
    report = budget(made, FACTS, limit, accuracy=Accuracy.CALIBRATED, provider="anthropic")
    assert (report.accuracy, report.margin, report.limit_source) == ("calibrated", 0.2, "default")
    assert report.used == 1_000, "the margin is enforced, not shown"
    assert made.estimate == 1_200


@pytest.mark.parametrize("window", [600, 1_000, 1_000_000])
def test_remaining_is_never_negative_and_percent_stays_in_bounds(window: int) -> None:
    limit = limits(window, output=4_096)
    report = budget(plan([system(500)], limit), FACTS, limit)
    assert report.remaining >= 0
    assert 0 <= report.percent <= 100


def test_the_last_report_stands_beside_and_the_sums_apart() -> None:
    ledger = UsageLedger()
    ledger.record(1_000, 100, 800, 50)
    ledger.record(1_400, 120)
    made = plan([system(77)], limits())
    report = budget(made, FACTS, limits(), ledger=ledger)
    assert report.used == 77
    assert report.last == ReportedUsage(1_400, 120)
    assert report.lifetime == ReportedUsage(2_400, 220, 800, 50)
    assert ReportedUsage(1_000, 100, 800, 50).uncached_tokens == 150


def test_a_reply_without_usage_clears_the_last_report() -> None:
    ledger = UsageLedger()
    ledger.record(1_000, 100)
    ledger.record(None, None)
    assert ledger.last is None
    assert ledger.lifetime.total == 1_100
    assert ledger.requests == 2


def test_an_empty_section_is_listed_with_nothing() -> None:
    report = budget(plan([], limits()), FACTS, limits())
    assert [section.name for section in report.sections] == list(Section)
    assert {section.tokens for section in report.sections} == {0}


def test_a_memo_is_not_a_file() -> None:
    made = plan([Item("memo:1", Section.MEMOS, "m", 9), file("a.py", 4)], limits())
    sizes = made.section_tokens()
    assert (sizes[Section.MEMOS], sizes[Section.FILES]) == (9, 4)
