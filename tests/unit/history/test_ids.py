"""Ids at their edges; their formats are in `tests/unit/store/test_history_store.py`."""

from __future__ import annotations

import pytest

from tierline.history.ids import derived_id, epoch_ms, message_id


def test_too_little_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="random bytes"):
        message_id(1, b"ab")


def test_time_can_be_read_back() -> None:
    assert epoch_ms("1700000000123-0badcafe") == epoch_ms("sess_1700000000123_abc") == 1700000000123
    assert epoch_ms("d1") is None


def test_ids_of_other_shapes_have_no_time() -> None:
    assert epoch_ms("1000000000-x") == 1_000_000_000
    for other in ("999999999-x", "m1", "", "١٧٠٠٠٠٠٠٠٠١٢٣-x", "17000000001234x"):
        assert epoch_ms(other) is None


def test_a_derived_id_depends_on_each_part_and_their_borders() -> None:
    ids = [derived_id("ab", "c"), derived_id("a", "bc"), derived_id("abc"), derived_id("\ud83d")]
    assert len(set(ids)) == 4 and derived_id("ab", "c") == ids[0]
    assert len(derived_id("x", length=5)) == 5 and int(ids[0], 16) >= 0
