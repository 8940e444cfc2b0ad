"""Figures that cannot be right teach the counter nothing; a counter that is wrong learns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierline.context.accuracy import Accuracy
from tierline.context.calibration import Plausibility
from tierline.context.counting import TokenCounter
from tierline.context.models import ModelFacts, ModelTable
from tierline.session.counting import Counters


@pytest.fixture
def counters(tmp_path: Path) -> Counters:
    found = Counters(ModelTable([]), tmp_path / "calibration.json")
    found.told = []  # type: ignore[attr-defined]
    found.warn = found.told.append  # type: ignore[attr-defined]
    return found


FACTS = ModelFacts("some-model")


def test_a_server_that_cuts_prompts_teaches_nothing_and_is_told_of_once(counters: Counters) -> None:
    before = counters.counter(FACTS).count("word " * 3000)
    for estimated in (15_100, 15_400, 16_000, 22_000):
        assert not counters.observe(FACTS, estimated, 4096)
    assert counters.counter(FACTS).count("word " * 3000) == before
    assert counters.counter(FACTS).accuracy is Accuracy.ESTIMATED
    (told,) = counters.told  # type: ignore[attr-defined]
    assert "4,096" in told and "15,100" in told and "num_ctx" in told


@pytest.mark.parametrize("first", [4_000, 4_500, 5_000, 6_000])
def test_the_first_of_a_constant_figure_is_forgotten_again(counters: Counters, first: int) -> None:
    for estimated in (first, int(first * 1.1), int(first * 1.6), 9_000, 15_000):
        counters.observe(FACTS, estimated, 4096)
    assert not counters.counter(FACTS).calibration.calibrated
    assert counters.counter(FACTS).ratio == FACTS.ratio


def test_honest_figures_calibrate(counters: Counters) -> None:
    counter = counters.counter(FACTS)
    for raw in (1000, 1100, 1500, 4000):
        assert counters.observe(FACTS, int(raw * counter.ratio), int(raw * 1.3))
    assert counter.ratio == pytest.approx(1.3, abs=0.02)
    assert counters.told == []  # type: ignore[attr-defined]


def test_a_counter_that_was_taught_wrongly_recovers(counters: Counters) -> None:
    counter: TokenCounter = counters.counter(FACTS)
    for _ in range(3):
        counter.calibration = counter.calibration.observe(1000, 280)
    assert counter.ratio == 0.28
    for raw in (4000, 5000, 6100):
        counters.observe(FACTS, int(raw * counter.ratio), raw)
    assert counter.ratio == pytest.approx(1.0, abs=0.02)


def test_small_and_growing_figures_are_judged_by_themselves() -> None:
    judge = Plausibility()
    assert [judge.judge(*pair) for pair in ((3000, 100), (3010, 100), (3100, 2950))] == [
        "odd",
        "odd",
        "plausible",
    ]


def test_two_windows_learn_of_two_models_and_neither_undoes_the_other(
    counters: Counters, tmp_path: Path
) -> None:
    other = Counters(ModelTable([]), tmp_path / "calibration.json")
    counters.observe(FACTS, 1_000, 1_200)
    other.observe(ModelFacts("another-model"), 1_000, 1_300)
    counters.observe(FACTS, 1_100, 1_320)
    both = Counters(ModelTable([]), tmp_path / "calibration.json")
    for name in ("some-model", "another-model"):
        assert both.counter(ModelFacts(name)).calibration.samples, name
