"""A short run of the load benchmark: what holds on any machine, however slow.

Times are measured by ``tests/benchmarks/load.py`` and are in docs/benchmarks.md.
"""

from __future__ import annotations

from benchmarks.load import EDITS_PER_SECOND, measure


def test_no_event_is_lost_under_load_and_every_turn_is_answered() -> None:
    found = measure(seconds=4, toggles=200, sessions=3, minutes=1)
    assert found["events"] > 100
    assert found["events_lost_or_out_of_order"] == 0
    assert found["turns_of_all"] == found["turns_ok"] > found["turns"] > 0
    assert found["requests"] > 5
    assert found["pin_after_toggles"] == ["none"], "the last of them took the pin away"
    assert found["hour"]["edits"] == 60 * EDITS_PER_SECOND
    assert found["exit_status"] == 0
