"""Ids beside seed 004 (its own list: tests/unit/seed/test_004_history.py)."""

from __future__ import annotations

import pytest

from tierline.history.ids import epoch_ms, message_id


def test_too_little_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="random bytes"):
        message_id(1, b"ab")


def test_time_can_be_read_back() -> None:
    assert epoch_ms("1700000000123-0badcafe") == epoch_ms("sess_1700000000123_abc") == 1700000000123
    assert epoch_ms("d1") is None
