"""How likely files are to change, by the commits that touched them."""

from __future__ import annotations

import pytest

from tierline.context.items import Section
from tierline.context.tiers.hazard import HALF_LIFE, PRIORS, WEIGHT, churn

PRIOR = PRIORS[Section.FILES]


def test_without_commits_every_file_is_as_likely_as_its_kind() -> None:
    assert churn([], ["a", "b"]) == {"a": pytest.approx(PRIOR), "b": pytest.approx(PRIOR)}


def test_what_is_touched_often_and_lately_changes_sooner() -> None:
    commits = [{"hot"}, {"hot"}, {"hot", "once"}, *[{"other"}] * 30, {"old"}]
    found = churn(commits, ["hot", "once", "old", "never"])
    assert found["hot"] > found["once"] > found["old"] > found["never"] > 0
    assert found["never"] < PRIOR, "it was there, and was not touched"
    assert max(found.values()) < 1


def test_a_file_that_every_commit_touches_tends_to_certainty() -> None:
    few, many = (churn([{"a"}] * n, ["a"])["a"] for n in (3, 300))
    assert PRIOR < few < 0.5 < many < 1


def test_a_commit_counts_half_after_so_many_others() -> None:
    empty: list[set[str]] = [set()] * int(HALF_LIFE)
    total = sum(0.5 ** (age / HALF_LIFE) for age in range(int(HALF_LIFE) + 1))
    found = churn([*empty, {"a"}], ["a"])["a"]
    assert found == pytest.approx((0.5 + WEIGHT * PRIOR) / (total + WEIGHT))
