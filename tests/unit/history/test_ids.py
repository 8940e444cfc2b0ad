"""Seed 004, Testing / Message ID Generation."""

from __future__ import annotations

import os
import re

import pytest

from tierline.history.ids import epoch_ms, message_id, session_id


def test_formats() -> None:
    """Seed 004: "Format: {epoch_ms}-{uuid8}; session format: sess_{epoch_ms}_{uuid6}"."""
    assert re.fullmatch(r"1700000000123-[0-9a-f]{8}", message_id(1700000000123, os.urandom(4)))
    assert re.fullmatch(r"sess_1700000000123_[0-9a-f]{6}", session_id(1700000000123, os.urandom(3)))


def test_a_hundred_ids_of_one_moment_are_unique() -> None:
    """Seed 004: "100 generated IDs are unique"."""
    assert len({message_id(1700000000123, os.urandom(4)) for _ in range(100)}) == 100


def test_too_little_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="random bytes"):
        message_id(1, b"ab")


def test_time_can_be_read_back() -> None:
    assert epoch_ms("1700000000123-0badcafe") == epoch_ms("sess_1700000000123_abc") == 1700000000123
    assert epoch_ms("d1") is None
