"""Calibration learns from usage and is not fooled."""

from __future__ import annotations

import json
import math

import pytest

from tierline.context.calibration import ENOUGH, KEPT, MAX_MARGIN, MIN_MARGIN, Calibration


def taught(*ratios: float) -> Calibration:
    calibration = Calibration()
    for ratio in ratios:
        calibration = calibration.observe(1000, 1000 * ratio)
    return calibration


def test_it_counts_as_calibrated_after_a_few_replies() -> None:
    assert not taught(*[1.2] * (ENOUGH - 1)).calibrated
    assert taught(*[1.2] * ENOUGH).calibrated
    assert taught(*[1.2] * ENOUGH).ratio == 1.2


@pytest.mark.parametrize("outlier", [0.26, 3.9])
def test_a_minority_of_outliers_does_not_move_the_ratio(outlier: float) -> None:
    assert taught(1.2, 1.21, outlier, 1.19, outlier, 1.2, 1.2).ratio == pytest.approx(1.2, abs=0.01)


@pytest.mark.parametrize(
    ("raw", "reported"),
    [(0, 100), (50, 60), (1000, 0), (1000, -5), (1000, 5000), (1000, 200), (math.inf, 10)],
)
def test_figures_that_cannot_be_right_or_say_little_change_nothing(
    raw: float, reported: float
) -> None:
    before = taught(1.1, 1.2)
    assert before.observe(raw, reported) is before


def test_old_replies_are_forgotten() -> None:
    calibration = taught(*[1.0] * 50, *[1.4] * KEPT)
    assert calibration.ratio == 1.4
    assert len(calibration.samples) == KEPT


def test_the_margin_grows_with_the_spread_and_stays_in_bounds() -> None:
    steady, wild = taught(*[1.2] * 9), taught(*[0.5, 1.2, 2.5] * 3)
    assert steady.margin == MIN_MARGIN
    assert MIN_MARGIN < wild.margin <= MAX_MARGIN
    assert Calibration().margin == MAX_MARGIN


def test_state_survives_json() -> None:
    calibration = taught(1.1, 1.25, 1.3)
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration


@pytest.mark.parametrize(
    "state", [None, 5, "x", [], {}, {"log_ratios": "x"}, {"log_ratios": [None, "a", 99, True]}]
)
def test_damaged_state_is_an_empty_one(state: object) -> None:
    assert Calibration.from_json(state) == Calibration()


def test_the_margin_is_two_robust_standard_deviations() -> None:
    """Of samples 0.1 apart from their median: 2 · 1.4826 · 0.1."""
    assert Calibration((0.9, 1.0, 1.1)).margin == pytest.approx(0.29652)
