"""A stored prompt is the prompt."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings

from property.strategies import prompts
from tierline.context.prompt import Prompt
from tierline.context.prompt_json import (
    block_from_json,
    block_to_json,
    decode,
    encode,
    put_together,
    take_apart,
)


@settings(max_examples=400)
@given(prompts)
def test_a_prompt_survives_json_exactly(prompt: Prompt) -> None:
    restored = put_together(decode(encode(take_apart(prompt, block_to_json))), block_from_json)
    assert _plain(restored) == _plain(prompt)


@settings(max_examples=200)
@given(prompts)
def test_encoding_what_was_decoded_gives_the_same_bytes(prompt: Prompt) -> None:
    """Including the order of keys, which bodies are made from."""
    data = encode(take_apart(prompt, block_to_json))
    assert encode(take_apart(put_together(decode(data), block_from_json), block_to_json)) == data


@settings(max_examples=200)
@given(prompts)
def test_blocks_can_be_kept_apart(prompt: Prompt) -> None:
    shelf: list[Any] = []

    def refer(block: Any) -> int:
        shelf.append(decode(encode(block_to_json(block))))
        return len(shelf) - 1

    frame = decode(encode(take_apart(prompt, refer)))
    restored = put_together(frame, lambda place: block_from_json(shelf[place]))
    assert _plain(restored) == _plain(prompt)


def _plain(prompt: Prompt) -> str:
    """``repr`` tells tuples from lists and compares NaN with itself."""
    assert math.isnan(math.nan)
    return repr(prompt)
