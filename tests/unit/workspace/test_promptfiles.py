"""Prompt files: found where other tools keep them, filled with what is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots
from tierline.workspace.promptfiles import MissingInputError, PromptFile, expand, find


def made(text: str) -> PromptFile:
    return PromptFile("x", text, "x.md")


@pytest.mark.parametrize(
    ("text", "typed", "becomes"),
    [
        ("Review it.", "", "Review it."),
        ("Review it.", "for speed", "Review it.\n\nfor speed"),
        ("Fix #$ARGUMENTS now", "12 and 13", "Fix #12 and 13 now"),
        ("Move $1 to $2.", "'a b' c", "Move a b to c."),
        ("Move $1 to $2.", "a", "Move a to ."),
        ("Costs $100 or $x", "", "Costs $100 or $x"),
        ("For ${input:who:a name}", "Ada Lovelace", "For Ada Lovelace"),
        ("${input:a}-${input:b}-${input:a}", "1 2 3", "1-2 3-1"),
        ("${input:a}-${input:b}", "b=2 1", "1-2"),
        ("Explain ${selection} of ${file}", "",
         "Explain the selected code of the file that I am looking at"),
        ("Say $ARGUMENTS", "$1 ${input:x} !`rm`", "Say $1 ${input:x} !`rm`"),
    ],
)  # fmt: skip
def test_what_is_typed_goes_into_its_places(text: str, typed: str, becomes: str) -> None:
    assert expand(made(text), typed) == becomes


def test_a_value_that_lacks_is_named() -> None:
    with pytest.raises(MissingInputError, match=r"name \(what it is called\)"):
        expand(made("Make ${input:name:what it is called}"), "")


def test_files_of_the_workspace_and_the_users_own(tmp_path: Path) -> None:
    root, own = tmp_path / "work", tmp_path / "own"
    for name, text in {
        ".github/prompts/review.prompt.md": "---\ndescription: Look it over\n---\nReview.\n",
        ".claude/commands/git/ship.md": "---\nargument-hint: [version]\n---\nShip $1 !`rm -rf /`\n",
        ".cursor/commands/Do it.md": "# Do the thing\nNow.\n",
        ".claude/commands/empty.md": "\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / ".claude/commands/out.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "secret.md").write_text("SECRET")
    (own / "prompts").mkdir(parents=True)
    (own / "prompts/review.md").write_text("Mine.")
    (own / "prompts/mine.md").write_text("Mine with ${input:x}.")
    loader = Loader(Roots.from_uris([("work", root.as_uri())]))
    found = {one.name: one for one in find(loader, own, trusted=True)}
    assert set(found) == {"review", "ship", "Do-it", "mine"}
    assert (found["review"].text, found["review"].description) == ("Review.", "Look it over")
    assert (found["ship"].hint, found["ship"].source) == (
        "version", ".claude/commands/git/ship.md"
    )  # fmt: skip
    assert found["Do-it"].description == "Do the thing"
    assert found["mine"].hint == "<x>"
    assert {one.name for one in find(loader, own, trusted=False)} == {"review", "mine"}


def test_a_description_hides_nothing(tmp_path: Path) -> None:
    place = tmp_path / ".github/prompts/a.prompt.md"
    place.parent.mkdir(parents=True)
    place.write_text(
        "---\ndescription: 'Do \x1b]0;t\x07 \u202e it'\n---\n" + "Do it.\n" * 200, "utf-8"
    )
    (one,) = find(
        Loader(Roots.from_uris([("work", tmp_path.as_uri())])), tmp_path / "own", trusted=True
    )
    assert not {"\x1b", "\x07", "\u202e"} & set(one.description)
