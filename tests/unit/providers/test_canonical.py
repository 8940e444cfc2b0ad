"""Bytes of a body, whatever the text: the last line of defence behind ``context/strict.py``."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from property.strategies import json_values
from tierline.context.text import well_formed
from tierline.providers.canonical import dumps

HALVES = st.text(st.sampled_from("aé\ud83d\ude0b\U0001f60b\ufffd"), max_size=12)


def sound(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {sound(k): sound(v) for k, v in value.items()}
    return [sound(v) for v in value] if isinstance(value, list) else value


def test_br_022_half_of_a_character_becomes_its_replacement_and_two_become_one() -> None:
    """BR-022: not only in what was repaired before; a body is the last place to go wrong."""
    assert dumps({"a": "\ud83d!"}) == '{"a":"\ufffd!"}'.encode()
    assert dumps(["\ud83d", "\ude0b", "\ud83d\ude0b"]) == '["\ufffd","\ufffd","😋"]'.encode()


@given(json_values | st.lists(HALVES, max_size=4) | st.dictionaries(HALVES, HALVES, max_size=3))
def test_every_json_has_bytes_that_say_the_same(value: Any) -> None:
    said = json.loads(dumps(value).decode("utf-8"))
    assert json.dumps(said) == json.dumps(sound(value))
