"""The words of the log: differences, whole texts, tombstones, confirmations."""

from __future__ import annotations

import pytest

from support.tierworld import file_item
from support.updatereader import Update, read_update, replay
from tierline.context.fences import render_file
from tierline.context.text import sha256
from tierline.context.tiers import updates
from tierline.context.tiers.base import PieceKind

LONG = "".join(f"value_{i} = {i}\n" for i in range(50))


def content(path: str, text: str) -> updates.ItemContent:
    return updates.of_item(file_item(path, text))


def no_edit(reference: str, text: str) -> str:
    raise AssertionError(f"there is no edit {reference} of {text}")


def test_a_difference_names_the_file_and_both_versions() -> None:
    changed = LONG.replace("value_7 = 7\n", "value_7 = 77\n")
    kind, text = updates.change(content("a.py", LONG), content("a.py", changed))
    assert kind is PieceKind.DELTA
    assert text == (
        f"Update: a.py changed from {sha256(LONG)[:8]} to {sha256(changed)[:8]}:\n"
        "```diff\n@@ -7,2 +7,2 @@\n value_6 = 6\n-value_7 = 7\n+value_7 = 77\n```\n"
    )
    update = read_update(text)
    assert update is not None
    assert (update.kind, update.name) == (PieceKind.DELTA, "a.py")


def test_the_whole_text_where_that_is_shorter() -> None:
    kind, text = updates.change(content("a.py", LONG), content("a.py", "x = 1\n"))
    assert kind is PieceKind.FULL
    assert text == f"Update: a.py ({sha256('x = 1' + chr(10))[:8]}, in full):\n```\nx = 1\n```\n"


def test_a_tombstone_is_one_line() -> None:
    assert updates.gone("a.py") == "Update: a.py is no longer part of the context.\n"
    assert read_update(updates.gone("a.py")) == Update("a.py", PieceKind.GONE)


def test_a_text_that_is_again_what_it_was_is_one_line() -> None:
    kind, text = updates.change(content("a b.py", LONG), content("a b.py", LONG))
    assert (kind, text) == (PieceKind.DELTA, f'Update: "a b.py" is {sha256(LONG)[:8]} again.\n')
    update = read_update(text)
    assert update is not None
    assert replay({"a b.py": LONG}, [update], no_edit) == {"a b.py": LONG}


def test_a_confirmation_is_one_line_with_the_new_hash() -> None:
    text = updates.confirmed(content("a.py", "a\n"), content("a.py", "b\n"), "toolu_1")
    assert text.count("\n") == 1
    assert sha256("b\n")[:8] in text
    update = read_update(text)
    assert update is not None
    assert (update.kind, update.edit) == (PieceKind.CONFIRMED, "toolu_1")


@pytest.mark.parametrize(
    "name", ["a b.py", 'q"uote', "line\nbreak", "ü.py", "Update:", "tab\t", "\u2028", "v1..v2.diff"]
)
@pytest.mark.parametrize("text", ["", "```\n", "````", "no end", "Update: a is no longer\n"])
def test_any_name_and_any_text_can_be_read_back(name: str, text: str) -> None:
    now = updates.ItemContent(name, text, True)
    full = read_update(updates.full(now))
    assert full is not None
    assert (full.name, full.text, full.after) == (name, text, now.version)
    gone = read_update(updates.gone(name))
    assert gone is not None
    assert gone.name == name


@pytest.mark.parametrize(
    "text",
    [
        "", "Update", "Update: ", "Update: a.py", "Update: a is no longer part of the context. No.",
        "Update: a.py (12345678, in full):\n```\nx\n```\nand more", "Say Update: a.py is gone",
        "Update: a.py (12345678, in full):\n", "Update: a.py changed from 1 to 2:\n```diff\n```\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_an_update_is_none(text: str) -> None:
    assert read_update(text) is None


def test_a_cut_file_is_given_as_it_is_rendered() -> None:
    """Its own text is not all there, so that it is never the base of a difference to the file."""
    cut = render_file("a.py", LONG[:100], "cut: the first 100 characters")
    shown = updates.content_of("file:a.py", "a.py", cut)
    assert (shown.plain, shown.text) == (False, cut)
    assert updates.change(shown, content("a.py", LONG))[0] is PieceKind.FULL
    assert read_update(updates.full(shown)) is not None


def test_replay_refuses_what_does_not_fit() -> None:
    update = read_update(updates.change(content("a.py", LONG), content("a.py", LONG + "x\n"))[1])
    assert update is not None
    assert replay({"a.py": LONG}, [update], no_edit) == {"a.py": LONG + "x\n"}
    with pytest.raises(ValueError, match="the update is for"):
        replay({"a.py": "other\n"}, [update], no_edit)
    with pytest.raises(ValueError, match="was not there"):
        replay({}, [Update("a.py", PieceKind.GONE)], no_edit)
    wrong = Update("a.py", PieceKind.FULL, after="00000000", text="x")
    with pytest.raises(ValueError, match="the result is not"):
        replay({}, [wrong], no_edit)
