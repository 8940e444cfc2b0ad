"""What JSON can say and nothing behind it can store."""

from __future__ import annotations

from typing import Any

import pytest

from tierline.lsp.codec import LARGEST, InvalidParamsError, sanitize
from tierline.workspace.flavour import POSIX


def test_halves_are_mended_and_everything_else_stays() -> None:
    value: dict[str, Any] = {
        "a": ["x\ud83d", {"\ude42": "🙂"}],
        "n": LARGEST,
        "b": True,
        "f": 1e300,
    }
    assert sanitize(value) == {
        "a": ["x\ufffd", {"\ufffd": "🙂"}],
        "n": LARGEST,
        "b": True,
        "f": 1e300,
    }


def test_a_file_name_of_other_bytes_stays() -> None:
    assert sanitize({"path": "b\udcff.py"}) == {"path": "b\udcff.py"}


@pytest.mark.parametrize("value", [{"limit": 2**63}, [[-(2**70)]]])
def test_numbers_beyond_every_store_are_refused(value: Any) -> None:
    with pytest.raises(InvalidParamsError, match="too large"):
        sanitize(value)


def test_nesting_is_bounded() -> None:
    value: Any = []
    for _ in range(500):
        value = [value]
    with pytest.raises(InvalidParamsError, match="nested"):
        sanitize(value)


def test_a_path_with_half_of_a_character_has_an_address() -> None:
    assert POSIX.to_uri("/a\ud83d") == "file:///a%EF%BF%BD"
    assert POSIX.to_uri("/a\udcff") == "file:///a%FF"
