"""Items, limits and encoders for tests of counting, budget and planning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field, frozen

from tierline import tokenizers
from tierline.context.blocks import Text
from tierline.context.counting import Encoder, TokenCounter
from tierline.context.items import Item, Pin, Section
from tierline.context.limits import Limits
from tierline.context.models import ModelFacts
from tierline.context.prompt import PromptBlock, PromptMessage


@frozen
class FourCharacters:
    """The stub counter of the bug cases: one token per four characters."""

    name: str = "stub"
    additive: bool = False

    def __call__(self, text: str) -> int:
        return -(-len(text) // 4)


@define
class Recording:
    """An encoder that remembers what it was asked to encode."""

    inner: Callable[[str], int]
    name: str = "stub"
    additive: bool = True
    asked: list[str] = field(factory=list)

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return self.inner(text)


def stub_counter(**facts: Any) -> TokenCounter:
    """A counter whose counts are exact at one token per four characters."""
    model = ModelFacts("stub", encoding="stub", native_encoding=True, **facts)
    return TokenCounter(model, FourCharacters())


def shipped(name: str) -> Encoder:
    """An encoder with the vocabulary of the package; skips if it was not built."""
    encoder = tokenizers.encoder(name)
    if encoder is None:
        pytest.skip("run tools/vocabulary.py first")
    return encoder


def limits(window: int = 100_000, output: int = 1_000, **more: Any) -> Limits:
    """Limits with one figure for window and input."""
    more = {"max_input_tokens": window, **more}
    return Limits(window=window, max_output_tokens=output, **more)


def system(tokens: int = 100, key: str = "system:head") -> Item:
    """The instructions, which are required."""
    return Item(key, Section.SYSTEM, f"hash {key}", tokens, text="Be brief.", required=True)


def file(path: str, tokens: int, *, pin: Pin = Pin.NONE, **more: Any) -> Item:
    """A file of a given size."""
    more = {"sha256": f"hash {path} {tokens}", **more}
    return Item(f"file:{path}", Section.FILES, tokens=tokens, path=path, pin=pin, **more)


def atom(number: int, tokens: int, *, group: str = "", **more: Any) -> Item:
    """A history atom: one message, of its own turn unless ``group`` says otherwise."""
    key = f"history:{number}"
    message = PromptMessage("user", (PromptBlock(Text(f"message {number}"), key),))
    return Item(
        key,
        Section.HISTORY,
        f"hash {number} {tokens}",
        tokens,
        messages=(message,),
        group=group or f"turn {number}",
        **more,
    )


def prompt(tokens: int = 50, group: str = "turn now") -> Item:
    """The request that is being answered."""
    return atom(999_999, tokens, group=group, required=True)
