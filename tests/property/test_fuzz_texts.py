"""Texts of any kind through tokenizers, differences and positions: nothing raises, nothing is lost.

Issue 10, item 3, for tokenizer and diff inputs. ``make fuzz`` runs more examples.
"""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.strategies import odd_text
from support.planning import shipped
from support.updatereader import DeltaError, apply
from tierline.context.counting import TokenCounter
from tierline.context.edits.blocks import Proposal, SearchReplaceBlock, propose
from tierline.context.edits.hunks import Hunk
from tierline.context.edits.positions import TextChange, Units, changes
from tierline.context.filetext import FileFacts
from tierline.context.models import ModelFacts
from tierline.context.text import normalise, well_formed
from tierline.context.tiers import delta

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "150"))
longer = settings(max_examples=EXAMPLES, deadline=None)
line = st.one_of(
    st.sampled_from(
        ["", "a", "b", "a\r", "\x0c", "\u2028", "--- a", "+++ b", "@@ -1 +1 @@", "\\ No"]
    ),
    odd_text,
)
text = st.one_of(
    st.lists(line, max_size=12).map("\n".join),
    st.lists(line, max_size=12).map(lambda lines: "".join(f"{one}\n" for one in lines)),
)
UNITS: list[Units] = ["utf-8", "utf-16", "utf-32"]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_any_text_is_counted_the_same_whole_in_parts_and_again(name: str) -> None:
    """By the shipped vocabularies: special tokens, halves of pairs, long runs of one character."""
    model = ModelFacts("m", encoding=name, native_encoding=True)
    runs = st.builds(
        lambda one, many: one * many, st.sampled_from("a \n\t.é世🙂\u0301"), st.integers(1, 3000)
    )

    @longer
    @given(st.one_of(odd_text, text, runs, st.just("<|endoftext|><|fim_prefix|>")), odd_text)
    def holds(value: str, more: str) -> None:
        counter = TokenCounter(model, shipped(name))
        tokens = counter.count(value)
        assert 0 <= tokens <= 3 * len(well_formed(value).encode()) + 3
        assert bool(tokens) == bool(value)
        assert counter.count(value) == tokens == TokenCounter(model, shipped(name)).count(value)
        assert counter.count(value + more) <= tokens + counter.count(more) + 8

    holds()


def test_a_long_run_of_one_character_is_counted_in_bounded_time() -> None:
    """The merges of byte pairs take the square of a word's length; nobody types such words, files
    hold them.
    """
    counter = TokenCounter(
        ModelFacts("m", encoding="o200k_base", native_encoding=True), shipped("o200k_base")
    )
    began = time.process_time()
    for one in ("a", " ", "é", "=", "世", "\n"):
        assert counter.count(one * 300_000) > 0
    assert time.process_time() - began < 20


@longer
@given(text, text, st.integers(0, 3))
def test_a_difference_of_any_two_texts_gives_the_second(old: str, new: str, context: int) -> None:
    diff = delta.make(old, new, context)
    assert apply(old, diff) == new
    assert bool(diff) == (old != new)


@longer
@given(text, text, st.one_of(text, st.none()), st.integers(0, 80), st.integers(0, 12), odd_text)
def test_a_difference_that_does_not_fit_is_refused_and_nothing_else_happens(
    old: str, new: str, other: str | None, place: int, gone: int, noise: str
) -> None:
    """Applied to another text, damaged anywhere, or no difference at all."""
    diff = delta.make(old, new)
    spoilt = diff[:place] + noise + diff[place + gone :]
    for base, what in ((other if other is not None else old, spoilt), (old, noise), (new, diff)):
        try:
            assert isinstance(apply(base, what), str)
        except DeltaError as error:
            assert str(error)


CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def edited(document: str, said: list[TextChange], units: Units) -> str:
    """As an editor applies changes: all of them refer to the document as it was."""
    codec, size = CODECS[units]
    lines = document.split("\n")
    starts = [0]
    for whole in lines:
        starts.append(starts[-1] + len(whole) + 1)

    def offset(number: int, character: int) -> int:
        taken = 0
        for place, one in enumerate(lines[number]):
            if taken == character:
                return starts[number] + place
            taken += len(one.encode(codec)) // size
        assert taken == character, "a position inside a character, or behind the line"
        return starts[number] + len(lines[number])

    for change in reversed(said):
        start = offset(change.start_line, change.start_character)
        end = offset(change.end_line, change.end_character)
        document = document[:start] + change.text + document[end:]
    return document


@pytest.mark.parametrize("units", UNITS)
@longer
@given(
    text,
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12), odd_text), max_size=4),
    st.booleans(),
)
def test_edits_reach_the_editor_at_the_same_places(
    units: Units, raw: str, parts: list[tuple[int, int, str]], bom: bool
) -> None:
    before = normalise(raw)
    blocks = [SearchReplaceBlock(before[at : at + size], normalise(new)) for at, size, new in parts]
    found = propose(before, blocks)
    if not isinstance(found, Proposal):
        assert found.reason
        return
    hunks: tuple[Hunk, ...] = found.hunks
    said = changes(before, hunks, FileFacts(), units=units, bom=bom)
    mark = "\ufeff" if bom else ""
    assert edited(mark + before, said, units) == mark + found.after
