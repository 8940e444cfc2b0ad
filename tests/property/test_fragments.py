"""Bodies joined from kept pieces are, byte for byte, the bodies that are written anew."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.strategies import prompts
from tierline.context.prompt import Prompt
from tierline.context.strict import strict
from tierline.providers import fragments, render_anthropic, render_local, render_openai
from tierline.providers.canonical import dumps
from tierline.providers.fragments import Fragments

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "150"))
DIALECTS: dict[
    str, tuple[Callable[[Prompt, Fragments], bytes], Callable[[Prompt], object], str]
] = {
    "anthropic": (fragments.anthropic, render_anthropic.body, "anthropic"),
    "openai": (
        lambda prompt, kept: fragments.openai(prompt, kept, official=True),
        lambda prompt: render_openai.body(prompt, official=True),
        "openai",
    ),
    "compatible": (
        lambda prompt, kept: fragments.openai(prompt, kept, official=False),
        lambda prompt: render_openai.body(prompt, official=False),
        "openai",
    ),
    "local": (
        lambda prompt, kept: fragments.openai(
            prompt, kept, official=False, more=render_local.SAMPLING
        ),
        render_local.body,
        "openai",
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(many=st.lists(prompts, min_size=1, max_size=4), repaired=st.booleans())
def test_kept_pieces_give_the_bytes_of_a_cold_start(
    dialect: str, many: list[Prompt], repaired: bool
) -> None:
    """Whatever was rendered before, and whether or not the prompt is in its strict form."""
    join, body, strategy = DIALECTS[dialect]
    kept = Fragments()
    for prompt in [*many, *many]:
        value = strict(prompt, strategy=strategy) if repaired else prompt
        assert join(value, kept) == dumps(body(value))
