"""The window's arithmetic, and when history is due for compaction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.planning import limits
from tierline.context.limits import Limits, compaction_trigger, should_compact
from tierline.context.models import ModelFacts


def test_the_reply_gets_a_quarter_of_a_small_window_by_default() -> None:
    assert (
        Limits.of(ModelFacts("m", window=8_000, max_input_tokens=8_000)).max_output_tokens == 2_000
    )
    large = ModelFacts("m", window=10**6, max_input_tokens=10**6, max_output_tokens=128_000)
    assert Limits.of(large).max_output_tokens == 8_192
    assert Limits.of(large, max_output_tokens=64_000).max_output_tokens == 64_000
    assert Limits.of(large, max_output_tokens=500_000).max_output_tokens == 128_000


@given(
    st.builds(
        Limits,
        window=st.integers(1, 10**7),
        max_input_tokens=st.integers(1, 10**7),
        max_output_tokens=st.integers(1, 10**7),
        margin=st.floats(0, 0.9),
    ),
    st.integers(0, 10**7),
)
def test_room_is_the_largest_count_whose_estimate_fits(limit: Limits, bound: int) -> None:
    room = limit.room(bound)
    assert limit.estimate(room) <= bound < limit.estimate(room + 1)
    assert limit.soft <= limit.hard <= limit.max_input_tokens
    assert 1 <= limit.output_floor <= max(1, limit.window // 8)


def test_the_margin_counts_in_enforcement_only() -> None:
    assert limits(margin=0.25).estimate(1000) == 1250
    assert limits(margin=0.25).room(1250) == 1000
    assert limits(margin=0.0).estimate(1000) == 1000


def test_history_is_due_beyond_its_trigger() -> None:
    """Seed 004, Testing / History Compactor: "Below trigger: should_compact false"."""
    limit = limits(200_000, compaction_trigger_tokens=24_000)
    assert not should_compact(24_000, limit)
    verdict = should_compact(24_001, limit)
    assert verdict
    assert verdict.trigger_tokens == 24_000
    assert "24,001" in verdict.reason


def test_a_disabled_compactor_never_triggers() -> None:
    """Seed 004, Testing / ContextManager: "should_compact false when disabled or below trigger"."""
    verdict = should_compact(10**6, limits(compaction_enabled=False))
    assert not verdict
    assert "off" in verdict.reason


def test_the_status_has_enabled_trigger_and_percent() -> None:
    """Seed 004, Testing / ContextManager: "Compaction status returns enabled/trigger/percent"."""
    limit = limits(200_000, compaction_trigger_tokens=10_000)
    verdict = should_compact(2_500, limit)
    assert (limit.compaction_enabled, verdict.trigger_tokens, verdict.percent) == (True, 10_000, 25)
    assert should_compact(10**6, limit).percent == 100


@pytest.mark.parametrize("window", [200, 1_000, 8_192, 200_000, 1_000_000])
@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_the_trigger_is_clamped_so_that_compaction_comes_before_shedding(
    window: int, margin: float
) -> None:
    limit = limits(window, output=window, margin=margin, compaction_trigger_tokens=10 * window)
    trigger = compaction_trigger(limit)
    assert trigger >= 1
    assert limit.estimate(trigger) + limit.output_reserve <= limit.soft + 1
    assert should_compact(trigger + 1, limit)


def test_settings_that_contradict_each_other_are_named() -> None:
    assert limits(1_000, output=200).problem == ""
    assert "4,096" in limits(1_000, output=4_096).problem


@pytest.mark.parametrize("bad", [{"window": 0}, {"max_input_tokens": 0}, {"shed_at": 1.5}])
def test_impossible_limits_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        Limits(**{"window": 10, "max_input_tokens": 10, "max_output_tokens": 5, **bad})  # type: ignore[arg-type]
