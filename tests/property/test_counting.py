"""Counts of parts add up; nothing that can be typed makes a counter fail."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.strategies import messages, odd_text, prompts, tools
from support.planning import FourCharacters, shipped, stub_counter
from tierline.context import chunks as chunking
from tierline.context.chunks import chunks
from tierline.context.counting import TokenCounter
from tierline.context.models import ModelFacts

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "150"))
# Text that is dense in the places where the encoders' patterns meet: line ends, slashes, white
# space of all kinds, contractions, combining marks, digits, letters of several scripts.
words = ["e", "E", "the", "can", "I", "'t", "'m", "'s", "'RE", "’s", "ſ", "é", "日本", "x" * 30]
spaces = ["\n", "\r\n", "\r", "\n\n", " ", "  ", "\t", "\u00a0", "\u2028", "\x0b", "\x1c", "\x85"]
signs = ["/", "//", "'", "_", "--", ";", "();", "…", "\u0301", "\u200d", "👩‍👧", "<|endoftext|>"]
seams = [
    "; can't",
    " don't ",
    "\nI'm",
    "1",
    "123",
    "1234",
    "e\n",
    "e;",
    "e'",
    "e1",
    ";\n/",
    ";\n\n  e",
]
pieces = st.sampled_from([*words, *spaces, *signs, *seams])
dense = st.lists(pieces, max_size=60).map("".join)
anything = st.one_of(dense, st.text(max_size=200), st.lists(dense, max_size=8).map("\n".join))


@pytest.fixture(autouse=True)
def small_chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts close together, so that short texts have many."""
    if "real_chunks" in request.fixturenames:
        return
    monkeypatch.setattr(chunking, "MIN_CHUNK", 4)
    monkeypatch.setattr(chunking, "MAX_CHUNK", 24)
    monkeypatch.setattr(chunking, "_MASK", 0x1)


@pytest.fixture
def real_chunks() -> None:
    """Chunks of the size that is used."""


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_chunk_counts_sum_to_the_count_of_the_whole(name: str) -> None:
    encode = shipped(name)

    @settings(max_examples=EXAMPLES * 3, deadline=None)
    @given(anything)
    def holds(text: str) -> None:
        parts = chunks(text)
        assert "".join(parts) == text
        assert sum(map(encode, parts)) == encode(text)

    holds()


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_every_place_that_may_be_cut_is_additive(name: str) -> None:
    """Not only the places that this text's chunks happen to use."""
    encode = shipped(name)

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(dense)
    def holds(text: str) -> None:
        whole = encode(text)
        for found in chunking._ANY_PLACE.finditer(text):
            cut = found.start() + 1
            assert encode(text[:cut]) + encode(text[cut:]) == whole

    holds()


CODE = "".join(
    f"def function_{n}(value: int) -> int:\n    return value * {n * n} + other[{n}]\n\n\n"
    for n in range(6_000)
)


@pytest.mark.usefixtures("real_chunks")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(CODE)), st.text(max_size=40), st.integers(0, 200))
def test_an_edit_leaves_nearly_all_chunks_as_they_were(place: int, new: str, removed: int) -> None:
    edited = CODE[:place] + new + CODE[place + removed :]
    known = set(chunks(CODE))
    fresh = sum(len(part) for part in chunks(edited) if part not in known)
    assert fresh < len(CODE) // 3


@pytest.mark.parametrize("seed", ["154", "158"])
def test_a_statement_that_functions_share_does_not_decide_where_is_cut(seed: str) -> None:
    """With these seeds of Python's string hash, "    return value" was a place to cut at: every
    function had one, and after an edit no chunk began where it had begun (1 process in 128).
    """
    program = (
        "import sys; from tierline.context.chunks import chunks; code = sys.stdin.read();"
        "known = set(chunks(code));"
        "print(sum(len(part) for part in chunks(code[160:]) if part not in known))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        input=CODE, capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )  # fmt: skip
    assert int(told.stdout) < len(CODE) // 3


@settings(max_examples=EXAMPLES)
@given(st.one_of(odd_text, messages, prompts, tools, st.lists(odd_text), st.none()))
def test_counting_never_fails_and_is_never_negative(value: object) -> None:
    assert stub_counter().count(value) >= 0


@settings(max_examples=60)
@given(prompts)
def test_a_prompt_costs_at_least_what_its_parts_cost(prompt: object) -> None:
    counter = stub_counter()
    parts = [*prompt.tools, *prompt.system, *prompt.messages]  # type: ignore[attr-defined]
    assert counter.count(prompt) >= sum(map(counter.count, parts))


@given(anything)
def test_the_cache_changes_no_count(text: str) -> None:
    model = ModelFacts("m", encoding="stub", native_encoding=True)
    warm = TokenCounter(model, FourCharacters())
    warm.count(text)
    assert warm.count(text) == TokenCounter(model, FourCharacters()).count(text)


@given(st.floats(0.3, 3.9), st.integers(1, 100_000), st.integers(0, 3))
def test_scaled_counts_never_fall_below_the_scaled_text(ratio: float, size: int, by: int) -> None:
    model = ModelFacts("m", encoding="other", ratio=ratio)
    counter = TokenCounter(model, FourCharacters())
    raw = counter.measure("x" * size).text
    assert counter.count("x" * size) >= raw * ratio
    assert counter.count("x" * size) < raw * ratio + 1 + by
