"""The scratchpad and its tool (seed 000, section 4)."""

from __future__ import annotations

import pytest

from tierline.history.scratchpad import MAX_CHARACTERS, manage, section


def test_read_update_append() -> None:
    """Seed 000: "equipped with tools (manage_scratchpad) to read, update, and append"."""
    assert manage("", {"action": "read"}).answer == "(The scratchpad is empty.)"
    updated = manage("old", {"action": "update", "content": "- plan"})
    assert (updated.text, updated.changed) == ("- plan", True)
    appended = manage(updated.text, {"action": "append", "content": "- more"})
    assert appended.text == "- plan\n- more"
    assert manage(appended.text, {"action": "read"}).answer == "- plan\n- more"
    assert manage("", {"action": "append", "content": "first"}).text == "first"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"action": "delete"},
        {"action": "update", "content": 3},
        {"action": "append", "content": None},
    ],
)
def test_bad_arguments_change_nothing_and_say_why(arguments: dict[str, object]) -> None:
    outcome = manage("kept", arguments)
    assert outcome.error and outcome.text == "kept" and "Nothing done" in outcome.answer


def test_scratchpad_cannot_grow_without_end() -> None:
    full = "x" * MAX_CHARACTERS
    outcome = manage(full, {"action": "append", "content": "y"})
    assert outcome.error and outcome.text == full and not outcome.changed


def test_same_text_is_no_change() -> None:
    assert not manage("a", {"action": "update", "content": "a"}).changed


def test_section() -> None:
    assert section(" ") == ""
    assert section("- plan\n") == "### SCRATCHPAD\n- plan"


def test_what_fits_exactly_is_kept_and_a_failure_says_how_long_it_would_be() -> None:
    exact = manage("", {"action": "update", "content": "x" * MAX_CHARACTERS})
    assert exact.changed and not exact.error and len(exact.text) == MAX_CHARACTERS
    over = manage("old", {"action": "update", "content": "x" * (MAX_CHARACTERS + 1)})
    assert (over.text, over.changed, over.error) == ("old", False, True)
    assert str(MAX_CHARACTERS) in over.answer and str(MAX_CHARACTERS + 1) in over.answer


def test_reading_changes_nothing_and_is_no_error() -> None:
    for current in ("", "- plan"):
        outcome = manage(current, {"action": "read", "content": "ignored"})
        assert (outcome.text, outcome.changed, outcome.error) == (current, False, False)


def test_appending_begins_a_line_of_its_own_and_halves_of_characters_are_mended() -> None:
    assert manage("a\n\n", {"action": "append", "content": "b"}).text == "a\nb"
    assert manage("", {"action": "update", "content": "\ud83d"}).text == "\ufffd"
    assert manage("a", {"action": "update", "content": ""}).text == "", "an empty text empties it"
    assert section("\n- plan\n") == "### SCRATCHPAD\n- plan"
