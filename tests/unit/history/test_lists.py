"""Two changes of one list at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tierline.session.conversation.lists import merged


def names(entry: str) -> str:
    """Of ``a1`` the name is ``a``."""
    return entry[0]


def test_what_nobody_else_changed_is_written_as_it_is() -> None:
    ours = ["b1", "a2"]
    assert merged(["a1"], ours, ["a1"], names) is ours


def test_both_add_both_remove_and_of_one_entry_ours_counts() -> None:
    before = ["a1", "b1", "c1", "d1"]
    ours = ["a1", "c2", "d1", "x1"]  # without b, c changed, x new
    theirs = ["a2", "b1", "c3", "y1"]  # a changed, c changed, without d, y new
    assert merged(before, ours, theirs, names) == ["a2", "c2", "y1", "x1"]


entries = st.lists(st.sampled_from("abcdef"), unique=True)


@given(entries, entries, entries)
def test_nothing_that_either_did_is_undone(
    before: list[str], ours: list[str], theirs: list[str]
) -> None:
    together = set(merged(before, ours, theirs, names))
    was, mine, other = set(before), set(ours), set(theirs)
    assert together == ((mine | other) - (was - mine) - (was - other))
