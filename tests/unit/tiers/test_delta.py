"""Diffs that apply exactly, whatever the texts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.bodyreader import patch
from support.updatereader import DeltaError, apply
from tierline.context.tiers import delta

ODD_LINES = st.sampled_from(
    [
        "",
        "a",
        "b",
        "\r",
        "\x0c",
        "\u2028",
        "\\ No newline at end of file",
        "@@ -1 +1 @@",
        "-x",
        "+y",
    ]
)
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + "\n" * end,
    st.lists(ODD_LINES, max_size=12),
    st.booleans(),
)


@given(TEXTS, TEXTS, st.integers(0, 3))
@settings(max_examples=400, deadline=None)
def test_a_diff_leads_from_one_text_to_the_other(before: str, after: str, context: int) -> None:
    diff = delta.make(before, after, context)
    assert apply(before, diff) == after
    assert patch(before, diff) == after, "and so says a reader that shares no code"
    assert (diff == "") == (before == after)


def test_it_is_a_unified_diff() -> None:
    before = "".join(f"line {i}\n" for i in range(1, 21))
    after = before.replace("line 5\n", "line five\n").replace("line 20\n", "line 20")
    assert delta.make(before, after, context=1) == (
        "@@ -4,2 +4,2 @@\n line 4\n-line 5\n+line five\n"
        "@@ -19,2 +19,2 @@\n line 19\n-line 20\n+line 20\n\\ No newline at end of file\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a\n"), ("a\n", ""), ("", "a"), ("a", "a\n"), ("a\n", "a"), ("\n", ""), ("", "\n"),
        ("a\r\nb\r\n", "a\nb\n"), ("\ufeffa\n", "a\n"), ("a\n\n\n", "a\n\n"),
        ("x\n" * 9, "x\n" * 8),
    ],
)  # fmt: skip
def test_ends_and_empty_texts(before: str, after: str) -> None:
    assert apply(before, delta.make(before, after)) == after


@pytest.mark.parametrize(
    ("text", "diff", "words"),
    [
        ("a\n", "@@ -1 +1 @@\n-b\n+c\n", "differs"),
        ("a\n", "@@ -7 +7 @@\n-a\n+c\n", "outside"),
        ("a\n", "@@ -1,2 +1 @@\n-a\n", "early"),
        ("a\n", "hello\n", "not a hunk"),
        ("a\nb\n", "@@ -1 +1 @@\n-a\n+c\n\\ No newline at end of file\n", "without an end"),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(text: str, diff: str, words: str) -> None:
    with pytest.raises(DeltaError, match=words):
        apply(text, diff)


def test_very_different_texts_take_bounded_time() -> None:
    before = "".join(f"{i * 7919 % 10007}\n" for i in range(20_000))
    after = "".join(f"{i * 104729 % 10007}\n" for i in range(20_000))
    started = time.perf_counter()
    diff = delta.make(before, after)
    assert time.perf_counter() - started < 10
    assert apply(before, diff) == after
