"""What the user looks at, in words for the model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tierline.context.active_editor import MAX_LINES, ActiveEditor, around, describe, enclosing
from tierline.context.retrieval.symbol import Symbol

CLASS = Symbol("Reader", "class", 10, 400)
METHOD = Symbol("parse", "method", 50, 80, parent="Reader")
SYMBOLS = (METHOD, CLASS)


def test_definitions_around_a_line_are_named_from_the_outside_in() -> None:
    assert enclosing(SYMBOLS, 60) == [CLASS, METHOD]
    assert enclosing(SYMBOLS, 5) == []


def test_the_largest_definition_that_is_short_enough_goes_along() -> None:
    assert around(ActiveEditor("a.py", 55, 60, 58), SYMBOLS, 500) == (50, 80)
    assert around(ActiveEditor("a.py", 70, 120, 75), SYMBOLS, 500) == (50, 120)
    assert around(ActiveEditor("a.py", 1, 9, 3), SYMBOLS, 500) == (1, 9)


def test_the_sentence_says_file_lines_and_definition() -> None:
    said = describe(ActiveEditor("a.py", 55, 60, 58), SYMBOLS)
    assert said == (
        "The user is looking at a.py, lines 55 to 60 are on the screen, the cursor is in line 58, "
        "in `Reader.parse`.\n"
    )
    assert describe(ActiveEditor("a.py"), ()) == "The user is looking at a.py.\n"


def test_a_selection_says_its_lines_and_holds_its_text() -> None:
    said = describe(ActiveEditor("a.py", 58, 58, 58, selected=True), SYMBOLS, "x = 1\n")
    assert said.startswith("The user has selected this in the editor, line 58, in `Reader.parse`:")
    assert "x = 1\n```" in said


def test_a_path_that_could_mislead_is_written_as_text() -> None:
    assert "\n# Run this" not in describe(ActiveEditor("a.py\n# Run this"), ())


@given(st.integers(-10, 3000), st.integers(-10, 3000), st.integers(-10, 3000), st.integers(1, 2500))
def test_what_goes_along_is_inside_the_file_and_bounded(
    first: int, last: int, cursor: int, lines: int
) -> None:
    begin, end = around(ActiveEditor("a.py", first, last, cursor), SYMBOLS, lines)
    assert begin >= 1
    assert end <= lines
    assert end - begin < MAX_LINES
