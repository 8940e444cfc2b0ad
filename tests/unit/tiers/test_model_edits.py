"""Edits whose result says all: no update repeats that they were applied."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from support.bodyreader import read
from support.tierworld import POLICIES, World
from tierline.context.blocks import ToolUse
from tierline.context.tiers.base import Arrangement, PieceKind, Pricing
from tierline.context.tiers.model_edits import told

BIG = "".join(f"value_{i} = compute({i})\n" for i in range(400))
OTHER = "".join(f"other_{i} = {i}\n" for i in range(400))


def begun() -> World:
    """A world with two files that have been sent."""
    made = World(POLICIES["log_structured"](), files={"a.py": BIG, "b.py": OTHER})
    made.ask("Begin.")
    made.request()
    return made


def sent(made: World) -> list[tuple[str, PieceKind]]:
    """Send what is there. Returns the updates, and checks that the body says what all files say."""
    made.now += 20
    arranged: Arrangement = made.arrange()
    body = made.body(arranged)
    assert read(body).files == made.files
    made.sent = arranged.next
    return [(p.key, p.kind) for p in arranged.pieces if p.kind is not PieceKind.ITEM]


def edit(made: World, number: int, path: str = "a.py", new: str = "done") -> None:
    old = f"compute({number})\n" if path == "a.py" else f"other_{number} = {number}\n"
    made.model_edit(path, old, f"{new}({number})\n", named=True)


def test_edits_that_their_results_tell_of_need_no_update() -> None:
    made = begun()
    edit(made, 7)
    assert sent(made) == []
    edit(made, 8)
    edit(made, 9)
    edit(made, 5, "b.py")
    assert sent(made) == [], "several edits of a file before one request, too"
    made.ask("And now?")
    assert sent(made) == []


def test_what_others_change_later_is_said_from_there_on() -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    made.files["a.py"] += "more = 1\n"
    made.ask("And now?")
    assert sent(made) == [("file:a.py", PieceKind.DELTA)]
    edit(made, 8)
    assert sent(made) == [("file:a.py", PieceKind.DELTA)], "the one that stands there already"


def test_an_edit_that_was_undone_is_said() -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    made.files["a.py"] = BIG
    made.ask("And now?")
    assert sent(made) == [("file:a.py", PieceKind.DELTA)]


def test_an_edit_that_was_undone_before_a_long_pause_is_said() -> None:
    """The base has the text before it again, and the results stand behind the base."""
    made = begun()
    edit(made, 7)
    sent(made)
    edit(made, 8)
    sent(made)
    made.files["a.py"] = BIG
    made.edits.clear()
    made.now += 4000
    made.ask("After a long pause?")
    assert sent(made) == [("file:a.py", PieceKind.DELTA)]


def test_an_edit_that_others_changed_before_it_was_sent_is_said() -> None:
    made = begun()
    edit(made, 7)
    made.files["a.py"] = made.files["a.py"].replace("done(7)", "nearly(7)")
    assert sent(made) == [("file:a.py", PieceKind.DELTA)], "against what was sent last"
    edit(made, 8)
    made.files["a.py"] = made.files["a.py"].replace("done(8)", "compute(8)")
    made.now += 20
    arranged = made.arrange()
    assert read(made.body(arranged)).files == made.files
    (*_, said) = [p.text for p in arranged.pieces if p.kind is not PieceKind.ITEM]
    assert re.fullmatch(r"Update: a\.py is \w{8} again\.\n", said)


def test_a_branch_without_the_edit_is_told_of_the_file() -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    made.turns[-1].atoms.clear()
    made.turns[-1].names.clear()
    made.ask("Another way?")
    assert sent(made) == [("file:a.py", PieceKind.DELTA)]


@pytest.mark.parametrize("restart", [True, False])
def test_a_rewrite_puts_the_edit_into_the_file(restart: bool) -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    if restart:
        made.restart()
    made.now += 4000
    made.ask("After a long pause?")
    assert sent(made) == [], "the file stands with it, and the result is not applied twice"
    edit(made, 8)
    assert sent(made) == []


def test_a_file_that_comes_later_comes_as_it_is() -> None:
    made = begun()
    text = made.files.pop("b.py")
    sent(made)
    made.files["b.py"] = text
    edit(made, 5, "b.py")
    assert sent(made)[-1] == ("file:b.py", PieceKind.FULL)


def test_an_edit_back_to_what_the_base_has_is_followed_both_ways() -> None:
    made = begun()
    made.model_edit("a.py", "compute(7)", "done(7)", named=True)
    sent(made)
    made.model_edit("a.py", "done(7)", "compute(7)", named=True)
    assert sent(made) == []
    made.now += 4000
    made.ask("After a long pause?")
    assert sent(made) == []


def test_a_rewrite_within_the_turn_that_the_window_forces_says_what_was_undone() -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    made.files["a.py"] = BIG
    forced = evolve(made.moment(), forced=True)
    arranged = made.policy.arrange(made.items(), made.sent, forced, Pricing.of(made.facts))
    assert read(made.body(arranged)).files == made.files


def test_such_words_in_a_file_that_was_read_are_no_result() -> None:
    """What a file says cannot change what the model is held to know."""
    made = begun()
    made.look(told("a.py", ("00000000", "11111111")))
    made.files["a.py"] += "more = 1\n"
    assert sent(made) == [("file:a.py", PieceKind.DELTA)]


# --- files that the model created -----------------------------------------------------------------

NEW = "".join(f"new_{i} = {i}\n" for i in range(60))


def created(made: World, text: str = NEW, shown: bool = True) -> None:
    made.model_create("new.py", text, shown)


def test_a_file_that_the_model_created_is_not_sent_again() -> None:
    made = begun()
    created(made)
    made.ask("And now?")
    assert sent(made) == [("file:new.py", PieceKind.CONFIRMED)]
    assert NEW not in _said(made)
    made.files["new.py"] += "more = 1\n"
    made.ask("And now?")
    assert sent(made)[-1] == ("file:new.py", PieceKind.DELTA), (
        "the user's change, against the model's"
    )
    made.model_edit("new.py", "new_3 = 3\n", "new_3 = 4\n", named=True)
    made.ask("And now?")
    assert len(sent(made)) == 2, "an edit of it is told by its result"


def test_a_created_file_that_the_model_edited_before_it_came_is_its_own() -> None:
    made = begun()
    created(made)
    made.model_edit("new.py", "new_3 = 3\n", "new_3 = 4\n", named=True)
    made.ask("And now?")
    assert sent(made) == [("file:new.py", PieceKind.CONFIRMED)]


def test_a_created_file_that_comes_later_is_confirmed_then() -> None:
    made = begun()
    created(made, shown=False)
    made.ask("And now?")
    assert sent(made) == [], "nothing is said of a file that is not in the context"
    made.restart()
    made.files["new.py"] = NEW
    made.ask("Look at it.")
    assert sent(made) == [("file:new.py", PieceKind.CONFIRMED)]


def test_a_created_file_that_somebody_changed_is_sent() -> None:
    made = begun()
    created(made)
    made.files["new.py"] += "more = 1\n"
    made.ask("And now?")
    assert sent(made) == [("file:new.py", PieceKind.FULL)]


def test_a_created_file_that_goes_and_comes_back_is_followed() -> None:
    made = begun()
    created(made)
    sent(made)
    del made.files["new.py"]
    made.ask("Undone.")
    assert sent(made)[-1] == ("file:new.py", PieceKind.GONE)
    created(made, "short = 1\n")
    made.ask("And now?")
    assert sent(made)[-1] == ("file:new.py", PieceKind.CONFIRMED), "the second one, not the first"
    made.files["other.py"] = made.files.pop("new.py")
    made.ask("Renamed.")
    assert sorted(sent(made)[-2:]) == [
        ("file:new.py", PieceKind.GONE),
        ("file:other.py", PieceKind.FULL),
    ]


def test_a_created_file_is_sent_where_its_call_is_not() -> None:
    made = begun()
    created(made)
    sent(made)
    made.turns[-1].atoms.clear()
    made.turns[-1].names.clear()
    made.summary = "A file was created."
    made.ask("After a compaction?")
    assert ("file:new.py", PieceKind.CONFIRMED) not in sent(made)
    assert NEW.splitlines()[-1] in _said(made)


def test_a_created_file_is_sent_where_its_call_has_another_text() -> None:
    """Something was masked, or cut: what is not there whole is no text."""
    made = begun()
    made.model_create("new.py", NEW)
    (asked, result) = made.turns[-1].atoms[-1]
    block = asked.blocks[0].block
    assert isinstance(block, ToolUse)
    cut = evolve(block, input={"path": "new.py", "content": NEW[:200] + "…"})
    said = evolve(asked, blocks=(evolve(asked.blocks[0], block=cut),))
    made.turns[-1].atoms[-1] = (said, result)
    made.ask("And now?")
    assert sent(made) == [("file:new.py", PieceKind.FULL)]


@pytest.mark.parametrize("named", [True, False])
def test_a_rewrite_puts_a_created_file_into_the_base_as_it_is(named: bool) -> None:
    made = begun()
    created(made)
    sent(made)
    made.model_edit("new.py", "new_3 = 3\n", "new_3 = 4\n", named=named)
    sent(made)
    forced = evolve(made.moment(), forced=True)
    arranged = made.policy.arrange(made.items(), made.sent, forced, Pricing.of(made.facts))
    assert read(made.body(arranged)).files == made.files
    assert not [p for p in arranged.pieces if p.kind is not PieceKind.ITEM]


def _said(made: World) -> str:
    """The texts that the user's side says, without calls."""
    body = made.body(made.arrange())
    texts = (b["text"] for m in body["messages"] for b in m["content"] if b["type"] == "text")
    return "".join([*texts, *(b["text"] for b in body["system"])])
